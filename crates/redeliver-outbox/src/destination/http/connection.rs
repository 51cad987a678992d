//! One connection, and a request on it.

use futures_core::future::BoxFuture;
use futures_util::TryFutureExt as _;
use http::{Request, Response, Uri, header::HOST};
use hyper::{
    body::Incoming,
    client::conn::{TrySendError, http1, http2},
};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::{
    client::legacy::connect::Connection as _,
    rt::{TokioExecutor, TokioIo},
};
use tokio::task::AbortHandle;

use super::{
    failure::Failure,
    pool::Place,
    request::Body,
    stream::{Beginning, Stream},
};

/// How much of an answer is held before anybody asks for it, in bytes, its head included. The libraries' own measure is megabytes.
const READ_AHEAD: u16 = 32 << 10;

pub(super) type Connected = MaybeHttpsStream<TokioIo<Stream>>;

pub(super) struct Connection {
    sender: Sender,
    beginning: Beginning,
    /// Whether a proxy reads the requests and needs their whole URL.
    read_by_a_proxy: bool,
}

enum Sender {
    One(Alone),
    /// HTTP/2, with any number of requests at a time.
    Many(http2::SendRequest<Body>),
}

/// HTTP/1, with one request at a time.
struct Alone {
    requests: http1::SendRequest<Body>,
    driver: AbortHandle,
}

/// Whoever waits in vain for the rest of an answer, or to be rid of the rest of a request, must not keep the connection open.
impl Drop for Alone {
    fn drop(&mut self) {
        if !self.requests.is_ready() {
            self.driver.abort();
        }
    }
}

/// A request without an answer.
pub(super) struct Unanswered {
    /// The request, if nothing of it was written.
    pub(super) request: Option<Request<Body>>,
    error: hyper::Error,
}

impl Connection {
    /// Speaks HTTP on what was connected, the version that was agreed on.
    pub(super) async fn over(stream: Connected, http2: bool) -> Result<Self, Failure> {
        let connected = stream.connected();
        let beginning = Beginning::of(&connected).unwrap_or_default();
        let read_by_a_proxy = connected.is_proxied();
        let broken = |error| Failure::Broken {
            error,
            beginning: beginning.clone(),
            unsent: true,
        };
        let sender = if http2 || connected.is_negotiated_h2() {
            let (requests, driver) = http2::Builder::new(TokioExecutor::new())
                .initial_stream_window_size(u32::from(READ_AHEAD))
                .initial_connection_window_size(8 * u32::from(READ_AHEAD))
                .handshake(stream)
                .await
                .map_err(broken)?;
            tokio::spawn(driver);
            Sender::Many(requests)
        } else {
            let (requests, driver) = http1::Builder::new()
                .max_buf_size(usize::from(READ_AHEAD))
                .handshake(stream)
                .await
                .map_err(broken)?;
            let driver = tokio::spawn(driver).abort_handle();
            Sender::One(Alone { requests, driver })
        };
        Ok(Self {
            sender,
            beginning,
            read_by_a_proxy,
        })
    }

    /// Whether a request can be sent at once.
    pub(super) fn is_ready(&self) -> bool {
        match &self.sender {
            Sender::One(alone) => alone.requests.is_ready(),
            Sender::Many(requests) => requests.is_ready(),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        match &self.sender {
            Sender::One(alone) => alone.requests.is_closed(),
            Sender::Many(requests) => requests.is_closed(),
        }
    }

    /// The same connection for another request at the same time, where there can be one.
    pub(super) fn shared(&self) -> Option<Self> {
        match &self.sender {
            Sender::One(_) => None,
            Sender::Many(requests) => Some(Self {
                sender: Sender::Many(requests.clone()),
                beginning: self.beginning.clone(),
                read_by_a_proxy: self.read_by_a_proxy,
            }),
        }
    }

    /// The head of the answer to a request for a path. Who no longer waits for it closes the connection, or resets the stream.
    pub(super) fn send(
        &mut self,
        place: &Place,
        mut request: Request<Body>,
    ) -> BoxFuture<'static, Result<Response<Incoming>, Box<Unanswered>>> {
        // Boxed, since it has room for a whole request, and so would every future that it is moved through.
        match &mut self.sender {
            Sender::One(alone) => {
                request.headers_mut().insert(HOST, place.host.clone());
                if self.read_by_a_proxy {
                    make_absolute(request.uri_mut(), place);
                }
                Box::pin(alone.requests.try_send_request(request).map_err(unanswered))
            }
            Sender::Many(requests) => {
                make_absolute(request.uri_mut(), place);
                Box::pin(requests.try_send_request(request).map_err(unanswered))
            }
        }
    }

    pub(super) fn broken(self, unanswered: Unanswered) -> Failure {
        Failure::Broken {
            unsent: unanswered.request.is_some(),
            error: unanswered.error,
            beginning: self.beginning,
        }
    }
}

fn unanswered(mut error: TrySendError<Request<Body>>) -> Box<Unanswered> {
    Box::new(Unanswered {
        request: error.take_message(),
        error: error.into_error(),
    })
}

/// A server knows who it is; a proxy, and HTTP/2, are told the whole URL.
fn make_absolute(path: &mut Uri, place: &Place) {
    let mut parts = place.url.clone().into_parts();
    parts.path_and_query = path.path_and_query().cloned();
    // It differs from a URL in its path only.
    *path = Uri::from_parts(parts).unwrap_or_default();
}
