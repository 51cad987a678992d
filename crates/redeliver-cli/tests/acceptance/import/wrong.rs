use super::{fill, import, shop};
use crate::database::{ALL, Database, Kind, SERVERS};

const SECRET: &str = "hunter2";

/// The same import with something else in place of a line.
fn configure(database: &Database, lines: &[(&str, &str)]) {
    let mut settings = vec![
        ("table", "\"events\""),
        ("order", "\"id\""),
        ("topic", "\"orders\""),
        ("payload", "{ column = \"payload\" }"),
    ];
    for (name, value) in lines {
        settings.retain(|(there, _)| there != name);
        settings.push((name, value));
    }
    let text: String = settings
        .iter()
        .map(|(name, value)| format!("{name} = {value}\n"))
        .collect();
    database.configure(&format!("[import.shop]\n{text}"));
}

#[test]
fn what_is_not_there_is_named_with_what_is() {
    for kind in ALL {
        let database = shop(kind);
        fill(&database, 1..=2);
        let mut client = database.client();
        client.run("CREATE TABLE odd (id varchar(10), born date, same int, payload varchar(10))");
        client.run("INSERT INTO odd VALUES ('a', '2026-01-01', 1, 'x')");
        client.run("INSERT INTO odd VALUES (NULL, '2026-01-02', 1, 'y')");
        for (lines, words) in [
            (
                vec![("table", "\"evnts\"")],
                vec![
                    "import.shop.table: the database has no table evnts",
                    "it has",
                    "events",
                    "odd",
                ],
            ),
            (
                vec![("payload", "{ column = \"body\" }")],
                vec!["import.shop.payload: the table events has no column body; it has id, payload, dest"],
            ),
            (
                vec![("key", "{ column = \"k\" }")],
                vec!["import.shop.key: the table events has no column k"],
            ),
            (
                vec![("where", "\"publishd_at IS NULL\"")],
                vec!["import.shop.where: the database refuses", "publishd_at"],
            ),
            (
                vec![("where", "\"id >\"")],
                vec!["import.shop.where: the database refuses"],
            ),
            (
                vec![("table", "\"odd\"")],
                vec!["import.shop.order: the column id is NULL in some rows"],
            ),
            (
                vec![("table", "\"odd\""), ("order", "\"same\"")],
                vec!["import.shop.order: the column same holds 1 more than once; name a unique column"],
            ),
        ] {
            configure(&database, &lines);
            let ran = import(&database, &["shop"]);
            assert_eq!(ran.code, Some(2), "{kind:?}: {ran:?}");
            for word in words {
                assert!(ran.err.contains(word), "{kind:?}, {word:?}: {ran:?}");
            }
            assert_eq!(super::payloads(&database).len(), 0, "{kind:?}");
        }
        // Found before anybody begins, too.
        for (lines, grade, words) in [
            (vec![], "good", "events is there, from row 1 on"),
            (vec![("table", "\"evnts\"")], "problem", "no table evnts"),
        ] {
            configure(&database, &lines);
            let ran = database.command(&["check", "--json"]).output().unwrap();
            let told = String::from_utf8(ran.stdout).unwrap();
            let found = told.lines().find(|line| line.contains("import.shop")).unwrap();
            assert!(
                found.contains(&format!("\"{grade}\"")) && found.contains(words),
                "{kind:?}: {found}"
            );
        }
        if kind != Kind::Sqlite {
            configure(&database, &[("table", "\"odd\""), ("order", "\"born\"")]);
            let ran = import(&database, &["shop"]);
            let words =
                "import.shop.order: the column born is of the type date, by which no table is read forward";
            assert!(ran.err.contains(words), "{kind:?}: {ran:?}");
        }
        let ran = import(&database, &["shpo"]);
        assert!(
            ran.err
                .contains("the configuration has no such import; it has shop"),
            "{ran:?}"
        );
    }
}

#[test]
fn the_condition_cannot_write() {
    for kind in SERVERS {
        let database = shop(kind);
        fill(&database, 1..=2);
        let mut client = database.client();
        client.run("CREATE TABLE odd (id int)");
        client.run("INSERT INTO odd VALUES (1)");
        client.run(match kind {
            Kind::Postgres => {
                "CREATE FUNCTION wipe() RETURNS boolean LANGUAGE sql AS 'DELETE FROM odd; SELECT true'"
            }
            _ => {
                "CREATE FUNCTION wipe() RETURNS boolean DETERMINISTIC MODIFIES SQL DATA BEGIN DELETE FROM odd; RETURN true; END"
            }
        });
        configure(&database, &[("where", "\"wipe()\"")]);
        let ran = import(&database, &["shop"]);
        assert_eq!(ran.code, Some(2), "{kind:?}: {ran:?}");
        assert!(
            ran.err.contains("import.shop.where: the database refuses"),
            "{kind:?}: {ran:?}"
        );
        assert_eq!(client.number("SELECT count(*) FROM odd"), 1, "{kind:?}");
    }
}

