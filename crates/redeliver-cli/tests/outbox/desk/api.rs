//! What a program does at the desk.

use serde_json::{Value, json};

use super::{Answer, Desk};
use crate::bench::{Folder, Lab};

pub(super) fn opened() -> (Folder, Desk) {
    let folder = Folder::new();
    let desk = Desk::open(&folder);
    (folder, desk)
}

#[test]
fn what_would_be_too_much_at_once_comes_with_the_next_page() {
    let (_folder, desk) = opened();
    let large = "x".repeat(900_000);
    for number in 1..=25 {
        let message = json!({ "destination": "nowhere", "payload": large, "key": number.to_string() });
        assert_eq!(desk.post("/api/v1/messages", &message).status, 201);
    }
    let (mut found, mut next, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = desk
            .get(&format!("/api/v1/messages?payloads=true&limit=100{next}"))
            .json();
        let items = page["items"].as_array().unwrap();
        assert!(items.iter().all(|item| item["payload"] == large.as_str()));
        found.extend(items.iter().map(|item| item["number"].as_i64().unwrap()));
        pages += 1;
        if page["next"].is_null() {
            assert_eq!(page["complete"], true);
            break;
        }
        assert_eq!((items.len(), &page["complete"]), (10, &false.into()));
        next = format!("&after={}", page["next"]);
    }
    assert_eq!((found, pages), ((1..=25).collect(), 3));
}

