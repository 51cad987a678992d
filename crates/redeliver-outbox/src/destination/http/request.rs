//! The request of one attempt.

use std::time::Duration;

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request,
    header::{CONTENT_TYPE, USER_AGENT},
};
use http_body_util::Full;

use super::{
    Delivery,
    cloudevents::CloudEvents,
    target::Target,
    template::Template,
    webhook::{self, Secret},
};
use crate::{
    DeadReason, MessageId, Payload,
    destination::{Refusal, headers},
    secrecy::is_secret_header,
    trace::TraceParent,
};

pub(super) type Body = Full<Bytes>;

const AGENT: HeaderValue = HeaderValue::from_static(concat!("redeliver/", env!("CARGO_PKG_VERSION")));
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const ATTEMPT: HeaderName = HeaderName::from_static("redeliver-attempt");
/// Most attempts, and no memory to ask for.
const FIRST: HeaderValue = HeaderValue::from_static("1");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// What the requests of a destination have in common.
pub(super) struct Shape {
    pub(super) method: Method,
    pub(super) target: Target,
    pub(super) fixed: HeaderMap,
    /// The headers that depend on the message.
    pub(super) rendered: Vec<(HeaderName, Template)>,
    /// What is sent instead of the payload.
    pub(super) body: Option<Template>,
    pub(super) events: Option<CloudEvents>,
    /// Each of them signs.
    pub(super) secrets: Vec<Secret>,
}

impl Shape {
    /// The request of an attempt at this time since 1970, for which only signatures ask, or why the message cannot be sent. Where
    /// attempts are traced it tells of the attempt's `span`.
    pub(super) fn request(
        &self,
        delivery: Delivery<'_>,
        span: Option<TraceParent>,
        now: impl FnOnce() -> Duration,
    ) -> Result<Request<Body>, Refusal> {
        let unfit = |reason| (DeadReason::InvalidPayload, reason);
        let event = self
            .events
            .as_ref()
            .map(|events| events.event(delivery))
            .transpose()?;
        let (body, added) = match (event, &self.body) {
            (Some(event), _) => (event.body, event.headers),
            (None, Some(template)) => {
                let body = template
                    .render(delivery)
                    .map_err(|rule| unfit(format!("body: {rule}")))?;
                (Some(body.into()), Vec::new())
            }
            (None, None) => (None, Vec::new()),
        };
        let body = body.unwrap_or_else(|| payload(&delivery.message.payload));
        let path = self
            .target
            .path(delivery)
            .map_err(|rule| unfit(format!("url: {rule}")))?;
        let mut headers = self
            .headers(delivery, span)
            .map_err(|reason| (DeadReason::InvalidHeaders, reason))?;
        self.render_headers(&mut headers, delivery).map_err(unfit)?;
        for (name, value) in added {
            headers.insert(name, value);
        }
        self.sign(&mut headers, delivery.message.id, now, &body);
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = path;
        *request.headers_mut() = headers;
        Ok(request)
    }

    fn render_headers(&self, headers: &mut HeaderMap, delivery: Delivery<'_>) -> Result<(), String> {
        for (name, template) in &self.rendered {
            let wrong = |rule| format!("the header {name}: {rule}");
            let text = template.render_text(delivery).map_err(wrong)?;
            let mut value = HeaderValue::try_from(text).map_err(|error| wrong(error.to_string()))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(())
    }

    /// Whether a header of this name may be given by the configuration or by a message.
    pub(super) fn check_name(&self, name: &HeaderName) -> Result<(), String> {
        let signs = [&WEBHOOK_ID, &WEBHOOK_TIMESTAMP, &WEBHOOK_SIGNATURE].contains(&name);
        if signs && !self.secrets.is_empty() {
            return Err(format!("the header {name} is set by the relay, which signs"));
        }
        if self.events.as_ref().is_some_and(|events| events.sets(name)) {
            return Err(format!(
                "the header {name} is set by the relay, which sends CloudEvents"
            ));
        }
        headers::check_name(name.as_str())
    }

    /// Whether the configuration gives a header of this name.
    pub(super) fn has(&self, name: &HeaderName) -> bool {
        self.fixed.contains_key(name) || self.rendered.iter().any(|(rendered, _)| rendered == name)
    }

    fn sign(&self, headers: &mut HeaderMap, id: MessageId, now: impl FnOnce() -> Duration, body: &[u8]) {
        if self.secrets.is_empty() {
            return;
        }
        let (id, seconds) = (id.text(), now().as_secs());
        let signatures = webhook::sign(&self.secrets, id.as_str(), seconds, body);
        // Ids and base64 are what every header may hold.
        for (name, text) in [(WEBHOOK_ID, id.as_str()), (WEBHOOK_SIGNATURE, &signatures)] {
            if let Ok(value) = HeaderValue::try_from(text) {
                headers.insert(name, value);
            }
        }
        headers.insert(WEBHOOK_TIMESTAMP, seconds.into());
    }

    /// What is configured wins over what a message says, so that no message speaks in another's name.
    fn headers(&self, delivery: Delivery<'_>, span: Option<TraceParent>) -> Result<HeaderMap, String> {
        let message = delivery.message;
        let own = headers::of(message)?;
        let signing = if self.secrets.is_empty() { 0 } else { 3 };
        // Ours, those of the connection, and the traceparent's.
        let parent = TraceParent::of_message(message);
        let trace = span.or(parent);
        let ours = 6 + usize::from(trace.is_some());
        let mut headers = HeaderMap::with_capacity(ours + self.fixed.len() + own.len() + signing);
        headers.insert(USER_AGENT, AGENT);
        headers.insert(CONTENT_TYPE, JSON);
        for (name, value) in own {
            let shown = || format!("the message's header {name} cannot be sent");
            let known = HeaderName::try_from(&name).map_err(|_| shown())?;
            self.check_name(&known)?;
            let mut value = HeaderValue::try_from(value).map_err(|_| shown())?;
            value.set_sensitive(is_secret_header(&name));
            headers.insert(known, value);
        }
        headers::check_columns(message)?;
        if let Some(text) = message.content_type.as_ref().filter(|text| !text.is_empty()) {
            let value = HeaderValue::try_from(text)
                .map_err(|_| format!("the message's {CONTENT_TYPE} cannot be sent as a header"))?;
            headers.insert(CONTENT_TYPE, value);
        }
        // What a message gives as a header of its own is its trace, unless its column says another.
        if let Some(trace) = trace.filter(|_| parent.is_some() || !headers.contains_key(TRACEPARENT)) {
            let value = HeaderValue::try_from(trace.to_string()).map_err(|error| error.to_string())?;
            headers.insert(TRACEPARENT, value);
        }
        if self.body.is_some() {
            // What the message says is the type of its payload, which is not what is sent.
            headers.insert(CONTENT_TYPE, JSON);
        }
        for (name, value) in &self.fixed {
            headers.insert(name, value.clone());
        }
        let id = HeaderValue::from_str(message.id.text().as_str()).map_err(|error| error.to_string())?;
        headers.insert(IDEMPOTENCY_KEY, id);
        headers.insert(
            ATTEMPT,
            match delivery.attempt {
                1 => FIRST,
                later => later.into(),
            },
        );
        Ok(headers)
    }
}

fn payload(payload: &Payload) -> Bytes {
    match payload {
        Payload::Text(text) => Bytes::copy_from_slice(text.as_bytes()),
        Payload::Binary(bytes) => bytes.clone(),
    }
}
