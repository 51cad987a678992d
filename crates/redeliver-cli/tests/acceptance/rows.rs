//! Rows that anybody may write with plain SQL.

use crate::{
    client::Client,
    database::{ALL, Database, Kind},
    endpoint::Endpoint,
    relay::{Relay, await_that},
};

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Sent,
    Dead(&'static str),
    /// The database does not take it.
    Refused,
}

use Fate::{Dead, Refused, Sent};

/// Columns and values of a row, beside its destination and payload or instead of them; and its fate.
fn rows(kind: Kind) -> Vec<(&'static str, String, Fate)> {
    let on = |sqlite, postgres, maria| match kind {
        Kind::Sqlite => sqlite,
        Kind::Postgres => postgres,
        Kind::MariaDb | Kind::MySql => maria,
    };
    let long = |length: usize| format!("'{}'", "k".repeat(length));
    let bytes = |hex: &str| match kind {
        Kind::Postgres => format!("'\\x{hex}'"),
        _ => format!("x'{hex}'"),
    };
    let json = |text: &str| format!("'{text}'");
    let plain = "'text/plain'";
    let year_one = match kind {
        Kind::Sqlite => "-62135596800000",
        Kind::Postgres => "'0001-01-01 00:00:00+00'",
        Kind::MariaDb | Kind::MySql => "'0001-01-01 00:00:00'",
    };
    let before_christ = match kind {
        Kind::Sqlite => "-9223372036854775808",
        Kind::Postgres => "'4000-01-01 00:00:00+00 BC'",
        Kind::MariaDb | Kind::MySql => "'0000-00-00 00:00:00'",
    };
    let lists: Vec<(&'static str, Vec<String>, Fate)> = vec![
        (
            "destination",
            vec!["'nowhere'".into()],
            Dead("unknown_destination"),
        ),
        ("destination", vec!["''".into()], Refused),
        ("destination, topic", vec!["''".into(), "''".into()], Refused),
        (
            "destination, topic",
            vec!["''".into(), "'orders.paid'".into()],
            Dead("no_route"),
        ),
        (
            "destination, topic",
            vec!["''".into(), "'a..b'".into()],
            Dead("no_route"),
        ),
        ("topic", vec!["'orders.paid'".into()], Sent),
        (
            "destination",
            vec![long(10_000)],
            on(Dead("unknown_destination"), Dead("unknown_destination"), Refused),
        ),
        ("payload", vec!["'{oops'".into()], Dead("invalid_payload")),
        ("payload", vec!["''".into()], Dead("invalid_payload")),
        ("payload", vec!["NULL".into()], Refused),
        ("payload", vec![long((1 << 20) + 1)], Dead("too_large")),
        ("payload", vec![json(r#"{"emoji":"🦀","quote":"''\""}"#)], Sent),
        (
            "headers",
            vec![json(r#"{"x-a":"b\r\nx-c: d"}"#)],
            Dead("invalid_headers"),
        ),
        ("headers", vec!["'no object'".into()], Dead("invalid_headers")),
        ("headers", vec!["'[1]'".into()], Dead("invalid_headers")),
        ("headers", vec![json(r#"{"x-tenant":"acme"}"#)], Sent),
        (
            "content_type",
            vec!["'text/plain\nx-c: d'".into()],
            Dead("invalid_headers"),
        ),
        (
            "content_type",
            vec![long(10_000)],
            on(Dead("invalid_headers"), Dead("invalid_headers"), Refused),
        ),
        ("traceparent", vec!["'a\nb'".into()], Dead("invalid_headers")),
        (
            "lane",
            vec![long(10_000)],
            on(Dead("invalid_key"), Dead("invalid_key"), Refused),
        ),
        ("lane", vec!["'a key'".into()], Sent),
        ("payload_binary", vec![bytes("7b007d")], Dead("invalid_payload")),
        (
            "payload_binary, content_type",
            vec![bytes("7b007dff"), plain.into()],
            Sent,
        ),
        ("expires_at", vec![kind.time_from_now(-1_000)], Dead("expired")),
        ("expires_at", vec![year_one.into()], Dead("expired")),
        ("expires_at", vec![before_christ.into()], Dead("expired")),
        ("not_before", vec![year_one.into()], Sent),
        ("not_before", vec![before_christ.into()], Sent),
        ("not_before", vec!["'soon'".into()], Refused),
        ("created_at", vec![year_one.into()], Sent),
        ("attempts", vec!["-1".into()], Refused),
        ("destination", vec!["NULL".into()], Refused),
    ];
    let lists = lists.into_iter();
    lists
        .map(|(columns, values, fate)| (columns, values.join(", "), fate))
        .collect()
}

/// The row, with whatever it does not say itself.
fn insert(client: &mut Client, columns: &str, values: &str) -> Result<(), String> {
    let mut names = columns.to_owned();
    let mut all = values.to_owned();
    for (name, value) in [("destination", "'api'"), ("payload", "'{\"n\":1}'")] {
        if !columns.contains(name) {
            names = format!("{names}, {name}");
            all = format!("{all}, {value}");
        }
    }
    let sql = format!("INSERT INTO redeliver_outbox ({names}) VALUES ({all})");
    client.ask(&sql).map(drop)
}

#[test]
fn what_cannot_be_sent_is_quarantined_or_refused_and_its_neighbours_arrive() {
    for kind in ALL {
        let (database, endpoint) = (Database::new(kind), Endpoint::well());
        endpoint.configure(&database, "/ok", "2s");
        let mut client = database.client();
        if kind == Kind::MySql {
            // Its own modes refuse dates of zeros; those of an application need not.
            client.run("SET sql_mode = 'STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES'");
        }
        // Rows come while the relay runs, and between good ones of the same lanes.
        let relay = Relay::start(&database);
        let (mut expected, mut good) = (Vec::new(), 0);
        for (index, (columns, values, fate)) in rows(kind).into_iter().enumerate() {
            let shown: String = format!("{columns} = {values}").chars().take(60).collect();
            insert(&mut client, "traceparent", &format!("'good-{index}'")).unwrap();
            good += 1;
            let taken = insert(&mut client, columns, &values);
            match fate {
                Refused => drop(taken.expect_err(&shown)),
                fate => {
                    taken.unwrap_or_else(|error| panic!("{kind:?}: {shown}: {error}"));
                    expected.push((shown, fate));
                }
            }
        }
        await_that("nothing is left", || {
            (client.number("SELECT count(*) FROM redeliver_outbox") == 0).then_some(())
        });
        let ends = client.rows(
            "SELECT status, dead_letter_reason, attempts, last_error FROM redeliver_messages \
             WHERE traceparent IS NULL OR traceparent NOT LIKE 'good-%' ORDER BY number",
        );
        assert_eq!(ends.len(), expected.len(), "{kind:?}");
        for ((row, fate), end) in expected.iter().zip(&ends) {
            let [Some(status), reason, Some(attempts), error] = &end[..] else {
                panic!("{end:?}")
            };
            match fate {
                Dead(expected) => {
                    let told = (status.as_str(), reason.as_deref(), attempts.as_str());
                    assert_eq!(told, ("dead_lettered", Some(*expected), "0"), "{kind:?}: {row}");
                    assert!(error.as_deref().is_some_and(|error| !error.is_empty()), "{row}");
                }
                _ => assert_eq!(status, "sent", "{kind:?}: {row}: {error:?}"),
            }
        }
        let sent = expected.iter().filter(|(_, fate)| *fate == Sent).count();
        assert_eq!(endpoint.arrived().len(), good + sent, "{kind:?}");
        endpoint.assert_no_duplicate();
        relay.stop();
    }
}
