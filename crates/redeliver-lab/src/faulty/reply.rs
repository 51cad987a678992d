//! What a path's handler hands back.

use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

use super::body::{Body, full};
use super::websocket::WebSocketSession;

/// What becomes of a request.
pub(crate) enum Reply {
    /// A well-formed answer, sent by hyper; `fault` is empty when nothing was injected.
    Answer {
        fault: Option<&'static str>,
        response: Response<Body>,
    },
    /// The connection ends here, after whatever the handler did with the socket itself.
    Cut {
        fault: Option<&'static str>,
        status: Option<u16>,
    },
    /// An answer that switches protocols; the exchange goes on with the connection.
    Upgrade {
        response: Response<Body>,
        session: Box<WebSocketSession>,
    },
}

impl Reply {
    pub(crate) fn success(body: &str) -> Self {
        Self::Answer {
            fault: None,
            response: json_response(StatusCode::OK, body.to_owned()),
        }
    }

    pub(crate) fn fault(fault: &'static str, response: Response<Body>) -> Self {
        Self::Answer {
            fault: Some(fault),
            response,
        }
    }
}

/// A request that cannot be served, with the reason in one line.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    message: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, message: String) -> Self {
        Self { status, message }
    }

    pub(crate) fn bad_request(message: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    #[cfg(test)]
    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        let body = json!({ "ok": false, "error": refusal.message });
        Self::fault("bad-request", json_value(refusal.status, &body))
    }
}

impl From<Refusal> for (u16, String) {
    fn from(refusal: Refusal) -> Self {
        (refusal.status.as_u16(), refusal.message)
    }
}

pub(crate) fn json_response(status: StatusCode, body: String) -> Response<Body> {
    let mut response = Response::new(full(body));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

pub(crate) fn json_value(status: StatusCode, body: &Value) -> Response<Body> {
    json_response(status, body.to_string())
}

/// Adds `Retry-After` with any text a header can carry: clients must survive nonsense too. No text is no header.
pub(crate) fn with_retry_after(mut response: Response<Body>, value: &str) -> Result<Response<Body>, Refusal> {
    if value.is_empty() {
        return Ok(response);
    }
    let value = HeaderValue::from_str(value)
        .map_err(|_| Refusal::bad_request(format!("retry_after: {value:?} cannot stand in a header")))?;
    response.headers_mut().insert(RETRY_AFTER, value);
    Ok(response)
}
