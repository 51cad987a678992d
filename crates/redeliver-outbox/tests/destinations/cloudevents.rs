//! Messages as CloudEvents.

use futures_util::FutureExt as _;
use redeliver_outbox::{
    DeadReason, Message,
    destination::{Http, HttpBuilder, Outcome},
};
use serde_json::{Value, json};

use crate::{
    deliver, message,
    server::{Seen, Server, answer},
    soon,
};

fn to(server: &Server) -> HttpBuilder {
    Http::to(server.url()).allow_private(true)
}

fn events(server: &Server, mode: &str) -> HttpBuilder {
    to(server).cloudevents(mode, "/shop/{{payload.shop}}", "order.{{payload.kind}}")
}

async fn taking() -> Server {
    Server::start(|_| async { answer(204, &[], "") }.boxed()).await
}

async fn sent(mode: &str, message: &Message) -> Seen {
    let mut server = taking().await;
    let http = events(&server, mode).build().unwrap();
    assert_eq!(deliver(&http, message, 2).await, Outcome::Delivered);
    soon(server.seen()).await
}

const ORDER: &str = r#"{"shop":"a b/ü","kind":"paid 100% \"ü\"","total":1.50}"#;

#[tokio::test]
async fn a_binary_event_is_the_payload_with_headers() {
    let told = Message {
        key: Some("order \"7\" 50% ü€".to_owned()),
        headers: Some(r#"{"ce-tenant":"eu"}"#.to_owned()),
        ..message(ORDER)
    };
    let seen = sent("binary", &told).await;
    assert_eq!(seen.body, ORDER);
    let id = told.id.to_string();
    for (name, value) in [
        ("ce-specversion", "1.0"),
        ("ce-id", id.as_str()),
        ("ce-source", "/shop/a%2520b%252F%25C3%25BC"),
        ("ce-type", "order.paid%20100%25%20%22%C3%BC%22"),
        ("ce-time", "1970-01-01T00:00:01.000Z"),
        ("ce-subject", "order%20%227%22%2050%25%20%C3%BC%E2%82%AC"),
        ("ce-tenant", "eu"),
        ("content-type", "application/json"),
        ("idempotency-key", &id),
    ] {
        assert_eq!(seen.header(name), Some(value), "{name}");
    }
    let keyless = Message {
        key: None,
        ..message(ORDER)
    };
    assert_eq!(sent("binary", &keyless).await.header("ce-subject"), None);
}

#[tokio::test]
async fn a_structured_event_is_a_body_of_its_own() {
    let told = message(ORDER);
    let seen = sent("structured", &told).await;
    assert_eq!(seen.header("content-type"), Some("application/cloudevents+json"));
    assert_eq!(seen.header("ce-id"), None);
    let event: Value = serde_json::from_slice(&seen.body).unwrap();
    let data: Value = serde_json::from_str(ORDER).unwrap();
    let expected = json!({
        "specversion": "1.0",
        "id": told.id.to_string(),
        "source": "/shop/a%20b%2F%C3%BC",
        "type": "order.paid 100% \"ü\"",
        "time": "1970-01-01T00:00:01.000Z",
        "subject": "order-7",
        "datacontenttype": "application/json",
        "data": data,
    });
    assert_eq!(event, expected);
    // Every digit of a number is kept.
    assert!(
        seen.body
            .windows(ORDER.len())
            .any(|part| part == ORDER.as_bytes())
    );
}

#[tokio::test]
async fn what_is_no_json_goes_into_a_structured_event_as_base64() {
    let mut server = taking().await;
    let http = to(&server)
        .cloudevents("structured", "/shop", "picture")
        .build()
        .unwrap();
    let told = Message {
        content_type: Some("image/png".to_owned()),
        headers: Some(r#"{"content-type":"text/plain"}"#.to_owned()),
        ..message(vec![0, 0xff, 1])
    };
    assert_eq!(deliver(&http, &told, 1).await, Outcome::Delivered);
    let seen = soon(server.seen()).await;
    assert_eq!(seen.header("content-type"), Some("application/cloudevents+json"));
    let event: Value = serde_json::from_slice(&seen.body).unwrap();
    assert_eq!(
        (&event["datacontenttype"], &event["data_base64"]),
        (&json!("image/png"), &json!("AP8B"))
    );
    assert_eq!(event.get("data"), None);
}

#[tokio::test]
async fn a_message_that_makes_no_event_is_refused_and_not_sent() {
    let mut server = taking().await;
    let structured = to(&server)
        .cloudevents("structured", "/shop", "x")
        .build()
        .unwrap();
    let templates = events(&server, "binary").build().unwrap();
    let key = Message {
        key: Some("a\nb".to_owned()),
        ..message("{}")
    };
    let header = Message {
        headers: Some(r#"{"ce-id":"7"}"#.to_owned()),
        ..message(ORDER)
    };
    for (http, message, kind, words) in [
        (
            &structured,
            message("hunter2"),
            DeadReason::InvalidPayload,
            "the payload is no JSON",
        ),
        (
            &structured,
            message(vec![0xff]),
            DeadReason::InvalidPayload,
            "no UTF-8",
        ),
        (&structured, key, DeadReason::InvalidKey, "control character"),
        (
            &templates,
            message("{}"),
            DeadReason::InvalidPayload,
            "cloudevents.source: {{payload.shop}}",
        ),
        (
            &templates,
            message(r#"{"shop":"a","kind":"\n"}"#),
            DeadReason::InvalidPayload,
            "cloudevents.type: ",
        ),
        (
            &templates,
            header,
            DeadReason::InvalidHeaders,
            "ce-id is set by the relay",
        ),
    ] {
        match deliver(http, &message, 1).await {
            Outcome::Reject { kind: found, reason } => {
                assert_eq!(found, kind, "{reason}");
                assert!(reason.contains(words) && !reason.contains("hunter2"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(server.has_seen_nothing());
}
