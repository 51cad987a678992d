//! A message's own headers, as its row holds them.

use serde_json::{Map, Value};

use crate::{Message, enqueue, limits};

/// What frames a request is the connection's to say: two opinions on where a body ends are how one request becomes two.
const FRAMING: [&str; 11] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What the relay says itself.
const OURS: [&str; 2] = ["idempotency-key", "redeliver-attempt"];

/// Whether a message or the configuration may name this header: neither HTTP itself nor the relay owns it.
///
/// # Errors
/// Who owns it.
pub fn check_name(name: &str) -> Result<(), String> {
    let lower = name.to_ascii_lowercase();
    if FRAMING.contains(&lower.as_str()) {
        return Err(format!(
            "the header {lower} is set by the connection and by nobody else"
        ));
    }
    if OURS.contains(&lower.as_str()) {
        return Err(format!("the header {lower} is set by the relay on every attempt"));
    }
    Ok(())
}

/// The headers of a message, or what is wrong with them: its sender wrote them, and nobody has looked since.
pub(crate) fn of(message: &Message) -> Result<Vec<(String, String)>, String> {
    let Some(text) = &message.headers else {
        return Ok(Vec::new());
    };
    if text.len() > limits::HEADERS_LIMIT {
        let (length, limit) = (text.len(), limits::HEADERS_LIMIT);
        return Err(format!(
            "the message's headers have {length} bytes; at most {limit} are allowed"
        ));
    }
    let object = match serde_json::from_str(text) {
        Ok(Value::Object(object)) => object,
        Ok(other) => {
            let kind = kind(&other);
            return Err(format!(
                "the message's headers are {kind}, not a JSON object of texts"
            ));
        }
        Err(error) => return Err(format!("the message's headers are no JSON: {error}")),
    };
    texts(object)
}

fn texts(object: Map<String, Value>) -> Result<Vec<(String, String)>, String> {
    let mut headers = Vec::with_capacity(object.len());
    for (name, value) in object {
        enqueue::header_name(&name).map_err(|error| error.to_string())?;
        let Value::String(value) = value else {
            let kind = kind(&value);
            return Err(format!("the message's header {name} is {kind}, not a text"));
        };
        check(&value)?;
        headers.push((name, value));
    }
    Ok(headers)
}

/// Whether the columns that become headers can.
pub(crate) fn check_columns(message: &Message) -> Result<(), String> {
    for (field, text) in [
        ("content type", &message.content_type),
        ("traceparent", &message.traceparent),
    ] {
        if let Some(text) = text {
            enqueue::header_column(field, text).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

fn check(value: &str) -> Result<(), String> {
    enqueue::header("headers", value).map_err(|error| error.to_string())
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
