//! What a WebSocket does while it is up: it sends, pings, notices silence, and says goodbye.

use std::pin::pin;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use redeliver::StopReason;
use redeliver::websocket::{Message, SendError, WebSocket, WebSocketError};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{WebSocketStream, accept_async};

use crate::{FAST, all, soon};

struct Server {
    listener: TcpListener,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { listener }
    }

    fn url(&self) -> String {
        format!("ws://{}/", self.listener.local_addr().unwrap())
    }

    async fn accept(&self) -> WebSocketStream<TcpStream> {
        let (socket, _) = soon(self.listener.accept()).await.unwrap();
        soon(accept_async(socket)).await.unwrap()
    }
}

async fn close(mut connection: WebSocketStream<TcpStream>, code: u16) {
    let frame = CloseFrame {
        code: code.into(),
        reason: "as asked".into(),
    };
    connection.close(Some(frame)).await.unwrap();
    while let Some(Ok(_)) = soon(connection.next()).await {}
}

#[tokio::test]
async fn what_is_sent_is_written_or_refused_never_kept() {
    let server = Server::start().await;
    let socket = WebSocket::connect(server.url())
        .policy(FAST)
        .resume(|last, next| next.say(last.map_or("hello".to_owned(), |last| format!("after {last}"))));
    let handle = socket.handle();
    assert_eq!(handle.send("too early").await, Err(SendError::NotConnected));
    let reader = tokio::spawn(all(socket.stream().unwrap().events()));

    let mut first = server.accept().await;
    assert_eq!(soon(first.next()).await.unwrap().unwrap(), Message::text("hello"));
    soon(async {
        while !handle.is_connected() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    for number in 0..200 {
        soon(handle.send(format!("message {number}"))).await.unwrap();
        let seen = soon(first.next()).await.unwrap().unwrap();
        assert_eq!(seen, Message::text(format!("message {number}")));
    }
    first.send(Message::text("item")).await.unwrap();
    drop(first);

    let mut second = server.accept().await;
    assert_eq!(
        soon(second.next()).await.unwrap().unwrap(),
        Message::text("after item")
    );
    close(second, 1000).await;
    let told = soon(reader).await.unwrap();
    assert!(told.end.is_none(), "{:?}", told.end);
    assert_eq!(told.items, [Message::text("item")]);
    assert_eq!((told.connections, told.losses.len()), (2, 1));
    assert_eq!(handle.send("too late").await, Err(SendError::NotConnected));
}

#[tokio::test]
async fn many_senders_share_the_queue() {
    let server = Server::start().await;
    let socket = WebSocket::connect(server.url()).policy(FAST);
    let handle = socket.handle();
    let reader = tokio::spawn(all(socket.stream().unwrap().events()));
    let mut connection = server.accept().await;
    soon(async {
        while !handle.is_connected() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let senders: Vec<_> = (0..500)
        .map(|number| {
            let handle = handle.clone();
            tokio::spawn(async move { handle.send(number.to_string()).await })
        })
        .collect();
    let mut seen: Vec<u32> = Vec::new();
    while seen.len() < 500 {
        let message = soon(connection.next()).await.unwrap().unwrap();
        seen.push(message.to_text().unwrap().parse().unwrap());
    }
    for sender in senders {
        assert_eq!(soon(sender).await.unwrap(), Ok(()));
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..500).collect::<Vec<_>>());
    close(connection, 1000).await;
    soon(reader).await.unwrap();
}

#[tokio::test]
async fn silence_in_spite_of_pings_is_a_loss() {
    let server = Server::start().await;
    let socket = WebSocket::connect(server.url())
        .policy(FAST)
        .keep_alive(Duration::from_millis(20))
        .idle_timeout(Duration::from_millis(200));
    let reader = tokio::spawn(all(socket.stream().unwrap().events()));

    // Accepted and never read again: no pong.
    let deaf = server.accept().await;
    let mut attentive = server.accept().await;
    drop(deaf);
    for _ in 0..15 {
        // Pings are answered by reading, and keep a connection without items up for longer than the limit.
        assert!(soon(attentive.next()).await.unwrap().unwrap().is_ping());
    }
    close(attentive, 1000).await;
    let told = soon(reader).await.unwrap();
    assert_eq!(told.losses.len(), 1);
    assert_eq!(told.losses[0].cause.to_string(), "nothing came for 200ms");
}

#[tokio::test]
async fn a_message_too_large_is_not_asked_for_again() {
    let server = Server::start().await;
    let socket = WebSocket::connect(server.url())
        .policy(FAST)
        .max_message_size(1000);
    let reader = tokio::spawn(all(socket.stream().unwrap().events()));
    let mut connection = server.accept().await;
    connection.send(Message::binary(vec![0; 1000])).await.unwrap();
    connection.send(Message::binary(vec![0; 1001])).await.unwrap();
    let told = soon(reader).await.unwrap();
    assert_eq!(told.items.len(), 1);
    let gave_up = told.end.unwrap();
    assert_eq!(gave_up.reason, StopReason::Permanent);
    assert!(matches!(gave_up.last_error, Some(WebSocketError::TooLarge(1000))));
}

#[tokio::test]
async fn a_close_code_says_whether_to_come_back() {
    let server = Server::start().await;
    let socket = WebSocket::connect(server.url()).policy(FAST);
    let reader = tokio::spawn(all(socket.stream().unwrap().events()));
    for code in [1001, 1011, 1012, 4000] {
        close(server.accept().await, code).await;
    }
    close(server.accept().await, 1008).await;
    let told = soon(reader).await.unwrap();
    assert_eq!(told.losses.len(), 4);
    let gave_up = told.end.unwrap();
    assert_eq!(gave_up.reason, StopReason::Permanent);
    assert!(gave_up.to_string().contains("code 1008: as asked"), "{gave_up}");
}

#[tokio::test]
async fn dropping_the_stream_ends_the_connection() {
    let server = Server::start().await;
    let socket = WebSocket::connect(server.url()).policy(FAST);
    let handle = socket.handle();
    {
        let mut stream = pin!(socket.stream().unwrap());
        let mut connection = tokio::select! {
            connection = server.accept() => connection,
            item = stream.next() => panic!("{item:?}"),
        };
        connection.send(Message::text("one")).await.unwrap();
        assert_eq!(soon(stream.next()).await.unwrap().unwrap(), Message::text("one"));
        assert!(handle.is_connected());
    }
    assert!(!handle.is_connected());
    assert_eq!(handle.send("gone").await, Err(SendError::NotConnected));
}
