//! Rows that anybody may have written with plain SQL.

use std::collections::BTreeMap;

use rusqlite::{Connection, types::Value};

use crate::bench::{Folder, Lab};

/// Inserts a row with these columns.
fn insert(database: &Connection, columns: &[(&str, Value)]) {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let places = vec!["?"; columns.len()].join(", ");
    let statement = format!(
        "INSERT INTO redeliver_outbox ({}) VALUES ({places})",
        names.join(", ")
    );
    let values = columns.iter().map(|(_, value)| value);
    database
        .execute(&statement, rusqlite::params_from_iter(values))
        .unwrap();
}

fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

#[test]
fn what_cannot_be_sent_is_quarantined_with_its_reason_and_holds_nobody_up() {
    let (folder, lab) = (Folder::new(), Lab::start());
    lab.configure(&folder, "/ok");
    folder.run(&["migrate"]).done();
    let database = Connection::open(folder.0.join("redeliver.db")).unwrap();
    let good = [("destination", text("api")), ("payload", text("{\"n\":1}"))];
    insert(&database, &good);
    let with = |change: (&'static str, Value)| {
        let others = good.iter().filter(|(name, _)| *name != change.0).cloned();
        others.chain([change.clone()]).collect::<Vec<_>>()
    };
    for row in [
        with(("destination", text("nowhere"))),
        vec![("topic", text("no.where")), ("payload", text("{}"))],
        with(("payload", text("{oops"))),
        with(("payload", text("x".repeat((1 << 20) + 1)))),
        with(("headers", text(r#"{"x-a":"b\r\nx-c: d"}"#))),
        with(("headers", text("no object"))),
        with(("lane", text("k".repeat(10_000)))),
        with(("content_type", text("text/plain\r\nx-c: d"))),
        vec![
            ("destination", text("api")),
            ("payload_binary", Value::Blob(vec![0, 1, 0xff])),
        ],
        vec![
            ("destination", text("api")),
            ("payload", text("{}")),
            ("expires_at", Value::Integer(1)),
        ],
    ] {
        insert(&database, &row);
    }
    insert(&database, &good);
    drop(database);
    folder.serve();
    let listed = folder.run(&["list", "--json"]).done().json();
    let ends: BTreeMap<i64, String> = listed
        .iter()
        .map(|message| {
            let reason = message["dead_letter_reason"].as_str().unwrap_or("sent");
            (message["number"].as_i64().unwrap(), reason.to_owned())
        })
        .collect();
    let expected = [
        "sent",
        "unknown_destination",
        "no_route",
        "invalid_payload",
        "too_large",
        "invalid_headers",
        "invalid_headers",
        "invalid_key",
        "invalid_headers",
        "invalid_payload",
        "expired",
        "sent",
    ];
    assert_eq!(ends.values().collect::<Vec<_>>(), expected);
    assert_eq!(lab.server.stats().requests, 2);
    assert!(
        listed
            .iter()
            .all(|message| message["attempts"] == i64::from(message["status"] == "sent"))
    );
}
