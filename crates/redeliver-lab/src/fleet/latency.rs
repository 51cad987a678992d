use std::time::Duration;

/// Buckets to each doubling: a quantile is then off by less than 1 %.
const STEPS: usize = 128;
/// Doublings of a microsecond, up to an hour and more.
const DOUBLINGS: usize = 33;

/// Counts of times on a scale that is fine where they are short, in fixed memory however many there are.
#[derive(Clone, Debug)]
pub(super) struct Latencies {
    counts: Vec<u64>,
    total: u64,
}

impl Latencies {
    pub(super) fn new() -> Self {
        Self {
            counts: vec![0; STEPS * DOUBLINGS],
            total: 0,
        }
    }

    pub(super) fn record(&mut self, nanos: u64) {
        self.counts[bucket(nanos / 1_000)] += 1;
        self.total += 1;
    }

    /// The time within which `share` of the calls ended; `None` if none did.
    pub(super) fn quantile(&self, share: f64) -> Option<Duration> {
        let rank = ((share * self.total as f64).ceil() as u64).max(1);
        let mut seen = 0;
        self.counts.iter().enumerate().find_map(|(bucket, count)| {
            seen += count;
            (seen >= rank).then(|| Duration::from_micros(longest_in(bucket)))
        })
    }
}

fn bucket(micros: u64) -> usize {
    let steps = STEPS as u64;
    let doublings = u64::from((micros / steps).checked_ilog2().map_or(0, |log| log + 1));
    let within = match doublings {
        0 => micros,
        _ => (micros >> (doublings - 1)) - steps,
    };
    ((doublings * steps + within) as usize).min(STEPS * DOUBLINGS - 1)
}

/// The longest time, in microseconds, that falls into this bucket.
fn longest_in(bucket: usize) -> u64 {
    let (doublings, within) = (bucket / STEPS, (bucket % STEPS) as u64);
    match doublings {
        0 => within,
        _ => ((within + STEPS as u64 + 1) << (doublings - 1)) - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_join_without_gap_and_are_within_one_percent() {
        let mut micros = 0;
        for index in 0..STEPS * 24 {
            assert_eq!(bucket(micros), index, "{micros}");
            let longest = longest_in(index);
            assert_eq!(bucket(longest), index);
            assert!((longest - micros) as f64 <= 0.01 * micros as f64);
            micros = longest + 1;
        }
        assert_eq!(bucket(u64::MAX), STEPS * DOUBLINGS - 1);
    }

    #[test]
    fn quantiles_are_those_of_the_times_recorded() {
        let mut latencies = Latencies::new();
        assert_eq!(latencies.quantile(0.5), None);
        for millis in 1..=1_000 {
            latencies.record(millis * 1_000_000);
        }
        for (share, millis) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1_000.0)] {
            let seconds = latencies.quantile(share).unwrap().as_secs_f64();
            assert!((seconds / (millis / 1_000.0) - 1.0).abs() < 0.01, "{seconds}");
        }
    }
}
