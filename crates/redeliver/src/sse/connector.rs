use std::{fmt, pin::Pin, sync::Arc, time::Duration};

use redeliver_policy::{Backoff, Policy, classify::StatusTable, retry_after};
use reqwest::{
    Client, Response, StatusCode, Url,
    header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};

use super::{DEFAULT_MAX_EVENT_SIZE, SseError, SseResponse, response::Shared};
use crate::{
    address::shown,
    clock,
    stream::{Connect, Connector, Reconnecting, limited},
    tls::choose_provider,
};

/// The events of a source, over as many responses as it takes.
pub type EventSourceStream = Reconnecting<SseConnector>;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// A source of server-sent events that reconnects; [`stream`](EventSource::stream) begins it.
#[must_use = "nothing is connected until its stream is polled"]
pub struct EventSource {
    url: String,
    policy: Policy,
    client: Option<Client>,
    headers: HeaderMap,
    refused: Option<String>,
    max_event_size: usize,
    idle_timeout: Option<Duration>,
    statuses: StatusTable,
    last_event_id: String,
}

impl EventSource {
    /// A source at this address, `http://` or `https://`.
    pub fn connect(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            policy: Policy::RECONNECT,
            client: None,
            headers: HeaderMap::new(),
            refused: None,
            max_event_size: DEFAULT_MAX_EVENT_SIZE,
            idle_timeout: None,
            statuses: StatusTable::DEFAULT,
            last_event_id: String::new(),
        }
    }

    /// How it reconnects; [`Policy::RECONNECT`] unless said otherwise.
    pub const fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Asks through this client, with its proxies, certificates and pools. It must have no timeout for a whole response.
    pub fn client(mut self, client: Client) -> Self {
        self.client = Some(client);
        self
    }

    /// Sends this header with each request.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match (
            HeaderName::from_bytes(name.as_bytes()),
            HeaderValue::from_str(value),
        ) {
            (Ok(name), Ok(mut value)) => {
                value.set_sensitive(true);
                self.headers.insert(name, value);
            }
            // The value may be a secret.
            (Ok(_), Err(_)) => {
                self.refused = Some(format!(
                    "header {name:?}: give a value of visible ASCII characters"
                ));
            }
            (Err(_), _) => {
                self.refused = Some(format!(
                    "header {name:?}: give a name of letters, digits and hyphens"
                ));
            }
        }
        self
    }

    /// The largest event that is taken, in bytes. A larger one is permanent: it would come again.
    pub const fn max_event_size(mut self, bytes: usize) -> Self {
        self.max_event_size = bytes;
        self
    }

    /// A response on which nothing comes for this long, comments included, was lost. Without it, silence is never a loss: the protocol promises no
    /// sign of life.
    pub const fn idle_timeout(mut self, longest: Duration) -> Self {
        self.idle_timeout = Some(longest);
        self
    }

    /// Which statuses are worth coming back after.
    pub const fn statuses(mut self, statuses: StatusTable) -> Self {
        self.statuses = statuses;
        self
    }

    /// Begins after this id, as an earlier process came to it.
    pub fn last_event_id(mut self, id: impl Into<String>) -> Self {
        self.last_event_id = id.into();
        self
    }

    /// The stream of its events. Nothing is connected until it is polled.
    ///
    /// # Errors
    /// [`SseError::Invalid`] for an address, a header or an id that makes no sense.
    pub fn stream(self) -> Result<EventSourceStream, SseError> {
        let url = parse_url(&self.url)?;
        if let Some(words) = self.refused {
            return Err(SseError::Invalid(words));
        }
        if HeaderValue::from_str(&self.last_event_id).is_err() {
            return Err(SseError::Invalid(
                "last event id: give visible ASCII characters".to_owned(),
            ));
        }
        let client = match self.client {
            Some(client) => client,
            None => default_client()?,
        };
        let shared = Arc::<Shared>::default();
        shared.place().last_event_id = self.last_event_id;
        let connector = SseConnector {
            client,
            url,
            headers: self.headers,
            max_event_size: self.max_event_size,
            idle_timeout: self.idle_timeout,
            statuses: self.statuses,
            shared,
        };
        Ok(Reconnecting::new(limited(self.policy), connector))
    }
}

fn parse_url(text: &str) -> Result<Url, SseError> {
    let refused = |rule: &str| SseError::Invalid(format!("URL {:?}: {rule}", shown(text)));
    let url = Url::parse(text).map_err(|_| refused("give an address such as https://example.com/events"))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        _ => Err(refused("must begin with http:// or https://")),
    }
}

fn default_client() -> Result<Client, SseError> {
    choose_provider();
    Client::builder().build().map_err(SseError::network)
}

impl fmt::Debug for EventSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSource")
            .field("url", &shown(&self.url))
            .finish_non_exhaustive()
    }
}

