//! B7: one `retry_attempt` event per retry, with exactly these fields.

use std::{
    collections::BTreeMap,
    fmt, io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use redeliver::{Classified, clock, prelude::*};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(u64),
    Text(String),
}

#[derive(Debug, Default)]
struct Fields(BTreeMap<&'static str, Value>);

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name(), Value::Number(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), Value::Text(value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), Value::Text(format!("{value:?}")));
    }
}

/// Keeps every event, and every level.
#[derive(Clone, Default)]
struct Kept {
    events: Arc<Mutex<Vec<(&'static Metadata<'static>, Fields)>>>,
    spans: Arc<AtomicU64>,
}

impl Subscriber for Kept {
    fn enabled(&self, _metadata: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _span: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(self.spans.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn record(&self, _span: &span::Id, _values: &span::Record<'_>) {}

    fn record_follows_from(&self, _span: &span::Id, _follows: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        if event.metadata().target() == "redeliver" {
            let mut fields = Fields::default();
            event.record(&mut fields);
            self.events
                .lock()
                .expect("nobody panicked")
                .push((event.metadata(), fields));
        }
    }

    fn enter(&self, _span: &span::Id) {}

    fn exit(&self, _span: &span::Id) {}
}

impl Kept {
    fn take(&self) -> Vec<(&'static Metadata<'static>, BTreeMap<&'static str, Value>)> {
        let events = std::mem::take(&mut *self.events.lock().expect("nobody panicked"));
        events
            .into_iter()
            .map(|(metadata, fields)| (metadata, fields.0))
            .collect()
    }
}

const POLICY: Policy = Policy::exponential(Duration::from_millis(100), Duration::from_secs(9))
    .jitter(Jitter::None)
    .max_attempts(3);

#[tokio::test(start_paused = true)]
async fn each_retry_is_one_event_with_exactly_its_fields() {
    let kept = Kept::default();
    let _default = tracing::subscriber::set_default(kept.clone());
    let before = clock::timestamp(clock::wall());
    let busy = || Classified::transient("the \"gateway\" is busy");
    let result = POLICY.run(async |_| Err::<(), _>(busy())).await;
    let after = clock::timestamp(clock::wall());
    assert_eq!(result.unwrap_err().attempts, 3);

    let events = kept.take();
    assert_eq!(
        events.len(),
        2,
        "three attempts are two retries, and the end is none"
    );
    for (number, (metadata, mut fields)) in (1..).zip(events) {
        assert_eq!(
            (metadata.name(), *metadata.level()),
            ("retry_attempt", tracing::Level::WARN)
        );
        assert_eq!(
            fields.remove("message"),
            Some(Value::Text("retry_attempt".to_owned())),
            "the event's name, for formats that do not show it otherwise"
        );
        let Some(Value::Text(timestamp)) = fields.remove("timestamp") else {
            panic!("no timestamp: {fields:?}");
        };
        assert!(is_iso(&timestamp), "{timestamp}");
        assert!(
            before <= timestamp && timestamp <= after,
            "{before} {timestamp} {after}"
        );
        let expected = BTreeMap::from([
            ("attempt", Value::Number(number)),
            ("max", Value::Number(3)),
            ("delay_ms", Value::Number(100 * number)),
            ("error_type", Value::Text("&str".to_owned())),
            ("error_message", Value::Text("the \"gateway\" is busy".to_owned())),
        ]);
        assert_eq!(fields, expected);
    }
}

/// `2026-11-15T20:32:24.123Z`
fn is_iso(text: &str) -> bool {
    let shape: String = text
        .chars()
        .map(|character| {
            if character.is_ascii_digit() {
                '0'
            } else {
                character
            }
        })
        .collect();
    shape == "0000-00-00T00:00:00.000Z"
}

#[tokio::test(start_paused = true)]
async fn what_is_not_retried_is_not_told() {
    let kept = Kept::default();
    let _default = tracing::subscriber::set_default(kept.clone());
    POLICY.run(async |_| Ok::<_, io::Error>(())).await.unwrap();
    let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
    POLICY.run(async |_| Err::<(), _>(denied())).await.unwrap_err();
    POLICY.run_blocking(|_| Err::<(), _>(denied())).unwrap_err();
    assert!(kept.take().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_timeout_and_an_error_of_a_kind_are_named() {
    let kept = Kept::default();
    let _default = tracing::subscriber::set_default(kept.clone());
    let unlimited = POLICY
        .unlimited_attempts()
        .attempt_timeout(Duration::from_millis(250));
    unlimited
        .run(async |attempt| match attempt.number {
            1 => Err(io::Error::from(io::ErrorKind::ConnectionReset)),
            2 => std::future::pending().await,
            _ => Ok(()),
        })
        .await
        .unwrap();
    let events = kept.take();
    let text = |index: usize, field: &str| match &events[index].1[field] {
        Value::Text(text) => text.clone(),
        Value::Number(number) => number.to_string(),
    };
    assert_eq!(events.len(), 2);
    assert_eq!(text(0, "error_type"), "ConnectionReset");
    assert_eq!(text(1, "error_type"), "Timeout");
    assert_eq!(text(1, "error_message"), "the attempt took longer than 250ms");
    assert!(!events[0].1.contains_key("max"), "there is none");
}

#[test]
fn a_blocking_retry_is_told_too() {
    let kept = Kept::default();
    let quick = Policy::fixed(Duration::from_nanos(1))
        .jitter(Jitter::None)
        .max_attempts(4);
    tracing::subscriber::with_default(kept.clone(), || {
        quick
            .run_blocking(|_| Err::<(), _>(Classified::transient("busy")))
            .unwrap_err();
    });
    let events = kept.take();
    assert_eq!(events.len(), 3);
    assert!(
        events
            .iter()
            .all(|(_, fields)| fields["delay_ms"] == Value::Number(0))
    );
}

#[test]
fn a_retry_of_a_loop_of_ones_own_is_told_too() {
    let kept = Kept::default();
    let quick = Policy::fixed(Duration::from_nanos(1)).max_attempts(3);
    tracing::subscriber::with_default(kept.clone(), || {
        for attempt in quick.attempts() {
            attempt.failed(Class::Unknown);
        }
    });
    let told: Vec<_> = kept
        .take()
        .into_iter()
        .map(|(_, fields)| (fields["attempt"].clone(), fields["error_type"].clone()))
        .collect();
    let unknown = Value::Text("unknown".to_owned());
    assert_eq!(
        told,
        [(Value::Number(1), unknown.clone()), (Value::Number(2), unknown)]
    );
}