#[test]
fn a_dead_letter_is_found_mended_and_put_back() {
    let (folder, desk) = opened();
    for number in 1..=3 {
        let message = json!({ "destination": "nowhere", "json": number });
        assert_eq!(desk.post("/api/v1/messages", &message).status, 201);
    }
    let dead = "/api/v1/messages?status=dead_lettered&reason=unknown_destination";
    desk.until(dead, |answer| {
        answer.json()["items"].as_array().unwrap().len() == 3
    });
    let json = [("content-type", "application/json")];
    let edit = r#"{"destination":"log","payload":"{\"mended\":true}","who":"bob","why":"a typo"}"#;
    let edited = desk.send("PATCH", "/api/v1/messages/1", &json, Some(edit));
    assert_eq!(edited.status, 200, "{edited:?}");
    let lost = r#"{"destination":"lgo"}"#;
    let refused = desk.send("PATCH", "/api/v1/messages/1", &json, Some(lost));
    assert_eq!(refused.status, 400, "{refused:?}");
    assert!(refused.body.contains("which has log"), "{}", refused.body);
    let moved = json!({ "preview": true, "filter": { "destination": "nowhere" }, "destination": "lgo" });
    assert_eq!(desk.post("/api/v1/dead/patch", &moved).status, 400);
    let stale = r#"{"content_type":"text/plain","version":"0.0"}"#;
    let refused = desk.send("PATCH", "/api/v1/messages/1", &json, Some(stale));
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(refused.body.contains("bob did"), "{}", refused.body);
    assert_eq!(desk.get("/api/v1/messages/1").json()["version"], "0.1");
    let one = json!({ "filter": { "messages": "1" }, "act": { "who": "bob", "why": "mended" } });
    let preview = json!({ "filter": { "messages": "1" }, "preview": true });
    let told = desk.post("/api/v1/dead/redrive", &preview).json();
    assert_eq!((&told["matching"], &told["done"]), (&1.into(), &json!([])));
    assert_eq!(told.get("warning"), None);
    // As if it had been attempted eight days ago: a consumer's inbox may have forgotten its id.
    let database = rusqlite::Connection::open(folder.0.join("redeliver.db")).unwrap();
    let past = "UPDATE redeliver_dead SET created_at = created_at - 691200000, attempts = 1 WHERE number = 1";
    database.execute(past, []).unwrap();
    let told = desk.post("/api/v1/dead/redrive", &preview).json();
    assert!(
        told["warning"]
            .as_str()
            .unwrap()
            .contains("inserted more than 7d ago"),
        "{told}"
    );
    assert!(desk.get("/messages/1").body.contains("inserted more than 7d ago"));
    assert_eq!(
        desk.post("/api/v1/dead/redrive", &one).json()["done"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    // Said twice, done once.
    assert_eq!(desk.post("/api/v1/dead/redrive", &one).json()["done"], json!([]));
    let sent = desk
        .until("/api/v1/messages/1", |answer| answer.json()["status"] == "sent")
        .json();
    assert_eq!(
        (&sent["payload"], &sent["redrives"]),
        (&r#"{"mended":true}"#.into(), &1.into())
    );
    let late = desk.send("PATCH", "/api/v1/messages/1", &json, Some(edit));
    assert_eq!((late.status, &late.json()["type"]), (409, &"conflict".into()));
    assert!(late.body.contains("sent"), "{late:?}");
    let unsaid = json!({ "filter": { "destination": "nowhere" } });
    assert_eq!(desk.post("/api/v1/dead/discard", &unsaid).status, 400);
    let said = json!({ "filter": { "destination": "nowhere" }, "act": { "why": "a test" } });
    assert_eq!(
        desk.post("/api/v1/dead/discard", &said).json()["done"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let acts = desk.get("/api/v1/audit").json();
    let acts: Vec<(&str, &str)> = acts["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|act| (act["action"].as_str().unwrap(), act["who"].as_str().unwrap()))
        .collect();
    assert_eq!(
        acts,
        [
            ("discard", "api"),
            ("discard", "api"),
            ("redrive", "bob"),
            ("edit", "bob")
        ]
    );
}

#[test]
fn many_are_patched_after_a_look_and_who_was_quicker_is_left_alone() {
    let (_folder, desk) = opened();
    for number in 1..=3 {
        let message = json!({ "destination": "nowhere", "json": { "n": number } });
        assert_eq!(desk.post("/api/v1/messages", &message).status, 201);
    }
    desk.until("/api/v1/messages?status=dead_lettered", |answer| {
        answer.json()["items"].as_array().unwrap().len() == 3
    });
    let path = "/api/v1/dead/patch";
    for wrong in [
        json!({}),
        json!({ "patch": { "n": 9 } }),
        json!({ "patch": { "n": 9 }, "preview": true }),
        json!({ "patch": [], "seen": "1:0.0" }),
        json!({ "patch": { "n": 9 }, "seen": "everything" }),
        json!({ "patch": { "n": 9 }, "preview": true, "filter": {}, "at_most": 1001 }),
        json!({ "destination": "", "seen": "1:0.0" }),
    ] {
        let refused = desk.post(path, &wrong);
        assert_eq!(refused.status, 400, "{wrong}: {refused:?}");
    }
    let preview = json!({ "preview": true, "filter": { "destination": "nowhere" }, "patch": { "n": 9 } });
    let shown = desk.post(path, &preview).json();
    assert_eq!((&shown["matching"], &shown["chosen"]), (&3.into(), &3.into()));
    assert_eq!(
        (
            &shown["sample"][0]["before"]["payload"],
            &shown["sample"][0]["after"]["payload"]
        ),
        (&r#"{"n":1}"#.into(), &r#"{"n":9}"#.into())
    );
    let edit = r#"{"json":{"n":2,"by":"bob"},"who":"bob"}"#;
    let json = [("content-type", "application/json")];
    assert_eq!(
        desk.send("PATCH", "/api/v1/messages/2", &json, Some(edit)).status,
        200
    );
    let put_back = json!({ "filter": { "messages": "3" }, "act": { "who": "eve" } });
    assert_eq!(desk.post("/api/v1/dead/redrive", &put_back).status, 200);
    let patch =
        json!({ "patch": { "n": 9 }, "seen": shown["seen"], "act": { "who": "ana", "why": "a typo" } });
    let done = desk.post(path, &patch).json();
    assert_eq!(done["edited"].as_array().unwrap().len(), 1, "{done}");
    for (refused, who, number) in [(0, "bob did", 2), (1, "eve did", 3)] {
        let refused = &done["refused"][refused];
        assert!(refused["what"].as_str().unwrap().contains(who), "{done}");
        assert_eq!(refused["number"], number, "{done}");
    }
    let kept = desk.get("/api/v1/messages/2").json();
    assert_eq!(kept["payload"], r#"{"n":2,"by":"bob"}"#);
    assert_eq!(desk.get("/api/v1/messages/1").json()["payload"], r#"{"n":9}"#);
}

#[test]
fn a_job_that_stopped_goes_on_only_with_a_reason() {
    let (_folder, desk) = opened();
    for number in 1..=6 {
        let message = json!({ "destination": "nowhere", "json": number });
        assert_eq!(desk.post("/api/v1/messages", &message).status, 201);
    }
    desk.until("/api/v1/messages?status=dead_lettered", |answer| {
        answer.json()["items"].as_array().unwrap().len() == 6
    });
    let new = json!({ "filter": { "destination": "nowhere" }, "canary": 2, "interval_ms": 0 });
    assert_eq!(desk.post("/api/v1/jobs", &new).status, 201);
    let stopped = |answer: &Answer| answer.json()["state"] == "stopped";
    desk.until("/api/v1/jobs/1", stopped);
    let page = desk.get("/jobs/1").body;
    assert!(page.contains("Let it go on"), "{page}");
    let resume = "/api/v1/jobs/1/resume";
    let unsaid = desk.post(resume, &json!({}));
    assert_eq!(unsaid.status, 400, "{unsaid:?}");
    assert!(unsaid.body.contains("2 of 2 failed"), "{unsaid:?}");
    let resumed = desk.post(resume, &json!({ "why": "mended, they say" })).json();
    assert_eq!(
        (&resumed["state"], &resumed["excused"]),
        (&"canary".into(), &2.into())
    );
    let again = desk.until("/api/v1/jobs/1", stopped).json();
    assert_eq!(
        (&again["released"], &again["failed"]),
        (&4.into(), &4.into()),
        "{again}"
    );
    let form = [("content-type", "application/x-www-form-urlencoded")];
    assert_eq!(desk.send("POST", "/jobs/1/resume", &form, Some("")).status, 400);
    let went = desk.send("POST", "/jobs/1/resume", &form, Some("why=once+more"));
    assert_eq!(went.status, 303, "{went:?}");
    assert_eq!(
        desk.post("/api/v1/jobs/7/resume", &json!({ "why": "x" })).status,
        404
    );
    let last = desk.until("/api/v1/jobs/1", |answer| {
        stopped(answer) && answer.json()["released"] == 6
    });
    assert_eq!(last.json()["excused"], 4, "{last:?}");
    assert_eq!(desk.post("/api/v1/jobs/1/pause", &json!({})).status, 409);
}

#[test]
fn what_failed_attempts_met_is_told_by_class() {
    let (folder, lab) = (Folder::new(), Lab::start());
    lab.configure(&folder, "/status/503");
    let desk = Desk::open(&folder);
    let message = json!({ "destination": "api", "json": 1 });
    assert_eq!(desk.post("/api/v1/messages", &message).status, 201);
    let told = desk.until("/api/v1/destinations/api", |answer| {
        answer.json()["live"]["failures"]["server_error"].as_u64() > Some(0)
    });
    assert_eq!(told.json()["live"]["failures"]["timeout"], 0, "{told:?}");
    let page = desk.until("/destinations/api", |answer| {
        answer.body.contains("What failed attempts met")
    });
    assert!(
        page.body.contains(">5xx</th>") && page.body.contains("100%"),
        "{}",
        page.body
    );
    let list = desk.get("/destinations").body;
    assert!(list.contains(">5xx "), "{list}");
}

#[test]
fn a_lane_is_parked_and_let_go_on() {
    let (_folder, desk) = opened();
    let lane = json!({ "destination": "log", "key": "7", "act": { "who": "bob", "why": "maintenance" } });
    let nothing = desk.post("/api/v1/lanes/park", &lane);
    assert_eq!(
        (nothing.status, &nothing.json()["type"]),
        (404, &"not-found".into())
    );
    let later = json!({ "destination": "log", "key": "7", "json": 1, "not_before": "2100-01-01T00:00:00Z" });
    desk.post("/api/v1/messages", &later);
    desk.post(
        "/api/v1/messages",
        &json!({ "destination": "log", "key": "8", "json": 1 }),
    );
    let parked = desk.post("/api/v1/lanes/park", &lane).json();
    assert_eq!(
        (&parked["changed"], &parked["hold"]["who"]),
        (&true.into(), &"bob".into())
    );
    assert_eq!(desk.post("/api/v1/lanes/park", &lane).json()["changed"], false);
    let lanes = desk.get("/api/v1/lanes").json();
    assert_eq!(
        (&lanes["items"][0]["standing"], &lanes["items"][0]["why"]),
        (&"held".into(), &"maintenance".into())
    );
    desk.until("/api/v1/messages/2", |answer| answer.json()["status"] == "sent");
    assert_eq!(desk.get("/api/v1/messages/1").json()["status"], "parked");
    let resumed = desk.post("/api/v1/lanes/resume", &lane).json();
    assert_eq!(
        (&resumed["changed"], &resumed["hold"]["why"], &resumed["without"]),
        (&true.into(), &"maintenance".into(), &Value::Null)
    );
    assert_eq!(desk.get("/api/v1/messages/1").json()["status"], "pending");
    assert_eq!(desk.post("/api/v1/lanes/resume", &lane).json()["changed"], false);
    let strange = desk.post(
        "/api/v1/lanes/park",
        &json!({ "destination": "log", "lane": "7" }),
    );
    assert_eq!(strange.status, 400, "{strange:?}");
}

#[test]
fn a_destination_is_held_and_let_go() {
    let (_folder, desk) = opened();
    let why = json!({ "why": "maintenance", "who": "bob" });
    let paused = desk.post("/api/v1/destinations/log/pause", &why).json();
    assert_eq!(
        (&paused["changed"], &paused["hold"]["who"]),
        (&true.into(), &"bob".into())
    );
    assert_eq!(
        desk.post("/api/v1/destinations/log/pause", &why).json()["changed"],
        false
    );
    assert_eq!(desk.get("/api/v1/destinations/log").json()["state"], "paused");
    assert_eq!(
        desk.post("/api/v1/destinations/log/resume", &why).json()["changed"],
        true
    );
    assert_eq!(desk.post("/api/v1/destinations/nowhere/pause", &why).status, 404);
    assert_eq!(desk.get("/api/v1/destinations/nowhere").status, 404);
    let all = desk.get("/api/v1/destinations").json();
    assert_eq!(all["items"][0]["destination"], "log", "{all}");
}

#[test]
fn pages_follow_one_another() {
    let (_folder, desk) = opened();
    let pause = json!({ "why": "so that they stay" });
    desk.post("/api/v1/destinations/log/pause", &pause);
    for number in 0..7 {
        desk.post(
            "/api/v1/messages",
            &json!({ "destination": "log", "payload": number.to_string() }),
        );
    }
    for (order, expected) in [
        ("oldest", [1, 2, 3, 4, 5, 6, 7]),
        ("newest", [7, 6, 5, 4, 3, 2, 1]),
    ] {
        let (mut numbers, mut after) = (Vec::new(), String::new());
        loop {
            let page = desk
                .get(&format!("/api/v1/messages?limit=3&order={order}{after}"))
                .json();
            let items = page["items"].as_array().unwrap();
            numbers.extend(items.iter().map(|item| item["number"].as_i64().unwrap()));
            match page["next"].as_i64() {
                Some(next) => after = format!("&after={next}"),
                None => break,
            }
        }
        assert_eq!(numbers, expected, "{order}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let (_folder, desk) = opened();
    for (body, part) in [
        (json!({}), "nothing to deliver"),
        (json!({ "json": 1 }), "destination"),
        (json!({ "destination": "", "json": 1 }), "destination"),
        (
            json!({ "destination": "log", "json": 1, "payload": "1" }),
            "give one",
        ),
        (
            json!({ "destination": "log", "payload_base64": "?" }),
            "payload_base64",
        ),
        (
            json!({ "destination": "log", "json": 1, "not_before": "soon" }),
            "not_before",
        ),
        (
            json!({ "destination": "log", "json": 1, "headers": { "host": "x" } }),
            "header",
        ),
        (
            json!({ "destination": "log", "json": 1, "colour": "red" }),
            "colour",
        ),
        (json!({ "destination": "a\u{0}b", "json": 1 }), "destination"),
        (json!([1]), "object"),
    ] {
        let answer = desk.post("/api/v1/messages", &body);
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
        assert!(answer.body.contains(part), "{body}: {}", answer.body);
    }
    for (path, status) in [
        ("/api/v1/messages/oops", 400),
        ("/api/v1/messages/99", 404),
        ("/api/v1/messages/%00", 400),
        ("/api/v1/nothing", 404),
    ] {
        let answer = desk.get(path);
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(
            answer.header("content-type"),
            "application/problem+json",
            "{path}"
        );
    }
    let large = format!(r#"{{"destination":"log","payload":"{}"}}"#, "x".repeat(3 << 20));
    let answer = desk.send(
        "POST",
        "/api/v1/messages",
        &[("content-type", "application/json")],
        Some(&large),
    );
    assert_eq!(
        (answer.status, &answer.json()["type"]),
        (413, &"too-large".into())
    );
    assert_eq!(desk.send("DELETE", "/api/v1/messages/1", &[], None).status, 405);
}

#[test]
fn what_was_is_sent_once_more_and_what_was_done_is_proved() {
    let folder = Folder::new();
    folder.write(
        "redeliver.toml",
        "[destinations.first]\ntype = \"log\"\n[destinations.later]\ntype = \"log\"\n[routes]\n\"orders.*\" = \"first\"\n",
    );
    let desk = Desk::open(&folder);
    desk.post("/api/v1/messages", &json!({ "topic": "orders.paid", "json": 1 }));
    desk.until("/api/v1/messages/1", |answer| {
        answer.json()["status"] == "fanned_out"
    });
    let replay = json!({ "to": "later", "topic": "orders.*", "since": "1h", "preview": true });
    assert_eq!(desk.post("/api/v1/replay", &replay).json()["messages"], 1);
    let replay =
        json!({ "to": "later", "topic": "orders.*", "since": "1h", "act": { "why": "it came later" } });
    assert_eq!(desk.post("/api/v1/replay", &replay).json()["messages"], 1);
    let again = desk.post("/api/v1/replay", &replay).json();
    assert_eq!(
        (&again["messages"], &again["there_before"]),
        (&0.into(), &1.into())
    );
    let sent = "/api/v1/messages?destination=later&status=sent";
    desk.until(sent, |answer| {
        answer.json()["items"].as_array().unwrap().len() == 1
    });
    let strange = json!({ "to": "nowhere", "topic": "orders.*", "since": "1h" });
    assert_eq!(desk.post("/api/v1/replay", &strange).status, 400);

    let letter = json!({ "destination": "first", "payload": "1", "dead_letter_reason": "permanent", "last_error": "422" });
    let taken = desk.post(
        "/api/v1/dead/import",
        &json!({ "letters": [letter.clone(), letter] }),
    );
    assert_eq!(
        (taken.status, taken.json()["imported"].as_array().unwrap().len()),
        (201, 2)
    );
    let broken = desk.post(
        "/api/v1/dead/import",
        &json!({ "letters": [{ "destination": "first" }] }),
    );
    assert_eq!(broken.status, 400);
    assert!(broken.body.contains("letters[0]"), "{}", broken.body);
    let issues = desk.get("/api/v1/issues").json();
    assert_eq!(
        (
            &issues["items"][0]["count"],
            issues["items"].as_array().unwrap().len()
        ),
        (&2.into(), 1)
    );

    let whole = desk.get("/api/v1/audit/verify").json();
    assert_eq!(
        (&whole["broken"], &whole["next"]),
        (&Value::Null, &Value::Null),
        "{whole}"
    );
    assert_eq!(
        whole["entries"],
        desk.get("/api/v1/audit").json()["items"]
            .as_array()
            .unwrap()
            .len()
    );
    let file = rusqlite::Connection::open(folder.0.join("redeliver.db")).unwrap();
    file.execute("UPDATE redeliver_audit SET who = 'nobody' WHERE number = 1", ())
        .unwrap();
    let changed = desk.get("/api/v1/audit/verify").json();
    assert_eq!(changed["kind"], "changed", "{changed}");
    assert_eq!(desk.get("/api/v1/audit/verify?after=1").status, 400);
}

#[test]
fn a_destination_is_tried_with_one_message() {
    let (folder, lab) = (Folder::new(), Lab::start());
    lab.configure(&folder, "/status/503");
    let desk = Desk::open(&folder);
    let tried = desk.post("/api/v1/destinations/api/test", &json!({})).json();
    assert_eq!(
        (&tried["outcome"], &tried["status"]),
        (&"retry".into(), &503.into()),
        "{tried}"
    );
    assert_eq!(
        desk.post("/api/v1/destinations/nowhere/test", &json!({})).status,
        404
    );
    assert_eq!(desk.get("/api/v1/messages").json()["items"], json!([]));
}