/// Makes the requests of an [`EventSource`].
pub struct SseConnector {
    client: Client,
    url: Url,
    headers: HeaderMap,
    max_event_size: usize,
    idle_timeout: Option<Duration>,
    statuses: StatusTable,
    shared: Arc<Shared>,
}

impl fmt::Debug for SseConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SseConnector")
            .field("url", &shown(self.url.as_str()))
            .finish_non_exhaustive()
    }
}

impl Connector for SseConnector {
    type Item = super::SseEvent;
    type Error = SseError;
    type Stream = SseResponse;
    type Connecting = Pin<Box<dyn Future<Output = Result<SseResponse, SseError>> + Send>>;

    fn connect(&mut self, _connect: Connect) -> Self::Connecting {
        let mut request = self
            .client
            .get(self.url.clone())
            .header(ACCEPT, "text/event-stream")
            .header(CACHE_CONTROL, "no-store")
            .headers(self.headers.clone());
        let shared = Arc::clone(&self.shared);
        {
            let last = &shared.place().last_event_id;
            // The standard sends the id as UTF-8, whatever it is; without NUL, CR and LF it is a header value.
            if !last.is_empty()
                && let Ok(last) = HeaderValue::from_bytes(last.as_bytes())
            {
                request = request.header(LAST_EVENT_ID, last);
            }
        }
        let (max_event_size, idle, statuses) = (self.max_event_size, self.idle_timeout, self.statuses);
        Box::pin(async move {
            let response = request.send().await.map_err(SseError::network)?;
            check(&response, &statuses)?;
            let is_over = response.status() == StatusCode::NO_CONTENT;
            let body = (!is_over).then(|| Box::pin(response.bytes_stream()) as _);
            Ok(SseResponse::new(body, max_event_size, idle, shared))
        })
    }

    fn policy(&self, policy: Policy) -> Policy {
        match self.shared.place().retry {
            Some(retry) => with_base(policy, retry),
            None => policy,
        }
    }
}

fn check(response: &Response, statuses: &StatusTable) -> Result<(), SseError> {
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    match response.status() {
        StatusCode::NO_CONTENT => Ok(()),
        StatusCode::OK => {
            let found = header(CONTENT_TYPE.as_str()).unwrap_or("of no type");
            let essence = found.split(';').next().unwrap_or(found).trim();
            if essence.eq_ignore_ascii_case("text/event-stream") {
                return Ok(());
            }
            Err(SseError::NotEventStream(essence.chars().take(80).collect()))
        }
        status => {
            let asked = header("retry-after")
                .and_then(|asked| retry_after::parse(asked, header("date"), clock::wall()));
            Err(SseError::Refused {
                status: status.as_u16(),
                class: statuses.class(status.as_u16(), asked),
            })
        }
    }
}

/// The policy with the server's `retry:` as its first wait.
fn with_base(mut policy: Policy, retry: Duration) -> Policy {
    // As with a `Retry-After` of zero: no guidance, and a base of nothing grows to nothing.
    if retry.is_zero() {
        return policy;
    }
    let retry = retry.min(policy.retry_after_max);
    match &mut policy.backoff {
        Backoff::Fixed { base }
        | Backoff::Linear { base, .. }
        | Backoff::Exponential { base, .. }
        | Backoff::Fibonacci { base } => *base = retry,
        _ => return policy,
    }
    policy.max_delay = policy.max_delay.max(retry);
    policy
}

#[cfg(test)]
mod tests {
    use redeliver_policy::Jitter;

    use super::*;

    #[test]
    fn the_servers_retry_is_the_first_wait_within_bounds() {
        let policy = Policy::RECONNECT.jitter(Jitter::None);
        let first = |policy: Policy| policy.wait(0, Duration::ZERO, 0);
        let ms = Duration::from_millis;
        assert_eq!(first(with_base(policy, ms(250))), ms(250));
        assert_eq!(with_base(policy, ms(250)).wait(2, Duration::ZERO, 0), ms(1_000));
        assert_eq!(first(with_base(policy, ms(45_000))), ms(45_000));
        assert_eq!(first(with_base(policy, Duration::MAX)), policy.retry_after_max);
        assert_eq!(first(with_base(policy, Duration::ZERO)), first(policy));
        let list = Policy::list(&[ms(3)]).jitter(Jitter::None);
        assert_eq!(first(with_base(list, ms(250))), ms(3));
    }

    #[test]
    fn a_bad_request_is_named_with_what_is_allowed_and_without_secrets() {
        for (source, words) in [
            (EventSource::connect("nonsense"), "such as https://"),
            (
                EventSource::connect("ws://h/?token=secret"),
                "http:// or https://",
            ),
            (EventSource::connect("http://h").header("a b", "c"), "letters"),
            (
                EventSource::connect("http://h").header("a", "secret\n"),
                "visible ASCII",
            ),
            (
                EventSource::connect("http://h").last_event_id("a\nb"),
                "last event id",
            ),
        ] {
            let error = source.stream().unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains("secret"), "{error}");
        }
    }
}
