//! The stream that reconnects: a ticker whose server drops the connection every dozen items or so.

use std::{pin::pin, time::Duration};

use futures_util::StreamExt as _;
use redeliver::{Jitter, Policy, stream::StreamEvent, websocket::WebSocket};

use serde_json::json;

use super::narrator::{Actor, Narrator};
use crate::{
    commands::call::record::millis,
    commands::watch::{item::value_of, ledger::Ledger},
    readable,
};

/// Quicker than the preset `reconnect`, so that a few seconds show several reconnections.
pub(super) const POLICY: Policy = Policy::exponential(Duration::from_millis(300), Duration::from_secs(5))
    .jitter(Jitter::Proportional(0.1))
    .unlimited_attempts();

/// What became of the stream.
#[derive(Debug, Default)]
pub(super) struct Ticks {
    pub(super) items: u64,
    pub(super) connections: u64,
    pub(super) gaps: u64,
    pub(super) ledger: Ledger,
}

/// Follows the ticker for ever, and tells of each gap.
pub(super) async fn follow(url: String, narrator: &Narrator, ticks: &mut Ticks) -> anyhow::Result<()> {
    let socket = WebSocket::connect(url).policy(POLICY).resume(|last, next| {
        if let Some(id) = last.and_then(|last| value_of(last, "id")) {
            next.query("after", &id);
        }
    });
    let mut events = pin!(socket.stream()?.events());
    let mut last = None;
    while let Some(event) = events.next().await {
        match event? {
            StreamEvent::Item(item) => {
                last = value_of(&item, "id");
                ticks.ledger.item(last.as_deref());
                ticks.items += 1;
            }
            StreamEvent::Connected(connection) => {
                ticks.connections += 1;
                ticks.ledger.connected();
                let words = match &last {
                    None => "connected".to_owned(),
                    Some(id) => {
                        let down = readable::duration(connection.down_for);
                        format!("connected again after {down}; goes on after item {id}")
                    }
                };
                let figures = json!({
                    "event": "connected",
                    "connection": connection.number,
                    "down_ms": millis(connection.down_for),
                    "after": last,
                });
                narrator.tell(Actor::Stream, &words, figures);
            }
            StreamEvent::Disconnected(lost) => {
                ticks.gaps += 1;
                let items = if lost.items == 1 {
                    "1 item".to_owned()
                } else {
                    format!("{} items", lost.items)
                };
                let wait = readable::duration(lost.wait);
                let why = format!("{}, jitter {}", POLICY.backoff.as_str(), POLICY.jitter);
                let words = format!("lost after {items} ({}); waits {wait} ({why})", lost.cause);
                let figures = json!({
                    "event": "lost",
                    "connection": lost.number,
                    "items": lost.items,
                    "wait_ms": millis(lost.wait),
                });
                narrator.tell(Actor::Stream, &words, figures);
            }
            _ => {}
        }
    }
    Ok(())
}
