use std::{fmt, sync::Arc, time::Duration};

use redeliver::Policy;

use crate::{limits, store::WorkerId};

/// How a relay works. The defaults suit most.
#[derive(Clone)]
pub struct RelayConfig {
    /// The worker's name in the tables. Never one that was used before.
    pub worker: WorkerId,
    /// How long a silent worker keeps its shards.
    pub lease: Duration,
    /// The most messages held at a time.
    pub window: usize,
    /// The most bytes of messages held at a time.
    pub window_bytes: usize,
    /// The most messages of one lane held at a time.
    pub lane_window: usize,
    /// The most messages read at a time.
    pub read_batch: usize,
    /// The most verdicts written at a time.
    pub settle_batch: usize,
    /// How long a verdict waits for others while messages are on their way.
    pub settle_linger: Duration,
    /// How soon an idle relay looks again at first.
    pub poll_soonest: Duration,
    /// How late an idle relay looks again at last.
    pub poll_latest: Duration,
    /// How long a stopping relay waits for what it is sending.
    pub shutdown: Duration,
    /// How trouble with the database is waited out. It is never given up.
    pub database: Policy,
    /// Where chance comes from: 64 bits a call.
    pub entropy: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl RelayConfig {
    /// The defaults, for a worker of this name.
    #[must_use]
    pub fn named(worker: impl Into<String>) -> Self {
        Self {
            worker: WorkerId(worker.into()),
            lease: limits::LEASE,
            window: limits::WINDOW,
            window_bytes: limits::WINDOW_BYTES,
            lane_window: limits::LANE_WINDOW,
            read_batch: limits::READ_BATCH,
            settle_batch: limits::SETTLE_BATCH,
            settle_linger: limits::SETTLE_LINGER,
            poll_soonest: limits::POLL_SOONEST,
            poll_latest: limits::POLL_LATEST,
            shutdown: limits::SHUTDOWN,
            database: Policy::exponential(Duration::from_millis(50), Duration::from_secs(5))
                .unlimited_attempts(),
            entropy: Arc::new(redeliver::entropy::draw),
        }
    }

    /// The defaults, under a name made of the process's id and chance.
    #[must_use]
    pub fn unique() -> Self {
        Self::named(format!(
            "{}-{:08x}",
            std::process::id(),
            redeliver::entropy::draw() >> 32
        ))
    }
}

impl fmt::Debug for RelayConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelayConfig")
            .field("worker", &self.worker)
            .field("lease", &self.lease)
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}
