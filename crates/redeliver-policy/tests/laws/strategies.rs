//! What the laws are held against.

use std::time::Duration;

use proptest::prelude::*;
use redeliver_policy::{Backoff, Class, Jitter, Policy, WaitList};

/// Anything a `Duration` can be, with its ends and the sizes people use more often than chance would give them.
pub(crate) fn any_duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        1 => Just(Duration::ZERO),
        1 => Just(Duration::MAX),
        1 => Just(Duration::from_nanos(u64::MAX)),
        1 => Just(Duration::from_nanos(1)),
        4 => any::<u64>().prop_map(Duration::from_nanos),
        4 => (0u64..100_000_000_000).prop_map(Duration::from_nanos),
        2 => (any::<u64>(), 0u32..1_000_000_000).prop_map(|(secs, nanos)| Duration::new(secs, nanos)),
        2 => (0u32..64).prop_map(|bits| Duration::from_nanos(1 << bits)),
    ]
}

/// A duration that validation accepts where zero is not allowed.
pub(crate) fn fair_duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        1 => Just(1),
        1 => Just(u64::MAX),
        3 => 1u64..=u64::MAX,
        3 => 1u64..100_000_000_000,
    ]
    .prop_map(Duration::from_nanos)
}

/// Any float, the nonsense ones often.
pub(crate) fn any_float() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => any::<f64>(),
        3 => 0.0..3.0f64,
        2 => prop::sample::select(vec![
            f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, -1.0, 1.0, 2.0, f64::MIN_POSITIVE, f64::MAX, f64::MIN,
            1.0 + f64::EPSILON, 1.0 - f64::EPSILON,
        ]),
    ]
}

pub(crate) fn any_retry() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0u32..100, 1 => any::<u32>(), 1 => Just(u32::MAX)]
}

pub(crate) fn any_entropy() -> impl Strategy<Value = u64> {
    prop_oneof![1 => Just(0), 1 => Just(u64::MAX), 4 => any::<u64>()]
}

fn waits(
    each: impl Strategy<Value = Duration>,
    count: std::ops::Range<usize>,
) -> impl Strategy<Value = Backoff> {
    prop::collection::vec(each, count).prop_map(|waits| Backoff::List(WaitList::new(&waits)))
}

pub(crate) fn any_backoff() -> impl Strategy<Value = Backoff> {
    prop_oneof![
        any_duration().prop_map(|base| Backoff::Fixed { base }),
        (any_duration(), any_duration()).prop_map(|(base, step)| Backoff::Linear { base, step }),
        (any_duration(), any_float())
            .prop_map(|(base, multiplier)| Backoff::Exponential { base, multiplier }),
        any_duration().prop_map(|base| Backoff::Fibonacci { base }),
        waits(any_duration(), 0..40),
    ]
}

pub(crate) fn any_jitter() -> impl Strategy<Value = Jitter> {
    prop_oneof![
        1 => Just(Jitter::None),
        2 => Just(Jitter::Full),
        2 => Just(Jitter::Equal),
        2 => Just(Jitter::Decorrelated),
        2 => any_float().prop_map(Jitter::Additive),
        2 => any_float().prop_map(Jitter::Proportional),
    ]
}

/// Any policy at all, sound or not, with every field set past the builders.
pub(crate) fn any_policy() -> impl Strategy<Value = Policy> {
    let limits = (
        prop::option::of(any_retry()),
        prop::option::of(any_duration()),
        prop::option::of(any_duration()),
        any_duration(),
        any::<bool>(),
    );
    (any_backoff(), any_duration(), any_jitter(), limits).prop_map(|(backoff, cap, jitter, limits)| {
        let mut policy = Policy::new(backoff, cap).jitter(jitter);
        policy.max_delay = cap;
        (
            policy.max_attempts,
            policy.deadline,
            policy.attempt_timeout,
            policy.retry_after_max,
            policy.idempotent,
        ) = limits;
        policy
    })
}

/// A policy that `validate` accepts.
pub(crate) fn sound_policy() -> impl Strategy<Value = Policy> {
    let backoff = prop_oneof![
        fair_duration().prop_map(|base| Backoff::Fixed { base }),
        (fair_duration(), fair_duration()).prop_map(|(base, step)| Backoff::Linear { base, step }),
        (fair_duration(), multiplier())
            .prop_map(|(base, multiplier)| Backoff::Exponential { base, multiplier }),
        fair_duration().prop_map(|base| Backoff::Fibonacci { base }),
        waits(fair_duration(), 1..33),
    ];
    let jitter = prop_oneof![
        Just(Jitter::None),
        Just(Jitter::Full),
        Just(Jitter::Equal),
        Just(Jitter::Decorrelated),
        (0.0..=10.0f64).prop_map(Jitter::Additive),
        (0.0..=1.0f64).prop_map(Jitter::Proportional),
    ];
    let limits = (
        prop::option::of(1u32..),
        prop::option::of(fair_duration()),
        prop::option::of(fair_duration()),
        any::<u64>().prop_map(Duration::from_nanos),
        any::<bool>(),
    );
    (backoff, fair_duration(), jitter, limits).prop_map(|(backoff, cap, jitter, limits)| {
        let mut policy = Policy::new(backoff, cap.max(backoff.base())).jitter(jitter);
        (
            policy.max_attempts,
            policy.deadline,
            policy.attempt_timeout,
            policy.retry_after_max,
            policy.idempotent,
        ) = limits;
        policy
    })
}

/// Multipliers of six digits: serde_json reads longer ones to the last bit only with its feature `float_roundtrip`.
fn multiplier() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(2.0),
        Just(1.0),
        (1_000u32..=1_000_000).prop_map(|thousandths| f64::from(thousandths) / 1_000.0)
    ]
}

pub(crate) fn any_class() -> impl Strategy<Value = Class> {
    prop_oneof![
        4 => Just(Class::Transient),
        1 => Just(Class::Permanent),
        2 => Just(Class::Unknown),
        2 => prop::option::of(any_duration()).prop_map(|after| Class::Throttled { after }),
        2 => (0u64..400).prop_map(|secs| Class::throttled_for(Duration::from_secs(secs))),
    ]
}
