//! What every destination keeps to, and what each one does of its own.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends where something is not as it should be"
)]

mod auth;
mod cloudevents;
#[cfg(feature = "config")]
mod configured;
mod endpoint;
mod guard;
mod handler;
mod hostile;
mod http;
mod https;
mod log;
mod pool;
mod probe;
mod proxy;
mod server;
mod suite;
mod template;
mod webhook;

use std::time::Duration;

use redeliver_outbox::{
    Message, MessageId, Payload, Timestamp,
    destination::{Delivery, Destination, Outcome},
};

/// What takes longer than this never comes.
const LONG: Duration = Duration::from_secs(30);

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, what)
        .await
        .unwrap_or_else(|_| panic!("nothing happened"))
}

fn message(payload: impl Into<Payload>) -> Message {
    Message {
        id: MessageId::new(42, 0x1234_5678_9abc),
        shard: 3,
        destination: "billing".to_owned(),
        topic: None,
        key: Some("order-7".to_owned()),
        payload: payload.into(),
        content_type: None,
        headers: None,
        traceparent: None,
        not_before: None,
        expires_at: None,
        created_at: Timestamp::from_millis(1_000),
        attempts: 0,
        redrives: 0,
        next_attempt_at: None,
        last_attempt_at: None,
        last_error: None,
        last_wait_ms: 0,
        interrupted: false,
        withheld: None,
        unreadable_key: false,
    }
}

async fn deliver(destination: &dyn Destination, message: &Message, attempt: u32) -> Outcome {
    deliver_within(LONG, destination, message, attempt).await
}

async fn deliver_within(
    timeout: Duration,
    destination: &dyn Destination,
    message: &Message,
    attempt: u32,
) -> Outcome {
    let delivery = Delivery {
        message,
        attempt,
        timeout,
    };
    soon(destination.deliver(delivery)).await
}
