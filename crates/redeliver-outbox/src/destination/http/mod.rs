//! A POST to an HTTP endpoint.

mod answer;
mod builder;
mod connect;
mod request;

use std::{fmt, time::Duration};

use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use http::{HeaderMap, Uri};
use hyper_util::client::legacy::{self, connect::capture_connection};
use redeliver::{Class, address::printable, cause, classify::StatusTable, clock, duration};

pub use builder::{HttpBuilder, InvalidHttp};

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
    client: legacy::Client<connect::Connector, request::Body>,
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
        let connection = capture_connection(&mut request);
        let began = clock::now();
        let limit = delivery.timeout;
        match tokio::time::timeout(limit, self.client.request(request)).await {
            Ok(Ok(answer)) => {
                let left = limit.saturating_sub(clock::now().since(began));
                answer::judge(answer, &self.statuses, left).await
            }
            Ok(Err(error)) => self.broken(&error),
            Err(_) => self.late(limit, connection.connection_metadata().is_some()),
        }
    }

    /// What an exchange without an answer means. Only where nothing can have been sent is it certain that nothing arrived.
    fn broken(&self, error: &legacy::Error) -> Outcome {
        let origin = &self.origin;
        let cause = printable(&cause::root(error));
        // hyper hands back what it never began to write.
        let unsent = cause::chain(error)
            .filter_map(|cause| cause.downcast_ref::<hyper::Error>())
            .any(hyper::Error::is_canceled);
        if error.is_connect() {
            return transient(format!("cannot connect to {origin}: {cause}"));
        }
        if unsent || error.connect_info().is_none() {
            return transient(format!(
                "the connection to {origin} broke before the send: {cause}"
            ));
        }
        Outcome::Ambiguous {
            reason: format!("the connection to {origin} broke before an answer came: {cause}"),
        }
    }

    fn late(&self, limit: Duration, connected: bool) -> Outcome {
        let (origin, limit) = (&self.origin, duration::display(limit));
        if !connected {
            return transient(format!("no connection to {origin} within {limit}"));
        }
        Outcome::Ambiguous {
            reason: format!("no answer from {origin} within {limit}"),
        }
    }
}

fn transient(reason: String) -> Outcome {
    let class = Class::Transient;
    Outcome::Retry { class, reason }
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
