use crate::bench::Folder;

/// A snapshot without what is another in every run.
pub(crate) fn snapshot(name: &str, text: &str) {
    let filters = vec![
        (
            r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
            "00000000-0000-8000-8000-000000000000",
        ),
        (
            r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",
            "1970-01-01T00:00:00.000Z",
        ),
        (r"\b[\d.]+(ms|s|m) ago", "1s ago"),
        (r"\bin (\d+m [\d.]+s|[\d.]+m|1h)", "in 1h"),
        (r" {2,}\d[\d.]*(ms|s)\n", "  1s\n"),
        (r" {2,}", "  "),
        (r"─+", "─"),
    ];
    insta::with_settings!({ filters => filters }, { insta::assert_snapshot!(name, text); });
}

#[test]
fn a_person_sees_what_there_is() {
    let folder = Folder::new();
    folder.run(&["migrate"]).done();
    snapshot("nothing_to_list", &folder.run(&["list"]).done().out);
    folder
        .run(&[
            "send",
            "--to",
            "log",
            "--key",
            "order-7",
            "--payload",
            "{\"n\":1}",
        ])
        .done();
    folder
        .run(&["send", "--to", "nowhere", "--payload", "{\"n\":2}"])
        .done();
    folder.serve();
    folder
        .run(&[
            "send",
            "--to",
            "log",
            "--key",
            "order-7",
            "--payload",
            "{\"n\":3}",
            "--delay",
            "1h",
        ])
        .done();
    folder
        .run(&[
            "send",
            "--to",
            "log",
            "--key",
            "order-7",
            "--payload",
            "{\"n\":4}",
        ])
        .done();
    for (name, arguments) in [
        ("status", &["status"][..]),
        ("list", &["list"]),
        (
            "list_newest",
            &["list", "--newest", "--limit", "1", "--status", "pending,sent"],
        ),
        ("dead_list", &["dead", "list"]),
        ("show_dead", &["show", "2"]),
        ("why_sent", &["why", "1"]),
        ("why_dead", &["why", "2"]),
        ("why_later", &["why", "3"]),
        ("why_behind", &["why", "4"]),
    ] {
        snapshot(name, &folder.run(arguments).done().out);
    }
}

#[test]
fn filters_narrow() {
    let folder = Folder::new();
    for (to, key) in [("a", "x"), ("a", "y"), ("b", "x")] {
        folder
            .run(&["send", "--to", to, "--key", key, "--payload", "1"])
            .done();
    }
    let count = |arguments: &[&str]| {
        let ran = folder.run(&[&["list", "--json"][..], arguments].concat());
        ran.done().json().len()
    };
    assert_eq!(count(&[]), 3);
    assert_eq!(count(&["--to", "a"]), 2);
    assert_eq!(count(&["--to", "a", "--key", "x"]), 1);
    assert_eq!(count(&["--since", "1h"]), 3);
    assert_eq!(count(&["--until", "1h"]), 0);
    assert_eq!(count(&["--since", "2100-01-01"]), 0);
    assert_eq!(count(&["--attempts-from", "1"]), 0);
    assert_eq!(count(&["--status", "sent,dead_lettered"]), 0);
    assert_eq!(count(&["--error", "x"]), 0);
    assert_eq!(count(&["--reason", "permanent"]), 0);
}

#[test]
fn the_payload_comes_as_it_is() {
    let folder = Folder::new();
    folder
        .feed(
            &["send", "--to", "log", "--payload", "-"],
            "{\"🦀\": 1}\n\n".as_bytes(),
        )
        .done();
    assert_eq!(folder.run(&["show", "1", "--raw"]).done().out, "{\"🦀\": 1}\n\n");
}

#[test]
fn a_doctor_finds_messages_that_nobody_will_take() {
    let folder = Folder::new();
    folder.write("redeliver.toml", "[destinations.audit]\ntype = \"log\"\n");
    folder.run(&["send", "--to", "audit", "--payload", "1"]).done();
    folder.run(&["doctor"]).done();
    folder.run(&["send", "--to", "billing", "--payload", "1"]).done();
    let ran = folder.run(&["doctor", "--json"]);
    assert_eq!(ran.code, Some(7), "{ran:?}");
    let problem = ran
        .json()
        .into_iter()
        .find(|finding| finding["grade"] == "problem")
        .unwrap();
    assert_eq!(problem["topic"], "destinations");
    assert!(
        problem["what"].as_str().unwrap().contains("\"billing\""),
        "{problem}"
    );
}

#[test]
fn what_was_put_away_for_a_destination_that_left_is_found_and_quarantined() {
    let folder = Folder::new();
    folder.write("redeliver.toml", "[destinations.audit]\ntype = \"log\"\n");
    folder.run(&["send", "--to", "billing", "--payload", "1"]).done();
    let database = rusqlite::Connection::open(folder.0.join("redeliver.db")).unwrap();
    // As a relay leaves it that had the destination, while it was down.
    let away = "UPDATE redeliver_outbox SET next_attempt_at = 253402214400000";
    assert_eq!(database.execute(away, []).unwrap(), 1);
    let ran = folder.run(&["doctor"]);
    assert_eq!(ran.code, Some(7), "{ran:?}");
    assert!(ran.out.contains("1 live messages are to \"billing\""), "{ran:?}");
    folder.run(&["serve", "--until-empty", "--for", "2m"]).done();
    let dead = folder.run(&["list", "--reason", "unknown_destination", "--json"]);
    assert_eq!(dead.done().json().len(), 1);
}
