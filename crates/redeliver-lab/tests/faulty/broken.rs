//! Faults that no well-behaved server shows.

use std::io::ErrorKind;

use redeliver_lab::faulty::FaultyConfig;
use tokio::io::AsyncReadExt;

use crate::client::{get, open, record, send, soon, start, still_waits};

#[tokio::test]
async fn reset_is_a_tcp_reset_before_any_answer() {
    let server = start(FaultyConfig::default());
    for target in ["/reset", "/reset-after-read"] {
        for method in ["GET", "POST"] {
            let body = if method == "POST" { "a body" } else { "" };
            let seen = send(&server, method, target, "", body).await;
            assert_eq!(
                seen.end.unwrap_err().kind(),
                ErrorKind::ConnectionReset,
                "{method} {target}"
            );
            assert!(seen.body.is_empty(), "{method} {target}");
        }
    }
    assert_eq!(server.stats().routes["/reset"].faults["reset"], 2);
}

#[tokio::test]
async fn reset_after_read_waits_for_the_whole_request_and_reset_does_not() {
    let server = start(FaultyConfig::default());
    let promised = "content-type: text/plain\r\ntransfer-encoding: chunked\r\n";
    let raw = |target| format!("POST {target} HTTP/1.1\r\nhost: test\r\n{promised}\r\n3\r\nabc\r\n");
    let mut answers = Vec::new();
    for target in ["/reset", "/reset-after-read"] {
        let mut stream = crate::client::connect(&server).await;
        tokio::io::AsyncWriteExt::write_all(&mut stream, raw(target).as_bytes())
            .await
            .unwrap();
        let mut byte = [0];
        answers.push(still_waits(stream.read(&mut byte)).await);
    }
    assert_eq!(answers, [false, true]);
}

#[tokio::test]
async fn hang_accepts_and_never_answers() {
    let server = start(FaultyConfig::default());
    let mut records = server.records();
    let mut stream = open(&server, "GET", "/hang", "", "").await;
    let told = record(&mut records, |record| record.path == "/hang").await;
    assert_eq!((told.fault, told.status), (Some("hang"), None));
    let mut byte = [0];
    assert!(still_waits(stream.read(&mut byte)).await);
}

#[tokio::test]
async fn truncated_promises_more_than_it_sends_and_ends_in_order() {
    let server = start(FaultyConfig::default());
    let seen = get(&server, "/truncated?bytes=40&promise=50").await;
    assert_eq!(
        (seen.status, seen.header("content-length"), seen.body.len()),
        (200, Some("50"), 40)
    );
    seen.end.unwrap();
    let never_whole = get(&server, "/truncated?bytes=2000").await;
    assert_eq!(
        (never_whole.header("content-length"), never_whole.body.len()),
        (Some("2001"), 2000)
    );
}

#[tokio::test]
async fn a_slow_body_comes_byte_by_byte() {
    let server = start(FaultyConfig::default());
    let whole = get(&server, "/slow-body?bytes=5&every=1ms").await;
    assert_eq!(
        (whole.header("content-length"), whole.text()),
        (Some("5"), "xxxxx")
    );

    let mut stream = open(&server, "GET", "/slow-body?bytes=2&every=1h", "", "").await;
    let mut seen = Vec::new();
    while !seen.ends_with(b"\r\n\r\nx") {
        seen.push(soon(stream.read_u8()).await.unwrap());
    }
    assert!(still_waits(stream.read_u8()).await);
}

#[tokio::test]
async fn an_endless_body_goes_on() {
    let server = start(FaultyConfig::default());
    let mut stream = open(&server, "GET", "/endless", "", "").await;
    let mut bytes = vec![0; 32 * 1024 * 1024];
    soon(stream.read_exact(&mut bytes)).await.unwrap();
    assert!(bytes.iter().filter(|byte| **byte == b'x').count() > bytes.len() * 99 / 100);
}

#[tokio::test]
async fn a_huge_body_is_as_long_as_it_says() {
    let server = start(FaultyConfig::default());
    let seen = get(&server, "/huge?bytes=5000001").await;
    assert_eq!(
        (seen.header("content-length"), seen.body.len()),
        (Some("5000001"), 5_000_001)
    );
}
