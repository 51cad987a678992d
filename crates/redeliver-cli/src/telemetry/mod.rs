//! Spans of attempts, for a collector. The relay hands each over and goes on; what the collector does not keep up with is dropped and
//! counted.

mod collector;
mod export;
mod span;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use redeliver_outbox::relay::{TracedAttempt, Tracer};
use tokio::{sync::mpsc, task::JoinHandle};

pub(crate) use self::collector::Collector;
use self::span::Kept;

/// The most spans that wait for the collector.
const QUEUE: usize = 4_096;
/// How long the last spans may take when the process ends.
const FAREWELL: Duration = Duration::from_secs(2);

/// What became of spans so far.
#[derive(Debug, Default)]
pub(crate) struct SpanCounts {
    exported: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
}

impl SpanCounts {
    /// Each of them with its word.
    pub(crate) fn all(&self) -> [(&'static str, u64); 3] {
        [
            ("exported", &self.exported),
            ("dropped", &self.dropped),
            ("failed", &self.failed),
        ]
        .map(|(result, count)| (result, count.load(Ordering::Relaxed)))
    }
}

/// The way from the relays to a collector, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Telemetry {
    open: Option<(Arc<Queue>, JoinHandle<()>)>,
    counts: Arc<SpanCounts>,
}

impl Telemetry {
    /// From now on spans are sent there.
    pub(crate) fn start(collector: Option<Collector>) -> Self {
        let counts = Arc::new(SpanCounts::default());
        let open = collector.map(|collector| {
            let (sender, receiver) = mpsc::channel(QUEUE);
            let queue = Queue {
                sender,
                share: collector.share(),
                counts: Arc::clone(&counts),
            };
            let exporting = export::run(receiver, collector, Arc::clone(&counts));
            (Arc::new(queue), tokio::spawn(exporting))
        });
        Self { open, counts }
    }

    /// Who keeps the spans of a relay.
    pub(crate) fn tracer(&self) -> Option<Arc<dyn Tracer>> {
        let (queue, _) = self.open.as_ref()?;
        Some(Arc::clone(queue) as Arc<dyn Tracer>)
    }

    pub(crate) fn counts(&self) -> Arc<SpanCounts> {
        Arc::clone(&self.counts)
    }

    /// What is left is sent, within reason; the relays have ended.
    pub(crate) async fn finish(self) {
        if let Some((queue, mut exporting)) = self.open {
            drop(queue);
            if tokio::time::timeout(FAREWELL, &mut exporting).await.is_err() {
                exporting.abort();
            }
        }
    }
}

#[derive(Debug)]
struct Queue {
    sender: mpsc::Sender<Box<Kept>>,
    share: f64,
    counts: Arc<SpanCounts>,
}

impl Tracer for Queue {
    fn share(&self) -> f64 {
        self.share
    }

    fn ended(&self, attempt: &TracedAttempt<'_>) {
        match self.sender.try_reserve() {
            Ok(place) => place.send(Box::new(Kept::of(attempt))),
            Err(_) => drop(self.counts.dropped.fetch_add(1, Ordering::Relaxed)),
        }
    }
}
