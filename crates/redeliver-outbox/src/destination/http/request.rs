//! The request of one attempt.

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Uri,
    header::{CONTENT_TYPE, USER_AGENT},
};
use http_body_util::Full;

use super::Delivery;
use crate::{Payload, destination::headers};

pub(super) type Body = Full<Bytes>;

const AGENT: HeaderValue = HeaderValue::from_static(concat!("redeliver/", env!("CARGO_PKG_VERSION")));
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const ATTEMPT: HeaderName = HeaderName::from_static("redeliver-attempt");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The request, or why the message's headers cannot be sent.
pub(super) fn make(url: &Uri, fixed: &HeaderMap, delivery: Delivery<'_>) -> Result<Request<Body>, String> {
    let mut request = Request::new(body(&delivery.message.payload));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = url.clone();
    *request.headers_mut() = headers_of(fixed, delivery)?;
    Ok(request)
}

/// What is configured wins over what a message says, so that no message speaks in another's name.
fn headers_of(fixed: &HeaderMap, delivery: Delivery<'_>) -> Result<HeaderMap, String> {
    let message = delivery.message;
    let mut headers = HeaderMap::with_capacity(fixed.len() + 8);
    headers.insert(USER_AGENT, AGENT);
    headers.insert(CONTENT_TYPE, JSON);
    for (name, value) in headers::of(message)? {
        let shown = || format!("the message's header {name} cannot be sent");
        let known = HeaderName::try_from(&name).map_err(|_| shown())?;
        headers::check_name(known.as_str())?;
        headers.insert(known, HeaderValue::try_from(value).map_err(|_| shown())?);
    }
    headers::check_columns(message)?;
    for (name, text) in [
        (CONTENT_TYPE, &message.content_type),
        (TRACEPARENT, &message.traceparent),
    ] {
        if let Some(text) = text {
            let value = HeaderValue::try_from(text)
                .map_err(|_| format!("the message's {name} cannot be sent as a header"))?;
            headers.insert(name, value);
        }
    }
    for (name, value) in fixed {
        headers.insert(name, value.clone());
    }
    let id = HeaderValue::try_from(message.id.to_string()).map_err(|error| error.to_string())?;
    headers.insert(IDEMPOTENCY_KEY, id);
    headers.insert(ATTEMPT, delivery.attempt.into());
    Ok(headers)
}

fn body(payload: &Payload) -> Body {
    Full::new(match payload {
        Payload::Text(text) => Bytes::copy_from_slice(text.as_bytes()),
        Payload::Binary(bytes) => bytes.clone(),
    })
}
