//! The documents' payment API.

use std::io::ErrorKind;

use redeliver_lab::faulty::{FaultyConfig, FaultyServer};

use crate::client::{Seen, get, send, start};

async fn pay(server: &FaultyServer, options: &str, key: &str) -> Seen {
    let header = if key.is_empty() {
        String::new()
    } else {
        format!("idempotency-key: {key}\r\n")
    };
    send(
        server,
        "POST",
        &format!("/payment/authorize{options}"),
        &header,
        "{}",
    )
    .await
}

#[tokio::test]
async fn the_answers_are_the_documents_to_the_letter() {
    let server = start(FaultyConfig::default());
    let failed = pay(&server, "?fail_rate=100", "").await;
    assert_eq!((failed.status, failed.header("retry-after")), (503, Some("1")));
    assert_eq!(failed.text(), r#"{"ok":false,"reason":"temporary overload"}"#);
    let paid = pay(&server, "?fail_rate=0", "").await;
    assert_eq!((paid.status, paid.header("retry-after")), (200, None));
    assert_eq!(paid.text(), r#"{"ok":true,"authorized":true}"#);
    assert_eq!(paid.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn four_in_ten_fail_and_the_seed_says_which() {
    let mut runs = Vec::new();
    for seed in [7, 7, 8] {
        let server = start(FaultyConfig {
            seed,
            ..FaultyConfig::default()
        });
        let mut statuses = Vec::new();
        for _ in 0..1000 {
            statuses.push(pay(&server, "", "").await.status);
        }
        let failed = statuses.iter().filter(|status| **status == 503).count();
        assert!((355..=445).contains(&failed), "{failed} of 1000 with seed {seed}");
        let stats = server.stats();
        let route = &stats.routes["/payment/authorize"];
        assert_eq!((route.requests, route.failures), (1000, failed as u64));
        assert_eq!(stats.payments.authorized, 1000 - failed as u64);
        runs.push(statuses);
    }
    assert_eq!(runs[0], runs[1]);
    assert_ne!(runs[0], runs[2]);
}

#[tokio::test]
async fn delays_are_random_up_to_the_maximum() {
    let server = start(FaultyConfig::default());
    let mut records = server.records();
    let mut delays = Vec::new();
    for _ in 0..40 {
        pay(&server, "?max_delay=30ms", "").await;
        delays.push(records.recv().await.unwrap().delay_ms);
    }
    assert!(delays.iter().all(|delay| *delay <= 30), "{delays:?}");
    delays.sort_unstable();
    delays.dedup();
    assert!(delays.len() > 10, "{delays:?}");
}

#[tokio::test]
async fn a_key_is_charged_once_and_then_replayed() {
    let server = start(FaultyConfig::default());
    assert_eq!(pay(&server, "?fail_rate=100", "k-1").await.status, 503);
    let first = pay(&server, "?fail_rate=0", "k-1").await;
    let again = pay(&server, "?fail_rate=100", "k-1").await;
    assert_eq!((first.status, first.header("idempotent-replayed")), (200, None));
    assert_eq!(
        (again.status, again.header("idempotent-replayed")),
        (200, Some("true"))
    );
    assert_eq!(again.body, first.body);
    pay(&server, "?fail_rate=0", "k-2").await;
    let stats = server.stats();
    assert_eq!((stats.payments.authorized, stats.payments.replayed), (2, 1));
    assert_eq!(
        stats.idempotency_keys.into_iter().collect::<Vec<_>>(),
        [("k-1".into(), 3), ("k-2".into(), 1)]
    );
}

#[tokio::test]
async fn requests_in_flight_with_one_key_charge_once() {
    let server = start(FaultyConfig::default());
    let one = || pay(&server, "?fail_rate=0&max_delay=20ms", "together");
    let (a, b, c, d) = tokio::join!(one(), one(), one(), one());
    assert!([a, b, c, d].iter().all(|seen| seen.status == 200));
    let payments = server.stats().payments;
    assert_eq!((payments.authorized, payments.replayed), (1, 3));
}

#[tokio::test]
async fn a_lost_answer_is_charged_all_the_same() {
    let server = start(FaultyConfig::default());
    let lost = pay(&server, "?fail_rate=0&lose=100", "lost").await;
    assert_eq!(lost.end.unwrap_err().kind(), ErrorKind::ConnectionReset);
    let replayed = pay(&server, "?fail_rate=0&lose=100", "lost").await;
    assert_eq!(
        (replayed.status, replayed.header("idempotent-replayed")),
        (200, Some("true"))
    );
    let payments = server.stats().payments;
    assert_eq!(
        (payments.authorized, payments.answers_lost, payments.replayed),
        (1, 1, 1)
    );
    assert_eq!(get(&server, "/stats").await.json()["payments"]["answers_lost"], 1);
}

#[tokio::test]
async fn a_key_that_is_too_long_is_refused() {
    let server = start(FaultyConfig::default());
    assert_eq!(pay(&server, "?fail_rate=0", &"k".repeat(255)).await.status, 200);
    let seen = pay(&server, "?fail_rate=0", &"k".repeat(256)).await;
    assert_eq!(seen.status, 400);
    assert!(seen.text().contains("1 to 255"), "{}", seen.text());
}
