//! What a first try that works costs: a bare await against the same await inside `policy.run`.
//!
//! `cargo bench -p redeliver --bench first_try`

use std::{
    hint::black_box,
    io,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
    time::Instant,
};

use redeliver::prelude::*;

const CALLS: u32 = 20_000;
const ROUNDS: usize = 301;
/// The most that a first try may cost, in bare awaits.
const GOAL: f64 = 1.5;

/// Ready after as many suspensions as are left, behind a call that the compiler cannot see through, as every real leaf is.
struct Leaf {
    input: u64,
    suspensions: u32,
}

impl Future for Leaf {
    type Output = Result<u64, io::Error>;

    #[inline(never)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.suspensions > 0 {
            self.suspensions -= 1;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Ok(black_box(self.input).wrapping_mul(31)))
    }
}

async fn operation(input: u64, suspensions: u32) -> Result<u64, io::Error> {
    Leaf { input, suspensions }.await
}

async fn bare(suspensions: u32) -> u64 {
    let mut sum = 0;
    for input in 0..u64::from(CALLS) {
        let value = operation(black_box(input), suspensions).await;
        sum ^= value.unwrap_or_default();
    }
    sum
}

async fn with_policy(policy: &Policy, suspensions: u32) -> u64 {
    let mut sum = 0;
    for input in 0..u64::from(CALLS) {
        let value = policy.run(|_| operation(black_box(input), suspensions));
        sum ^= value.await.unwrap_or_default();
    }
    sum
}

fn main() {
    let policy = black_box(Policy::STANDARD);
    for (name, suspensions) in [("ready at once", 0), ("suspended once", 1)] {
        let suspensions = black_box(suspensions);
        let (mut bares, mut runs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            // Side by side, so that what else the machine does falls on both.
            let bare = nanos_per_call(bare(suspensions));
            let run = nanos_per_call(with_policy(&policy, suspensions));
            bares.push(bare);
            runs.push(run);
            ratios.push(run / bare);
        }
        let ratio = median(&mut ratios);
        let verdict = if ratio <= GOAL { "within" } else { "over" };
        report(&format!(
            "{name}: bare await {:.2} ns, policy.run {:.2} ns, ratio {ratio:.2} ({verdict} the goal of {GOAL})",
            median(&mut bares),
            median(&mut runs),
        ));
    }
}

fn nanos_per_call(calls: impl Future<Output = u64>) -> f64 {
    let mut calls = pin!(calls);
    let mut context = Context::from_waker(Waker::noop());
    #[expect(
        clippy::disallowed_methods,
        reason = "a benchmark measures the machine's own time"
    )]
    let started = Instant::now();
    while calls
        .as_mut()
        .poll(black_box(&mut context))
        .map(black_box)
        .is_pending()
    {}
    started.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
fn report(line: &str) {
    println!("{line}");
}
