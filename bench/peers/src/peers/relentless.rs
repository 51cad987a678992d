//! relentless: `wait::exponential`, `RetryPolicy::retry_async` with `TokioClock`, `.timeout`.

use std::hint::black_box;
use std::time::Duration;

use relentless::clock::TokioClock;
use relentless::wait::{Jittered, WaitCapped, WaitExponential};
use relentless::{RetryPolicy, RetryState, Wait, stop, wait};

use crate::peer::{BASE, CAP, Job, Limits, Peer, Schedule};
use crate::server::{Server, answer};

pub(crate) struct Relentless;

/// Capped, then jittered over the whole of what is left.
pub(crate) struct CappedFirst {
    wait: Jittered<WaitCapped<WaitExponential>>,
    attempt: u32,
}

/// Jittered, then capped: the order of its README.
pub(crate) struct Readme {
    wait: WaitCapped<Jittered<WaitExponential>>,
    attempt: u32,
}

fn capped_first(base: Duration, cap: Duration) -> Jittered<WaitCapped<WaitExponential>> {
    wait::exponential(base).cap(cap).full_jitter()
}

fn next_wait(wait: &impl Wait, attempt: &mut u32) -> Duration {
    let next = wait.next_wait(&RetryState::for_attempt(*attempt));
    *attempt = attempt.saturating_add(1);
    next
}

impl Schedule for CappedFirst {
    type Settings = Jittered<WaitCapped<WaitExponential>>;

    fn settings() -> Self::Settings {
        capped_first(BASE, CAP)
    }

    fn start(settings: &Self::Settings) -> Self {
        Self {
            wait: settings.clone(),
            attempt: 1,
        }
    }

    fn next_wait(&mut self) -> Option<Duration> {
        Some(next_wait(&self.wait, &mut self.attempt))
    }
}

impl Schedule for Readme {
    type Settings = WaitCapped<Jittered<WaitExponential>>;

    fn settings() -> Self::Settings {
        wait::exponential(BASE).full_jitter().cap(CAP)
    }

    fn start(settings: &Self::Settings) -> Self {
        Self {
            wait: settings.clone(),
            attempt: 1,
        }
    }

    fn next_wait(&mut self) -> Option<Duration> {
        Some(next_wait(&self.wait, &mut self.attempt))
    }
}

impl Peer for Relentless {
    const PACKAGE: &'static str = "relentless";
    const SETTINGS: &'static str = "wait::exponential.cap.full_jitter, in the order that keeps the spread; one shared \
                                    RetryPolicy with TokioClock; .timeout";

    type Schedule = CappedFirst;

    fn first_tries(calls: u32) -> Option<Job<'static>> {
        Some(Box::pin(async move {
            let policy = RetryPolicy::new()
                .wait(capped_first(BASE, CAP))
                .stop(stop::attempts(4));
            let clock = TokioClock::new();
            for _ in 0..calls {
                let _ = black_box(policy.retry_async(|_| answer()).clock(clock).call().await.is_ok());
            }
        }))
    }

    fn keep_deadline(server: &Server, limit: Limits) -> Option<Job<'_>> {
        Some(Box::pin(async move {
            let policy = RetryPolicy::new()
                .wait(capped_first(limit.base, limit.cap))
                .stop(stop::never())
                .timeout(limit.total);
            let _ = policy
                .retry_async(|_| server.call())
                .clock(TokioClock::new())
                .call()
                .await;
        }))
    }
}
