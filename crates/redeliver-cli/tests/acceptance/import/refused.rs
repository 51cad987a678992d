use super::{fill, import, payloads, shop};
use crate::database::{ALL, Database, Kind};

/// A text of so many letters, made by the database.
fn long(kind: Kind, length: usize) -> String {
    match kind {
        Kind::Sqlite => format!("replace(hex(zeroblob({})), '0', 'x')", length / 2),
        Kind::Postgres | Kind::MariaDb | Kind::MySql => format!("repeat('x', {length})"),
    }
}

#[test]
fn a_row_that_cannot_be_a_message_is_told_and_the_others_go_on() {
    for kind in ALL {
        let database = shop(kind);
        let mut client = database.client();
        for row in [
            "(1, 'fine', 'api')".to_owned(),
            "(2, NULL, 'api')".to_owned(),
            "(3, 'x', '')".to_owned(),
            "(4, 'x', NULL)".to_owned(),
            "(5, 'x', 'nobody')".to_owned(),
            format!("(6, {}, 'api')", long(kind, 1_048_578)),
            format!("(7, {}, 'api')", long(kind, 3_000_000)),
            format!("(8, {}, 'api')", long(kind, 1_048_576)),
            format!("(9, 'x', {})", long(kind, 250)),
            "(10, '', 'other')".to_owned(),
        ] {
            client.run(&format!("INSERT INTO events (id, payload, dest) VALUES {row}"));
        }
        let ran = import(&database, &["shop", "--json"]);
        assert_eq!(
            (ran.code, ran.figures()),
            (Some(1), [10, 3, 0, 7]),
            "{kind:?}: {ran:?}"
        );
        let told: Vec<(String, String)> = ran
            .lines()
            .iter()
            .filter(|line| !line["refused"].is_u64())
            .map(|line| {
                let text = |name: &str| line[name].as_str().unwrap().to_owned();
                (text("refused"), text("reason"))
            })
            .collect();
        let words = [
            ("2", "has no payload: its column payload is NULL"),
            ("3", "destination is empty"),
            ("4", "destination is empty"),
            (
                "5",
                "the configuration has no such destination; it has api, other",
            ),
            (
                "6",
                "the message's payload has 1048578 bytes; at most 1048576 are allowed",
            ),
            ("7", "has 3000004 bytes, of which at most 1048576 may be payload"),
            ("9", "the message's destination has 250 bytes"),
        ];
        assert_eq!(told.len(), words.len(), "{kind:?}: {told:?}");
        for ((place, reason), (expected, part)) in told.iter().zip(words) {
            assert_eq!(place, expected, "{kind:?}");
            assert!(reason.contains(part), "{kind:?}: {reason}");
        }
        let there = payloads(&database);
        assert_eq!(
            (there[0].as_str(), there[1].len(), there[2].as_str()),
            ("fine", 1_048_576, "")
        );

        // Mended, they come too.
        client.run("UPDATE events SET payload = 'mended', dest = 'api' WHERE id < 8");
        let ran = import(&database, &["shop", "--json"]);
        assert_eq!(ran.figures(), [10, 6, 3, 1], "{kind:?}: {ran:?}");
    }
}

#[test]
fn strict_it_stops_before_the_first_one() {
    for kind in ALL {
        let database = shop(kind);
        fill(&database, 1..=30);
        let mut client = database.client();
        client.run("UPDATE events SET payload = NULL WHERE id IN (15, 17)");
        let ran = import(&database, &["shop", "--strict", "--batch", "10"]);
        assert_eq!(ran.code, Some(1), "{kind:?}: {ran:?}");
        assert_eq!(
            ran.err.lines().filter(|line| line.starts_with("row ")).count(),
            1,
            "{ran:?}"
        );
        assert!(ran.err.contains("row 15: has no payload"), "{ran:?}");
        assert!(
            ran.out
                .contains("14 messages inserted, 0 there before, 1 refused; up to 14"),
            "{ran:?}"
        );
        assert_eq!(payloads(&database).len(), 14, "{kind:?}");
        client.run("UPDATE events SET payload = 'mended' WHERE id IN (15, 17)");
        let ran = import(&database, &["shop", "--strict", "--after", "14", "--json"]);
        assert_eq!(
            (ran.code, ran.figures()),
            (Some(0), [16, 16, 0, 0]),
            "{kind:?}: {ran:?}"
        );
    }
}

#[test]
fn many_refused_rows_are_counted_and_not_all_told() {
    let database = shop(Kind::Sqlite);
    fill(&database, 1..=100);
    database.client().run("UPDATE events SET payload = NULL");
    let ran = import(&database, &["shop"]);
    assert_eq!(
        ran.err.lines().filter(|line| line.starts_with("row ")).count(),
        20,
        "{ran:?}"
    );
    assert!(ran.err.contains("--json tells each"), "{ran:?}");
    assert!(ran.out.contains("100 refused"), "{ran:?}");
}

#[test]
fn bytes_are_delivered_as_they_are() {
    for kind in ALL {
        let database = Database::new(kind);
        let mut client = database.client();
        let kind_of_bytes = super::bytes(kind);
        client.run(&format!(
            "CREATE TABLE events (id bigint PRIMARY KEY, payload {kind_of_bytes})"
        ));
        for (id, digits) in [(1, "00ff80"), (2, "7b7d"), (3, "6100")] {
            let value = super::bytes_value(kind, digits);
            client.run(&format!("INSERT INTO events VALUES ({id}, {value})"));
        }
        database.configure(
            "[import.shop]\ntable = \"events\"\norder = \"id\"\ntopic = \"orders\"\npayload = { column = \"payload\" }\n",
        );
        let ran = import(&database, &["shop", "--json"]);
        assert_eq!(ran.figures(), [3, 3, 0, 0], "{kind:?}: {ran:?}");
        let digits = match kind {
            Kind::Postgres => "encode(payload_binary, 'hex')",
            Kind::Sqlite | Kind::MariaDb | Kind::MySql => "lower(hex(payload_binary))",
        };
        let rows = client.rows(&format!(
            "SELECT payload, {digits} FROM redeliver_outbox ORDER BY number"
        ));
        let rows: Vec<(Option<&str>, Option<&str>)> = rows
            .iter()
            .map(|row| {
                (
                    row[0].as_deref(),
                    row[1].as_deref().filter(|digits| !digits.is_empty()),
                )
            })
            .collect();
        let expected = [(None, Some("00ff80")), (Some("{}"), None), (None, Some("6100"))];
        assert_eq!(rows, expected, "{kind:?}");
    }
}
