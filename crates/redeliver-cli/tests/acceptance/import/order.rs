use super::{bytes_value, import, payloads};
use crate::database::{ALL, Database, Kind};

const ROWS: u32 = 450;

/// The value of a number, as SQL.
type Value = fn(Kind, u32) -> String;

/// The types of an order column, and the value of each number.
fn orders(kind: Kind) -> Vec<(&'static str, Value)> {
    let integer: Value = |_, number| number.to_string();
    let text: Value = |_, number| format!("'01HZ-{number:06}'");
    let uuid: fn(Kind, u32) -> String = |_, number| format!("'01932d3a-{number:04x}-7c3a-9b1e-0e02b2c3d479'");
    let bytes: Value = |kind, number| bytes_value(kind, &format!("{number:08x}ff00"));
    match kind {
        Kind::Sqlite => vec![("integer", integer), ("text", text), ("blob", bytes)],
        Kind::Postgres => vec![
            ("smallint", integer),
            ("bigint", integer),
            ("text", text),
            ("varchar(20)", text),
            ("char(20)", text),
            ("uuid", uuid),
            ("bytea", bytes),
        ],
        Kind::MariaDb | Kind::MySql => {
            let mut types = vec![
                ("int", integer),
                ("bigint unsigned", integer),
                ("varchar(20)", text),
                ("char(20) CHARACTER SET latin1", text),
                ("binary(6)", bytes),
            ];
            if kind == Kind::MariaDb {
                types.push(("uuid", uuid));
            }
            types
        }
    }
}

/// Each row once, in the order of the column, over many batches, whatever the order of the inserts was.
#[test]
fn a_table_is_read_by_whatever_grows() {
    for kind in ALL {
        for (column, value) in orders(kind) {
            let database = Database::new(kind);
            let mut client = database.client();
            client.run(&format!(
                "CREATE TABLE events (place {column} PRIMARY KEY, payload varchar(20))"
            ));
            let rows: Vec<String> = (1..=ROWS)
                .rev()
                .map(|number| format!("({}, '{number}')", value(kind, number)))
                .collect();
            client.run(&format!("INSERT INTO events VALUES {}", rows.join(", ")));
            database.configure(
                "[import.shop]\ntable = \"events\"\norder = \"place\"\ntopic = \"orders\"\npayload = { column = \"payload\" }\n",
            );
            let ran = import(&database, &["shop", "--batch", "64", "--json"]);
            let all = u64::from(ROWS);
            assert_eq!(ran.figures(), [all, all, 0, 0], "{kind:?} {column}: {ran:?}");
            let expected: Vec<String> = (1..=ROWS).map(|number| number.to_string()).collect();
            assert_eq!(payloads(&database), expected, "{kind:?} {column}");
            // What it tells to be the place is where it goes on.
            let last = ran.lines().pop().unwrap();
            let place = last["up_to"].as_str().unwrap();
            let again = import(&database, &["shop", "--json", "--after", place]);
            assert_eq!(again.figures(), [0, 0, 0, 0], "{kind:?} {column}: {again:?}");
        }
    }
}

/// Values that people cannot tell apart, or that are alike in another type.
fn alike(kind: Kind) -> (&'static str, Vec<String>) {
    let long = "x".repeat(250);
    let mut values = vec![
        "'a b'".to_owned(),
        "'a  b'".to_owned(),
        "'text:a'".to_owned(),
        format!("'{long}1'"),
        format!("'{long}2'"),
    ];
    match kind {
        Kind::Postgres | Kind::MariaDb | Kind::MySql => ("varchar(300)", values),
        Kind::Sqlite => {
            values.extend(["7", "'7'", "61", "'61'", "x'61'", "''", "x''"].map(ToOwned::to_owned));
            ("", values)
        }
    }
}

#[test]
fn values_that_look_alike_are_different_rows() {
    for kind in ALL {
        let database = Database::new(kind);
        let (column, values) = alike(kind);
        let mut client = database.client();
        client.run(&format!(
            "CREATE TABLE events (place {column} PRIMARY KEY, payload varchar(300))"
        ));
        for (value, number) in values.iter().zip(1..) {
            client.run(&format!("INSERT INTO events VALUES ({value}, '{number}')"));
        }
        database.configure(
            "[import.shop]\ntable = \"events\"\norder = \"place\"\ntopic = \"orders\"\npayload = { column = \"payload\" }\n",
        );
        // One at a time, each behind the place that the one before it told.
        let all = values.len() as u64;
        let mut place: Option<String> = None;
        for _ in 0..all {
            let mut arguments = vec!["shop", "--json", "--limit", "1"];
            arguments.extend(place.iter().flat_map(|place| ["--after", place]));
            let ran = import(&database, &arguments);
            assert_eq!(ran.figures(), [1, 1, 0, 0], "{kind:?} {place:?}: {ran:?}");
            place = ran.lines().pop().unwrap()["up_to"]
                .as_str()
                .map(ToOwned::to_owned);
        }
        let ran = import(&database, &["shop", "--json"]);
        assert_eq!(ran.figures(), [all, 0, all, 0], "{kind:?}: {ran:?}");
        assert_eq!(payloads(&database).len(), values.len(), "{kind:?}");
    }
}

#[test]
fn only_so_many_rows_are_read() {
    for kind in ALL {
        let database = super::shop(kind);
        super::fill(&database, 1..=30);
        let ran = import(&database, &["shop", "--json", "--limit", "12", "--batch", "5"]);
        assert_eq!(ran.figures(), [12, 12, 0, 0], "{kind:?}: {ran:?}");
        let ran = import(&database, &["shop", "--json", "--after", "12", "--limit", "3"]);
        assert_eq!(ran.figures(), [3, 3, 0, 0], "{kind:?}: {ran:?}");
        assert_eq!(payloads(&database).len(), 15);
    }
}

#[test]
fn random_uuids_are_told_and_not_followed() {
    let database = Database::new(Kind::Postgres);
    let mut client = database.client();
    client.run("CREATE TABLE events (id uuid PRIMARY KEY, payload jsonb)");
    client.run("INSERT INTO events SELECT gen_random_uuid(), to_jsonb(n) FROM generate_series(1, 20) AS n");
    database.configure(
        "[import.shop]\ntable = \"events\"\norder = \"id\"\ntopic = \"orders\"\npayload = { column = \"payload\" }\n",
    );
    let ran = import(&database, &["shop", "--json", "--batch", "3"]);
    assert_eq!(ran.figures(), [20, 20, 0, 0], "{ran:?}");
    assert!(ran.err.contains("random uuids"), "{ran:?}");
    let ran = import(&database, &["shop", "--follow"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("name a column that grows"), "{ran:?}");
}
