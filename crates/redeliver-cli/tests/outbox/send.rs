use crate::bench::Folder;

#[test]
fn a_new_outbox_takes_messages_and_a_relay_without_configuration_shows_them() {
    let folder = Folder::new();
    let sent = folder
        .run(&["send", "--to", "log", "--key", "k", "--payload", r#"{"hello":1}"#])
        .done();
    assert!(
        sent.err
            .contains("sqlite://redeliver.db: new, and now has the outbox's tables"),
        "{}",
        sent.err
    );
    let id = sent.out.trim();
    let served = folder.serve();
    assert_eq!(served.out, format!("{id} log k {{\"hello\":1}}\n"));
    assert!(served.err.contains("without a configuration"), "{}", served.err);
    let shown = folder.show(id);
    assert_eq!(
        (&shown["status"], &shown["attempts"]),
        (&"sent".into(), &1.into())
    );
    assert_eq!(shown["payload"], r#"{"hello":1}"#);
    let status = folder.status();
    for (figure, count) in [
        ("due_now", 0),
        ("waiting", 0),
        ("in_flight", 0),
        ("parked", 0),
        ("sent", 1),
        ("dead", 0),
        ("oldest_lag_ms", 0),
    ] {
        assert_eq!(status[figure], count, "{figure}");
    }
}

#[test]
fn every_field_reaches_the_outbox() {
    let folder = Folder::new();
    folder.write("payload.xml", "<order/>\n");
    let sent = folder.run(&[
        "send",
        "--to",
        "api",
        "--key",
        "order-7",
        "--payload",
        "@payload.xml",
        "--delay",
        "1h",
        "--expires-in",
        "2h",
        "--header",
        "X-Tenant: acme",
        "--header",
        "X-Trace: 7",
        "--deduplication-key",
        "d",
        "--content-type",
        "text/xml",
        "--json",
    ]);
    let first = sent.done().json().remove(0);
    assert_eq!(
        (&first["number"], &first["duplicate"]),
        (&1.into(), &false.into())
    );
    let shown = folder.show("1");
    assert_eq!(shown["id"], first["id"]);
    assert_eq!(shown["payload"], "<order/>\n");
    assert_eq!(shown["content_type"], "text/xml");
    assert_eq!(
        shown["headers"],
        serde_json::json!({ "X-Tenant": "acme", "X-Trace": "7" })
    );
    assert_eq!(
        (&shown["key"], &shown["destination"]),
        (&"order-7".into(), &"api".into())
    );
    assert!(shown["expires_at"].as_str() > shown["next_attempt_at"].as_str());
    assert!(shown["next_attempt_at"].as_str() > shown["created_at"].as_str());

    let again = folder
        .run(&[
            "send",
            "--to",
            "api",
            "--payload",
            "2",
            "--deduplication-key",
            "d",
        ])
        .done();
    assert_eq!(again.out.trim(), first["id"]);
    assert!(
        again.err.contains("de-duplication key was there before"),
        "{}",
        again.err
    );
    assert_eq!(folder.status()["waiting"], 1);
}

#[test]
fn each_line_of_a_file_is_a_message() {
    let folder = Folder::new();
    let lines: String = (1..=1234).map(|number| format!("{{\"n\":{number}}}\n")).collect();
    folder.write("lines.jsonl", &lines);
    let sent = folder
        .run(&["send", "--to", "log", "--lines", "lines.jsonl"])
        .done();
    assert_eq!(sent.out.lines().count(), 1234);
    assert!(
        sent.err.ends_with("1234 messages are in the outbox\n"),
        "{}",
        sent.err
    );
    let listed = folder
        .run(&["list", "--json", "--payloads", "--limit", "2", "--after", "1232"])
        .done();
    let payloads: Vec<_> = listed
        .json()
        .iter()
        .map(|message| message["payload"].clone())
        .collect();
    assert_eq!(payloads, [r#"{"n":1233}"#, r#"{"n":1234}"#]);
    assert!(listed.err.contains("--after 1234"), "{}", listed.err);

    let piped = folder
        .feed(
            &["send", "--to", "log", "--lines", "-", "-q"],
            b"1\r\n\n\xff\xfe\n",
        )
        .done();
    assert_eq!(piped.out, "");
    assert_eq!(folder.show("1235")["payload"], "1");
    assert_eq!(folder.show("1236")["payload_base64"], "//4=");
    assert_eq!(folder.status()["due_now"], 1236);
}

#[test]
fn what_comes_before_a_bad_line_is_kept_and_told() {
    let folder = Folder::new();
    folder.write("lines", format!("1\n2\n{}\n4\n", "x".repeat(1 << 21)));
    let ran = folder.run(&["send", "--to", "log", "--lines", "lines"]);
    assert_eq!((ran.code, ran.out.lines().count()), (Some(2), 2));
    assert!(ran.err.contains("2 messages are in the outbox"), "{}", ran.err);
    assert!(
        ran.err
            .contains("error: --lines lines:3: the message's payload has "),
        "{}",
        ran.err
    );
    assert_eq!(folder.status()["due_now"], 2);
}
