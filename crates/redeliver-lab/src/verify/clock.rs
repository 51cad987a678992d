use std::sync::atomic::{AtomicI64, Ordering};

use redeliver::{Moment, clock};
use redeliver_outbox::Timestamp;

/// 2026-01-01T00:00:00Z.
const BEGINNING: i64 = 1_767_225_600_000;

/// The two clocks of a history: time since its beginning, which only goes forward, and the database's, which may be set.
#[derive(Debug)]
pub(super) struct Clocks {
    started: Moment,
    ahead: AtomicI64,
    /// The latest that the database's clock ever showed: what was due then was due.
    latest: AtomicI64,
}

impl Clocks {
    pub(super) fn start() -> Self {
        Self {
            started: clock::now(),
            ahead: AtomicI64::new(0),
            latest: AtomicI64::new(BEGINNING),
        }
    }

    /// Milliseconds since the history began.
    pub(super) fn elapsed(&self) -> u64 {
        u64::try_from(clock::now().since(self.started).as_millis()).unwrap_or(u64::MAX)
    }

    /// The database's clock.
    pub(super) fn database(&self) -> Timestamp {
        let elapsed = i64::try_from(self.elapsed()).unwrap_or(i64::MAX);
        let now = BEGINNING + elapsed + self.ahead.load(Ordering::Relaxed);
        self.latest.fetch_max(now, Ordering::Relaxed);
        Timestamp::from_millis(now)
    }

    /// The latest time that the database's clock has shown.
    pub(super) fn latest(&self) -> Timestamp {
        self.database();
        Timestamp::from_millis(self.latest.load(Ordering::Relaxed))
    }

    /// Sets the database's clock forward, or back.
    pub(super) fn step(&self, millis: i64) {
        self.ahead.fetch_add(millis, Ordering::Relaxed);
    }
}
