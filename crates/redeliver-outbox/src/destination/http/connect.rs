//! The connections underneath: found and encrypted.

use std::{
    io,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::future::BoxFuture;
use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use redeliver::duration;
use rustls::ClientConfig;
use tower_service::Service;

use super::dial::Dialer;

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
