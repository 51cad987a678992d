//! Messages from those without access to the database.

use serde_json::{Value, json};

use super::api::opened;

#[test]
fn a_message_goes_in_once_and_arrives() {
    let (_folder, desk) = opened();
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", "order-7"),
    ];
    let send = |body: Value| desk.send("POST", "/api/v1/messages", &headers, Some(&body.to_string()));
    let message = json!({ "destination": "log", "key": "7", "json": { "order": 7 } });
    let first = send(message.clone());
    assert_eq!((first.status, &first.json()["duplicate"]), (201, &false.into()));
    let again = send(message);
    assert_eq!((again.status, &again.json()["duplicate"]), (200, &true.into()));
    assert_eq!(again.json()["id"], first.json()["id"]);
    let other = send(json!({ "destination": "log", "key": "7", "json": { "order": 8 } }));
    assert_eq!((other.status, &other.json()["type"]), (422, &"invalid".into()));
    let sent = desk.until("/api/v1/messages/1", |answer| answer.json()["status"] == "sent");
    assert_eq!(sent.json()["payload"], r#"{"order":7}"#);
    assert_eq!(desk.get("/api/v1/messages/1/payload").body, r#"{"order":7}"#);
    let why = desk.get("/api/v1/messages/1/why").json();
    assert!(why["why"].as_str().unwrap().contains("arrived at log"), "{why}");
    let all = desk.get("/api/v1/messages").json();
    assert_eq!(all["items"].as_array().unwrap().len(), 1, "{all}");
}

#[test]
fn a_request_that_is_repeated_is_known_after_somebody_mended_the_message() {
    let (_folder, desk) = opened();
    let headers = [("content-type", "application/json"), ("idempotency-key", "once")];
    let message = r#"{"destination":"nowhere","json":{"order":7}}"#;
    let send = || desk.send("POST", "/api/v1/messages", &headers, Some(message));
    assert_eq!(send().status, 201);
    desk.until("/api/v1/messages/1", |answer| {
        answer.json()["status"] == "dead_lettered"
    });
    let edit = r#"{"destination":"log","json":{"order":8},"who":"bob"}"#;
    let edited = desk.send("PATCH", "/api/v1/messages/1", &headers[..1], Some(edit));
    assert_eq!(edited.status, 200, "{edited:?}");
    let again = send();
    assert_eq!(
        (again.status, &again.json()["duplicate"]),
        (200, &true.into()),
        "{again:?}"
    );
}

#[test]
fn what_is_to_come_is_a_time_and_not_so_long_ago() {
    let (_folder, desk) = opened();
    for field in ["not_before", "expires_at"] {
        for wrong in ["30m", "1h", "tomorrow"] {
            let refused = desk.post(
                "/api/v1/messages",
                &json!({ "destination": "log", "json": 1, field: wrong }),
            );
            assert_eq!(refused.status, 400, "{field} {wrong}: {refused:?}");
            assert!(refused.body.contains("must be a time"), "{refused:?}");
        }
        let later = json!({ "destination": "log", "json": 1, field: "2100-01-01T00:00:00Z" });
        assert_eq!(desk.post("/api/v1/messages", &later).status, 201, "{field}");
    }
}
