//! A POST to an HTTP endpoint.

mod answer;
mod builder;
mod connect;
mod dial;
mod failure;
mod guard;
mod host;
mod network;
mod proxy;
mod request;
mod stream;
mod tls;

use std::fmt;

use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use http::{HeaderMap, StatusCode, Uri, header::PROXY_AUTHORIZATION};
use hyper_util::client::legacy::connect::capture_connection;
use redeliver::{classify::StatusTable, clock};

pub use builder::{HttpBuilder, InvalidHttp};
use network::Connections;
use request::check_name;

use super::{Delivery, Destination, Outcome};
use crate::DeadReason;

/// Posts each message to a URL.
///
/// The body is the payload, byte for byte. With it go the message's own headers, the configured ones, and
///
/// - `content-type`: the message's, or `application/json`
/// - `idempotency-key`: the message's id, the same on every attempt
/// - `redeliver-attempt`: which attempt it is, from 1
/// - `traceparent`: the message's, if it has one
/// - `user-agent`: `redeliver/` and the version
///
/// It goes to the public internet only, whatever its name resolves to when a connection is made, unless
/// [`allow_private`](HttpBuilder::allow_private) says otherwise.
///
/// Any 2xx is taken as delivered as soon as its head has come. A redirect is a failure and is not followed. What may have arrived although
/// no answer came is [`Outcome::Ambiguous`].
///
/// ```
/// use redeliver_outbox::destination::{Http, Route};
///
/// let http = Http::to("https://billing.example.com/events").header("authorization", "Bearer …").build();
/// assert!(http.is_err(), "a header value is ASCII");
///
/// let http = Http::to("https://billing.example.com/events").header("authorization", "Bearer 123").build()?;
/// let route = Route::to(http);
/// # Ok::<(), redeliver_outbox::destination::InvalidHttp>(())
/// ```
pub struct Http {
    connections: Connections,
    url: Uri,
    /// Scheme, host and port. The path stays out of errors and logs: with many services it is the secret.
    origin: String,
    fixed: HeaderMap,
    statuses: StatusTable,
}

impl Http {
    /// A destination at this URL, still to be built.
    #[must_use]
    pub fn to(url: impl Into<String>) -> HttpBuilder {
        HttpBuilder::new(url.into())
    }

    async fn attempt(&self, delivery: Delivery<'_>) -> Outcome {
        let mut request = match request::make(&self.url, &self.fixed, delivery) {
            Ok(request) => request,
            Err(reason) => {
                let kind = DeadReason::InvalidHeaders;
                return Outcome::Reject { kind, reason };
            }
        };
        let proxy = self.connections.reader.as_ref();
        if let Some(authorization) = proxy.and_then(|proxy| proxy.authorization.clone()) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, authorization);
        }
        let connection = capture_connection(&mut request);
        let began = clock::now();
        let limit = delivery.timeout;
        match tokio::time::timeout(limit, self.connections.client.request(request)).await {
            Ok(Ok(answer)) => {
                if let Some(proxy) =
                    proxy.filter(|_| answer.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED)
                {
                    return failure::on_the_way(&self.origin, &proxy.wants_a_password());
                }
                let left = limit.saturating_sub(clock::now().since(began));
                answer::judge(answer, &self.statuses, &self.fixed, left).await
            }
            Ok(Err(error)) => failure::broken(&self.origin, self.connections.http2, &error),
            Err(_) => failure::late(&self.origin, limit, connection.connection_metadata().is_some()),
        }
    }
}

impl Destination for Http {
    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Outcome> {
        self.attempt(delivery).boxed()
    }

    fn kind(&self) -> &'static str {
        "http"
    }
}

/// Names without values: a header may hold a secret, and so may a path.
impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("origin", &self.origin)
            .field("headers", &self.fixed.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
