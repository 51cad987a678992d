//! A server that says when to come back is not asked before, by nobody.

use std::time::Duration;

use redeliver::http::{Client, RequestBuilder};
use redeliver::{Policy, StopReason, clock};

use crate::seen::{Log, QUICK, client, requests, scripted, start, url};

const SECOND: Duration = Duration::from_secs(1);

async fn waits_of(request: RequestBuilder) -> Vec<(Duration, Option<Duration>)> {
    let log = Log::default();
    let _ = log.watch(request).send().await;
    log.waits()
}

#[tokio::test]
async fn seconds_and_dates_are_waited_whatever_the_servers_clock_says() {
    let server = start();
    let targets = [
        "/flaky/1?retry_after=1",
        "/unavailable-date?after=1&form=imf",
        "/unavailable-date?after=1&form=rfc850&skew=3600",
        "/unavailable-date?after=1&form=asctime&skew=-31536000",
    ];
    let calls = targets.map(|target| {
        // Each alone, so that no wait is another's.
        waits_of(client(QUICK.max_attempts(2)).get(&url(&server, target)))
    });
    for (waits, target) in futures_util::future::join_all(calls).await.iter().zip(targets) {
        let [(waited, asked)] = waits[..] else {
            panic!("{target}: {waits:?}")
        };
        assert_eq!(asked, Some(SECOND), "{target}");
        assert!(waited >= SECOND && waited < 2 * SECOND, "{target}: {waited:?}");
    }
}

#[tokio::test]
async fn nonsense_is_not_a_hint_and_too_long_a_wait_ends_the_call() {
    let server = start();
    for (retry_after, attempts, reason) in [
        ("soon", 3, StopReason::Attempts),
        ("-5", 3, StopReason::Attempts),
        ("0", 3, StopReason::Attempts),
        ("Sun,%2006%20Nov%201994%2008:49:37%20GMT", 3, StopReason::Attempts),
        ("301", 1, StopReason::RetryAfter),
        ("1000000000000000000000000000000", 1, StopReason::RetryAfter),
        ("60", 1, StopReason::Deadline),
    ] {
        let client = client(QUICK.deadline(10 * SECOND));
        let target = url(&server, &format!("/throttle?retry_after={retry_after}"));
        let gave_up = client.get(&target).send().await.unwrap_err();
        assert_eq!(
            (gave_up.attempts, gave_up.reason),
            (attempts, reason),
            "{retry_after}"
        );
        assert!(gave_up.elapsed < SECOND, "{retry_after}: {:?}", gave_up.elapsed);
    }
}

/// One call is told to stay away for a second, and gives up.
async fn told_to_stay_away(client: &Client, target: &str) {
    let gave_up = client.post(target).send().await.unwrap_err();
    assert_eq!(gave_up.reason, StopReason::UnknownOutcome);
}

#[tokio::test]
async fn what_one_task_is_told_holds_for_the_others_of_its_client_only() {
    let (server, other) = (start(), start());
    let shared = client(QUICK);
    told_to_stay_away(&shared, &url(&server, "/throttle?retry_after=1")).await;
    let told = clock::now();

    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (log, client, target) = (Log::default(), shared.clone(), url(&server, "/ok"));
            tokio::spawn(async move {
                let response = log.watch(client.get(&target)).send().await.unwrap();
                (log.seen()[0].began, response.attempts)
            })
        })
        .collect();
    // Neither another host nor another client has to do with it.
    shared.get(&url(&other, "/ok")).send().await.unwrap();
    client(QUICK).get(&url(&server, "/ok")).send().await.unwrap();
    assert!(clock::now().since(told) < SECOND / 2);
    assert_eq!(requests(&server, "/ok"), 1);
    for task in tasks {
        let (began, attempts) = task.await.unwrap();
        // The answer was read a little before `told` was.
        assert!(began.since(told) > SECOND - Duration::from_millis(50));
        assert_eq!(attempts, 1);
    }
}

#[tokio::test]
async fn a_hold_past_the_deadline_ends_the_call_without_a_request() {
    let server = start();
    let client = client(QUICK.deadline(Duration::from_millis(300)));
    told_to_stay_away(&client, &url(&server, "/throttle?retry_after=1")).await;
    let gave_up = client.get(&url(&server, "/ok")).send().await.unwrap_err();
    assert_eq!((gave_up.attempts, gave_up.reason), (0, StopReason::Deadline));
    assert!(gave_up.elapsed < Duration::from_millis(100), "{gave_up}");
    told_to_stay_away(&client_obeying(SECOND), &url(&server, "/throttle?retry_after=1")).await;
    assert_eq!(requests(&server, "/ok"), 0);
}

fn client_obeying(longest: Duration) -> Client {
    client(QUICK.retry_after_max(longest))
}

#[tokio::test]
async fn a_hold_longer_than_the_policy_obeys_ends_the_call_with_that_reason() {
    let server = start();
    let client = client_obeying(SECOND);
    told_to_stay_away(&client, &url(&server, "/throttle?retry_after=1000000000000")).await;
    let gave_up = client.get(&url(&server, "/ok")).send().await.unwrap_err();
    assert_eq!((gave_up.attempts, gave_up.reason), (0, StopReason::RetryAfter));
    assert_eq!(requests(&server, "/ok"), 0);
}

#[tokio::test]
async fn sharing_can_be_switched_off() {
    let server = start();
    let policy: Policy = QUICK.deadline(Duration::from_millis(500));
    let client = Client::builder()
        .policy(policy)
        .share_retry_after(false)
        .build()
        .unwrap();
    told_to_stay_away(&client, &url(&server, "/throttle?retry_after=1")).await;
    client.get(&url(&server, "/ok")).send().await.unwrap();
}

#[tokio::test]
async fn a_hint_is_obeyed_though_the_body_after_it_never_comes() {
    let hint = "503 Busy\r\nretry-after: 1\r\ncontent-length: 100\r\n\r\n";
    for share in [true, false] {
        let (target, _) = scripted([hint, "200 OK\r\ncontent-length: 0\r\n\r\n"]).await;
        let client = Client::builder()
            .policy(QUICK.attempt_timeout(Duration::from_millis(200)))
            .share_retry_after(share)
            .build()
            .unwrap();
        let log = Log::default();
        let response = log.watch(client.get(&target)).send().await.unwrap();
        assert_eq!(response.attempts, 2);
        let seen = log.seen();
        assert!(seen[0].cut);
        // The hint came after the attempt began and before it was cut.
        assert!(seen[1].began.since(seen[0].began) >= SECOND, "{seen:?}");
    }
}

#[tokio::test]
async fn the_status_of_a_failure_counts_without_its_body() {
    let (target, _) = scripted(["404 Not Found\r\ncontent-length: 100\r\n\r\nno such"]).await;
    let gave_up = client(QUICK).get(&target).send().await.unwrap_err();
    assert_eq!((gave_up.attempts, gave_up.reason), (1, StopReason::Permanent));
    assert!(
        gave_up.to_string().contains("404 Not Found: no such"),
        "{gave_up}"
    );
}
