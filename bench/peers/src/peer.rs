//! What the laws ask of a crate. Every file under `peers/` answers the same questions in the same order.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::laws::wait_cost;
use crate::server::Server;

/// The wait every schedule starts from.
pub(crate) const BASE: Duration = Duration::from_millis(100);
/// The longest wait every schedule is told to make.
pub(crate) const CAP: Duration = Duration::from_secs(10);
/// The first delay at which doubling from [`BASE`] is far beyond [`CAP`] (204.8 s without it).
pub(crate) const CAPPED_DELAY: usize = 12;

/// Something a peer does with its own retry loop. Boxed once per run, never per call.
pub(crate) type Job<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// The waits of one retried call, in order: base [`BASE`], cap [`CAP`], doubling, jitter on.
pub(crate) trait Schedule: Sized {
    /// What the crate's user configures once and shares.
    type Settings;

    /// Configured anew from the same numbers, as another process of the same fleet would.
    fn settings() -> Self::Settings;

    /// Begins one call's waits from the settings, which stay for the next call: by a clone where the crate's type clones.
    fn start(settings: &Self::Settings) -> Self;

    /// The next wait, or `None` when the crate would give up.
    fn next_wait(&mut self) -> Option<Duration>;
}

/// One retry crate. A question it has no feature for is left at its default, `None`.
pub(crate) trait Peer {
    /// The package's name in `Cargo.lock`.
    const PACKAGE: &'static str;
    /// How it was configured, in one line, with the reason where there was a choice.
    const SETTINGS: &'static str;
    /// Whether its total-time limit reads the system's clock and so cannot be run on a paused one.
    const REAL_CLOCK: bool = false;
    /// Retries its budget allows beyond the ratio, as it was configured here.
    const BUDGET_FLOOR: u32 = 0;

    type Schedule: Schedule;

    /// Makes `calls` calls that succeed at the first try.
    fn first_tries(_calls: u32) -> Option<Job<'static>> {
        None
    }

    /// Nanoseconds for one wait, over one batch; `None` where a wait cannot be had without a whole attempt.
    fn time_waits() -> Option<f64> {
        Some(wait_cost::batch::<Self::Schedule>())
    }

    /// Calls a server that refuses with a wait of its own choosing, and passes that wait on as the crate's docs say.
    fn obey_hints(_server: &Server) -> Option<Job<'_>> {
        None
    }

    /// Calls a server that always fails, for at most `limit` in all, with the longest wait at `cap` and the first at `base`.
    fn keep_deadline(_server: &Server, _limit: Limits) -> Option<Job<'_>> {
        None
    }

    /// Makes `calls` calls to a server that always fails, all under one retry budget of `ratio`.
    fn spend_budget(_server: &Server, _calls: u32, _ratio: f64) -> Option<Job<'_>> {
        None
    }
}

/// The times of the deadline law.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) base: Duration,
    pub(crate) cap: Duration,
    pub(crate) total: Duration,
}
