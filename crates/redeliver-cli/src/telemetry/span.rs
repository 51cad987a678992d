//! A span, as OTLP writes it in JSON. Names are those of OpenTelemetry's semantic conventions where they have one.

use std::time::Duration;

use redeliver_outbox::{
    DeadReason, MessageId,
    destination::Outcome,
    millis_up,
    relay::{TracedAttempt, TracedEnding},
    store::Verdict,
    trace::{HttpExchange, TraceParent},
};
use serde_json::{Value, json};

/// It asks somebody for something.
const CLIENT: u8 = 3;
const ERROR: u8 = 2;

/// What is kept of an attempt: no more than what is sent, because it is copied in the relay's own loop.
#[derive(Debug)]
pub(super) struct Kept {
    context: TraceParent,
    parent: Option<TraceParent>,
    id: MessageId,
    destination: String,
    topic: Option<String>,
    size: usize,
    attempt: u32,
    kind: &'static str,
    waited: Duration,
    started: Duration,
    took: Duration,
    http: Option<HttpExchange>,
    came: Came,
}

/// What came of it.
#[derive(Debug, Default)]
struct Came {
    outcome: &'static str,
    class: &'static str,
    error: String,
    retry_in: Option<Duration>,
    reason: Option<DeadReason>,
}

impl Kept {
    pub(super) fn of(attempt: &TracedAttempt<'_>) -> Self {
        let message = attempt.message;
        let first = message.attempts == 0 || attempt.attempt <= 1;
        Self {
            context: attempt.span.context,
            parent: attempt.parent,
            id: message.id,
            destination: message.destination.clone(),
            topic: message.topic.clone(),
            size: message.payload.len(),
            attempt: attempt.attempt,
            kind: attempt.kind,
            waited: Duration::from_millis(if first { 0 } else { message.last_wait_ms }),
            started: attempt.started,
            took: attempt.took,
            http: attempt.span.http().cloned(),
            came: Came::of(attempt.ending),
        }
    }

    /// The span.
    pub(super) fn form(&self) -> Value {
        let nanos = |time: Duration| time.as_nanos().to_string();
        let mut span = json!({
            "traceId": self.context.trace_id(),
            "spanId": self.context.span_id(),
            "flags": 1,
            "name": format!("send {}", self.destination),
            "kind": CLIENT,
            "startTimeUnixNano": nanos(self.started),
            "endTimeUnixNano": nanos(self.started.saturating_add(self.took)),
            "attributes": self.attributes(),
        });
        if let Some(parent) = self.parent {
            span["parentSpanId"] = parent.span_id().into();
        }
        if self.came.outcome != "delivered" {
            span["status"] =
                json!({ "code": ERROR, "message": format!("{}: {}", self.came.class, self.came.error) });
        }
        span
    }

    fn attributes(&self) -> Vec<Value> {
        let mut all = vec![
            text("messaging.system", "redeliver"),
            text("messaging.operation.type", "send"),
            text("messaging.operation.name", "send"),
            text("messaging.destination.name", &self.destination),
            text("messaging.message.id", &self.id.to_string()),
            int(
                "messaging.message.body.size",
                i64::try_from(self.size).unwrap_or(i64::MAX),
            ),
            text("redeliver.destination.kind", self.kind),
            int("redeliver.attempt", i64::from(self.attempt)),
            text("redeliver.outcome", self.came.outcome),
            int("redeliver.wait_before_ms", millis_up(self.waited)),
        ];
        all.extend(self.topic.as_deref().map(|topic| text("redeliver.topic", topic)));
        let retry_in = self.came.retry_in;
        all.extend(retry_in.map(|wait| int("redeliver.retry_delay_ms", millis_up(wait))));
        let reason = self.came.reason;
        all.extend(reason.map(|reason| text("redeliver.dead_letter_reason", reason.as_str())));
        let mut error_type = self.came.class.to_owned();
        if let Some(http) = &self.http {
            all.extend(over_http(http, self.attempt));
            // The conventions of HTTP name the status where there is one.
            if let Some(status) = http.status.filter(|&status| status >= 400) {
                error_type = status.to_string();
            }
        }
        if self.came.outcome != "delivered" {
            all.push(text("error.type", &error_type));
        }
        all
    }
}

