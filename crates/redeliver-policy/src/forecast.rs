use alloc::vec::Vec;
use core::time::Duration;

use crate::{Jitter, Policy};

/// What one wait of a policy can be, and the waits so far together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The retry that it comes before, from 1.
    pub retry: u32,
    /// The shortest it can be.
    pub shortest: Duration,
    /// What it is on average.
    pub mean: Duration,
    /// The longest it can be.
    pub longest: Duration,
    /// All waits up to this one at their shortest.
    pub total_shortest: Duration,
    /// All waits up to this one on average.
    pub total_mean: Duration,
    /// All waits up to this one at their longest.
    pub total_longest: Duration,
}

/// The calls over which the mean of decorrelated jitter is taken: its spread is then below one in a hundred.
const SAMPLED_CALLS: u64 = 4_096;

impl Policy {
    /// Every wait of the policy in turn; the first `at_most` of them where attempts are not limited.
    ///
    /// The bounds are exact. So is the mean, but for decorrelated jitter, where it is taken over a fixed sample.
    #[must_use]
    pub fn forecast(&self, at_most: u32) -> Vec<Wait> {
        let retries = self
            .max_attempts
            .map_or(at_most, |most| most.saturating_sub(1).min(at_most));
        let sampled = matches!(self.jitter, Jitter::Decorrelated).then(|| self.sampled_means(retries));
        let mut waits: Vec<Wait> = Vec::new();
        for index in 0..retries {
            let (shortest, longest) = self.bounds(index);
            let mean = match &sampled {
                Some(means) => means[index as usize],
                None => shortest + (longest - shortest) / 2,
            };
            let [total_shortest, total_mean, total_longest] = match waits.last() {
                Some(last) => [last.total_shortest, last.total_mean, last.total_longest],
                None => [Duration::ZERO; 3],
            };
            waits.push(Wait {
                retry: index + 1,
                shortest,
                mean,
                longest,
                total_shortest: total_shortest.saturating_add(shortest),
                total_mean: total_mean.saturating_add(mean),
                total_longest: total_longest.saturating_add(longest),
            });
        }
        waits
    }

    fn sampled_means(&self, retries: u32) -> Vec<Duration> {
        let mut sums = alloc::vec![0u128; retries as usize];
        let mut entropy = Sequence(0x9e37_79b9_7f4a_7c15);
        for _ in 0..SAMPLED_CALLS {
            let mut previous = Duration::ZERO;
            for (retry, sum) in sums.iter_mut().enumerate() {
                previous = self.wait(retry as u32, previous, entropy.next());
                *sum += previous.as_nanos();
            }
        }
        sums.iter()
            .map(|sum| Duration::from_nanos((sum / u128::from(SAMPLED_CALLS)) as u64))
            .collect()
    }
}

/// A fixed sequence of well-mixed bits (SplitMix64), so that a forecast is the same every time.
struct Sequence(u64);

impl Sequence {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decorrelated_mean_lies_between_its_bounds_and_repeats() {
        let policy = Policy::exponential(Duration::from_millis(100), Duration::from_secs(10))
            .jitter(Jitter::Decorrelated)
            .max_attempts(9);
        let waits = policy.forecast(100);
        assert_eq!(waits.len(), 8);
        assert_eq!(waits, policy.forecast(100));
        assert!(
            waits
                .iter()
                .all(|wait| wait.shortest < wait.mean && wait.mean < wait.longest)
        );
        assert_eq!(waits[0].longest, Duration::from_millis(300));
    }
}
