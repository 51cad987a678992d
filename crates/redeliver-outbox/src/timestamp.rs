use std::{fmt, time::Duration};

use redeliver::Moment;

/// A point on the database's clock, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The `next_attempt_at` of deferred messages, 31 December 9999, so that no read finds them. Senders may write it, too: only the
    /// column `deferred` says that a message is deferred.
    pub const PARKED: Self = Self(253_402_214_400_000);

    /// So many milliseconds after the beginning of 1970.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the beginning of 1970.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The process's own clock, for a database without one.
    #[must_use]
    pub fn wall() -> Self {
        Self::since_1970(redeliver::clock::wall())
    }

    /// From a time since 1970; what does not fit is the far future.
    #[must_use]
    pub fn since_1970(time: Duration) -> Self {
        Self(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
    }

    /// Later by `duration`. A millisecond that has begun counts whole, because a retry is never early.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(millis_up(duration)))
    }

    /// So much earlier, to the millisecond.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(millis_up(duration)))
    }

    /// How long after `earlier`; zero if it is before.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The same on a session's clock.
    #[must_use]
    pub fn moment(self) -> Moment {
        Moment::from_millis(u64::try_from(self.0).unwrap_or(0))
    }
}

/// Whole milliseconds, rounded up: a wait that is cut short is a wait that is early.
#[must_use]
pub fn millis_up(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since_1970 = Duration::from_millis(u64::try_from(self.0).unwrap_or(0));
        f.write_str(&redeliver::clock::timestamp(since_1970))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_never_cut_short() {
        let start = Timestamp::from_millis(5);
        assert_eq!(start.plus(Duration::from_micros(1)), Timestamp::from_millis(6));
        assert_eq!(start.plus(Duration::MAX), Timestamp::from_millis(i64::MAX));
    }
}
