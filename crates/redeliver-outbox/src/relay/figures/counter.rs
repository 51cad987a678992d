//! What a relay counts with. Each counter has one writer, the relay that it belongs to: adding is a load and a store, and no instruction
//! that other cores have to wait for.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

#[derive(Debug, Default)]
pub(in crate::relay) struct Counter(AtomicU64);

impl Counter {
    pub(in crate::relay) fn add(&self, more: u64) {
        self.set(self.get().wrapping_add(more));
    }

    pub(in crate::relay) fn take(&self, less: u64) {
        debug_assert!(self.get() >= less, "a counter below zero");
        self.set(self.get().saturating_sub(less));
    }

    pub(in crate::relay) fn raise(&self, to: u64) {
        self.set(self.get().max(to));
    }

    pub(in crate::relay) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// How long something takes, at most, to be counted in each place of a [`Spread`] but the last, which takes everything.
pub const BOUNDS: [Duration; 15] = [
    millis(1),
    Duration::from_micros(2_500),
    millis(5),
    millis(10),
    millis(25),
    millis(50),
    millis(100),
    millis(250),
    millis(500),
    millis(1_000),
    millis(2_500),
    millis(5_000),
    millis(10_000),
    millis(30_000),
    millis(60_000),
];

/// How often something took how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// How many took as long as each of [`BOUNDS`] says, and longer than the one before says; the last place is for the longest.
    pub counts: [u64; BOUNDS.len() + 1],
    /// How long all of them took together.
    pub sum: Duration,
}

impl Spread {
    /// Both together.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.sum = self.sum.saturating_add(other.sum);
        self
    }
}

#[derive(Debug, Default)]
pub(in crate::relay) struct Times {
    counts: [Counter; BOUNDS.len() + 1],
    nanos: Counter,
}

impl Times {
    pub(in crate::relay) fn took(&self, time: Duration) {
        let place = BOUNDS.partition_point(|&bound| bound < time);
        self.counts[place].add(1);
        self.nanos.add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(super) fn spread(&self) -> Spread {
        Spread {
            counts: std::array::from_fn(|place| self.counts[place].get()),
            sum: Duration::from_nanos(self.nanos.get()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_counted_up_to_its_bound() {
        let times = Times::default();
        for time in [
            Duration::ZERO,
            millis(1),
            Duration::from_nanos(1_000_001),
            millis(60_000),
            millis(60_001),
            Duration::from_secs(9_999),
        ] {
            times.took(time);
        }
        let spread = times.spread();
        assert_eq!((spread.counts[0], spread.counts[1]), (2, 1));
        assert_eq!((spread.counts[14], spread.counts[15]), (1, 2));
        assert_eq!(spread.counts.iter().sum::<u64>(), 6);
        assert_eq!(spread.sum, Duration::new(60 + 60 + 9_999, 3_000_000 + 1));
        assert_eq!(spread.plus(&spread).counts[15], 4);
    }
}