#[test]
fn who_may_not_read_is_told_so() {
    for kind in SERVERS {
        let database = shop(kind);
        let user = format!("reader_{}", database.name());
        let mut owner = database.owner();
        match kind {
            Kind::Postgres => owner.run(&format!("CREATE ROLE {user} LOGIN")),
            _ => owner.run(&format!("CREATE USER {user}@'%' IDENTIFIED BY '{SECRET}'")),
        }
        let there = database.address_for(&format!("{user}:{SECRET}"));
        configure(&database, &[("database", &format!("\"{there}\""))]);
        let ran = import(&database, &["shop"]);
        assert_ne!(ran.code, Some(0), "{kind:?}: {ran:?}");
        assert!(!format!("{ran:?}").contains(SECRET), "{kind:?}: {ran:?}");
        if kind == Kind::Postgres {
            assert!(
                ran.err.contains("may not read the table events; grant it SELECT"),
                "{ran:?}"
            );
            assert_eq!(ran.code, Some(6), "{ran:?}");
        }
        let grant = match kind {
            Kind::Postgres => {
                database
                    .client()
                    .run(&format!("GRANT SELECT ON events TO {user}"));
                String::new()
            }
            _ => format!("GRANT SELECT ON {}.events TO {user}@'%'", database.name()),
        };
        if !grant.is_empty() {
            owner.run(&grant);
        }
        let ran = import(&database, &["shop", "--json"]);
        assert_eq!(ran.code, Some(0), "{kind:?}: {ran:?}");
        match kind {
            Kind::Postgres => {
                database.client().run(&format!("DROP OWNED BY {user}"));
                owner.run(&format!("DROP ROLE {user}"));
            }
            _ => owner.run(&format!("DROP USER {user}@'%'")),
        }
    }
}

#[test]
fn a_password_is_never_shown() {
    let database = shop(Kind::Sqlite);
    for address in [
        format!("postgres://me:{SECRET}@127.0.0.1:1/shop"),
        format!("mysql://me:{SECRET}@127.0.0.1:1/shop"),
        format!("postgres://me:{SECRET}@127.0.0.1:port/shop"),
        format!("mysql://me:{SECRET}@127.0.0.1:1/shop?{SECRET}={SECRET}&x=1")
            .replace("hunter2=", "nonsense="),
        format!("oracle://me:{SECRET}@127.0.0.1/shop"),
    ] {
        configure(&database, &[("database", &format!("\"{address}\""))]);
        let ran = import(&database, &["shop", "--json"]);
        assert!(ran.code != Some(0) && !ran.err.is_empty(), "{address}: {ran:?}");
        assert!(!format!("{ran:?}").contains(SECRET), "{address}: {ran:?}");
    }
    configure(&database, &[("database", "\"sqlite://nowhere.db\"")]);
    let ran = import(&database, &["shop"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.err
            .contains("import.shop.database: there is no database nowhere.db"),
        "{ran:?}"
    );
    assert!(!database.folder.join("nowhere.db").exists());
}

/// Trouble is told with the address of the database that has it.
#[test]
fn an_outbox_that_takes_nothing_is_told_from_a_table_that_gives_nothing() {
    let (there, here) = (shop(Kind::Sqlite), Database::new(Kind::Postgres));
    fill(&there, 1..=3);
    let user = format!("looker_{}", here.name());
    here.client().run(&format!(
        "CREATE ROLE {user} LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {user}"
    ));
    configure(&here, &[("database", &format!("\"{}\"", there.address))]);
    let mut command = here.command(&["import", "shop"]);
    let ran = command
        .env(
            "REDELIVER_DATABASE",
            here.address_for(&format!("{user}:{SECRET}")),
        )
        .output()
        .unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(6), "{said}");
    assert!(
        said.contains("error: postgres://") && said.contains(here.name()),
        "{said}"
    );
    assert!(!said.contains("sqlite") && !said.contains(SECRET), "{said}");
    here.client()
        .run(&format!("DROP OWNED BY {user}; DROP ROLE {user}"));
}

#[test]
fn a_database_that_is_not_there_is_told_so() {
    for kind in SERVERS {
        let database = shop(kind);
        let (server, _) = database.address.rsplit_once('/').unwrap();
        configure(&database, &[("database", &format!("\"{server}/nowhere\""))]);
        let ran = import(&database, &["shop"]);
        assert!(![Some(0), Some(4)].contains(&ran.code), "{kind:?}: {ran:?}");
        assert!(ran.err.contains("correct its name"), "{kind:?}: {ran:?}");
        assert!(!ran.err.contains("migrate"), "{kind:?}: {ran:?}");
    }
}
