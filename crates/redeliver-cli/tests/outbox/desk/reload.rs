//! A configuration that is changed while everything runs.

use serde_json::json;

use super::Desk;
use crate::bench::Folder;

const TOKEN: &str = "[server.tokens]\nalice = { secret = \"alice-0123456789\", role = \"operate\" }\n";

#[cfg(unix)]
#[test]
fn another_configuration_takes_over_without_a_stop() {
    let folder = Folder::new();
    folder.write("redeliver.toml", "[destinations.one]\ntype = \"log\"\n");
    let desk = Desk::open(&folder);
    let send = |to: &str| {
        let sent = desk.post("/api/v1/messages", &json!({ "destination": to, "json": 1 }));
        format!("/api/v1/messages/{}", sent.json()["number"])
    };
    desk.until(&send("one"), |answer| answer.json()["status"] == "sent");
    desk.until(&send("two"), |answer| answer.json()["status"] == "dead_lettered");
    folder.write(
        "redeliver.toml",
        "prefix = \"other_\"\n[destinations.two]\ntype = \"log\"\n",
    );
    desk.signal("-HUP");
    let told = desk.until_said("reloaded");
    assert_eq!(
        (&told["destinations"], &told["needs_restart"]),
        (&json!(["two"]), &json!(["schema and prefix"]))
    );
    desk.until(&send("two"), |answer| answer.json()["status"] == "sent");
    desk.until(&send("one"), |answer| answer.json()["status"] == "dead_lettered");
    folder.write("redeliver.toml", "[destinations.three]\ntype = \"pigeon\"\n");
    desk.signal("-HUP");
    let told = desk.until_said("not_reloaded");
    assert!(
        told["error"].as_str().unwrap().contains("redeliver.toml:2:8"),
        "{told}"
    );
    desk.until(&send("two"), |answer| answer.json()["status"] == "sent");
    desk.signal("-TERM");
    let told = desk.until_said("stopped");
    assert_eq!(
        (&told["clean"], &told["delivered"]),
        (&true.into(), &3.into()),
        "{told}"
    );
    assert_eq!(desk.ended(), Some(0));
}

#[cfg(unix)]
#[test]
fn a_token_that_is_taken_away_is_one_no_more() {
    let folder = Folder::new();
    folder.write("redeliver.toml", TOKEN);
    let desk = Desk::open(&folder);
    let alice = [("authorization", "Bearer alice-0123456789")];
    let bob = [("authorization", "Bearer bob-0123456789ab")];
    let status = |token: &[(&str, &str)]| desk.send("GET", "/api/v1/workers", token, None).status;
    assert_eq!((status(&alice), status(&bob)), (200, 401));
    folder.write(
        "redeliver.toml",
        TOKEN.replace("alice", "bob").replace("89\"", "89ab\""),
    );
    desk.signal("-HUP");
    desk.until_said("reloaded");
    assert_eq!((status(&alice), status(&bob)), (401, 200));
}

#[cfg(unix)]
#[test]
fn a_configuration_that_is_lost_changes_nothing() {
    const ONE: &str = "[destinations.one]\ntype = \"log\"\n";
    let folder = Folder::new();
    folder.write("redeliver.toml", format!("{ONE}{TOKEN}"));
    let desk = Desk::open(&folder);
    let alice = [
        ("authorization", "Bearer alice-0123456789"),
        ("content-type", "application/json"),
    ];
    for (text, part) in [
        (None, "redeliver.toml: is not there any more"),
        (Some(""), "redeliver.toml: says nothing any more"),
        (Some("# later\n"), "says nothing any more"),
        (Some(TOKEN), "names no destination any more"),
        (Some(ONE), "names no token any more"),
    ] {
        match text {
            Some(text) => folder.write("redeliver.toml", text),
            None => std::fs::remove_file(folder.0.join("redeliver.toml")).unwrap(),
        }
        desk.signal("-HUP");
        let told = desk.until_said("not_reloaded");
        let error = told["error"].as_str().unwrap();
        assert!(error.contains(part) && error.contains("restart"), "{error}");
        assert_eq!(desk.get("/api/v1/workers").status, 401, "{part}");
        let sent = desk.send(
            "POST",
            "/api/v1/messages",
            &alice,
            Some("{\"destination\":\"one\",\"json\":1}"),
        );
        assert_eq!(sent.status, 201, "{sent:?}");
        let shown = desk.until_said("message");
        assert_eq!(shown["destination"], "one");
    }
    folder.write("redeliver.toml", format!("{}{TOKEN}", ONE.replace("one", "two")));
    desk.signal("-HUP");
    assert_eq!(desk.until_said("reloaded")["destinations"], json!(["two"]));
}

