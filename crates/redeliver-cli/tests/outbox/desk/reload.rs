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
