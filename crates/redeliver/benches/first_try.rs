//! What a first try that works costs: a bare await against the same await inside `policy.run`.
//!
//! `cargo bench -p redeliver --bench first_try`

use std::{
    hint::black_box,
    io,
    pin::pin,
    task::{Context, Poll, Waker},
    time::Instant,
};

use redeliver::prelude::*;

const CALLS: u32 = 20_000;
const ROUNDS: usize = 301;
/// The most that a first try may cost, in bare awaits.
const GOAL: f64 = 1.5;

/// An operation that the compiler cannot see through, neither its input nor its output.
#[inline(never)]
async fn operation(input: u64) -> Result<u64, io::Error> {
    Ok(black_box(input).wrapping_mul(31))
}

async fn bare() -> u64 {
    let mut sum = 0;
    for input in 0..u64::from(CALLS) {
        let value = operation(black_box(input)).await;
        sum ^= black_box(value).unwrap_or_default();
    }
    sum
}

async fn with_policy(policy: &Policy) -> u64 {
    let mut sum = 0;
    for input in 0..u64::from(CALLS) {
        let value = policy.run(async |_| operation(black_box(input)).await).await;
        sum ^= black_box(value).unwrap_or_default();
    }
    sum
}

fn main() {
    let policy = black_box(Policy::STANDARD);
    let (mut bares, mut runs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        // Side by side, so that what else the machine does falls on both.
        let bare = nanos_per_call(bare());
        let run = nanos_per_call(with_policy(&policy));
        bares.push(bare);
        runs.push(run);
        ratios.push(run / bare);
    }
    let ratio = median(&mut ratios);
    let verdict = if ratio <= GOAL { "within" } else { "over" };
    report(&format!(
        "bare await {:.2} ns, policy.run {:.2} ns, ratio {ratio:.2} ({verdict} the goal of {GOAL})",
        median(&mut bares),
        median(&mut runs),
    ));
}

fn nanos_per_call(calls: impl Future<Output = u64>) -> f64 {
    let mut calls = pin!(calls);
    let mut context = Context::from_waker(Waker::noop());
    #[expect(
        clippy::disallowed_methods,
        reason = "a benchmark measures the machine's own time"
    )]
    let started = Instant::now();
    let sum = calls.as_mut().poll(&mut context);
    let elapsed = started.elapsed();
    assert!(matches!(black_box(sum), Poll::Ready(_)), "nothing here waits");
    elapsed.as_secs_f64() * 1e9 / f64::from(CALLS)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
fn report(line: &str) {
    println!("{line}");
}
