//! What is given in the body of a request.

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use redeliver_outbox::{
    NewMessage, Payload,
    desk::{Act, Detail, Edit, NoSeen},
    destination::check_header_name,
};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use utoipa::ToSchema;

use super::{
    super::{
        guard::{Caller, sentence},
        problem::Problem,
    },
    filter::{moment, nothing_unknown},
};

/// Who does something, and why.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
pub(super) struct ActForm {
    /// Who. Where tokens are used, it is the token's name, whatever is said here.
    who: Option<String>,
    /// Why, for the audit.
    why: Option<String>,
    #[serde(flatten)]
    #[schema(ignore)]
    unknown: BTreeMap<String, Value>,
}

impl ActForm {
    pub(super) fn act(&self, caller: &Caller) -> Result<Act, Problem> {
        nothing_unknown(&self.unknown)?;
        act(caller, self.who.as_deref(), self.why.as_deref())
    }
}

fn act(caller: &Caller, who: Option<&str>, why: Option<&str>) -> Result<Act, Problem> {
    sentence("who", who)?;
    sentence("why", why)?;
    Ok(Act {
        who: caller.who(who.or(Some("api"))),
        why: why.unwrap_or_default().to_owned(),
    })
}

/// A message to insert. One of destination and topic must be there, and one of json, payload and payload_base64.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageForm {
    /// Where to.
    #[schema(example = "billing")]
    destination: Option<String>,
    /// What it is about; without a destination it goes to every one that the relay's routes name for it.
    topic: Option<String>,
    /// Messages with the same destination and key are delivered one at a time, in order.
    #[schema(example = "order-7")]
    key: Option<String>,
    /// What is delivered, as JSON, written as it is given here.
    #[schema(value_type = Option<Value>, example = json!({"order": 7}))]
    json: Option<Box<RawValue>>,
    /// What is delivered, as text.
    payload: Option<String>,
    /// What is delivered, as bytes in base64.
    payload_base64: Option<String>,
    /// The type of the payload; application/json if it is not given.
    content_type: Option<String>,
    /// Sent with it.
    headers: Option<BTreeMap<String, String>>,
    /// The trace that it belongs to; the one of the request if it is not given.
    traceparent: Option<String>,
    /// Not delivered before this time.
    #[schema(example = "2026-11-15T20:30:00Z")]
    not_before: Option<String>,
    /// Quarantined instead of delivered after this time.
    expires_at: Option<String>,
}

impl MessageForm {
    pub(super) fn message(&self, request: &HeaderMap) -> Result<NewMessage, Problem> {
        let payload = payload(
            self.json.as_deref(),
            self.payload.as_deref(),
            self.payload_base64.as_deref(),
        )?;
        let payload = payload.ok_or_else(|| {
            Problem::bad_request("nothing to deliver: give json, payload or payload_base64")
        })?;
        let mut message = match (&self.destination, &self.topic) {
            (None, None) => {
                return Err(Problem::bad_request("destination: must be given, or topic"));
            }
            (Some(to), _) if to.is_empty() => {
                return Err(Problem::bad_request("destination: must not be empty"));
            }
            (Some(to), None) => NewMessage::to(to),
            (Some(to), Some(topic)) => NewMessage::to(to).topic(topic),
            (None, Some(topic)) => NewMessage::on(topic),
        }
        .payload(payload);
        if let Some(key) = &self.key {
            message = message.key(key);
        }
        if let Some(content_type) = &self.content_type {
            message = message.content_type(content_type);
        }
        for (name, value) in self.headers.iter().flatten() {
            check_header_name(name).map_err(|rule| Problem::bad_request(format!("headers: {rule}")))?;
            message = message.header(name, value);
        }
        let text = |name: &str| request.get(name).and_then(|value| value.to_str().ok());
        if let Some(trace) = self.traceparent.as_deref().or_else(|| text("traceparent")) {
            message = message.traceparent(trace);
        }
        if let Some(due) = moment("not_before", self.not_before.as_deref())? {
            message = message.not_before(due);
        }
        if let Some(expiry) = moment("expires_at", self.expires_at.as_deref())? {
            message = message.expires_at(expiry);
        }
        if request.contains_key(KEY) {
            if request.get_all(KEY).iter().nth(1).is_some() {
                return Err(Problem::bad_request(format!("{KEY}: must be given once")));
            }
            let key = text(KEY).filter(|key| !key.trim().is_empty());
            let key =
                key.ok_or_else(|| Problem::bad_request(format!("{KEY}: must be a text that is not empty")))?;
            message = message.deduplication_key(format!("http:{key}"));
        }
        message
            .validate()
            .map_err(|error| Problem::bad_request(error.to_string()))?;
        Ok(message)
    }

