//! Laws of one wait: cap, bounds, spread, growth.

use std::{collections::HashSet, time::Duration};

use proptest::prelude::*;
use redeliver_policy::{Backoff, Jitter, Policy, WaitList};

use crate::strategies::{
    any_backoff, any_duration, any_entropy, any_float, any_jitter, any_policy, any_retry, fair_duration,
};

fn keeps_the_cap(jitter: Jitter) -> bool {
    matches!(
        jitter,
        Jitter::None | Jitter::Full | Jitter::Equal | Jitter::Decorrelated
    )
}

/// The sharper of the two ends that 64 bits of nanoseconds have.
fn whole(duration: Duration) -> Duration {
    duration.min(Duration::from_nanos(u64::MAX))
}

/// A backoff that has grown to its cap by the 64th retry.
fn at_its_cap() -> impl Strategy<Value = (Backoff, Duration)> {
    (1_000_000u64..u64::MAX, 2u64..1_000, 0usize..4).prop_map(|(cap, share, shape)| {
        let (base, cap) = (Duration::from_nanos(cap / share), Duration::from_nanos(cap));
        let multiplier = [2.0, 1.2, 10.0][share as usize % 3];
        let backoff = match shape {
            0 => Backoff::Exponential { base, multiplier },
            1 => Backoff::Linear { base, step: cap / 60 },
            2 => Backoff::Fibonacci { base },
            _ => Backoff::List(WaitList::new(&[base, cap])),
        };
        (backoff, cap)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_wait_panics_and_none_passes_its_bounds(
        policy in any_policy(), retry in any_retry(), previous in any_duration(), entropy in any_entropy(),
    ) {
        let (low, high) = policy.bounds(retry);
        prop_assert!(low <= high);
        let wait = policy.wait(retry, previous, entropy);
        if policy.jitter == Jitter::Decorrelated {
            // Its bounds are those of a call that began with no wait; a longer `previous` still stays within the cap.
            prop_assert!(wait >= low && wait <= whole(policy.max_delay));
        } else {
            prop_assert!(low <= wait && wait <= high, "{low:?} <= {wait:?} <= {high:?}");
        }
        if keeps_the_cap(policy.jitter) {
            prop_assert!(wait <= policy.max_delay && high <= policy.max_delay);
        }
    }

    #[test]
    fn a_forecast_says_what_the_bounds_say(policy in any_policy(), count in 0u32..8) {
        prop_assume!(policy.jitter != Jitter::Decorrelated);
        let waits = policy.forecast(count);
        prop_assert_eq!(waits.len() as u32, policy.max_attempts.map_or(count, |most| most.saturating_sub(1).min(count)));
        let (mut shortest, mut longest) = (Duration::ZERO, Duration::ZERO);
        for wait in waits {
            prop_assert_eq!((wait.shortest, wait.longest), policy.bounds(wait.retry - 1));
            prop_assert!(wait.shortest <= wait.mean && wait.mean <= wait.longest);
            (shortest, longest) = (shortest + wait.shortest, longest + wait.longest);
            prop_assert_eq!((wait.total_shortest, wait.total_longest), (shortest, longest));
        }
        let _ = (policy.lints(), policy.to_string());
    }

    #[test]
    fn both_bounds_are_reached(policy in any_policy(), retry in 0u32..60) {
        let (low, high) = policy.bounds(retry);
        let drawn = |entropy| {
            (0..=retry).fold(Duration::ZERO, |previous, retry| policy.wait(retry, previous, entropy))
        };
        prop_assert_eq!(drawn(u64::MAX), high);
        prop_assert_eq!(drawn(0), low);
    }

    #[test]
    fn the_first_wait_comes_from_the_base(backoff in any_backoff(), cap in any_duration()) {
        prop_assert_eq!(backoff.wait(0, cap), whole(backoff.base()).min(cap));
    }

    #[test]
    fn a_backoff_never_shrinks(backoff in any_backoff(), cap in any_duration(), retry in any_retry()) {
        prop_assume!(!matches!(backoff, Backoff::List(_)));
        // A multiplier this close to 1 grows by less than a float's own error.
        let flat = |m: f64| m > 1.0 && m < 1.000_001;
        prop_assume!(!matches!(backoff, Backoff::Exponential { multiplier, .. } if flat(multiplier)));
        let (now, next) = (backoff.wait(retry, cap), backoff.wait(retry.saturating_add(1), cap));
        prop_assert!(now <= next, "{now:?} then {next:?}");
        prop_assert!(next <= cap);
    }

    #[test]
    fn a_multiplier_is_kept_to_one_part_in_a_billion(
        base in 1u64..10_000_000_000, thousandths in 1_000u32..10_000, retry in 0u32..60,
    ) {
        let multiplier = f64::from(thousandths) / 1_000.0;
        let exact = base as f64 * multiplier.powi(i32::try_from(retry).unwrap());
        let exact = exact.min(u64::MAX as f64);
        let backoff = Backoff::Exponential { base: Duration::from_nanos(base), multiplier };
        let wait = backoff.wait(retry, Duration::MAX).as_nanos() as f64;
        prop_assert!((wait - exact).abs() <= 1.0 + exact * 1e-9, "{wait} for {exact}");
    }

    #[test]
    fn doubling_is_exact_up_to_the_cap(base in any::<u64>(), cap in any::<u64>(), retry in any_retry()) {
        let backoff = Backoff::Exponential { base: Duration::from_nanos(base), multiplier: 2.0 };
        let exact = if retry < 64 { u128::from(base) << retry } else if base == 0 { 0 } else { u128::MAX };
        let expected = exact.min(u128::from(cap));
        prop_assert_eq!(backoff.wait(retry, Duration::from_nanos(cap)).as_nanos(), expected);
    }

    /// The law that most libraries break: when every client has reached the cap, they must not all wait exactly the cap.
    #[test]
    fn the_spread_is_alive_at_the_cap(
        (backoff, cap) in at_its_cap(), retry in 64u32..,
        jitter in prop::sample::select(vec![Jitter::Full, Jitter::Equal, Jitter::Decorrelated]), seed in any::<u64>(),
    ) {
        prop_assert_eq!(backoff.wait(retry, cap), cap);
        let policy = Policy::new(backoff, cap).jitter(jitter);
        let mut entropy = generator(seed);
        let mut previous = cap;
        let waits: Vec<Duration> = (0..200).map(|_| { previous = policy.wait(retry, previous, entropy()); previous }).collect();
        let distinct: HashSet<&Duration> = waits.iter().collect();
        prop_assert!(distinct.len() > 150, "{} distinct of 200", distinct.len());
        let (shortest, longest) = (waits.iter().min().unwrap(), waits.iter().max().unwrap());
        prop_assert!((*longest - *shortest).as_secs_f64() > 0.2 * cap.as_secs_f64(), "{shortest:?} to {longest:?}");
        let at_cap = waits.iter().filter(|wait| **wait == cap).count();
        prop_assert!(at_cap < 10, "{at_cap} of 200 at exactly the cap");
    }

    #[test]
    fn additive_and_proportional_state_their_true_range(
        base in fair_duration(), cap in fair_duration(), factor in any_float(), retry in any_retry(),
    ) {
        let plain = Backoff::Exponential { base, multiplier: 2.0 }.wait(retry, cap);
        let policy = |jitter| Policy::exponential(base, cap).jitter(jitter).bounds(retry);
        let (low, high) = policy(Jitter::Additive(factor));
        prop_assert_eq!(low, plain);
        let (lower, higher) = policy(Jitter::Proportional(factor));
        prop_assert!(lower <= plain && plain <= higher);
        prop_assert_eq!(high, higher);
        if factor.is_nan() || factor <= 0.0 {
            prop_assert_eq!((low, high, lower), (plain, plain, plain));
        } else if factor <= 1.0 {
            let part = plain.as_nanos() as f64 * factor;
            // A factor is kept in parts of 2⁶⁰, which is a nanosecond of 36 years.
            let kept = plain.as_nanos() as f64 / (1u64 << 60) as f64;
            let close = |nanos: u128| (nanos as f64 - part).abs() <= 1.0 + kept + part * 1e-15;
            prop_assert!(close((plain - lower).as_nanos()));
            prop_assert!(high == Duration::from_nanos(u64::MAX) || close((high - plain).as_nanos()));
        }
    }

    #[test]
    fn the_text_form_of_a_jitter_round_trips(jitter in any_jitter()) {
        let read = jitter.to_string().parse::<Jitter>().unwrap();
        let nan = jitter.factor().is_some_and(f64::is_nan) && read.factor().is_some_and(f64::is_nan);
        prop_assert!(nan || read == jitter);
    }
}

/// A small generator of its own, so that a failing case is replayed from its seed.
fn generator(mut state: u64) -> impl FnMut() -> u64 {
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ (mixed >> 32)
    }
}
