//! What a message, an attempt and an act look like in JSON.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use redeliver_outbox::{
    Payload, Timestamp,
    desk::{AttemptRecord, AuditRecord, Branch, Detail, Record},
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A payload under one of two names: as text, or, where it is none, as base64.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct PayloadForm {
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
}

impl PayloadForm {
    pub(crate) fn of(payload: &Payload) -> Self {
        match payload {
            Payload::Text(text) => Self {
                payload: Some(text.clone()),
                payload_base64: None,
            },
            Payload::Binary(bytes) => Self {
                payload: None,
                payload_base64: Some(BASE64.encode(bytes)),
            },
        }
    }
}

/// A message, in the order in which an operator looks: why it is where it is, what it met, what it is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RecordForm<'a> {
    id: String,
    number: i64,
    status: &'static str,
    dead_letter_reason: Option<&'static str>,
    issue: Option<String>,
    last_error: Option<&'a str>,
    attempts: u32,
    last_attempt_at: Option<String>,
    next_attempt_at: Option<String>,
    put_away: bool,
    destination: &'a str,
    topic: Option<&'a str>,
    key: Option<&'a str>,
    #[serde(flatten)]
    payload: PayloadForm,
    /// What of the payload is marked secret, and so not shown: `fields` or `all`; left out where nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_hidden: Option<&'static str>,
    content_type: Option<&'a str>,
    headers: Option<Value>,
    traceparent: Option<&'a str>,
    redrives: u32,
    shard: u16,
    created_at: String,
    expires_at: Option<String>,
    sent_at: Option<String>,
    dead_lettered_at: Option<String>,
    fanned_out_at: Option<String>,
    locked_by: Option<&'a str>,
    locked_at: Option<String>,
}

impl<'a> RecordForm<'a> {
    pub(crate) fn of(record: &'a Record) -> Self {
        Self {
            id: record.id.to_string(),
            number: record.id.number(),
            status: record.status.as_str(),
            dead_letter_reason: record.dead_letter_reason.map(|reason| reason.as_str()),
            issue: record.issue.map(|issue| issue.to_string()),
            last_error: record.last_error.as_deref(),
            attempts: record.attempts,
            last_attempt_at: text(record.last_attempt_at),
            next_attempt_at: text(record.next_attempt_at),
            put_away: record.put_away,
            destination: &record.destination,
            topic: record.topic.as_deref(),
            key: record.key.as_deref(),
            payload: record.payload.as_ref().map(PayloadForm::of).unwrap_or_default(),
            payload_hidden: record
                .hidden
                .map(|hidden| if hidden.whole { "all" } else { "fields" }),
            content_type: record.content_type.as_deref(),
            headers: record.headers.as_deref().map(headers),
            traceparent: record.traceparent.as_deref(),
            redrives: record.redrives,
            shard: record.shard,
            created_at: record.created_at.to_string(),
            expires_at: text(record.expires_at),
            sent_at: text(record.sent_at),
            dead_lettered_at: text(record.dead_lettered_at),
            fanned_out_at: text(record.fanned_out_at),
            locked_by: record.locked_by.as_deref(),
            locked_at: text(record.locked_at),
        }
    }
}

fn text(time: Option<Timestamp>) -> Option<String> {
    time.map(|time| time.to_string())
}

/// The headers as the object that they should be, or as the text that they are.
fn headers(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// Everything about one message.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DetailForm<'a> {
    #[serde(flatten)]
    record: RecordForm<'a>,
    /// What an edit names, so that it is refused if anything was done since.
    version: String,
    original: Option<PayloadForm>,
    gap: bool,
    parked_behind: Option<String>,
    waits_behind: Option<String>,
    event: Option<String>,
    fan_out: Vec<BranchForm<'a>>,
    failed_attempts: Vec<AttemptForm<'a>>,
    /// How long the attempt took with which it arrived.
    took_ms: Option<u64>,
    audit: Vec<AuditForm<'a>>,
}

impl<'a> DetailForm<'a> {
    pub(crate) fn of(detail: &'a Detail) -> Self {
        Self {
            record: RecordForm::of(&detail.record),
            version: detail.seen().to_string(),
            original: detail.original_payload.as_ref().map(PayloadForm::of),
            gap: detail.gap,
            parked_behind: detail.parked_behind.map(|id| id.to_string()),
            waits_behind: detail.waits_behind.map(|id| id.to_string()),
            event: detail.event.map(|id| id.to_string()),
            fan_out: detail.fan_out.iter().map(BranchForm::of).collect(),
            failed_attempts: detail.attempts.iter().map(AttemptForm::of).collect(),
            took_ms: detail
                .took
                .map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
            audit: detail.audit.iter().map(AuditForm::of).collect(),
        }
    }
}

/// A message that was made of an event.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BranchForm<'a> {
    destination: &'a str,
    number: i64,
    id: Option<String>,
    /// None once it is forgotten.
    status: Option<&'static str>,
}

impl<'a> BranchForm<'a> {
    fn of(branch: &'a Branch) -> Self {
        let record = branch.record.as_ref();
        Self {
            destination: &branch.destination,
            number: branch.number,
            id: record.map(|record| record.id.to_string()),
            status: record.map(|record| record.status.as_str()),
        }
    }
}

/// A failed attempt.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AttemptForm<'a> {
    redrive: u32,
    attempt: u32,
    at: String,
    took_ms: Option<u64>,
    class: &'a str,
    error: &'a str,
    worker: &'a str,
}

impl<'a> AttemptForm<'a> {
    fn of(attempt: &'a AttemptRecord) -> Self {
        Self {
            redrive: attempt.redrive,
            attempt: attempt.attempt,
            at: attempt.at.to_string(),
            took_ms: attempt
                .took
                .map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
            class: &attempt.class,
            error: &attempt.error,
            worker: &attempt.worker,
        }
    }
}

/// An operator's act.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditForm<'a> {
    number: i64,
    at: String,
    who: &'a str,
    action: &'a str,
    message: Option<String>,
    why: &'a str,
    detail: Option<Value>,
    hash: Option<&'a str>,
}

impl<'a> AuditForm<'a> {
    pub(crate) fn of(act: &'a AuditRecord) -> Self {
        Self {
            number: act.number,
            at: act.at.to_string(),
            who: &act.who,
            action: &act.action,
            message: act.message.map(|id| id.to_string()),
            why: &act.why,
            detail: (!act.detail.is_empty()).then(|| headers(&act.detail)),
            hash: act.hash.as_deref(),
        }
    }
}
