//! What one delay costs: every backoff shape with every jitter, against full jitter as one writes it by hand with integers.
//!
//! `cargo bench -p redeliver-policy --bench delay`

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use redeliver_policy::{Jitter, Policy};

/// The waits of one call.
const WAITS: u32 = 12;
const CALLS: u32 = 20_000;
const ROUNDS: usize = 101;
/// Told apart: a power of a float cannot cost what a shift costs.
const FRACTIONAL: &str = "exponential x1.5";
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

fn main() {
    let (base, cap) = (Duration::from_millis(100), Duration::from_secs(20));
    let shapes = [
        ("fixed", Policy::fixed(base)),
        ("linear", Policy::linear(base, cap)),
        ("exponential", Policy::exponential(base, cap)),
        (FRACTIONAL, Policy::exponential(base, cap).multiplier(1.5)),
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
    let (mut worst, mut worst_fractional): (f64, f64) = (0.0, 0.0);
    for (name, shape) in shapes {
        for jitter in jitters {
            let policy = shape.jitter(jitter);
            let (hand, ours, ratio) = compare(&policy, base, cap);
            match name {
                FRACTIONAL => worst_fractional = worst_fractional.max(ratio),
                _ => worst = worst.max(ratio),
            }
            report(&format!(
                "{name:<17} {:<17} {ours:5.2} ns, by hand {hand:5.2} ns, ratio {ratio:.2}",
                jitter.to_string()
            ));
        }
    }
    let verdict = if worst <= GOAL { "within" } else { "over" };
    report(&format!(
        "worst ratio {worst:.2} ({verdict} the goal of {GOAL}); with a fractional multiplier {worst_fractional:.2}"
    ));
}

/// Nanoseconds by hand and by policy, and the ratio, as medians over rounds side by side.
fn compare(policy: &Policy, base: Duration, cap: Duration) -> (f64, f64, f64) {
    let nanos = |duration: Duration| black_box(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    let (base, cap, policy) = (nanos(base), nanos(cap), black_box(*policy));
    let (mut hands, mut ours, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let hand = nanos_per_delay(round as u64, |entropy| {
            for retry in 0..WAITS {
                black_box(by_hand(base, cap, black_box(retry), entropy.u64(..)));
            }
        });
        let own = nanos_per_delay(round as u64, |entropy| {
            let mut waits = black_box(&policy).waits();
            for _ in 0..WAITS {
                black_box(waits.draw(entropy.u64(..)));
            }
        });
        hands.push(hand);
        ours.push(own);
        ratios.push(own / hand);
    }
    (median(&mut hands), median(&mut ours), median(&mut ratios))
}

/// The time of one delay of a call's, whatever it takes to begin the call shared out over them.
fn nanos_per_delay(seed: u64, mut call: impl FnMut(&mut fastrand::Rng)) -> f64 {
    let mut entropy = fastrand::Rng::with_seed(seed);
    #[expect(
        clippy::disallowed_methods,
        reason = "a benchmark measures the machine's own time"
    )]
    let started = Instant::now();
    for _ in 0..CALLS {
        call(&mut entropy);
    }
    started.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS * WAITS)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
fn report(line: &str) {
    println!("{line}");
}
