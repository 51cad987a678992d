//! Answers that have no end, come drop by drop, or are no HTTP at all.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures_util::FutureExt as _;
use http_body_util::BodyExt as _;
use hyper::{
    Response,
    body::{Bytes, Frame},
};
use redeliver_outbox::destination::{Http, HttpBuilder, Outcome};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::oneshot,
};

use crate::{
    deliver, deliver_within, https, message,
    server::{Server, answer, listen},
    soon,
};

/// The most that an answer may occupy, in this process and in the system's memory on both ends of the connection.
const MOST: usize = 1 << 20;

fn at(scheme: &str, port: u16) -> HttpBuilder {
    Http::to(format!("{scheme}://localhost:{port}/events")).allow_private(true)
}

async fn read_request(socket: &mut TcpStream) {
    let (mut read, mut buffer) = (Vec::new(), [0; 1024]);
    while !read.ends_with(b"the end") {
        let length = socket.read(&mut buffer).await.unwrap();
        assert_ne!(length, 0, "the request was cut");
        read.extend_from_slice(&buffer[..length]);
    }
}

/// A server that answers one request with `head`, and then with `piece` again and again, at each tick or as fast as it can. How many bytes
/// it got rid of before the connection was given up.
fn pour(head: &str, piece: &'static [u8], tick: Option<Duration>) -> (u16, oneshot::Receiver<usize>) {
    let (listener, port) = listen();
    let (poured, total) = oneshot::channel();
    let head = head.to_owned();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        read_request(&mut socket).await;
        socket.write_all(head.as_bytes()).await.unwrap();
        let mut ticks = tick.map(tokio::time::interval);
        let mut written = 0;
        // Some system tells of a closed connection only to whoever reads.
        let mut end = [0; 1];
        loop {
            if let Some(ticks) = &mut ticks {
                tokio::select! {
                    _ = ticks.tick() => {}
                    _ = socket.read(&mut end) => break,
                }
            }
            match socket.write(piece).await {
                Ok(length) => written += length,
                Err(_) => break,
            }
        }
        let _ = poured.send(written);
    });
    (port, total)
}

const CHUNK: &[u8] = &[b'z'; 1008];
const CHUNKED: &[u8] = b"10\r\nzzzzzzzzzzzzzzzz\r\n";

fn shown(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Delivered => "delivered",
        Outcome::Retry { reason, .. }
        | Outcome::Unreachable { reason }
        | Outcome::Disable { reason }
        | Outcome::Reject { reason, .. }
        | Outcome::Ambiguous { reason, .. } => reason,
    }
}

#[tokio::test]
async fn an_answer_without_an_end_is_cut_and_little_of_it_was_held() {
    let start = format!("500 Internal Server Error: {}…", "z".repeat(200));
    let packed = "500 Internal Server Error (its body is packed as gzip and is not read)";
    for (headers, piece, failure) in [
        ("transfer-encoding: chunked", CHUNKED, start.as_str()),
        ("content-length: 10737418240", CHUNK, &start),
        ("connection: close", CHUNK, &start),
        (
            "content-encoding: gzip\r\ntransfer-encoding: chunked",
            CHUNKED,
            packed,
        ),
        (
            "content-encoding: gzip\r\ncontent-length: 10737418240",
            CHUNK,
            packed,
        ),
    ] {
        for (status, expected) in [("200 OK", "delivered"), ("500 No", failure)] {
            let (port, total) = pour(&format!("HTTP/1.1 {status}\r\n{headers}\r\n\r\n"), piece, None);
            let http = at("http", port).build().unwrap();
            let outcome = deliver(&http, &message("the end"), 1).await;
            assert_eq!(shown(&outcome), expected, "{headers}");
            let total = soon(total).await.unwrap();
            assert!(total <= MOST, "{headers}: {total} bytes");
        }
    }
}

#[tokio::test]
async fn a_head_without_an_end_is_cut_too() {
    let (port, total) = pour(
        "HTTP/1.1 200 OK\r\n",
        b"x-more: and more and more and more\r\n",
        None,
    );
    let http = at("http", port).build().unwrap();
    let outcome = deliver(&http, &message("the end"), 1).await;
    assert!(matches!(outcome, Outcome::Ambiguous { .. }), "{outcome:?}");
    assert!(
        shown(&outcome).contains("is no HTTP: message head is too large"),
        "{outcome:?}"
    );
    let total = soon(total).await.unwrap();
    assert!(total <= MOST, "{total} bytes");
}

#[tokio::test]
async fn an_answer_that_is_only_announced_ends_at_the_deadline() {
    let (port, total) = pour("", b"HTTP/1.1 100 Continue\r\n\r\n", None);
    let http = at("http", port).build().unwrap();
    let outcome = deliver_within(Duration::from_millis(300), &http, &message("the end"), 1).await;
    assert!(matches!(outcome, Outcome::Ambiguous { .. }), "{outcome:?}");
    assert!(shown(&outcome).ends_with("within 300ms"), "{outcome:?}");
    soon(total).await.unwrap();
}

