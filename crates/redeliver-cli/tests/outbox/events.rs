//! What a relay tells, against docs/events.md.

use std::collections::{BTreeMap, BTreeSet};

use crate::bench::{Folder, Lab};

const PAGE: &str = include_str!("../../../../docs/events.md");

/// What stands in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn documented() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let rows = PAGE.lines().filter(|line| line.starts_with("| `"));
    let told = rows.map(|row| {
        let cells: Vec<&str> = row.split(" | ").collect();
        (quoted(cells[0]).next().unwrap(), quoted(cells[2]).collect())
    });
    told.collect()
}

#[test]
fn every_retry_is_one_event_with_all_that_is_known_of_it() {
    let (folder, lab) = (Folder::new(), Lab::start());
    lab.configure(&folder, "/status/500");
    let config = std::fs::read_to_string(folder.0.join("redeliver.toml")).unwrap();
    folder.write(
        "redeliver.toml",
        config.replace("max_attempts = 20", "max_attempts = 3"),
    );
    folder.run(&["migrate"]).done();
    let database = rusqlite::Connection::open(folder.0.join("redeliver.db")).unwrap();
    let row = "INSERT INTO redeliver_outbox (destination, payload, topic, traceparent) VALUES ('api', '{}', 'orders', ?)";
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let parent = format!("00-{trace}-b7ad6b7169203331-01");
    database.execute(row, [parent]).unwrap();
    let told = folder
        .run(&["serve", "--until-empty", "--for", "2m", "--json", "-v"])
        .done()
        .json();
    let documented = documented();
    for line in told.iter().filter(|line| line["event"] != "log") {
        let event = line["event"].as_str().unwrap();
        let fields = &documented[event];
        for (field, _) in line
            .as_object()
            .unwrap()
            .iter()
            .filter(|(name, _)| !["event", "at"].contains(&name.as_str()))
        {
            assert!(fields.contains(field.as_str()), "{field} of {line}");
        }
    }
    let of = |event: &str| {
        told.iter()
            .filter(|line| line["event"] == event)
            .collect::<Vec<_>>()
    };
    let retries = of("retry_attempt");
    assert_eq!(retries.len(), 2, "{told:#?}");
    for (number, retry) in (1_u64..).zip(retries) {
        assert_eq!((&retry["attempt"], &retry["max"]), (&number.into(), &3.into()));
        assert!(retry["delay_ms"].is_u64(), "{retry}");
        for field in ["error_type", "error_message", "timestamp", "message_id"] {
            assert!(
                retry[field].as_str().is_some_and(|text| !text.is_empty()),
                "{field} of {retry}"
            );
        }
        assert_eq!(
            (&retry["trace_id"], &retry["destination"]),
            (&trace.into(), &"api".into())
        );
    }
    let dead = of("dead_lettered");
    assert_eq!(dead.len(), 1, "{told:#?}");
    assert_eq!(
        (&dead[0]["attempts"], &dead[0]["trace_id"]),
        (&3.into(), &trace.into())
    );
    assert_eq!(
        (&dead[0]["topic"], &dead[0]["reason"]),
        (&"orders".into(), &"attempts_exhausted".into())
    );
}
