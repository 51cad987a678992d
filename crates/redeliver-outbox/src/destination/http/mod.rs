//! A POST to an HTTP endpoint.

mod answer;
mod auth;
mod builder;
mod certificate;
mod cloudevents;
mod connect;
mod connection;
mod dial;
mod failure;
mod guard;
mod host;
mod network;
mod oauth;
mod pool;
mod probe;
mod proxy;
mod request;
mod sent;
mod shape;
mod stream;
mod target;
mod template;
mod tls;
mod value;
pub mod webhook;
mod witness;

use std::{fmt, time::Duration};

use futures_core::future::BoxFuture;
use futures_util::future::{self, Either, FutureExt as _};
use http::{
    Request, Response, StatusCode,
    header::{AUTHORIZATION, PROXY_AUTHORIZATION},
};
use hyper::body::Incoming;
use redeliver::{Moment, clock, duration};

use answer::Reading;
pub use auth::ClientCredentials;
pub use builder::{HttpBuilder, InvalidHttp};
use connection::Connection;
use failure::Failure;
use network::Connections;
use oauth::Tokens;
use request::{Body, Shape};
use sent::Sent;

use super::{Answer, Delivery, Destination, Outcome, Trial};
use crate::{
    desk::Finding,
    trace::{HttpExchange, Span},
};

/// Posts each message to a URL.
///
/// The body is the payload, byte for byte. With it go the message's own headers, the configured ones, and
///
/// - `content-type`: the message's, or `application/json`
/// - `idempotency-key`: the message's id, the same on every attempt
/// - `redeliver-attempt`: which attempt it is, from 1
/// - `traceparent`: the span of the attempt where attempts are traced, and else the message's, if it has a valid one
/// - `user-agent`: `redeliver/` and the version
/// - `webhook-id`, `webhook-timestamp`, `webhook-signature`: the message's id, the time of the attempt and a signature for each secret, as
///   Standard Webhooks has them, where there are secrets
///
/// It goes to the public internet only, whatever its name resolves to when a connection is made, unless
/// [`allow_private`](HttpBuilder::allow_private) says otherwise.
///
/// Any 2xx is taken as delivered as soon as its head has come. 410 says that the endpoint is gone for good ([`Outcome::Disable`]), 429 and
/// 503 ask for fewer requests, and so do 502 and 504 ([`HttpBuilder::idempotent`]). A redirect is a failure and is not followed. What may have arrived although
/// no answer came is [`Outcome::Ambiguous`], and so is a 5xx other than 503 that asks to come back where the same message must not.
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
    /// Scheme, host and port. The path stays out of errors and logs: with many services it is the secret.
    origin: String,
    shape: Shape,
    tokens: Option<Box<Tokens>>,
    reading: Reading,
}

impl Http {
    /// A destination at this URL, still to be built.
    #[must_use]
    pub fn to(url: impl Into<String>) -> HttpBuilder {
        HttpBuilder::new(url.into())
    }

    /// What came of it, and what was answered if `told` is to be known.
    async fn attempt(&self, delivery: Delivery<'_>, told: bool, span: Option<&Span>) -> Trial {
        let mut sent = Sent::default();
        let time = Time {
            began: clock::now(),
            limit: delivery.timeout,
        };
        let mut exchange = match self.begin(delivery, span, &mut sent, time).await {
            Ok(exchange) => exchange,
            Err(outcome) => {
                self.tell(span, None);
                let answer = None;
                return Trial { outcome, answer };
            }
        };
        self.tell(span, Some(&exchange.answer));
        let read = answer::read(&mut exchange.answer, told, time).await;
        let Exchange { answer, connection } = exchange;
        if read.to_its_end {
            self.connections.pool.keep(connection);
        }
        Trial {
            outcome: answer::judge(&answer, &read, self.reading, &sent),
            answer: told.then(|| answer::told(&answer, &read, &sent)),
        }
    }

    /// Keeps what an attempt was with its span.
    fn tell(&self, span: Option<&Span>, answer: Option<&Response<Incoming>>) {
        if let Some(span) = span {
            span.exchanged(|| HttpExchange {
                method: self.shape.method.as_str().to_owned(),
                origin: self.origin.clone(),
                status: answer.map(|answer| answer.status().as_u16()),
                version: answer.map(|answer| match answer.version() {
                    http::Version::HTTP_2 => "2",
                    _ => "1.1",
                }),
            });
        }
    }

