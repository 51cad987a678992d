//! Exchanges that break, hang or never end.

use std::time::Duration;

use redeliver::http::{Client, Error, ErrorKind};
use redeliver::{GaveUp, StopReason};
use tokio::net::TcpSocket;

use crate::seen::{Log, QUICK, client, requests, start, url};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn kind(gave_up: &GaveUp<Error>) -> Option<ErrorKind> {
    gave_up.last_error.as_ref().map(Error::kind)
}

#[tokio::test]
async fn a_server_that_hangs_is_left_at_the_attempts_timeout() {
    let server = start();
    let log = Log::default();
    let request = client(QUICK.attempt_timeout(ms(100))).get(&url(&server, "/hang"));
    let gave_up = log.watch(request).send().await.unwrap_err();
    assert_eq!((gave_up.attempts, gave_up.reason), (3, StopReason::Attempts));
    assert!(gave_up.timed_out);
    assert!(
        (ms(300)..ms(600)).contains(&gave_up.elapsed),
        "{:?}",
        gave_up.elapsed
    );
    assert!(log.seen().iter().all(|seen| seen.cut));
    assert_eq!(requests(&server, "/hang"), 3);
}

#[tokio::test]
async fn nothing_lasts_longer_than_the_deadline() {
    let server = start();
    for target in [
        "/hang",
        "/slow-body",
        "/endless?every=20ms",
        "/huge?bytes=10737418240",
        "/status/500?delay=10s",
    ] {
        let client = Client::builder()
            .policy(QUICK.deadline(ms(250)).unlimited_attempts())
            .max_body_bytes(usize::MAX)
            .build()
            .unwrap();
        let gave_up = client.get(&url(&server, target)).send().await.unwrap_err();
        assert_eq!(gave_up.reason, StopReason::Deadline, "{target}: {gave_up}");
        assert!(gave_up.elapsed < ms(750), "{target}: {:?}", gave_up.elapsed);
    }
}

#[tokio::test]
async fn an_exchange_that_breaks_off_is_tried_again() {
    let server = start();
    for path in ["/reset", "/reset-after-read", "/truncated"] {
        let gave_up = client(QUICK).get(&url(&server, path)).send().await.unwrap_err();
        assert_eq!(
            (gave_up.attempts, gave_up.reason),
            (3, StopReason::Attempts),
            "{path}"
        );
        assert_eq!(kind(&gave_up), Some(ErrorKind::Interrupted), "{path}: {gave_up}");
        assert_eq!(requests(&server, path), 3);
    }
}

#[tokio::test]
async fn a_body_without_measure_ends_at_the_limit_and_is_not_asked_for_again() {
    let server = start();
    let client = Client::builder()
        .policy(QUICK)
        .max_body_bytes(100_000)
        .build()
        .unwrap();
    for (path, target) in [("/endless", "/endless"), ("/huge", "/huge?bytes=10737418240")] {
        let gave_up = client.get(&url(&server, target)).send().await.unwrap_err();
        assert_eq!((gave_up.attempts, gave_up.reason), (1, StopReason::Permanent));
        assert_eq!(kind(&gave_up), Some(ErrorKind::TooLarge));
        assert!(gave_up.to_string().contains("100000 bytes"), "{gave_up}");
        assert_eq!(requests(&server, path), 1);
    }
    let at_the_limit = url(&server, "/huge?bytes=100000");
    assert_eq!(
        client.get(&at_the_limit).send().await.unwrap().body.len(),
        100_000
    );
    let head = client.head(&url(&server, "/huge?bytes=100001")).send().await;
    assert!(head.unwrap().body.is_empty());
}

/// A port that is taken but not listened on, for as long as the socket lives.
fn nobody_listens() -> (TcpSocket, String) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let url = format!("http://{}/", socket.local_addr().unwrap());
    (socket, url)
}

#[tokio::test]
async fn a_refused_connection_is_tried_again_whatever_the_method() {
    let client = client(QUICK);
    let (_taken, target) = nobody_listens();
    for request in [client.get(&target), client.post(&target).body("{}")] {
        let gave_up = request.send().await.unwrap_err();
        assert_eq!((gave_up.attempts, gave_up.reason), (3, StopReason::Attempts));
        assert_eq!(kind(&gave_up), Some(ErrorKind::Connect));
        assert!(gave_up.to_string().contains("cannot connect"), "{gave_up}");
    }
}

#[tokio::test]
async fn an_error_tells_no_secret() {
    let server = start();
    let client = client(QUICK.max_attempts(1).attempt_timeout(ms(500)));
    let (_taken, nowhere) = nobody_listens();
    let targets = [
        format!("{nowhere}?token=hunter2"),
        url(&server, "/status/404?retry_after=hunter2"),
        url(&server, "/flaky/3?key=hunter2"),
        url(&server, "/truncated?promise=424242"),
        url(&server, "/huge?bytes=4242424242#hunter2"),
        url(&server, "/endless?every=424242ms"),
        "http://user:hunter2@localhost/".to_owned(),
        "https://hunter2@:99999/?hunter2".to_owned(),
    ];
    for target in targets {
        let request = client
            .get(&target)
            .bearer("hunter2")
            .header("x-api-key", "hunter2");
        let gave_up = request.send().await.unwrap_err();
        let mut texts = format!("{gave_up} {gave_up:?}");
        let mut cause: Option<&dyn std::error::Error> = Some(&gave_up);
        while let Some(error) = cause {
            texts.push_str(&format!(" {error} {error:?}"));
            cause = error.source();
        }
        let told = texts.contains("hunter2") || texts.contains("424242");
        assert!(!told, "{target}: {texts}");
    }
}
