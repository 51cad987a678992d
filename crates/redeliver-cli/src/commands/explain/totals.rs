use std::time::Duration;

use redeliver_policy::{Jitter, MAX_LISTED_WAITS, Policy, Wait};

/// The waits that are added up one by one before the rest must be alike, or is left out and said to be.
const ADDED_UP: u32 = 100_000;
/// The waits over which decorrelated jitter is sampled; its mean has long stopped growing by then.
const SAMPLED: u32 = 256;

/// What the waits take together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) shortest: Duration,
    pub(super) mean: Duration,
    pub(super) longest: Duration,
    /// How many waits that is, from the first.
    pub(super) covered: u32,
}

impl Totals {
    /// All waits of a policy that limits its attempts; those `shown` of one that does not.
    pub(super) fn of(policy: &Policy, shown: &[Wait]) -> Self {
        match policy.max_attempts {
            Some(most) if most.saturating_sub(1) as usize > shown.len() => all(policy, most - 1),
            _ => Self::of_shown(shown),
        }
    }

    fn of_shown(shown: &[Wait]) -> Self {
        let last = shown.last();
        Self {
            shortest: last.map_or(Duration::ZERO, |wait| wait.total_shortest),
            mean: last.map_or(Duration::ZERO, |wait| wait.total_mean),
            longest: last.map_or(Duration::ZERO, |wait| wait.total_longest),
            covered: shown.len() as u32,
        }
    }
}

fn all(policy: &Policy, waits: u32) -> Totals {
    let last = policy.bounds(waits - 1);
    let [mut shortest, mut mean, mut longest] = [Duration::ZERO; 3];
    let mut covered = 0;
    // No wait is shorter than the one before it, but in a list; so the first that is as long as the last begins the rest.
    while covered < waits.min(ADDED_UP) {
        let bounds = policy.bounds(covered);
        if covered >= MAX_LISTED_WAITS as u32 && bounds == last {
            break;
        }
        shortest = shortest.saturating_add(bounds.0);
        mean = mean.saturating_add(middle(bounds));
        longest = longest.saturating_add(bounds.1);
        covered += 1;
    }
    if covered == ADDED_UP && policy.bounds(covered) != last {
        with_sampled_mean(
            policy,
            Totals {
                shortest,
                mean,
                longest,
                covered,
            },
        )
    } else {
        let rest = waits - covered;
        let totals = Totals {
            shortest: shortest.saturating_add(last.0.saturating_mul(rest)),
            mean: mean.saturating_add(middle(last).saturating_mul(rest)),
            longest: longest.saturating_add(last.1.saturating_mul(rest)),
            covered: waits,
        };
        with_sampled_mean(policy, totals)
    }
}

/// Decorrelated jitter has its mean not in the middle of its bounds: what was sampled, and the last of it for all that follow.
fn with_sampled_mean(policy: &Policy, totals: Totals) -> Totals {
    if policy.jitter != Jitter::Decorrelated {
        return totals;
    }
    let sampled = policy.forecast(SAMPLED);
    let Some(last) = sampled.last() else {
        return totals;
    };
    let rest = totals.covered.saturating_sub(sampled.len() as u32);
    Totals {
        mean: last.total_mean.saturating_add(last.mean.saturating_mul(rest)),
        ..totals
    }
}

fn middle((shortest, longest): (Duration, Duration)) -> Duration {
    shortest + (longest - shortest) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_short_way_agrees_with_adding_up() {
        let descending = [ms(9_000), ms(10), ms(9_000)];
        for policy in [
            Policy::BATCH,
            Policy::exponential(ms(7), ms(90_000)).multiplier(1.01),
            Policy::linear(ms(3), ms(5_000)).jitter(Jitter::Additive(0.29)),
            Policy::fibonacci(ms(1), ms(77_000)).jitter(Jitter::Proportional(0.1)),
            Policy::list(&descending).jitter(Jitter::Equal),
            Policy::fixed(ms(40)).jitter(Jitter::None),
        ] {
            let policy = policy.max_attempts(5_001);
            let every = policy.forecast(5_000);
            assert_eq!(
                Totals::of(&policy, &every[..10]),
                Totals::of_shown(&every),
                "{policy}"
            );
        }
    }

    #[test]
    fn a_mean_that_is_sampled_lies_between_its_bounds() {
        let policy = Policy::exponential(ms(100), ms(20_000))
            .jitter(Jitter::Decorrelated)
            .max_attempts(2_001);
        let totals = Totals::of(&policy, &policy.forecast(10));
        assert_eq!(totals.covered, 2_000);
        assert!(totals.shortest < totals.mean && totals.mean < totals.longest);
        let sampled = policy.forecast(2_000)[1_999].total_mean.as_secs_f64();
        assert!((totals.mean.as_secs_f64() / sampled - 1.0).abs() < 0.02);
    }

    #[test]
    fn no_number_of_attempts_takes_long_or_overflows() {
        let most = Policy::STANDARD.max_attempts(u32::MAX);
        let totals = Totals::of(&most, &most.forecast(20));
        assert_eq!(totals.covered, u32::MAX - 1);
        // 1 + 2 + 4 + 8 + 16 s, then 30 s each.
        let expected = 31 + 30 * u64::from(u32::MAX - 1 - 5);
        assert_eq!(totals.shortest, Duration::from_secs(expected));
        let endless = Policy::linear(Duration::from_nanos(1), Duration::MAX).max_attempts(u32::MAX);
        assert_eq!(Totals::of(&endless, &endless.forecast(20)).covered, ADDED_UP);
        let longest = Policy::fixed(Duration::MAX).max_attempts(u32::MAX);
        assert_eq!(Totals::of(&longest, &longest.forecast(20)).covered, u32::MAX - 1);
    }
}
