//! The last minute in figures, in a memory that does not grow with it.

use std::time::Duration;

use redeliver::Moment;

use crate::live::{FailureClass, Failures};

/// A minute is kept in so many parts, of which the oldest is forgotten whole.
const PARTS: usize = 6;
const PART: Duration = Duration::from_secs(10);
/// Four for each doubling, from a microsecond to 19 hours: what is told is at most a quarter too long.
const BUCKETS: usize = 4 * 36;

#[derive(Clone, Debug)]
struct Part {
    begun: Moment,
    delivered: u32,
    failures: Failures,
    took: [u32; BUCKETS],
}

impl Part {
    fn beginning(begun: Moment) -> Self {
        Self {
            begun,
            delivered: 0,
            failures: Failures::default(),
            took: [0; BUCKETS],
        }
    }
}

/// What ended in the last minute, and how long it took.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    parts: Vec<Part>,
}

/// What the last minute comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Summary {
    pub delivered_per_second: f64,
    pub failed_per_second: f64,
    /// What they met.
    pub failures: Failures,
    /// Half of the attempts took no longer, in milliseconds.
    pub p50_ms: Option<f64>,
    /// 99 of 100 took no longer.
    pub p99_ms: Option<f64>,
}

impl Recent {
    /// One has ended: with this failure, or delivered.
    pub(super) fn ended(&mut self, failure: Option<FailureClass>, took: Duration, now: Moment) {
        let current = self.parts.last().is_some_and(|part| now.since(part.begun) < PART);
        if !current {
            self.parts
                .retain(|part| now.since(part.begun) < PART * PARTS as u32);
            self.parts.push(Part::beginning(now));
        }
        if let Some(part) = self.parts.last_mut() {
            match failure {
                None => part.delivered = part.delivered.saturating_add(1),
                Some(class) => *part.failures.count(class) += 1,
            }
            let bucket = &mut part.took[bucket(took)];
            *bucket = bucket.saturating_add(1);
        }
    }

    pub(super) fn summary(&self, now: Moment) -> Summary {
        let parts = || {
            let parts = self.parts.iter();
            parts.filter(|part| now.since(part.begun) < PART * PARTS as u32)
        };
        let Some(oldest) = parts().map(|part| part.begun).min() else {
            return Summary::default();
        };
        // Within its first seconds there is no rate yet: one message would be a thousand a second.
        let seconds = now.since(oldest).max(PART).as_secs_f64();
        let delivered: f64 = parts().map(|part| f64::from(part.delivered)).sum();
        let mut failures = Failures::default();
        for part in parts() {
            failures.add(&part.failures);
        }
        let mut took = [0_u64; BUCKETS];
        for (sum, count) in parts().flat_map(|part| part.took.iter().enumerate()) {
            took[sum] += u64::from(*count);
        }
        Summary {
            delivered_per_second: delivered / seconds,
            failed_per_second: failures.all() as f64 / seconds,
            failures,
            p50_ms: quantile(&took, 50),
            p99_ms: quantile(&took, 99),
        }
    }
}

/// The end of the bucket in which so many of a hundred are reached.
fn quantile(took: &[u64; BUCKETS], percent: u64) -> Option<f64> {
    let all: u64 = took.iter().sum();
    let wanted = (all * percent).div_ceil(100);
    let mut reached = 0;
    let bucket = took.iter().position(|&count| {
        reached += count;
        all > 0 && reached >= wanted
    })?;
    Some(end_of(bucket) as f64 / 1_000.0)
}

fn bucket(took: Duration) -> usize {
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
    let doublings = micros.ilog2();
    // The two bits below the highest one.
    let quarter = if doublings < 2 {
        (micros << (2 - doublings)) & 3
    } else {
        (micros >> (doublings - 2)) & 3
    };
    (doublings as usize * 4 + quarter as usize).min(BUCKETS - 1)
}

/// In microseconds.
const fn end_of(bucket: usize) -> u64 {
    let (doublings, quarter) = (bucket / 4, bucket as u64 % 4);
    ((5 + quarter) << doublings) / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_at_most_a_quarter_too_long() {
        for micros in [1, 3, 7, 900, 1_500, 70_000, 1_234_567, 60_000_000] {
            let end = end_of(bucket(Duration::from_micros(micros)));
            assert!(
                end >= micros && end <= micros + micros.div_ceil(4),
                "{micros}: {end}"
            );
        }
        assert_eq!(bucket(Duration::ZERO), 0);
        assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
    }

    #[test]
    fn the_last_minute_is_told_and_the_one_before_is_not() {
        let mut recent = Recent::default();
        assert_eq!(recent.summary(Moment::ZERO), Summary::default());
        for second in 0..600 {
            for call in 0..100_u64 {
                let now = Moment::from_millis(second * 1_000 + call * 10);
                let took = if call < 98 { 10 } else { 1_000 };
                let failure = (call < 10).then_some(FailureClass::ServerError);
                recent.ended(failure, Duration::from_millis(took), now);
            }
        }
        assert!(recent.parts.len() <= PARTS, "{}", recent.parts.len());
        let now = Moment::from_millis(600_000);
        let summary = recent.summary(now);
        assert!(
            (85.0..95.0).contains(&summary.delivered_per_second),
            "{summary:?}"
        );
        assert!((9.0..11.0).contains(&summary.failed_per_second), "{summary:?}");
        assert!(
            (500..=600).contains(&summary.failures.server_error),
            "{summary:?}"
        );
        assert!(
            summary.p50_ms.is_some_and(|p50| (10.0..=12.5).contains(&p50)),
            "{summary:?}"
        );
        assert!(
            summary
                .p99_ms
                .is_some_and(|p99| (1_000.0..=1_250.0).contains(&p99)),
            "{summary:?}"
        );
        assert_eq!(
            recent.summary(now.plus(Duration::from_secs(61))),
            Summary::default()
        );
    }
}
