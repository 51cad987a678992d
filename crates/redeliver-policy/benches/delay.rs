//! What one delay costs: every backoff shape with every jitter, against full jitter as one writes it by hand with integers.
//!
//! `cargo bench -p redeliver-policy --bench delay`

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use redeliver_policy::{Jitter, Policy};

const DELAYS: u32 = 20_000;
const ROUNDS: usize = 101;
/// The most that a delay may cost, in hand-written ones.
const GOAL: f64 = 2.0;

/// `min(cap, base << n)`, then anything up to it.
#[inline(never)]
fn by_hand(base: u64, cap: u64, retry: u32, entropy: u64) -> Duration {
    let delay = if retry < base.leading_zeros() {
        (base << retry).min(cap)
    } else {
        cap
    };
    Duration::from_nanos(entropy % (delay + 1))
}

#[inline(never)]
fn by_policy(policy: &Policy, retry: u32, previous: Duration, entropy: u64) -> Duration {
    policy.wait(retry, previous, entropy)
}

fn main() {
    let (base, cap) = (Duration::from_millis(100), Duration::from_secs(20));
    let shapes = [
        ("fixed", Policy::fixed(base)),
        ("linear", Policy::linear(base, cap)),
        ("exponential", Policy::exponential(base, cap)),
        ("exponential x1.5", Policy::exponential(base, cap).multiplier(1.5)),
        ("fibonacci", Policy::fibonacci(base, cap)),
        ("list", Policy::list(&[base, base * 3, cap])),
    ];
    let jitters = [
        Jitter::None,
        Jitter::Full,
        Jitter::Equal,
        Jitter::Decorrelated,
        Jitter::Additive(0.3),
        Jitter::Proportional(0.1),
    ];
    let mut worst: f64 = 0.0;
    for (name, shape) in shapes {
        for jitter in jitters {
            let policy = shape.jitter(jitter);
            let (hand, ours, ratio) = compare(&policy, base, cap);
            worst = worst.max(ratio);
            report(&format!(
                "{name:<17} {:<17} {ours:5.2} ns, by hand {hand:5.2} ns, ratio {ratio:.2}",
                jitter.to_string()
            ));
        }
    }
    let verdict = if worst <= GOAL { "within" } else { "over" };
    report(&format!("worst ratio {worst:.2} ({verdict} the goal of {GOAL})"));
}

/// Nanoseconds by hand and by policy, and the ratio, as medians over rounds side by side.
fn compare(policy: &Policy, base: Duration, cap: Duration) -> (f64, f64, f64) {
    let nanos = |duration: Duration| black_box(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    let (base, cap, policy) = (nanos(base), nanos(cap), black_box(*policy));
    let (mut hands, mut ours, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let hand = nanos_per_delay(round as u64, |retry, _, entropy| {
            by_hand(base, cap, retry, entropy)
        });
        let own = nanos_per_delay(round as u64, |retry, previous, entropy| {
            by_policy(&policy, retry, previous, entropy)
        });
        hands.push(hand);
        ours.push(own);
        ratios.push(own / hand);
    }
    (median(&mut hands), median(&mut ours), median(&mut ratios))
}

fn nanos_per_delay(seed: u64, mut delay: impl FnMut(u32, Duration, u64) -> Duration) -> f64 {
    let mut random = fastrand::Rng::with_seed(seed);
    // Always the same, so that one delay is measured and not the way from one to the next.
    let previous = black_box(Duration::from_millis(700));
    #[expect(
        clippy::disallowed_methods,
        reason = "a benchmark measures the machine's own time"
    )]
    let started = Instant::now();
    for retry in 0..DELAYS {
        black_box(delay(black_box(retry % 12), previous, random.u64(..)));
    }
    started.elapsed().as_secs_f64() * 1e9 / f64::from(DELAYS)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
fn report(line: &str) {
    println!("{line}");
}
