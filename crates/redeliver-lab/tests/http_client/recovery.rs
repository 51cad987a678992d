//! What passes is got through, and nothing is multiplied.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use redeliver::http::{Client, ErrorKind, StatusCode};
use redeliver::{
    Breaker, BreakerRule, Budget, BudgetRule, Pipeline, Run as _, StopReason, classify::StatusTable,
};
use serde_json::{Value, json};

use crate::seen::{QUICK, client, requests, start, url};

#[tokio::test]
async fn four_failures_in_ten_are_got_through() {
    let server = start();
    let client = client(QUICK.max_attempts(12));
    let mut attempts = 0;
    for _ in 0..200 {
        let response = client
            .get(&url(&server, "/fail-rate/40?retry_after=0"))
            .send()
            .await
            .unwrap();
        assert_eq!(response.status, StatusCode::OK);
        attempts += u64::from(response.attempts);
    }
    assert_eq!(requests(&server, "/fail-rate/{percent}"), attempts);
    assert!((280..=400).contains(&attempts), "{attempts} for 200 calls");
}

#[tokio::test]
async fn a_body_is_sent_whole_in_each_attempt() {
    let server = start();
    let client = client(QUICK.max_attempts(12));
    let mut most = 0;
    for number in 0..20 {
        let body = json!({ "order": number, "text": "é".repeat(5_000) });
        let request = client
            .put(&url(&server, "/fail-rate/40?retry_after=0"))
            .json(&body);
        let response = request.send().await.unwrap();
        let echoed: Value = response.json().unwrap();
        assert_eq!(echoed["headers"]["content-type"], "application/json");
        let sent: Value = serde_json::from_str(echoed["body"].as_str().unwrap()).unwrap();
        assert_eq!(sent, body);
        most = most.max(response.attempts);
    }
    assert!(most > 2, "{most}");
}

#[tokio::test]
async fn json_comes_in_one_line_and_another_shape_is_not_asked_for_again() {
    let server = start();
    let client = client(QUICK);
    let answer: Value = client
        .get_json(&url(&server, "/flaky/2?retry_after=0"))
        .await
        .unwrap();
    assert_eq!(answer["failures_before"], 2);
    let gave_up = client
        .get_json::<Vec<u8>>(&url(&server, "/ok"))
        .await
        .unwrap_err();
    assert_eq!((gave_up.attempts, gave_up.reason), (1, StopReason::Permanent));
    let error = gave_up.into_error().unwrap();
    assert_eq!(error.kind(), ErrorKind::Decode);
    assert!(error.to_string().contains("line 1 column"), "{error}");
}

#[tokio::test]
async fn a_permanent_status_is_told_at_once_with_its_answer() {
    let server = start();
    let gave_up = client(QUICK)
        .get(&url(&server, "/status/404"))
        .send()
        .await
        .unwrap_err();
    assert_eq!((gave_up.attempts, gave_up.reason), (1, StopReason::Permanent));
    let error = gave_up.into_error().unwrap();
    assert_eq!(error.status(), Some(StatusCode::NOT_FOUND));
    assert!(
        error.to_string().contains("404 Not Found: {\"ok\":false"),
        "{error}"
    );
    assert_eq!(error.response().unwrap().json::<Value>().unwrap()["status"], 404);
}

#[tokio::test]
async fn the_table_of_statuses_is_the_users_to_change() {
    let server = start();
    let table = StatusTable::DEFAULT.with(404).without(500);
    let client = Client::builder().policy(QUICK).statuses(table).build().unwrap();
    for (status, attempts, reason) in [
        (404, 3, StopReason::Attempts),
        (500, 1, StopReason::Permanent),
        (505, 1, StopReason::Permanent),
    ] {
        let target = url(&server, &format!("/status/{status}"));
        let gave_up = client.get(&target).send().await.unwrap_err();
        assert_eq!((gave_up.attempts, gave_up.reason), (attempts, reason), "{status}");
    }
}

#[tokio::test]
async fn a_client_inside_a_retry_does_not_multiply_its_attempts() {
    let server = start();
    let client = client(QUICK);
    let target = url(&server, "/status/500");
    // The error is made to look like one worth a retry: the guard must see through it.
    let gave_up = QUICK
        .run(async |_| {
            let result = client.get(&target).send().await;
            result.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))
        })
        .await
        .unwrap_err();
    assert_eq!((gave_up.attempts, gave_up.reason), (1, StopReason::Nested));
    assert_eq!(requests(&server, "/status/{code}"), 3);
}

#[tokio::test]
async fn a_breaker_and_a_budget_are_the_pipelines() {
    let server = start();
    let rule = BreakerRule::DEFAULT.minimum_calls(2);
    let breaker = Arc::new(Breaker::new(rule));
    let client = Client::builder()
        .pipeline(Pipeline::new().retry(QUICK.max_attempts(5)).breaker(breaker))
        .build()
        .unwrap();
    let target = url(&server, "/status/500");
    for _ in 0..3 {
        let gave_up = client.get(&target).send().await.unwrap_err();
        assert_eq!(gave_up.reason, StopReason::Breaker);
    }
    assert_eq!(requests(&server, "/status/{code}"), 2);

    let none = Arc::new(Budget::new(BudgetRule::ratio(0.0)));
    let client = Client::builder()
        .pipeline(Pipeline::new().retry(QUICK).budget(none))
        .build()
        .unwrap();
    let gave_up = client.get(&target).send().await.unwrap_err();
    assert_eq!((gave_up.attempts, gave_up.reason), (1, StopReason::Budget));
}

#[tokio::test]
async fn a_policy_or_a_pipeline_without_sense_is_refused() {
    let wrong = Client::builder().policy(QUICK.max_attempts(0)).build();
    assert!(wrong.unwrap_err().to_string().contains("max_attempts"));
    let twice = Pipeline::new().retry(QUICK).retry(QUICK);
    let wrong = Client::builder().pipeline(twice).build();
    assert!(wrong.unwrap_err().to_string().contains("one retry"));
    let unlimited = redeliver::Policy::fixed(Duration::from_secs(1));
    let client = Client::builder().policy(unlimited).build().unwrap();
    assert!(format!("{client:?}").contains("timeout 30s"), "{client:?}");
}