#[tokio::test]
async fn an_answer_that_comes_drop_by_drop_ends_at_the_deadline() {
    let second = Some(Duration::from_secs(1));
    let short = Duration::from_millis(300);
    for (head, expected) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 60\r\n\r\n", "delivered"),
        (
            "HTTP/1.1 503 Busy\r\ncontent-length: 60\r\n\r\n",
            "503 Service Unavailable: z",
        ),
        ("HTTP/1.1 200 OK\r\nx-long: ", "within 300ms"),
    ] {
        let (port, total) = pour(head, b"z", second);
        let http = at("http", port).build().unwrap();
        let outcome = deliver_within(short, &http, &message("the end"), 1).await;
        assert!(shown(&outcome).ends_with(expected), "{outcome:?}");
        let total = soon(total).await.unwrap();
        assert!(total < 60, "it was read to its end: {total}");
    }
}

#[tokio::test]
async fn a_page_that_shows_the_request_does_not_show_its_secrets() {
    let server = Server::start(|seen| {
        let page = format!("you said {:?}, \u{202e}\u{1b}[31m", seen.header("authorization"));
        std::future::ready(answer(500, &[], page)).boxed()
    })
    .await;
    let http = at("http", server.port).header("authorization", "Bearer hunter2hunter2");
    let outcome = deliver(&http.build().unwrap(), &message("{}"), 1).await;
    assert_eq!(
        shown(&outcome),
        "500 Internal Server Error: you said Some(\"Bearer …\"), \u{fffd}\u{fffd}[31m"
    );
}

/// A body without an end, which counts what was taken of it.
struct Endless(Arc<AtomicUsize>);

impl hyper::body::Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.fetch_add(CHUNK.len(), Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(CHUNK)))))
    }
}

/// Tells when it is dropped with the count that there is then.
struct Counted(Arc<AtomicUsize>, Option<oneshot::Sender<usize>>);

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some(sender) = self.1.take() {
            let _ = sender.send(self.0.load(Ordering::Relaxed));
        }
    }
}

#[tokio::test]
async fn encrypted_answers_have_the_same_limits() {
    for protocol in [&b"h2"[..], b"http/1.1"] {
        for status in [200, 500] {
            let (sender, total) = oneshot::channel();
            let sender = std::sync::Mutex::new(Some(sender));
            let (server, pem) = https::start(protocol, move |_| {
                let count = Arc::new(AtomicUsize::new(0));
                let counted = Counted(Arc::clone(&count), sender.lock().unwrap().take());
                let body = Endless(count).map_frame(move |frame| {
                    let _ = &counted;
                    frame
                });
                let response = Response::builder().status(status).body(body.boxed_unsync());
                std::future::ready(response.unwrap()).boxed()
            })
            .await;
            let http = at("https", server.port)
                .certificate_authority(pem)
                .build()
                .unwrap();
            let outcome = deliver(&http, &message("{}"), 1).await;
            let expected = if status == 200 {
                "delivered"
            } else {
                "500 Internal Server Error: zzz"
            };
            assert!(shown(&outcome).starts_with(expected), "{outcome:?}");
            let total = soon(total).await.unwrap();
            assert!(total <= MOST, "{total} bytes");
        }
    }
}

/// A server that says something before it is asked, and listens from then on.
pub(crate) fn greeting(words: &'static [u8]) -> u16 {
    let (listener, port) = listen();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let _ = socket.write_all(words).await;
            let mut ignored = Vec::new();
            let _ = socket.read_to_end(&mut ignored).await;
        }
    });
    port
}

#[tokio::test]
async fn a_server_of_another_kind_is_told_by_what_it_says() {
    for (words, shows) in [
        (&b"SSH-2.0-OpenSSH_9.6\r\n"[..], "\"SSH-2.0-OpenSSH_9.6\""),
        (
            b"220 mail.example.com ESMTP\r\n",
            "\"220 mail.example.com ESMTP\"",
        ),
        (b"J\0\0\0\n8.0.36\0", "\"J"),
    ] {
        let port = greeting(words);
        let http = at("http", port).build().unwrap();
        let outcome = deliver(&http, &message("{}"), 1).await;
        let expected = format!("what is at http://localhost:{port} is no HTTP server: it says {shows}");
        assert!(shown(&outcome).starts_with(&expected), "{outcome:?}");

        let https = at("https", port).build().unwrap();
        not_encrypted(&deliver(&https, &message("{}"), 1).await, port);
    }
}

fn not_encrypted(outcome: &Outcome, port: u16) {
    let reason = format!(
        "cannot connect to https://localhost:{port}: what is there does not speak TLS; if it speaks plain HTTP, its url begins with http://"
    );
    assert_eq!(*outcome, Outcome::Unreachable { reason });
}

#[tokio::test]
async fn tls_and_plain_http_are_told_apart() {
    let plain = Server::start(|_| async { answer(200, &[], "") }.boxed()).await;
    let http = at("https", plain.port).build().unwrap();
    not_encrypted(&deliver(&http, &message("{}"), 1).await, plain.port);

    let (encrypted, _) = https::start(b"http/1.1", |_| async { answer(200, &[], "") }.boxed()).await;
    let http = at("http", encrypted.port).build().unwrap();
    let port = encrypted.port;
    let reason = format!(
        "http://localhost:{port} speaks TLS and was spoken to without: its url must begin with https://"
    );
    assert_eq!(
        deliver(&http, &message("{}"), 1).await,
        Outcome::Unreachable { reason }
    );
}