    /// Whether a message that was inserted before is the one that is asked for now, as it was before anybody mended it. What the history has not
    /// kept is not compared.
    pub(super) fn is_like(&self, detail: &Detail) -> bool {
        let record = &detail.record;
        let given = payload(
            self.json.as_deref(),
            self.payload.as_deref(),
            self.payload_base64.as_deref(),
        );
        let inserted = detail.original_payload.as_ref().or(record.payload.as_ref());
        let same_payload = match (given, inserted) {
            (Ok(Some(given)), Some(kept)) => given.as_bytes() == kept.as_bytes(),
            _ => true,
        };
        let may_have_moved = detail.audit.iter().any(|act| act.action == "edit");
        same_payload
            && (may_have_moved || self.destination.as_deref().unwrap_or_default() == record.destination)
            && self.topic == record.topic
            && self.key == record.key
    }
}

/// The header that keeps a request from being done twice.
const KEY: &str = "idempotency-key";

/// What to change in a dead letter. What is not given stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditForm {
    /// The new payload, as JSON. Where fields of the payload are marked secret, the fields to change, as a JSON Merge Patch: the others stay.
    #[schema(value_type = Option<Value>)]
    json: Option<Box<RawValue>>,
    /// The new payload, as text.
    payload: Option<String>,
    /// The new payload, as bytes in base64.
    payload_base64: Option<String>,
    /// The new content type.
    content_type: Option<String>,
    /// The new headers, all of them.
    headers: Option<BTreeMap<String, String>>,
    /// The new destination.
    destination: Option<String>,
    /// The version that was seen: if the message has another one by now, nothing is changed.
    #[schema(example = "0.2")]
    version: Option<String>,
    /// Who. Where tokens are used, it is the token's name, whatever is said here.
    who: Option<String>,
    /// Why, for the audit.
    why: Option<String>,
}

impl EditForm {
    pub(super) fn edit(&self) -> Result<Edit, Problem> {
        for name in self.headers.iter().flatten().map(|(name, _)| name) {
            check_header_name(name).map_err(|rule| Problem::bad_request(format!("headers: {rule}")))?;
        }
        let seen = self.version.as_deref().map(str::parse).transpose();
        let seen = seen.map_err(|error: NoSeen| Problem::bad_request(format!("version: {error}")))?;
        let headers = self.headers.as_ref().map(|headers| {
            let headers = headers
                .iter()
                .map(|(name, value)| (name.clone(), Value::from(value.as_str())));
            Value::Object(headers.collect()).to_string()
        });
        Ok(Edit {
            payload: payload(
                self.json.as_deref(),
                self.payload.as_deref(),
                self.payload_base64.as_deref(),
            )?,
            content_type: self.content_type.clone(),
            headers,
            destination: self.destination.clone(),
            seen,
            redrive: false,
        })
    }

    pub(super) fn act(&self, caller: &Caller) -> Result<Act, Problem> {
        act(caller, self.who.as_deref(), self.why.as_deref())
    }
}

/// The payload, in one of its three forms.
fn payload(
    json: Option<&RawValue>,
    text: Option<&str>,
    base64: Option<&str>,
) -> Result<Option<Payload>, Problem> {
    match (json, text, base64) {
        (None, None, None) => Ok(None),
        (Some(json), None, None) => Ok(Some(Payload::from(json.get()))),
        (None, Some(text), None) => Ok(Some(Payload::from(text))),
        (None, None, Some(encoded)) => {
            let bytes = BASE64
                .decode(encoded)
                .map_err(|error| Problem::bad_request(format!("payload_base64: {error}")))?;
            Ok(Some(Payload::Binary(bytes.into())))
        }
        _ => Err(Problem::bad_request(
            "json, payload and payload_base64 are three ways to say the same: give one of them",
        )),
    }
}
