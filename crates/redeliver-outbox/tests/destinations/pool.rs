//! Connections that are kept, and those that must not be.

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr},
    sync::mpsc,
    thread,
};

use futures_util::{FutureExt as _, future::join_all};
use hyper::Version;
use redeliver_outbox::destination::{Http, Outcome};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    runtime::Builder,
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
};

use crate::{
    deliver, https, message,
    server::{Server, answer},
    soon,
};

const TAKEN: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\ntaken";

fn at(address: SocketAddr) -> Http {
    Http::to(format!("http://{address}/events"))
        .allow_private(true)
        .build()
        .unwrap()
}

async fn read_until(socket: &mut TcpStream, end: &[u8]) {
    let (mut read, mut buffer) = (Vec::new(), [0; 1024]);
    while !read.windows(end.len()).any(|window| window == end) {
        let length = socket.read(&mut buffer).await.unwrap();
        assert_ne!(length, 0, "the request was cut");
        read.extend_from_slice(&buffer[..length]);
    }
}

#[tokio::test]
async fn one_request_after_the_other_needs_one_connection() {
    let mut server = Server::start(|_| async { answer(200, &[], "taken") }.boxed()).await;
    let http = Http::to(server.url()).allow_private(true).build().unwrap();
    for _ in 0..20 {
        assert_eq!(deliver(&http, &message("{}"), 1).await, Outcome::Delivered);
        assert_eq!(soon(server.seen()).await.connection, 0);
    }
}

#[tokio::test]
async fn an_answer_that_ends_its_connection_is_followed_by_another_one() {
    let closing = &[("connection", "close")];
    let mut server = Server::start(|_| async { answer(200, closing, "taken") }.boxed()).await;
    let http = Http::to(server.url()).allow_private(true).build().unwrap();
    for connection in 0..3 {
        assert_eq!(deliver(&http, &message("{}"), 1).await, Outcome::Delivered);
        assert_eq!(soon(server.seen()).await.connection, connection);
    }
}

#[tokio::test]
async fn requests_at_the_same_time_share_a_connection_of_http_2() {
    let mut server = Server::start(|_| async { answer(200, &[], "taken") }.boxed()).await;
    let http = Http::to(server.url())
        .allow_private(true)
        .http2(true)
        .build()
        .unwrap();
    let message = message("{}");
    for outcome in join_all((0..8).map(|_| deliver(&http, &message, 1))).await {
        assert_eq!(outcome, Outcome::Delivered);
        assert_eq!(soon(server.seen()).await.connection, 0);
    }
}

#[tokio::test]
async fn a_connection_of_http_2_that_was_agreed_on_is_kept() {
    let (mut server, authority) = https::start(b"h2", |_| async { answer(200, &[], "taken") }.boxed()).await;
    let http = Http::to(format!("https://localhost:{}/events", server.port))
        .allow_private(true)
        .certificate_authority(authority)
        .build()
        .unwrap();
    for _ in 0..3 {
        assert_eq!(deliver(&http, &message("{}"), 1).await, Outcome::Delivered);
        let seen = soon(server.seen()).await;
        assert_eq!((seen.connection, seen.version), (0, Version::HTTP_2));
    }
}

/// Without a word, as many a server does with what is idle.
#[tokio::test]
async fn a_connection_that_the_server_closed_is_not_used() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let http = at(listener.local_addr().unwrap());
    let (sender, mut closed) = unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            read_until(&mut socket, b"the end").await;
            socket.write_all(TAKEN).await.unwrap();
            socket.shutdown().await.unwrap();
            // The client has seen it once it closes its own side.
            let _ = socket.read(&mut [0; 1]).await;
            let _ = sender.send(());
        }
    });
    for _ in 0..3 {
        assert_eq!(deliver(&http, &message("the end"), 1).await, Outcome::Delivered);
        soon(closed.recv()).await.unwrap();
    }
}

/// The first connection is answered after the head of its request, and nothing more is read from it.
fn hasty(listener: TcpListener) -> UnboundedReceiver<usize> {
    let (sender, answered) = unbounded_channel();
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut socket, _)) = listener.accept().await {
            match open.len() {
                0 => read_until(&mut socket, b"\r\n\r\n").await,
                _ => read_until(&mut socket, b"the end").await,
            }
            socket.write_all(TAKEN).await.unwrap();
            let _ = sender.send(open.len());
            open.push(socket);
        }
    });
    answered
}

#[tokio::test]
async fn a_connection_with_half_a_request_on_it_is_not_used() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let http = at(listener.local_addr().unwrap());
    let mut answered = hasty(listener);
    let large = message("x".repeat(64 << 20));
    assert_eq!(deliver(&http, &large, 1).await, Outcome::Delivered);
    assert_eq!(soon(answered.recv()).await, Some(0));
    assert_eq!(deliver(&http, &message("the end"), 1).await, Outcome::Delivered);
    assert_eq!(soon(answered.recv()).await, Some(1));
}

#[tokio::test]
async fn an_idle_connection_is_closed_although_nobody_asks_for_another() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let http = at(listener.local_addr().unwrap());
    let closing = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        read_until(&mut socket, b"the end").await;
        socket.write_all(TAKEN).await.unwrap();
        socket.read(&mut [0; 1]).await.unwrap()
    });
    assert_eq!(deliver(&http, &message("the end"), 1).await, Outcome::Delivered);
    assert_eq!(
        soon(closing).await.unwrap(),
        0,
        "it is closed, and not broken off"
    );
}

/// Answers one request on each connection, and closes it when it is told to; says when that is done.
fn obedient(listener: std::net::TcpListener) -> (mpsc::Sender<()>, mpsc::Receiver<()>) {
    let (close, told) = mpsc::channel();
    let (sender, closed) = mpsc::channel();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let (mut read, mut buffer) = (Vec::new(), [0; 1024]);
            while !read.ends_with(b"the end") {
                let length = socket.read(&mut buffer).unwrap();
                read.extend_from_slice(&buffer[..length]);
            }
            socket.write_all(TAKEN).unwrap();
            if told.recv().is_err() {
                break;
            }
            drop(socket);
            let _ = sender.send(());
        }
    });
    (close, closed)
}

/// What was kept belongs to the runtime that it was made on.
#[test]
fn a_destination_outlives_a_runtime() {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let http = at(listener.local_addr().unwrap());
    let (close, _closed) = obedient(listener);
    for _ in 0..3 {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let outcome = runtime.block_on(deliver(&http, &message("the end"), 1));
        assert_eq!(outcome, Outcome::Delivered);
        drop(runtime);
        close.send(()).unwrap();
    }
}

/// The runtime learns that the connection was closed after the request was handed to it, and before any of it was written: it looks at its
/// sockets after each task, and there is one before the connection's.
#[test]
fn a_request_that_was_not_written_goes_on_another_connection() {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let http = at(listener.local_addr().unwrap());
    let (close, closed) = obedient(listener);
    let runtime = Builder::new_current_thread()
        .enable_all()
        .event_interval(1)
        .build()
        .unwrap();
    runtime.block_on(async {
        for _ in 0..3 {
            assert_eq!(deliver(&http, &message("the end"), 1).await, Outcome::Delivered);
            // Whatever the connection still has to do.
            tokio::task::yield_now().await;
            close.send(()).unwrap();
            closed.recv().unwrap();
            tokio::spawn(async {});
        }
    });
}
