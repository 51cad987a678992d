//! For your own tests: no waiting, the same draws every time, few attempts.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use redeliver::{prelude::*, testing};
//!
//! let _guard = testing::start().seed(7).max_attempts(2).enter();
//! let result = Policy::BATCH.run(async |_| Err::<(), _>(std::io::Error::from(std::io::ErrorKind::TimedOut))).await;
//! assert_eq!(result.unwrap_err().attempts, 2); // at once, though BATCH waits five seconds
//! # }
//! ```
//!
//! The mode is the whole process's, as tests with several threads need it: a test binary enters it once, or lets its tests take turns (entering
//! waits for the previous guard). Waits are skipped and the clock is put forward by them, so deadlines still end calls.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

/// What the mode does; see [`start`].
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing changes until it is entered"]
pub struct TestMode {
    seed: u64,
    max_attempts: Option<u32>,
}

/// A mode without waits, with seed 0 and with the policies' own limits on attempts.
pub const fn start() -> TestMode {
    TestMode {
        seed: 0,
        max_attempts: None,
    }
}

/// Ends the mode when dropped.
#[derive(Debug)]
#[must_use = "the mode ends when this is dropped"]
pub struct TestGuard {
    _turn: MutexGuard<'static, ()>,
}

static TURN: Mutex<()> = Mutex::new(());
static ACTIVE: AtomicBool = AtomicBool::new(false);
static SKIPPED: AtomicU64 = AtomicU64::new(0);
/// Zero for no limit, which no policy is given.
static MAX_ATTEMPTS: AtomicU64 = AtomicU64::new(0);
static CHANCE: Mutex<Option<fastrand::Rng>> = Mutex::new(None);

impl TestMode {
    /// Draws from this seed.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// No call makes more attempts than this.
    pub const fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = Some(attempts);
        self
    }

    /// Enters the mode until the guard is dropped.
    pub fn enter(self) -> TestGuard {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        *chance() = Some(fastrand::Rng::with_seed(self.seed));
        MAX_ATTEMPTS.store(
            self.max_attempts.map_or(0, |most| u64::from(most.max(1))),
            Ordering::Relaxed,
        );
        ACTIVE.store(true, Ordering::Release);
        TestGuard { _turn: turn }
    }
}

impl Drop for TestGuard {
    fn drop(&mut self) {
        ACTIVE.store(false, Ordering::Release);
        MAX_ATTEMPTS.store(0, Ordering::Relaxed);
        *chance() = None;
    }
}

fn chance() -> MutexGuard<'static, Option<fastrand::Rng>> {
    CHANCE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Skips a wait if the mode is on, and says whether it did.
pub(crate) fn skip(duration: Duration) -> bool {
    let active = ACTIVE.load(Ordering::Acquire);
    if active {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let _ = SKIPPED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |so_far| {
            Some(so_far.saturating_add(nanos))
        });
    }
    active
}

/// How far skipped waits have put the clock forward.
pub(crate) fn skipped() -> Duration {
    Duration::from_nanos(SKIPPED.load(Ordering::Relaxed))
}

pub(crate) fn seeded() -> Option<u64> {
    if !ACTIVE.load(Ordering::Acquire) {
        return None;
    }
    chance().as_mut().map(|rng| rng.u64(..))
}

pub(crate) fn max_attempts() -> Option<u32> {
    u32::try_from(MAX_ATTEMPTS.load(Ordering::Relaxed))
        .ok()
        .filter(|most| *most > 0)
}
