//! What may have executed is not sent again, unless that does no harm.

use std::time::Duration;

use redeliver::StopReason;
use redeliver::http::Method;

use crate::seen::{QUICK, client, requests, start, url};

#[tokio::test]
async fn a_post_without_a_key_is_sent_once() {
    let client = client(QUICK.attempt_timeout(Duration::from_millis(200)));
    for (path, target) in [
        ("/status/{code}", "/status/503"),
        ("/status/{code}", "/status/503?retry_after=1"),
        ("/status/{code}", "/status/429?retry_after=1"),
        ("/status/{code}", "/status/500"),
        ("/status/{code}", "/status/408"),
        ("/reset", "/reset"),
        ("/reset-after-read", "/reset-after-read"),
        ("/hang", "/hang"),
        ("/truncated", "/truncated"),
        ("/slow-body", "/slow-body"),
        ("/payment/authorize", "/payment/authorize?fail_rate=0&lose=100"),
    ] {
        for method in [Method::POST, Method::PATCH] {
            if path.starts_with("/payment") && method == Method::PATCH {
                continue;
            }
            // A server each: the last one's Retry-After is not this one's.
            let server = start();
            let request = client.request(method, &url(&server, target)).body("{}");
            let gave_up = request.send().await.unwrap_err();
            assert_eq!(
                (gave_up.attempts, gave_up.reason),
                (1, StopReason::UnknownOutcome),
                "{target}"
            );
            assert_eq!(requests(&server, path), 1, "{target}");
        }
    }
}

#[tokio::test]
async fn a_post_that_was_refused_for_good_is_permanent() {
    let server = start();
    for status in [400, 401, 404, 422, 501] {
        let target = url(&server, &format!("/status/{status}"));
        let gave_up = client(QUICK).post(&target).send().await.unwrap_err();
        assert_eq!((gave_up.attempts, gave_up.reason), (1, StopReason::Permanent));
    }
}

#[tokio::test]
async fn one_key_goes_with_all_attempts_of_a_call() {
    let server = start();
    let client = client(QUICK);
    let target = url(&server, "/payment/authorize?fail_rate=100&retry_after=0");
    for _ in 0..2 {
        let gave_up = client.post(&target).idempotent().send().await.unwrap_err();
        assert_eq!((gave_up.attempts, gave_up.reason), (3, StopReason::Attempts));
    }
    let own = client.post(&target).idempotency_key("order-17").idempotent();
    assert_eq!(own.send().await.unwrap_err().attempts, 3);
    let keys = server.stats().idempotency_keys;
    assert_eq!(keys.len(), 3, "{keys:?}");
    assert!(keys.values().all(|sent| *sent == 3), "{keys:?}");
    assert!(keys.contains_key("order-17"));
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_again_and_charged_once() {
    let server = start();
    let target = url(&server, "/payment/authorize?fail_rate=0&lose=100");
    let response = client(QUICK)
        .post(&target)
        .idempotent()
        .body("{}")
        .send()
        .await
        .unwrap();
    assert_eq!(response.attempts, 2);
    assert_eq!(response.headers["idempotent-replayed"], "true");
    let payments = server.stats().payments;
    assert_eq!((payments.authorized, payments.replayed), (1, 1));
}

#[tokio::test]
async fn methods_that_are_idempotent_need_no_key() {
    let server = start();
    for method in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"] {
        let request = client(QUICK).request(method.parse().unwrap(), &url(&server, "/status/500"));
        assert_eq!(request.send().await.unwrap_err().attempts, 3, "{method}");
    }
    assert!(server.stats().idempotency_keys.is_empty());
}
