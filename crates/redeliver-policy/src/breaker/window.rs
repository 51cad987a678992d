use core::time::Duration;

use crate::{Moment, moment::nanos};

/// The slices that the window is counted in: the oldest tenth leaves at once.
const SLICES: usize = 10;

/// Calls and failures of the last while, in slices of a tenth of it.
#[derive(Clone, Debug)]
pub(super) struct Window {
    slice_nanos: u64,
    /// The first slice begins with the first look, so that what is counted does not depend on when a process began to count time.
    began: Option<Moment>,
    /// The slice that `counts[newest % SLICES]` stands for, numbered from there.
    newest: u64,
    counts: [Count; SLICES],
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    pub(super) calls: u32,
    pub(super) failures: u32,
}

impl Window {
    pub(super) fn new(length: Duration) -> Self {
        let slice_nanos = (nanos(length) / SLICES as u64).max(1);
        Self {
            slice_nanos,
            began: None,
            newest: 0,
            counts: [Count::default(); SLICES],
        }
    }

    pub(super) fn record(&mut self, now: Moment, failed: bool) {
        self.advance(now);
        let count = &mut self.counts[(self.newest % SLICES as u64) as usize];
        count.calls = count.calls.saturating_add(1);
        count.failures = count.failures.saturating_add(u32::from(failed));
    }

    pub(super) fn total(&mut self, now: Moment) -> Count {
        self.advance(now);
        self.counts.iter().fold(Count::default(), |sum, count| Count {
            calls: sum.calls.saturating_add(count.calls),
            failures: sum.failures.saturating_add(count.failures),
        })
    }

    pub(super) fn clear(&mut self) {
        self.counts = [Count::default(); SLICES];
    }

    /// Empties the slices that have passed. A clock that stepped back counts into the newest slice.
    fn advance(&mut self, now: Moment) {
        let began = *self.began.get_or_insert(now);
        let current = now.as_nanos().saturating_sub(began.as_nanos()) / self.slice_nanos;
        let passed = current.saturating_sub(self.newest).min(SLICES as u64);
        for step in 0..passed {
            self.counts[((current - step) % SLICES as u64) as usize] = Count::default();
        }
        self.newest = self.newest.max(current);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_old_no_longer_counts() {
        let mut window = Window::new(Duration::from_secs(10));
        let at = |secs: u64| Moment::from_millis(secs * 1_000);
        window.record(at(100), true);
        window.record(at(105), false);
        assert_eq!(
            (window.total(at(109)).calls, window.total(at(109)).failures),
            (2, 1)
        );
        assert_eq!(
            (window.total(at(111)).calls, window.total(at(111)).failures),
            (1, 0)
        );
        assert_eq!(window.total(at(9_999)).calls, 0);
    }

    #[test]
    fn it_does_not_matter_when_time_began() {
        for offset in [0, 1, 499, 777, 1_000] {
            let mut window = Window::new(Duration::from_secs(10));
            let at = |millis: u64| Moment::from_millis(offset + millis);
            (0..20).for_each(|step| window.record(at(step * 750), step % 3 == 0));
            let total = window.total(at(15_000));
            assert_eq!((total.calls, total.failures), (12, 4), "{offset}");
        }
    }

    #[test]
    fn a_clock_that_steps_back_loses_nothing() {
        let mut window = Window::new(Duration::from_secs(10));
        window.record(Moment::from_millis(50_000), true);
        window.record(Moment::from_millis(10_000), true);
        assert_eq!(window.total(Moment::from_millis(50_000)).calls, 2);
    }
}
