//! Requests of another shape than the message's own.

use futures_util::FutureExt as _;
use redeliver_outbox::{
    DeadReason, Message,
    destination::{Http, HttpBuilder, Outcome},
};

use crate::{
    deliver, message,
    server::{Seen, Server, answer},
    soon,
};

fn to(server: &Server, path: &str) -> HttpBuilder {
    Http::to(format!("http://127.0.0.1:{}{path}", server.port)).allow_private(true)
}

async fn seen(shape: impl FnOnce(HttpBuilder) -> HttpBuilder, path: &str, message: &Message) -> Seen {
    let mut server = Server::start(|_| async { answer(204, &[], "") }.boxed()).await;
    let http = shape(to(&server, path)).build().unwrap();
    assert_eq!(deliver(&http, message, 4).await, Outcome::Delivered);
    soon(server.seen()).await
}

const ORDER: &str = r#"{"order":{"id":"7/8","total":12.30},"note":"line\nfeed \"quoted\""}"#;

#[tokio::test]
async fn a_receiver_gets_the_shape_that_it_needs() {
    let told = Message {
        content_type: Some("application/vnd.shop+json".to_owned()),
        ..message(ORDER)
    };
    let shape = |builder: HttpBuilder| {
        builder
            .method("PUT")
            .header("x-order", "{{payload.order.id}} of {{destination}}")
            .header("x-fixed", "1")
            .body(r#"{"text":"{{payload.note}}","total":{{payload.order.total}},"id":{{id}},"all":{{payload}}}"#)
    };
    let seen = seen(
        shape,
        "/orders/{{payload.order.id}}?lane={{key}}&attempt={{attempt}}",
        &told,
    )
    .await;
    assert_eq!(seen.method, "PUT");
    assert_eq!(seen.path, "/orders/7%2F8?lane=order-7&attempt=4");
    assert_eq!(seen.header("x-order"), Some("7/8 of billing"));
    assert_eq!(seen.header("x-fixed"), Some("1"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("idempotency-key"), Some(told.id.to_string().as_str()));
    let id = told.id;
    let expected = format!(r#"{{"text":"line\nfeed \"quoted\"","total":12.30,"id":"{id}","all":{ORDER}}}"#);
    assert_eq!(seen.body, expected);
}

#[tokio::test]
async fn values_are_written_as_the_content_type_asks() {
    let message = message(ORDER);
    let form = |builder: HttpBuilder| {
        builder
            .header("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
            .body("note={{payload.note}}&to=a+b")
    };
    let form = seen(form, "/", &message).await;
    assert_eq!(form.body, "note=line%0Afeed%20%22quoted%22&to=a+b");
    let plain = |builder: HttpBuilder| {
        builder
            .header("content-type", "text/plain")
            .body("{{payload.note}}!")
    };
    let plain = seen(plain, "/", &message).await;
    assert_eq!(plain.body, "line\nfeed \"quoted\"!");
    assert_eq!(plain.header("content-type"), Some("text/plain"));
}

#[tokio::test]
async fn what_is_sent_is_what_is_signed() {
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let shape = |builder: HttpBuilder| builder.webhook_secret(secret).body(r#"{"n":"{{payload.note}}"}"#);
    let seen = seen(shape, "/", &message(ORDER)).await;
    let header = |name| seen.header(name).unwrap();
    let signed = redeliver_outbox::destination::webhook::sign(
        &[secret.parse().unwrap()],
        header("webhook-id"),
        header("webhook-timestamp").parse().unwrap(),
        br#"{"n":"line\nfeed \"quoted\""}"#,
    );
    assert_eq!(header("webhook-signature"), signed);
}

#[tokio::test]
async fn a_message_that_does_not_fit_is_refused_and_not_sent() {
    let mut server = Server::start(|_| async { answer(204, &[], "") }.boxed()).await;
    let to = |path: &str| to(&server, path);
    let cases = [
        (to("/{{payload.order.name}}"), "url: {{payload.order.name}}"),
        (
            to("/").header("x-note", "{{payload.note}}"),
            "the header x-note: {{payload.note}}",
        ),
        (to("/").body(r#""{{payload.total}}""#), "body: {{payload.total}}"),
    ];
    for (builder, words) in cases {
        let http = builder.build().unwrap();
        for payload in [ORDER, "hunter2"] {
            match deliver(&http, &message(payload), 1).await {
                Outcome::Reject { kind, reason } => {
                    assert_eq!(kind, DeadReason::InvalidPayload);
                    assert!(reason.starts_with(words), "{reason}");
                    assert!(
                        !reason.contains("hunter2") && !reason.contains("quoted"),
                        "{reason}"
                    );
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(server.has_seen_nothing());
}
