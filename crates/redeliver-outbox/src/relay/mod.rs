//! The relay: reads what is due, sends it, writes what came of it. One future, no task of its own: dropping it is a crash, and whoever
//! wants more than one core runs several relays, which share the shards among them.

mod config;
mod engine;
mod fan_out;
mod figures;
mod lane;
mod manners;
mod membership;
mod numbers;
mod shard;
mod tracer;
mod track;
mod trouble;
mod verdict;
mod window;
#[cfg(test)]
mod window_tests;
mod witness;

use std::sync::Arc;

use tokio::sync::Notify;

pub use config::RelayConfig;
pub use engine::Finished;
pub use figures::{BOUNDS, CLASSES, DestinationFigures, ENDINGS, Figures, Spread};
pub use tracer::{TracedAttempt, TracedEnding, Tracer};
pub use witness::{Happening, Witness};

use crate::{destination::Routes, store::Store};

/// A relay that is not running yet.
///
/// ```no_run
/// # async fn example(store: std::sync::Arc<dyn redeliver_outbox::store::Store>) {
/// use redeliver_outbox::{destination::{Log, Route, Routes}, relay::{Relay, RelayConfig}};
///
/// let routes = Routes::new().with("audit", Route::to(Log::default()));
/// let relay = Relay::new(store, routes, RelayConfig::unique());
/// let hint = relay.hint(); // `hint.wake()` after a commit saves the wait until the next look
/// relay.run(std::future::pending()).await;
/// # }
/// ```
#[derive(Debug)]
pub struct Relay {
    store: Arc<dyn Store>,
    routes: Routes,
    config: RelayConfig,
    hint: Hint,
    witness: Arc<dyn Witness>,
    tracer: Option<Arc<dyn Tracer>>,
    figures: Arc<Figures>,
}

impl Relay {
    /// A relay between this store and these destinations.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, routes: Routes, config: RelayConfig) -> Self {
        Self {
            store,
            figures: Arc::new(Figures::of(&fan_out::with_events(&routes))),
            routes,
            config,
            hint: Hint::default(),
            witness: Arc::new(()),
            tracer: None,
        }
    }

    /// Also tells `witness` what happens.
    #[must_use]
    pub fn witnessed_by(mut self, witness: Arc<dyn Witness>) -> Self {
        self.witness = witness;
        self
    }

    /// Makes every attempt a span: a child of the one that its message was inserted in, which its destination is told of. Without this,
    /// destinations are told of the span that the message was inserted in.
    #[must_use]
    pub fn traced_by(mut self, tracer: Arc<dyn Tracer>) -> Self {
        self.tracer = Some(tracer);
        self
    }

    /// What tells the relay that there is something to read. Losing every hint costs latency only.
    #[must_use]
    pub fn hint(&self) -> Hint {
        self.hint.clone()
    }

    /// The relay's counters, which go on counting while it runs.
    #[must_use]
    pub fn figures(&self) -> Arc<Figures> {
        Arc::clone(&self.figures)
    }

    /// Works until `stop` is ready, then finishes or returns what is on its way, within the configured time.
    ///
    /// Trouble with the database is waited out, for as long as it takes.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Finished {
        engine::Engine::new(self).run(stop).await
    }
}

/// Wakes a relay that waits for work.
#[derive(Clone, Debug, Default)]
pub struct Hint(Arc<Notify>);

impl Hint {
    /// There is something to read.
    pub fn wake(&self) {
        self.0.notify_one();
    }

    async fn woken(&self) {
        self.0.notified().await;
    }
}
