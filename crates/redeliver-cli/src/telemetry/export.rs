//! From the queue to the collector, in batches.

use std::{
    pin::pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use redeliver::{Decision, Policy, Session, address, clock, entropy};
use tokio::sync::mpsc;

use super::{
    SpanCounts,
    collector::Collector,
    span::{self, Kept},
};

/// The most spans in a request.
const BATCH: usize = 512;
/// How long a span waits for others.
const LINGER: Duration = Duration::from_secs(1);
/// How often a batch is tried. Meanwhile others wait, and what the queue has no room for is dropped.
const POLICY: Policy = Policy::exponential(Duration::from_millis(500), Duration::from_secs(5))
    .max_attempts(4)
    .deadline(Duration::from_secs(30));

/// Sends what comes, until nobody is left who could send more.
pub(super) async fn run(mut spans: mpsc::Receiver<Box<Kept>>, collector: Collector, counts: Arc<SpanCounts>) {
    let mut failing = false;
    while let Some(batch) = gather(&mut spans).await {
        let body = span::request(collector.service_name(), &batch).to_string();
        let sent = send(&collector, body.into_bytes()).await;
        let failed = sent.is_err();
        let counter = if failed { &counts.failed } else { &counts.exported };
        counter.fetch_add(batch.len() as u64, Ordering::Relaxed);
        match sent {
            Ok(()) if failing => {
                tracing::info!(target: "redeliver", "can send spans to the collector again");
            }
            // Told once: the metric says how many.
            Err(error) if !failing => {
                let url = address::shown(collector.url());
                tracing::warn!(target: "redeliver", "cannot send spans to {url}: {error}; deliveries go on without");
            }
            _ => {}
        }
        failing = failed;
    }
}

/// What is there, and what comes within a moment; none at the end.
async fn gather(spans: &mut mpsc::Receiver<Box<Kept>>) -> Option<Vec<Box<Kept>>> {
    let mut batch = vec![spans.recv().await?];
    let mut linger = pin!(clock::sleep(LINGER));
    while batch.len() < BATCH {
        tokio::select! {
            more = spans.recv() => match more {
                Some(span) => batch.push(span),
                None => break,
            },
            () = &mut linger => break,
        }
    }
    Some(batch)
}

async fn send(collector: &Collector, body: Vec<u8>) -> Result<(), String> {
    let mut session = Session::new(&POLICY, clock::now()).idempotent(true);
    loop {
        let Err((class, error)) = collector.take(body.clone()).await else {
            return Ok(());
        };
        match session.on_failure(clock::now(), class, entropy::draw()) {
            Decision::Retry { after, .. } => clock::sleep(after).await,
            Decision::Stop(_) => return Err(error),
        }
    }
}
