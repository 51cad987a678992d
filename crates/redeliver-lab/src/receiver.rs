//! An HTTP server that hands every request to whoever started it, and answers as they say. Everything it holds is bounded.
//!
//! ```
//! use redeliver_lab::receiver::{Answer, Receiver, ReceiverConfig};
//! use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let receiver = Receiver::start(ReceiverConfig::default(), |arrival| async move {
//!     match arrival.header("webhook-id") {
//!         Some(_) => Answer::status(204),
//!         None => Answer::status(400),
//!     }
//! })?;
//! assert!(receiver.address().ip().is_loopback());
//! receiver.shutdown(Duration::ZERO).await;
//! # Ok(())
//! # }
//! ```

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, body::Incoming};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::watch;

pub use crate::faulty::Recent;
use crate::faulty::{Body, full, generator, happens, pause, read, since_epoch};
use crate::listener::{Bounds, Listener, http};

/// What bounds a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// Where it listens; port 0 takes any free port.
    pub listen: SocketAddr,
    /// Connections served at once; further ones wait.
    pub max_connections: usize,
    /// Largest body that is read.
    pub max_body: usize,
    /// Longest life of a connection, so that one that gets no answer ends too.
    pub max_connection_age: Duration,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            max_connections: 256,
            max_body: 2 * 1024 * 1024,
            max_connection_age: Duration::from_secs(10 * 60),
        }
    }
}

/// A request that came.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// When, since 1970.
    pub at: Duration,
    /// Its method.
    pub method: String,
    /// Its path and its query.
    pub path: String,
    /// Its headers in the order in which they came, each with its bytes.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Its body, or why that was not read: the status that says so, and the words.
    pub body: Result<Bytes, (u16, String)>,
}

impl Arrival {
    /// A header's text, if it is there and is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(known, _)| known == name)?;
        std::str::from_utf8(value).ok()
    }
}

/// What a request is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status; none for no answer at all, until the client leaves.
    pub status: Option<u16>,
    /// What `Retry-After` asks for, in seconds.
    pub retry_after: Option<u64>,
    /// The body, which is JSON.
    pub body: String,
    /// How long it takes.
    pub delay: Duration,
}

impl Answer {
    /// This status and nothing else, at once.
    #[must_use]
    pub const fn status(status: u16) -> Self {
        Self {
            status: Some(status),
            retry_after: None,
            body: String::new(),
            delay: Duration::ZERO,
        }
    }

    /// The same after a while.
    #[must_use]
    pub const fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

/// True in `percent` of 100 cases: the same ones for the same seed and number.
#[must_use]
pub fn chance(seed: u64, number: u64, percent: u8) -> bool {
    happens(&mut generator(seed, number), percent)
}

/// A running receiver; dropping it ends it and all its connections.
pub struct Receiver {
    listener: Listener,
    /// Its end is the end of what is idle.
    ending: watch::Sender<()>,
}

impl Receiver {
    /// Binds and starts serving in the background, on the runtime it is called on.
    ///
    /// # Errors
    /// Whatever the bind fails with, and an error outside a runtime.
    pub fn start<F>(
        config: ReceiverConfig,
        answer: impl Fn(Arrival) -> F + Send + Sync + 'static,
    ) -> io::Result<Self>
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        let bounds = Bounds {
            connections: config.max_connections,
            age: config.max_connection_age,
        };
        let answer = Arc::new(answer);
        let (ending, ended) = watch::channel(());
        let serve = move |stream| connection(stream, config.max_body, Arc::clone(&answer), ended.clone());
        let listener = Listener::start(config.listen, bounds, serve)?;
        Ok(Self { listener, ending })
    }

    /// The address it listens on, with the port that it was given.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Ends the listener, and every connection once it has its answer or `grace` is over.
    pub async fn shutdown(self, grace: Duration) {
        drop(self.ending);
        self.listener.shutdown(grace).await;
    }
}

async fn connection<F>(
    stream: TcpStream,
    max_body: usize,
    answer: Arc<impl Fn(Arrival) -> F + Send + Sync + 'static>,
    mut ended: watch::Receiver<()>,
) where
    F: Future<Output = Answer> + Send + 'static,
{
    let service = service_fn(|request: Request<Incoming>| {
        let answer = Arc::clone(&answer);
        async move {
            let answer = answer(arrival(request, max_body).await).await;
            Ok::<_, Infallible>(given(answer).await)
        }
    });
    // A client that leaves, or says what is no HTTP, is its own affair.
    let mut served = pin!(http().serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = &mut served => {}
        _ = ended.changed() => {
            served.as_mut().graceful_shutdown();
            let _ = served.await;
        }
    }
}

async fn arrival(request: Request<Incoming>, max_body: usize) -> Arrival {
    let at = since_epoch();
    let (head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    Arrival {
        at,
        method: head.method.to_string(),
        path: path.to_owned(),
        headers: bytes_of(&head.headers),
        body: read(body, max_body).await.map_err(Into::into),
    }
}

fn bytes_of(headers: &HeaderMap) -> Vec<(String, Vec<u8>)> {
    let pairs = headers.iter();
    pairs
        .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
        .collect()
}

async fn given(answer: Answer) -> Response<Body> {
    pause(answer.delay).await;
    let Some(status) = answer.status else {
        return pending().await;
    };
    let mut response = Response::new(full(answer.body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(seconds) = answer.retry_after {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    response
}