fn over_http(http: &HttpExchange, attempt: u32) -> Vec<Value> {
    let mut all = vec![text("http.request.method", &http.method)];
    let (scheme, authority) = http.origin.split_once("://").unwrap_or(("", &http.origin));
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()),
        _ => (authority, None),
    };
    all.push(text("server.address", host.trim_matches(['[', ']'])));
    all.push(text("url.scheme", scheme));
    let usual = if scheme == "https" { 443 } else { 80 };
    all.push(int("server.port", port.unwrap_or(usual)));
    let status = http.status;
    all.extend(status.map(|status| int("http.response.status_code", i64::from(status))));
    all.extend(
        http.version
            .map(|version| text("network.protocol.version", version)),
    );
    if attempt > 1 {
        all.push(int("http.request.resend_count", i64::from(attempt) - 1));
    }
    all
}

impl Came {
    fn of(ending: TracedEnding<'_>) -> Self {
        match ending {
            TracedEnding::Judged(verdict) => Self::judged(verdict),
            TracedEnding::PutBack(outcome) => Self::unjudged("put_back", outcome),
            TracedEnding::Lost(Outcome::Delivered) => Self {
                outcome: "delivered",
                ..Self::default()
            },
            TracedEnding::Lost(outcome) => Self::unjudged("lost", outcome),
        }
    }

    fn judged(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Retry { attempted, wait } => Self {
                outcome: "retried",
                class: attempted.class,
                error: attempted.error.clone(),
                retry_in: Some(*wait),
                reason: None,
            },
            Verdict::Dead {
                attempted,
                reason,
                error,
                ..
            } => Self {
                outcome: "dead",
                class: attempted
                    .as_ref()
                    .map_or("permanent", |attempted| attempted.class),
                error: error.clone(),
                retry_in: None,
                reason: Some(*reason),
            },
            _ => Self {
                outcome: "delivered",
                ..Self::default()
            },
        }
    }

    fn unjudged(word: &'static str, outcome: &Outcome) -> Self {
        let (class, error) = match outcome {
            Outcome::Delivered => ("", ""),
            Outcome::Retry { reason, .. } | Outcome::Unreachable { reason } => ("transient", reason.as_str()),
            Outcome::Reject { reason, .. } => ("permanent", reason.as_str()),
            Outcome::Disable { reason } => ("gone", reason.as_str()),
            Outcome::Ambiguous { reason, .. } => ("unknown", reason.as_str()),
        };
        Self {
            outcome: word,
            class,
            error: error.to_owned(),
            ..Self::default()
        }
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// A whole number: text, because JSON's numbers end before they do.
fn int(key: &str, value: i64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

/// A request with these spans.
pub(super) fn request(service_name: &str, spans: &[Box<Kept>]) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let spans: Vec<Value> = spans.iter().map(|span| span.form()).collect();
    json!({ "resourceSpans": [{
        "resource": { "attributes": [
            text("service.name", service_name),
            text("service.version", version),
            text("telemetry.sdk.name", "redeliver"),
            text("telemetry.sdk.language", "rust"),
            text("telemetry.sdk.version", version),
        ] },
        "scopeSpans": [{ "scope": { "name": "redeliver", "version": version }, "spans": spans }],
    }] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_told_as_host_and_port() {
        for (origin, host, port) in [
            ("https://billing.example.com", "billing.example.com", 443),
            ("http://billing.example.com", "billing.example.com", 80),
            ("http://127.0.0.1:8080", "127.0.0.1", 8080),
            ("http://[::1]:8080", "::1", 8080),
            ("https://[::1]", "::1", 443),
        ] {
            let http = HttpExchange {
                method: "POST".to_owned(),
                origin: origin.to_owned(),
                status: Some(204),
                version: Some("1.1"),
            };
            let told = over_http(&http, 3);
            assert!(told.contains(&text("server.address", host)), "{told:?}");
            assert!(told.contains(&int("server.port", port)), "{told:?}");
            assert!(told.contains(&int("http.request.resend_count", 2)), "{told:?}");
        }
    }
}
