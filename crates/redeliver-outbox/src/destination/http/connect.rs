//! The connections underneath: found, encrypted and kept.

use std::{
    io,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::future::BoxFuture;
use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy,
    rt::{TokioExecutor, TokioTimer},
};
use redeliver::duration;
use rustls::ClientConfig;
use tower_service::Service;

use super::{dial::Dialer, request::Body};

/// How long an idle connection is kept. Many servers close theirs after five seconds, and a request that meets the closing of its
/// connection may or may not have arrived.
const IDLE: Duration = Duration::from_secs(4);
/// How many idle connections are kept.
const MOST_IDLE: usize = 256;

/// How much of an answer is held before anybody asks for it, in bytes, its head included. The libraries' own measure is megabytes.
const READ_AHEAD: u16 = 32 << 10;

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// How connections are made, but for TLS.
#[derive(Clone)]
pub(super) struct Way {
    /// Which HTTP is spoken; the server's choice where nothing is said.
    pub(super) http2: Option<bool>,
    /// No connection is waited for longer.
    pub(super) limit: Duration,
    pub(super) dialer: Dialer,
}

impl Way {
    pub(super) fn connector(self, tls: ClientConfig) -> Connector {
        let https = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
        let https = match self.http2 {
            None => https.enable_all_versions().wrap_connector(self.dialer),
            Some(true) => https.enable_http2().wrap_connector(self.dialer),
            Some(false) => https.enable_http1().wrap_connector(self.dialer),
        };
        Connector {
            https,
            limit: self.limit,
        }
    }
}

pub(super) fn client(way: Way, tls: ClientConfig) -> legacy::Client<Connector, Body> {
    legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(MOST_IDLE)
        .http2_only(way.http2 == Some(true))
        .http1_max_buf_size(usize::from(READ_AHEAD))
        .http2_initial_stream_window_size(u32::from(READ_AHEAD))
        .http2_initial_connection_window_size(8 * u32::from(READ_AHEAD))
        .build(way.connector(tls))
}

/// The whole of connecting within a limit: name, TCP, proxy and TLS.
#[derive(Clone)]
pub(super) struct Connector {
    https: HttpsConnector<Dialer>,
    limit: Duration,
}

impl Service<Uri> for Connector {
    type Response = <HttpsConnector<Dialer> as Service<Uri>>::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.https.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (connecting, limit) = (self.https.call(uri), self.limit);
        Box::pin(async move {
            tokio::time::timeout(limit, connecting).await.unwrap_or_else(|_| {
                let text = format!("no connection within {}", duration::display(limit));
                Err(io::Error::new(io::ErrorKind::TimedOut, text).into())
            })
        })
    }
}
