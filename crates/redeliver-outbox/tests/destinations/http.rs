use std::{net::Ipv4Addr, time::Duration};

use futures_util::FutureExt as _;
use hyper::Version;
use redeliver::{Class, classify::StatusTable, http_date};
use redeliver_outbox::{
    DeadReason, Message,
    destination::{Delivery, Destination as _, Http, Outcome},
};
use tokio::net::TcpListener;

use crate::{
    deliver,
    endpoint::Endpoint,
    message,
    server::{Server, answer, cutting},
    soon,
    suite::{self, Bench as _, Mood},
};

#[tokio::test]
async fn http_keeps_to_the_suite() {
    suite::run(Endpoint::plain().await).await;
}

#[tokio::test]
async fn a_request_carries_what_the_message_and_the_configuration_say() {
    let mut server = Server::start(|_| async { answer(204, &[], "") }.boxed()).await;
    let http = Http::to(server.url())
        .allow_private(true)
        .header("Authorization", "Bearer 123")
        .header("x-tenant", "configured")
        .build()
        .unwrap();
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let told = Message {
        content_type: Some("application/cloudevents+json".to_owned()),
        headers: Some(r#"{"X-Region":"eu","x-tenant":"the message's","user-agent":"shop/1"}"#.to_owned()),
        traceparent: Some(trace.to_owned()),
        ..message("{}")
    };
    assert_eq!(deliver(&http, &told, 3).await, Outcome::Delivered);
    let seen = soon(server.seen()).await;
    assert_eq!(
        (seen.method.as_str(), seen.path.as_str(), seen.version),
        ("POST", "/events?source=shop", Version::HTTP_11)
    );
    let (id, host) = (told.id.to_string(), format!("127.0.0.1:{}", server.port));
    for (name, value) in [
        ("content-type", "application/cloudevents+json"),
        ("x-region", "eu"),
        ("x-tenant", "configured"),
        ("authorization", "Bearer 123"),
        ("user-agent", "shop/1"),
        ("traceparent", trace),
        ("idempotency-key", &id),
        ("redeliver-attempt", "3"),
        ("content-length", "2"),
        ("host", &host),
    ] {
        assert_eq!(seen.header(name), Some(value), "{name}");
    }
    assert_eq!(deliver(&http, &message(""), 1).await, Outcome::Delivered);
    let plain = soon(server.seen()).await;
    assert_eq!(plain.header("content-type"), Some("application/json"));
    assert_eq!(
        plain.header("user-agent"),
        Some(concat!("redeliver/", env!("CARGO_PKG_VERSION")))
    );
    assert_eq!(plain.header("traceparent"), None);
}

/// The outcome of an answer.
async fn outcome(status: u16, headers: &'static [(&str, &str)], body: &'static str) -> Outcome {
    let server = Server::start(move |_| async move { answer(status, headers, body) }.boxed()).await;
    let http = Http::to(server.url()).allow_private(true).build().unwrap();
    deliver(&http, &message("{}"), 1).await
}

fn retry(class: Class, reason: &str) -> Outcome {
    let reason = reason.to_owned();
    Outcome::Retry { class, reason }
}

fn reject(kind: DeadReason, reason: &str) -> Outcome {
    let reason = reason.to_owned();
    Outcome::Reject { kind, reason }
}

#[tokio::test]
async fn a_status_says_what_comes_next() {
    let permanent = DeadReason::Permanent;
    for status in [200, 201, 202, 204] {
        assert_eq!(outcome(status, &[], "").await, Outcome::Delivered, "{status}");
    }
    assert_eq!(
        outcome(400, &[], "no such\n\n field \u{1b}[31m").await,
        reject(permanent, "400 Bad Request: no such field \u{fffd}[31m")
    );
    let gone = Outcome::Disable {
        reason: "410 Gone: moved out".to_owned(),
    };
    assert_eq!(outcome(410, &[], "moved out").await, gone);
    assert_eq!(
        outcome(413, &[], "").await,
        reject(DeadReason::TooLarge, "413 Payload Too Large")
    );
    assert_eq!(
        outcome(503, &[], "").await,
        retry(Class::THROTTLED, "503 Service Unavailable")
    );
    assert_eq!(
        outcome(500, &[], "oops").await,
        retry(Class::Unknown, "500 Internal Server Error: oops")
    );
    assert_eq!(
        outcome(429, &[("retry-after", "7")], "").await,
        retry(
            Class::throttled_for(Duration::from_secs(7)),
            "429 Too Many Requests"
        )
    );
    // Both dates are decades away, but not from each other.
    let dates = &[
        ("date", "Sun, 06 Nov 1994 08:49:30 GMT"),
        ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ];
    assert_eq!(
        outcome(429, dates, "").await,
        retry(
            Class::throttled_for(Duration::from_secs(7)),
            "429 Too Many Requests"
        )
    );
}

#[tokio::test]
async fn a_gateway_that_is_overloaded_throttles_where_the_same_message_may_come_twice() {
    for status in [502, 504] {
        let server = Server::start(move |_| async move { answer(status, &[], "") }.boxed()).await;
        for (idempotent, expected) in [(true, Class::THROTTLED), (false, Class::Unknown)] {
            let http = Http::to(server.url())
                .allow_private(true)
                .idempotent(idempotent)
                .build()
                .unwrap();
            match deliver(&http, &message("{}"), 1).await {
                Outcome::Retry { class, .. } => assert_eq!(class, expected, "{status}"),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn who_asks_to_come_back_after_an_error_may_have_taken_it() {
    let wait = Duration::from_secs(7);
    for (status, may_have_taken_it) in [
        (500, true),
        (502, true),
        (504, true),
        (503, false),
        (429, false),
        (408, false),
        (425, false),
    ] {
        let server =
            Server::start(move |_| async move { answer(status, &[("retry-after", "7")], "") }.boxed()).await;
        for idempotent in [true, false] {
            let http = Http::to(server.url())
                .allow_private(true)
                .statuses(StatusTable::DEFAULT.with(425))
                .idempotent(idempotent)
                .build()
                .unwrap();
            match deliver(&http, &message("{}"), 1).await {
                Outcome::Ambiguous { asked, .. } => {
                    assert_eq!(asked, Some(wait), "{status}");
                    assert!(may_have_taken_it && !idempotent, "{status} {idempotent}");
                }
                Outcome::Retry { class, .. } => {
                    assert_eq!(class, Class::throttled_for(wait), "{status}");
                    assert!(!may_have_taken_it || idempotent, "{status} {idempotent}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn a_date_without_the_servers_own_is_measured_from_ours() {
    let until = http_date::format(redeliver::clock::wall() + Duration::from_secs(3600)).to_string();
    // hyper adds a Date of its own unless there is one; one that makes no sense counts for nothing.
    let server = Server::start(move |_| {
        std::future::ready(answer(503, &[("retry-after", &until), ("date", "now")], "")).boxed()
    })
    .await;
    let http = Http::to(server.url()).allow_private(true).build().unwrap();
    match deliver(&http, &message("{}"), 1).await {
        Outcome::Retry {
            class: Class::Throttled { after: Some(after) },
            ..
        } => assert!(after.as_secs() > 3000 && after.as_secs() <= 3600, "{after:?}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_table_of_statuses_is_the_configurations() {
    let server = Server::start(|_| async { answer(404, &[], "") }.boxed()).await;
    let http = Http::to(server.url())
        .allow_private(true)
        .statuses(StatusTable::DEFAULT.with(404))
        .build()
        .unwrap();
    assert_eq!(
        deliver(&http, &message("{}"), 1).await,
        retry(Class::Unknown, "404 Not Found")
    );
    let server = Server::start(|_| async { answer(410, &[], "") }.boxed()).await;
    let http = Http::to(server.url())
        .allow_private(true)
        .statuses(StatusTable::DEFAULT.with(410))
        .build()
        .unwrap();
    assert_eq!(
        deliver(&http, &message("{}"), 1).await,
        retry(Class::Unknown, "410 Gone")
    );
}

#[tokio::test]
async fn a_redirect_is_told_and_not_followed() {
    let place = "https://user:hunter2@other.example/new?token=hunter2";
    let mut server =
        Server::start(move |_| async move { answer(302, &[("location", place)], "") }.boxed()).await;
    let http = Http::to(server.url()).allow_private(true).build().unwrap();
    match deliver(&http, &message("{}"), 1).await {
        Outcome::Reject { kind, reason } => {
            assert_eq!(kind, DeadReason::Permanent);
            assert!(
                reason.starts_with("302 Found: points to https://other.example/new?…,"),
                "{reason}"
            );
            assert!(!reason.contains("hunter2"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    soon(server.seen()).await;
    assert!(server.has_seen_nothing());
}

#[tokio::test]
async fn no_answer_in_time_may_have_arrived() {
    let mut endpoint = Endpoint::plain().await;
    // A connection is there already, so that what is short is the answer's time alone.
    deliver(&*endpoint.http, &message("{}"), 1).await;
    soon(endpoint.received()).await;
    endpoint.feel(Mood::Hangs);
    let message = message("{}");
    let delivery = Delivery {
        message: &message,
        attempt: 2,
        timeout: Duration::from_millis(300),
    };
    let expected = Outcome::Ambiguous {
        reason: format!(
            "no answer from http://127.0.0.1:{} within 300ms",
            endpoint.server.port
        ),
        asked: None,
    };
    assert_eq!(soon(endpoint.http.deliver(delivery)).await, expected);
    soon(endpoint.given_up()).await;
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_answer_may_have_brought_it() {
    for start in ["", "HTTP/1.1 200 OK\r\ncontent-le"] {
        let port = cutting(start).await;
        let http = Http::to(format!("http://127.0.0.1:{port}"))
            .allow_private(true)
            .build()
            .unwrap();
        match deliver(&http, &message("the end"), 1).await {
            Outcome::Ambiguous { reason, .. } => {
                assert!(reason.contains("broke before an answer"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_status_counts_even_if_its_body_breaks_off() {
    let port = cutting("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhal").await;
    let http = Http::to(format!("http://127.0.0.1:{port}"))
        .allow_private(true)
        .build()
        .unwrap();
    assert_eq!(deliver(&http, &message("the end"), 1).await, Outcome::Delivered);
    let port = cutting("HTTP/1.1 429 Slow Down\r\ncontent-length: 10\r\n\r\nhal").await;
    let http = Http::to(format!("http://127.0.0.1:{port}"))
        .allow_private(true)
        .build()
        .unwrap();
    assert_eq!(
        deliver(&http, &message("the end"), 1).await,
        retry(Class::THROTTLED, "429 Too Many Requests: hal")
    );
}

#[tokio::test]
async fn what_is_no_http_may_have_arrived() {
    let port = cutting("SSH-2.0-OpenSSH_9.6\r\n").await;
    let http = Http::to(format!("http://127.0.0.1:{port}"))
        .allow_private(true)
        .build()
        .unwrap();
    let outcome = deliver(&http, &message("the end"), 1).await;
    assert!(matches!(outcome, Outcome::Ambiguous { .. }), "{outcome:?}");
}

#[tokio::test]
async fn what_cannot_be_reached_was_not_reached() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let nowhere = format!("{}.invalid", "x".repeat(60));
    for (url, words) in [
        (format!("http://127.0.0.1:{port}/hunter2?key=hunter2"), "refused"),
        (format!("http://{nowhere}/hunter2"), "lookup"),
    ] {
        let http = Http::to(url).allow_private(true).build().unwrap();
        match deliver(&http, &message("{}"), 1).await {
            Outcome::Unreachable { reason } => {
                assert!(reason.starts_with("cannot connect to http://"), "{reason}");
                assert!(reason.contains(words) && !reason.contains("hunter2"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_handshake_that_never_ends_is_no_connection() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("https://127.0.0.1:{}/", listener.local_addr().unwrap().port());
    let limited = Http::to(&url)
        .allow_private(true)
        .connect_timeout(Duration::from_millis(50))
        .build()
        .unwrap();
    match deliver(&limited, &message("{}"), 1).await {
        Outcome::Unreachable { reason } => {
            assert!(reason.ends_with("no connection within 50ms"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    let http = Http::to(&url).allow_private(true).build().unwrap();
    let message = message("{}");
    let delivery = Delivery {
        message: &message,
        attempt: 1,
        timeout: Duration::from_millis(50),
    };
    let origin = url.trim_end_matches('/');
    assert_eq!(
        soon(http.deliver(delivery)).await,
        Outcome::Unreachable {
            reason: format!("no connection to {origin} within 50ms")
        }
    );
}

#[tokio::test]
async fn a_header_cannot_become_two_nor_frame_the_request() {
    let mut server = Server::start(|_| async { answer(200, &[], "") }.boxed()).await;
    let http = Http::to(server.url()).allow_private(true).build().unwrap();
    for headers in [
        r#"{"x":"a\r\nevil: 1"}"#,
        r#"{"x":"a\u0000"}"#,
        r#"{"x\r\nevil":"1"}"#,
        r#"{"":"1"}"#,
        r#"{"x":"naïve"}"#,
        r#"{"Content-Length":"0"}"#,
        r#"{"transfer-encoding":"chunked"}"#,
        r#"{"Connection":"close"}"#,
        r#"{"HOST":"other.example"}"#,
        r#"{"te":"trailers"}"#,
        r#"{"idempotency-key":"another"}"#,
        r#"{":authority":"other.example"}"#,
        r#"{"x":1}"#,
        r#"["x"]"#,
        "not json",
    ] {
        let message = Message {
            headers: Some(headers.to_owned()),
            ..message("{}")
        };
        refused(deliver(&http, &message, 1).await, headers);
    }
    for (content_type, traceparent) in [(Some("a\r\nevil: 1"), None), (None, Some("a\nb"))] {
        let message = Message {
            content_type: content_type.map(str::to_owned),
            traceparent: traceparent.map(str::to_owned),
            ..message("{}")
        };
        refused(deliver(&http, &message, 1).await, "a column");
    }
    assert!(server.has_seen_nothing());
}

fn refused(outcome: Outcome, what: &str) {
    match outcome {
        Outcome::Reject { kind, reason } => {
            assert_eq!(kind, DeadReason::InvalidHeaders, "{what}");
            assert!(!reason.contains(['\r', '\n', '\0']), "{what}: {reason}");
        }
        other => panic!("{what}: {other:?}"),
    }
}
