#[cfg(loom)]
use loom::sync::{Mutex, MutexGuard};
use std::sync::PoisonError;
#[cfg(not(loom))]
use std::sync::{Mutex, MutexGuard};

use super::{BreakerCore, BreakerRule, BreakerState, Permit, Rejected, Verdict};
use crate::Moment;

/// A circuit breaker to share between tasks and threads.
///
/// The lock is held for a few additions, never across a call.
#[derive(Debug)]
pub struct Breaker {
    core: Mutex<BreakerCore>,
}

impl Breaker {
    /// A closed breaker.
    #[must_use]
    pub fn new(rule: BreakerRule) -> Self {
        Self {
            core: Mutex::new(BreakerCore::new(rule)),
        }
    }

    /// Asks to make a call.
    ///
    /// # Errors
    /// When it is open, when its probes are out already, or when the slow start's draw went against this call.
    pub fn admit(&self, now: Moment, entropy: u64) -> Result<Permit, Rejected> {
        self.lock().admit(now, entropy)
    }

    /// Hands a permit back with how its call went.
    pub fn settle(&self, now: Moment, permit: Permit, verdict: Verdict) {
        self.lock().settle(now, permit, verdict);
    }

    /// What it lets through at `now`.
    #[must_use]
    pub fn state(&self, now: Moment) -> BreakerState {
        self.lock().state(now)
    }

    fn lock(&self) -> MutexGuard<'_, BreakerCore> {
        // Nothing under the lock panics, and a count that a panic elsewhere cut short is still a count.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Breaker {
    fn default() -> Self {
        Self::new(BreakerRule::DEFAULT)
    }
}
