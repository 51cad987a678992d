//! Streams that reconnect, against servers that drop, refuse, hang and lie on a real socket.

#![expect(clippy::unwrap_used, reason = "the steps that tests share fail as tests do")]

mod refusals;
mod resume;
mod sockets;
mod tls;

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use redeliver::stream::StreamEvent;
use redeliver::{GaveUp, Jitter, Policy};
use redeliver_lab::faulty::{Faulty, FaultyConfig, FaultyServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// One millisecond to five, for ever.
const FAST: Policy = Policy::exponential(Duration::from_millis(1), Duration::from_millis(5))
    .unlimited_attempts()
    .jitter(Jitter::Full);

fn start() -> FaultyServer {
    Faulty::start(FaultyConfig::default()).unwrap()
}

fn ws(server: &FaultyServer, target: &str) -> String {
    format!("ws://{}{target}", server.local_addr())
}

/// No test waits for ever.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future)
        .await
        .expect("nothing happened for 60 s")
}

/// All that a stream tells, and why it gave up if it did.
struct Told<T, E> {
    items: Vec<T>,
    connections: usize,
    losses: Vec<redeliver::stream::Disconnection<E>>,
    end: Option<GaveUp<E>>,
}

async fn all<T, E>(stream: impl Stream<Item = Result<StreamEvent<T, E>, GaveUp<E>>>) -> Told<T, E> {
    let mut stream = pin!(stream);
    let mut told = Told {
        items: Vec::new(),
        connections: 0,
        losses: Vec::new(),
        end: None,
    };
    while let Some(event) = soon(stream.next()).await {
        match event {
            Ok(StreamEvent::Item(item)) => told.items.push(item),
            Ok(StreamEvent::Connected(_)) => told.connections += 1,
            Ok(StreamEvent::Disconnected(lost)) => told.losses.push(lost),
            Ok(_) => {}
            Err(gave_up) => told.end = Some(gave_up),
        }
    }
    told
}

/// A server that reads each request's head and gives it this answer; its address.
async fn answering(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut head = [0; 4096];
            let _ = socket.read(&mut head).await;
            let _ = socket.write_all(answer).await;
            let _ = socket.shutdown().await;
        }
    });
    address
}
