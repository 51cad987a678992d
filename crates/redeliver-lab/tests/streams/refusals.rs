//! Servers that say no, say something else, or say nothing.

use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt;
use redeliver::StopReason;
use redeliver::sse::{EventSource, SseError};
use redeliver::stream::{Cause, DEFAULT_CONNECT_TIMEOUT, StreamEvent};
use redeliver::websocket::{WebSocket, WebSocketError};
use tokio::net::TcpListener;

use crate::{FAST, Told, all, answering, soon, start};

/// A wait longer than this is seen, not waited.
const PATIENCE: Duration = Duration::from_millis(100);

/// Both kinds of stream at a path of the fault server, until they have been lost so often or should wait too long.
async fn both(target: &str, losses: u32) -> (Told<(), WebSocketError>, Told<(), SseError>) {
    let server = start();
    let policy = FAST
        .max_attempts(losses + 1)
        .attempt_timeout(Duration::from_millis(200));
    let address = server.local_addr();
    let socket = WebSocket::connect(format!("ws://{address}{target}")).policy(policy);
    let socket = socket.stream().unwrap().while_(|lost| lost.wait < PATIENCE);
    let source = EventSource::connect(format!("http://{address}{target}")).policy(policy);
    let source = source.stream().unwrap().while_(|lost| lost.wait < PATIENCE);
    (
        without_items(all(socket.events()).await),
        without_items(all(source.events()).await),
    )
}

fn without_items<T, E>(told: Told<T, E>) -> Told<(), E> {
    assert!(told.items.is_empty());
    Told {
        items: Vec::new(),
        connections: told.connections,
        losses: told.losses,
        end: told.end,
    }
}

fn reason<E>(told: &Told<(), E>) -> (StopReason, u32, bool) {
    let end = told.end.as_ref().unwrap();
    (end.reason, end.attempts, end.timed_out)
}

#[tokio::test]
async fn a_refusal_that_no_retry_mends_ends_it_at_once() {
    for target in [
        "/status/400",
        "/status/401",
        "/status/404",
        "/status/501",
        "/status/302",
    ] {
        let (socket, source) = both(target, 3).await;
        assert_eq!(reason(&socket), (StopReason::Permanent, 1, false), "{target}");
        assert_eq!(reason(&source), (StopReason::Permanent, 1, false), "{target}");
    }
}

#[tokio::test]
async fn a_refusal_of_the_moment_is_tried_again() {
    for target in [
        "/status/408",
        "/status/500",
        "/status/502",
        "/status/503?retry_after=0",
    ] {
        let (socket, source) = both(target, 3).await;
        assert_eq!(reason(&socket), (StopReason::Attempts, 4, false), "{target}");
        assert_eq!(reason(&source), (StopReason::Attempts, 4, false), "{target}");
    }
}

#[tokio::test]
async fn a_servers_wait_is_obeyed() {
    let server = start();
    let address = server.local_addr();
    let asked = Duration::from_secs(2);
    // The fault server's date form has whole seconds, of which the one that runs is lost.
    for (path, least) in [
        ("/throttle?retry_after=2", asked),
        ("/unavailable-date?after=3&skew=-86400", asked),
    ] {
        let socket = WebSocket::connect(format!("ws://{address}{path}")).policy(FAST);
        let mut socket = pin!(socket.stream().unwrap().events());
        let Some(Ok(StreamEvent::Disconnected(lost))) = soon(socket.next()).await else {
            panic!("{path}: not refused")
        };
        assert!(
            lost.wait >= least && lost.wait < 2 * asked,
            "{path}: {:?}",
            lost.wait
        );
        let source = EventSource::connect(format!("http://{address}{path}")).policy(FAST);
        let mut source = pin!(source.stream().unwrap().events());
        let Some(Ok(StreamEvent::Disconnected(lost))) = soon(source.next()).await else {
            panic!("{path}: not refused")
        };
        assert!(
            lost.wait >= least && lost.wait < 2 * asked,
            "{path}: {:?}",
            lost.wait
        );
    }
}

