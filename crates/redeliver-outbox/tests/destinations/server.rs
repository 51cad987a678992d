//! A real HTTP server that shows what it was sent.

use std::{convert::Infallible, net::Ipv4Addr, sync::Arc};

use futures_util::{FutureExt as _, future::BoxFuture};
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use hyper::{
    HeaderMap, Method, Request, Response, Version,
    body::{Bytes, Incoming},
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};

pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;
pub(crate) type Reply = BoxFuture<'static, Response<Body>>;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) version: Version,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Which connection it came on, from 0.
    pub(crate) connection: usize,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// A listener whose own system keeps little of what nobody reads.
pub(crate) fn listen() -> (TcpListener, u16) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(64 << 10).unwrap();
    socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let listener = socket.listen(8).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

pub(crate) struct Server {
    pub(crate) port: u16,
    seen: UnboundedReceiver<Seen>,
}

/// A socket after whatever comes before HTTP.
pub(crate) trait Socket: AsyncRead + AsyncWrite + Unpin + Send + 'static {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Socket for S {}

impl Server {
    pub(crate) async fn start(reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_behind(reply, |socket| async { Some(socket) }.boxed()).await
    }

    /// The same behind a handshake, which may fail.
    pub(crate) async fn start_behind<S: Socket>(
        reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
        handshake: impl Fn(TcpStream) -> BoxFuture<'static, Option<S>> + Send + 'static,
    ) -> Self {
        let (listener, port) = listen();
        let (sender, seen) = unbounded_channel();
        let reply: Arc<dyn Fn(&Seen) -> Reply + Send + Sync> = Arc::new(reply);
        tokio::spawn(async move {
            let mut connection = 0;
            while let Ok((socket, _)) = listener.accept().await {
                let (handshake, sender, reply) = (handshake(socket), sender.clone(), Arc::clone(&reply));
                tokio::spawn(async move {
                    if let Some(socket) = handshake.await {
                        serve(socket, connection, sender, reply).await;
                    }
                });
                connection += 1;
            }
        });
        Self { port, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/events?source=shop", self.port)
    }

    pub(crate) async fn seen(&mut self) -> Seen {
        self.seen.recv().await.unwrap()
    }

    pub(crate) fn has_seen_nothing(&mut self) -> bool {
        self.seen.try_recv().is_err()
    }
}

async fn serve(
    socket: impl Socket,
    connection: usize,
    sender: UnboundedSender<Seen>,
    reply: Arc<dyn Fn(&Seen) -> Reply + Send + Sync>,
) {
    let service = service_fn(|request: Request<Incoming>| {
        let (sender, reply) = (sender.clone(), Arc::clone(&reply));
        async move {
            let (head, body) = request.into_parts();
            let seen = Seen {
                method: head.method,
                path: head.uri.path_and_query().unwrap().to_string(),
                version: head.version,
                headers: head.headers,
                body: body.collect().await?.to_bytes(),
                connection,
            };
            let reply = reply(&seen);
            let _ = sender.send(seen);
            Ok::<_, hyper::Error>(reply.await)
        }
    });
    // A client that goes away is no failure of the server.
    let _ = auto::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(socket), service)
        .await;
}

pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(Full::new(body.into()).boxed_unsync()).unwrap()
}

/// A server that reads one request on each connection, writes `answer`, and closes. The port.
pub(crate) async fn cutting(answer: &'static str) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let (mut read, mut buffer) = (Vec::new(), [0; 1024]);
            while !read.ends_with(b"the end") {
                let length = socket.read(&mut buffer).await.unwrap();
                read.extend_from_slice(&buffer[..length]);
            }
            socket.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    port
}
