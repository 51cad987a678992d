//! Through a proxy.

use futures_util::FutureExt as _;
use redeliver_outbox::destination::{Http, HttpBuilder, Outcome};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::TcpStream,
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
};

use crate::{
    deliver,
    hostile::greeting,
    https, message,
    server::{answer, listen},
    soon,
};

/// A proxy that knows every name as this machine's, or gives this answer instead. What it was asked, head by head.
fn start(instead: Option<&'static str>) -> (u16, UnboundedReceiver<String>) {
    let (listener, port) = listen();
    let (sender, asked) = unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let head = head(&mut socket).await;
            let way = head
                .strip_prefix("CONNECT ")
                .and_then(|rest| rest.split([' ', ':']).nth(1)?.parse::<u16>().ok());
            let _ = sender.send(head);
            let answer = match (instead, way) {
                (Some(answer), _) => answer,
                (None, Some(_)) => "HTTP/1.1 200 Connection established\r\nvia: 1.1 proxy\r\n\r\n",
                (None, None) => "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n",
            };
            socket.write_all(answer.as_bytes()).await.unwrap();
            if let (None, Some(port)) = (instead, way) {
                let mut there = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                tokio::spawn(async move { copy_bidirectional(&mut socket, &mut there).await });
            }
        }
    });
    (port, asked)
}

async fn head(socket: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// A public name behind a proxy on this machine.
fn to(url: &str, proxy: u16) -> HttpBuilder {
    Http::to(url).proxy(format!("http://shop:p%40ss@127.0.0.1:{proxy}"))
}

const AUTHORIZATION: &str = "proxy-authorization: Basic c2hvcDpwQHNz\r\n";

#[tokio::test]
async fn https_goes_through_a_tunnel() {
    let (mut server, pem) = https::start(b"h2", |_| async { answer(200, &[], "") }.boxed()).await;
    let (proxy, mut asked) = start(None);
    let host = format!("shop.example:{}", server.port);
    let http = to(&format!("https://{host}/events"), proxy).certificate_authority(pem);
    let http = http.build().unwrap();
    for _ in 0..2 {
        assert_eq!(deliver(&http, &message("{}"), 1).await, Outcome::Delivered);
        let seen = soon(server.seen()).await;
        assert_eq!(
            (seen.path.as_str(), seen.header("proxy-authorization")),
            ("/events", None)
        );
    }
    let head = soon(asked.recv()).await.unwrap();
    assert_eq!(
        head,
        format!("CONNECT {host} HTTP/1.1\r\nhost: {host}\r\n{AUTHORIZATION}\r\n")
    );
    assert!(asked.try_recv().is_err(), "the second went the same way");
}

#[tokio::test]
async fn plain_http_goes_with_its_whole_url() {
    let (proxy, mut asked) = start(None);
    let http = to("http://shop.example/events?a=b", proxy).build().unwrap();
    assert_eq!(deliver(&http, &message("{}"), 1).await, Outcome::Delivered);
    let head = soon(asked.recv()).await.unwrap();
    assert!(
        head.starts_with("POST http://shop.example/events?a=b HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.contains("host: shop.example\r\n") && head.contains(AUTHORIZATION),
        "{head}"
    );
}

#[tokio::test]
async fn what_goes_wrong_on_the_way_is_told_and_has_not_arrived() {
    let closed = {
        let (listener, port) = listen();
        drop(listener);
        port
    };
    let start = |answer| start(Some(answer)).0;
    let wrong_password = "does not take the user and the password that proxy names";
    for (url, proxy, words) in [
        ("https://shop.example", closed, "cannot be reached: "),
        ("http://shop.example", closed, "cannot be reached: "),
        (
            "https://shop.example",
            start("HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno"),
            "opens no way to shop.example:443: HTTP/1.1 403 Forbidden",
        ),
        (
            "https://shop.example",
            start("HTTP/1.1 407 Who\r\n\r\n"),
            wrong_password,
        ),
        (
            "http://shop.example",
            start("HTTP/1.1 407 Who\r\ncontent-length: 0\r\n\r\n"),
            wrong_password,
        ),
        (
            "https://shop.example",
            start("HTTP/1.1 200 OK\r\n\r\nhello"),
            "says more than",
        ),
        (
            "https://shop.example",
            greeting(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"),
            "SSH-2.0-OpenSSH_9.6",
        ),
    ] {
        let http = to(url, proxy).build().unwrap();
        match deliver(&http, &message("{}"), 1).await {
            Outcome::Unreachable { reason } => {
                let begin = format!("cannot connect to {url}: the proxy http://127.0.0.1:{proxy} ");
                assert!(reason.starts_with(&begin) && reason.contains(words), "{reason}");
                assert!(!reason.contains("p%40ss") && !reason.contains("p@ss"), "{reason}");
            }
            other => panic!("{words}: {other:?}"),
        }
    }
}

#[test]
fn what_can_be_known_without_the_proxy_is_refused_without_it() {
    for url in [
        "http://127.0.0.1/",
        "https://[::1]/",
        "http://169.254.169.254/",
        "https://localhost/",
    ] {
        let error = to(url, 1).build().unwrap_err();
        assert!(
            error.field == "url" && error.rule.contains("allow_private"),
            "{error}"
        );
    }
    let error = to("http://shop.example/", 1).http2(true).build().unwrap_err();
    assert_eq!(error.field, "http2", "{error}");
}