#[tokio::test]
async fn a_servers_wait_that_is_too_long_ends_it() {
    let (socket, source) = both("/ws?refuse=100&retry_after=301", 3).await;
    assert_eq!(reason(&socket).0, StopReason::RetryAfter);
    assert_eq!(reason(&source).0, StopReason::RetryAfter);
}

#[tokio::test]
async fn a_server_that_never_answers_is_left_in_time() {
    let (socket, source) = both("/hang", 1).await;
    assert_eq!(reason(&socket), (StopReason::Attempts, 2, true));
    assert_eq!(reason(&source), (StopReason::Attempts, 2, true));
    let limit = Duration::from_millis(200);
    assert!(matches!(socket.losses[0].cause, Cause::ConnectTimeout(waited) if waited == limit));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_left_in_time_by_a_policy_without_one() {
    // Nobody accepts: the connections come about, and nothing more.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let policy = FAST.max_attempts(1);
    let socket = WebSocket::connect(format!("ws://{address}/")).policy(policy);
    let socket = all(socket.stream().unwrap().events()).await;
    let source = EventSource::connect(format!("http://{address}/")).policy(policy);
    let source = all(source.stream().unwrap().events()).await;
    assert_eq!(reason(&without_items(socket)), (StopReason::Attempts, 1, true));
    let gave_up = source.end.unwrap();
    assert_eq!((gave_up.attempts, gave_up.timed_out), (1, true));
    assert!(gave_up.elapsed >= DEFAULT_CONNECT_TIMEOUT, "{gave_up}");
}

#[tokio::test]
async fn a_page_is_no_stream_however_long_it_is() {
    let (socket, source) = both("/endless", 3).await;
    assert_eq!(reason(&socket).0, StopReason::Permanent);
    assert!(matches!(
        socket.end.unwrap().last_error,
        Some(WebSocketError::Refused { status: 200, .. })
    ));
    let error = source.end.unwrap().into_error().unwrap();
    assert!(matches!(error, SseError::NotEventStream(_)), "{error}");
}

#[tokio::test]
async fn a_server_of_another_kind_is_known_for_what_it_is() {
    let address = answering(b"SSH-2.0-OpenSSH_9.6\r\n").await;
    let socket = WebSocket::connect(format!("ws://{address}/")).policy(FAST);
    let gave_up = all(socket.stream().unwrap().events()).await.end.unwrap();
    assert_eq!(
        (gave_up.reason, gave_up.attempts),
        (StopReason::Permanent, 1),
        "{gave_up}"
    );
    let source = EventSource::connect(format!("http://{address}/")).policy(FAST);
    let gave_up = all(source.stream().unwrap().events()).await.end.unwrap();
    assert_eq!(
        (gave_up.reason, gave_up.attempts),
        (StopReason::Permanent, 1),
        "{gave_up}"
    );
}

#[tokio::test]
async fn a_port_where_nobody_listens_is_tried_again() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let policy = FAST.max_attempts(3);
    let socket = WebSocket::connect(format!("ws://{address}/")).policy(policy);
    let told = all(socket.stream().unwrap().events()).await;
    assert_eq!(reason(&without_items(told)), (StopReason::Attempts, 3, false));
    let source = EventSource::connect(format!("http://{address}/?token=secret")).policy(policy);
    let gave_up = all(source.stream().unwrap().events()).await.end.unwrap();
    assert_eq!((gave_up.reason, gave_up.attempts), (StopReason::Attempts, 3));
    let words = gave_up.to_string();
    assert!(words.contains("refused") && !words.contains("secret"), "{words}");
}

#[tokio::test]
async fn an_event_without_end_is_bounded() {
    let address = answering(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream;charset=utf-8\r\n\r\nid: 1\ndata: small\n\n\
          data: 0123456789012345678901234567890123456789\ndata: 0123456789012345678901234567890123456789\n\n",
    )
    .await;
    let source = EventSource::connect(format!("http://{address}/"))
        .policy(FAST)
        .max_event_size(64);
    let told = all(source.stream().unwrap().events()).await;
    assert_eq!(told.items.len(), 1);
    let gave_up = told.end.unwrap();
    assert_eq!(gave_up.reason, StopReason::Permanent);
    assert!(
        gave_up.to_string().contains("larger than the 64 bytes"),
        "{gave_up}"
    );
}
