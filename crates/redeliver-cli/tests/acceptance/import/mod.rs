//! `redeliver import` from a table of an application's own, on each database.

mod again;
mod follow;
mod large;
mod like;
mod mapping;
mod order;
mod refused;
mod wrong;

use serde_json::Value;

use crate::database::{Database, Kind};

/// What an import printed, and how it ended.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ran {
    fn lines(&self) -> Vec<Value> {
        let lines = self.out.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect()
    }

    /// The figures: read, inserted, there before, refused.
    #[track_caller]
    fn figures(&self) -> [u64; 4] {
        let last = self.lines().pop().unwrap_or_else(|| panic!("{self:?}"));
        ["read", "inserted", "there_before", "refused"].map(|name| last[name].as_u64().unwrap())
    }
}

fn import(database: &Database, arguments: &[&str]) -> Ran {
    let mut all = vec!["import"];
    all.extend(arguments);
    let ran = database.command(&all).env("USER", "alice").output().unwrap();
    Ran {
        code: ran.status.code(),
        out: String::from_utf8(ran.stdout).unwrap(),
        err: String::from_utf8(ran.stderr).unwrap(),
    }
}

/// A name within the quotes of the database.
fn quoted(kind: Kind, name: &str) -> String {
    match kind {
        Kind::MariaDb | Kind::MySql => format!("`{name}`"),
        Kind::Sqlite | Kind::Postgres => format!("\"{name}\""),
    }
}

/// The type of bytes, and a value of it.
fn bytes(kind: Kind) -> &'static str {
    match kind {
        Kind::Sqlite => "blob",
        Kind::Postgres => "bytea",
        Kind::MariaDb | Kind::MySql => "varbinary(100)",
    }
}

fn bytes_value(kind: Kind, digits: &str) -> String {
    match kind {
        Kind::Postgres => format!("'\\x{digits}'::bytea"),
        Kind::Sqlite | Kind::MariaDb | Kind::MySql => format!("x'{digits}'"),
    }
}

/// An outbox, and beside it a table `events` with the columns id, payload and dest, as `[import.shop]` has it.
fn shop(kind: Kind) -> Database {
    let database = Database::new(kind);
    let text = match kind {
        Kind::MariaDb | Kind::MySql => "longtext",
        Kind::Sqlite | Kind::Postgres => "text",
    };
    database.client().run(&format!(
        "CREATE TABLE events (id bigint PRIMARY KEY, payload {text}, dest varchar(300))"
    ));
    database.configure(
        "[destinations.api]\ntype = \"log\"\n[destinations.other]\ntype = \"log\"\n\
         [import.shop]\ntable = \"events\"\norder = \"id\"\npayload = { column = \"payload\" }\n\
         destination = { column = \"dest\" }\n",
    );
    database
}

/// Rows with these numbers, each with its number as its payload.
fn fill(database: &Database, numbers: std::ops::RangeInclusive<u32>) {
    let mut client = database.client();
    let all: Vec<String> = numbers.map(|id| format!("({id}, '{id}', 'api')")).collect();
    for some in all.chunks(1000) {
        client.run(&format!(
            "INSERT INTO events (id, payload, dest) VALUES {}",
            some.join(", ")
        ));
    }
}

/// The payloads in the outbox, in the order in which they were inserted.
fn payloads(database: &Database) -> Vec<String> {
    let rows = database
        .client()
        .rows("SELECT payload FROM redeliver_outbox ORDER BY number");
    rows.into_iter()
        .map(|row| row.into_iter().next().flatten().unwrap_or_default())
        .collect()
}

/// The entries `import` of the audit trail.
fn audit(database: &Database) -> Vec<Value> {
    let told = database.redeliver(&["audit", "--json"]);
    let entries = told
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries.filter(|entry| entry["action"] == "import").collect()
}
