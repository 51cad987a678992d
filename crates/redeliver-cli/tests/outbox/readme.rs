//! What the README shows of the outbox, run as it stands there.

use crate::bench::Folder;

const README: &str = include_str!("../../../../README.md");

/// The blocks of this language in the README's section on the outbox.
fn blocks(language: &str) -> Vec<&'static str> {
    let section = README.split("\n## The outbox\n").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let fence = format!("```{language}\n");
    let blocks = section.split(&fence).skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_sql_is_delivered() {
    let folder = Folder::new();
    folder.run(&["migrate"]).done();
    let database = rusqlite::Connection::open(folder.0.join("redeliver.db")).unwrap();
    let [sql] = blocks("sql")[..] else {
        panic!("one block of SQL");
    };
    database.execute_batch(sql).unwrap();
    let orders: i64 = database
        .query_row("SELECT count(*) FROM orders", [], |row| row.get(0))
        .unwrap();
    assert_eq!(orders, 1);
    let served = folder.serve();
    assert!(
        served
            .out
            .ends_with(" log order-7 {\"order\":7,\"total\":\"12.50\"}\n"),
        "{served:?}"
    );
    let query = sql.lines().find(|line| line.starts_with("SELECT ")).unwrap();
    let status: String = database.query_row(query, [], |row| row.get("status")).unwrap();
    assert_eq!(status, "sent");
}

#[test]
fn the_configuration_is_taken() {
    let folder = Folder::new();
    let [toml] = blocks("toml")[..] else {
        panic!("one block of TOML");
    };
    folder.write("redeliver.toml", toml);
    let mut command = folder.command(&["serve", "--until-empty", "--for", "2m", "--json"]);
    let output = command
        .env("BILLING_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains(r#""destinations":["audit","billing"]"#), "{told}");
}

#[test]
fn the_operators_commands_work() {
    let folder = Folder::new();
    // The built-in configuration knows no such destination: 42 dead letters.
    let lines = "{}\n".repeat(42);
    folder
        .feed(&["send", "--to", "billing", "--lines", "-"], lines.as_bytes())
        .done();
    folder.serve();
    // The README's own would be looked for in the network by `redeliver check`.
    folder.write("redeliver.toml", "[destinations.audit]\ntype = \"log\"\n");
    let [commands] = blocks("sh")[..] else {
        panic!("one block of commands");
    };
    let mut ran = 0;
    for line in commands.lines() {
        let command = line.split('#').next().unwrap();
        let mut words = command.split_whitespace().map(|word| word.trim_matches('\''));
        assert_eq!(words.next(), Some("redeliver"), "{line}");
        folder.run(&words.collect::<Vec<_>>()).done();
        ran += 1;
    }
    assert_eq!(ran, 9);
    assert_eq!(folder.show("42")["status"], "pending", "redriven");
}
