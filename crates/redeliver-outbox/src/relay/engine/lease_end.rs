use std::time::Duration;

use redeliver::{Moment, clock};

use crate::plants::{Plant, planted};

/// When the worker's lease ends, by both clocks of this machine; the earlier one counts.
///
/// The monotonic clock stops while the machine is suspended, and the wall clock may be set back. A wall clock that is set forward ends
/// the lease early, which costs a pause until the next beat.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LeaseEnd {
    monotonic: Moment,
    wall: Duration,
}

impl LeaseEnd {
    /// The end of a lease that is renewed by a beat sent now. An eighth is left for what begins at the last moment to reach the
    /// database before the lease ends there.
    pub(super) fn of_beat(now: Moment, lease: Duration) -> Self {
        Self::after(now, clock::wall(), lease - lease / 8)
    }

    fn after(monotonic: Moment, wall: Duration, lease: Duration) -> Self {
        Self {
            monotonic: monotonic.plus(lease),
            wall: wall.saturating_add(lease),
        }
    }

    /// Whether the lease surely holds still.
    pub(super) fn is_ahead(self, now: Moment) -> bool {
        self.is_ahead_of(now, clock::wall()) || planted(Plant::LeaseNotMinded)
    }

    fn is_ahead_of(self, monotonic: Moment, wall: Duration) -> bool {
        monotonic < self.monotonic && wall < self.wall
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_ends_by_whichever_clock_went_on() {
        let second = Duration::from_secs;
        let (start, wall) = (Moment::ZERO.plus(second(100)), second(1_000_000));
        let end = LeaseEnd::after(start, wall, second(8));
        for (monotonic, on_the_wall, holds) in [
            (0, 0, true),
            (7, 7, true),
            (8, 7, false),
            // The machine was suspended: only the wall clock has moved.
            (1, 60, false),
            // The wall clock was set back.
            (7, -3600, true),
            (8, -3600, false),
        ] {
            let wall = wall.as_secs().cast_signed() + on_the_wall;
            let now = start.plus(second(monotonic));
            assert_eq!(
                end.is_ahead_of(now, second(wall.cast_unsigned())),
                holds,
                "{monotonic} {on_the_wall}"
            );
        }
        assert!(!LeaseEnd::default().is_ahead_of(Moment::ZERO, Duration::ZERO));
    }
}