    /// The request and its answer, and what was `sent` that is secret.
    fn begin<'a>(
        &'a self,
        delivery: Delivery<'a>,
        span: Option<&Span>,
        sent: &'a mut Sent,
        time: Time,
    ) -> impl Future<Output = Result<Exchange, Outcome>> + Send {
        let request = match self
            .shape
            .request(delivery, span.map(|span| span.context), clock::wall)
        {
            Ok(request) => request,
            Err((kind, reason)) => {
                let rejected = Err(Outcome::Reject { kind, reason });
                return Either::Left(future::ready(rejected).boxed());
            }
        };
        *sent = Sent::of(&request);
        let reader = self.connections.reader.as_ref();
        if let Some(authorization) = reader.and_then(|proxy| proxy.authorization.clone()) {
            sent.push(authorization);
        }
        match &self.tokens {
            None => Either::Right(self.exchange(request, time, time.limit)),
            Some(tokens) => Either::Left(self.exchange_with(tokens, request, sent, time).boxed()),
        }
    }

    /// The answer, or what it means that there is none; `left` is what is left of the attempt's time.
    ///
    /// A future holds what it was given for as long as it lives, so that all which needs the request comes before it.
    fn exchange(
        &self,
        mut request: Request<Body>,
        time: Time,
        left: Duration,
    ) -> impl Future<Output = Result<Exchange, Outcome>> + Send {
        let Connections { pool, reader, .. } = &self.connections;
        if let Some(authorization) = reader.as_ref().and_then(|proxy| proxy.authorization.clone()) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, authorization);
        }
        let Some(mut connection) = pool.kept(time.began) else {
            return Either::Left(Box::pin(self.exchange_anew(request, time)));
        };
        let sending = connection.send(&pool.place, request);
        Either::Right(async move {
            match tokio::time::timeout(left, sending).await {
                Ok(Ok(answer)) => self.past_the_proxy(Exchange { answer, connection }),
                Ok(Err(mut unanswered)) => match unanswered.request.take() {
                    // It was closed while nobody looked.
                    Some(unsent) => Box::pin(self.exchange_anew(unsent, time)).await,
                    None => Err(self.broken(&connection.broken(*unanswered))),
                },
                Err(_) => Err(failure::late(&self.origin, time.limit, true)),
            }
        })
    }

    /// The same on a new connection.
    async fn exchange_anew(&self, request: Request<Body>, time: Time) -> Result<Exchange, Outcome> {
        let mut connection = self.connect(time).await?;
        let sending = connection.send(&self.connections.pool.place, request);
        match tokio::time::timeout(time.left(), sending).await {
            Ok(Ok(answer)) => self.past_the_proxy(Exchange { answer, connection }),
            Ok(Err(unanswered)) => Err(self.broken(&connection.broken(*unanswered))),
            Err(_) => Err(failure::late(&self.origin, time.limit, true)),
        }
    }

    /// The same, unless it is the proxy that answers.
    fn past_the_proxy(&self, exchange: Exchange) -> Result<Exchange, Outcome> {
        match &self.connections.reader {
            Some(proxy) if exchange.answer.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
                Err(failure::on_the_way(&self.origin, &proxy.wants_a_password()))
            }
            _ => Ok(exchange),
        }
    }

    async fn connect(&self, time: Time) -> Result<Connection, Outcome> {
        match tokio::time::timeout(time.left(), self.connections.pool.connect()).await {
            Ok(connection) => connection.map_err(|failure| self.broken(&failure)),
            Err(_) => Err(failure::late(&self.origin, time.limit, false)),
        }
    }

    fn broken(&self, failure: &Failure) -> Outcome {
        failure::broken(&self.origin, self.connections.http2, failure)
    }

    /// The same with a token, and once more with another if it is refused.
    async fn exchange_with(
        &self,
        tokens: &Tokens,
        mut request: Request<Body>,
        sent: &mut Sent,
        time: Time,
    ) -> Result<Exchange, Outcome> {
        let mut refused = None;
        loop {
            let fetched = tokens.header(&self.connections, refused.as_ref());
            let token = match tokio::time::timeout(time.left(), fetched).await {
                Ok(token) => token.map_err(failure::unreachable)?,
                Err(_) => {
                    let (origin, limit) = (tokens.origin(), duration::display(time.limit));
                    return Err(failure::unreachable(format!(
                        "no token from {origin} within {limit}"
                    )));
                }
            };
            request.headers_mut().insert(AUTHORIZATION, token.clone());
            sent.push(token.clone());
            let exchange = self.exchange(request.clone(), time, time.left()).await?;
            if exchange.answer.status() != StatusCode::UNAUTHORIZED || refused.is_some() {
                return Ok(exchange);
            }
            refused = Some(token);
        }
    }
}

/// A request that was answered, and the connection that brings the rest of it.
struct Exchange {
    answer: Response<Incoming>,
    connection: Connection,
}

/// The time of an attempt.
#[derive(Clone, Copy)]
struct Time {
    began: Moment,
    limit: Duration,
}

impl Time {
    fn left(self) -> Duration {
        self.limit.saturating_sub(clock::now().since(self.began))
    }
}

impl Destination for Http {
    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Outcome> {
        self.attempt(delivery, false, None)
            .map(|trial| trial.outcome)
            .boxed()
    }

    fn deliver_in<'a>(&'a self, span: &'a Span, delivery: Delivery<'a>) -> BoxFuture<'a, Outcome> {
        self.attempt(delivery, false, Some(span))
            .map(|trial| trial.outcome)
            .boxed()
    }

    fn trial<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Trial> {
        self.attempt(delivery, true, None).boxed()
    }

    fn probe(&self, limit: Duration) -> BoxFuture<'_, Vec<Finding>> {
        probe::look(self, limit).boxed()
    }

    fn keeps_time(&self) -> bool {
        true
    }

    fn words<'r>(&self, reason: &'r str) -> &'r str {
        answer::words(reason)
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
            .field("headers", &self.shape.fixed.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