#[cfg(unix)]
#[test]
fn what_waits_for_the_next_start_is_told_every_time() {
    let folder = Folder::new();
    folder.write("redeliver.toml", "[destinations.one]\ntype = \"log\"\n");
    let desk = Desk::open(&folder);
    folder.write(
        "redeliver.toml",
        "database = \"sqlite://other.db\"\nprefix = \"other_\"\n[relay]\nhistory = false\n[server]\nlisten = \"off\"\n\
         [telemetry]\notlp = \"http://127.0.0.1:9\"\n[destinations.one]\ntype = \"log\"\n",
    );
    for _ in 0..2 {
        desk.signal("-HUP");
        assert_eq!(
            desk.until_said("reloaded")["needs_restart"],
            json!([
                "database",
                "schema and prefix",
                "relay.history",
                "server.listen",
                "telemetry"
            ])
        );
    }
}

/// The value of a sample, if there is one.
#[cfg(unix)]
fn sample(desk: &Desk, name: &str) -> Option<f64> {
    let page = desk.get("/metrics").body;
    let line = page.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().parse().ok()
}

#[cfg(unix)]
#[test]
fn what_was_counted_goes_on_with_another_configuration() {
    let folder = Folder::new();
    folder.write("redeliver.toml", "[destinations.one]\ntype = \"log\"\n");
    let desk = Desk::open(&folder);
    let send = |to: &str| {
        let sent = desk.post("/api/v1/messages", &json!({ "destination": to, "json": 1 }));
        let message = format!("/api/v1/messages/{}", sent.json()["number"]);
        desk.until(&message, |answer| answer.json()["status"] == "sent");
    };
    send("one");
    let one = "redeliver_delivered_total{destination=\"one\"}";
    let started = sample(&desk, "process_start_time_seconds");
    assert_eq!(sample(&desk, one), Some(1.0));
    let drawn = desk.get("/charts/flow").json()["times"][0].clone();
    assert!(drawn.is_f64(), "{drawn}");
    desk.until("/metrics", |answer| {
        answer.body.contains("redeliver_database_up 1")
    });
    folder.write(
        "redeliver.toml",
        "[destinations.one]\ntype = \"log\"\n[destinations.two]\ntype = \"log\"\n",
    );
    desk.signal("-HUP");
    desk.until_said("reloaded");
    assert_eq!(sample(&desk, one), Some(1.0), "a counter never falls");
    assert_eq!(sample(&desk, "redeliver_database_up"), Some(1.0));
    assert_eq!(sample(&desk, "process_start_time_seconds"), started);
    assert_eq!(
        sample(&desk, "redeliver_relays"),
        Some(1.0),
        "of those that run now"
    );
    assert_eq!(desk.get("/charts/flow").json()["times"][0], drawn, "charts go on");
    send("one");
    send("two");
    assert_eq!(sample(&desk, one), Some(2.0));
    // A destination that is gone has been sent to all the same.
    folder.write("redeliver.toml", "[destinations.two]\ntype = \"log\"\n");
    desk.signal("-HUP");
    desk.until_said("reloaded");
    assert_eq!(sample(&desk, one), Some(2.0));
}
