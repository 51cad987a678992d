//! mettle: `retry(…).backoff(…)`, `ExponentialBackoff::jittered`, `.max_elapsed`.

use std::hint::black_box;
use std::time::Duration;

use mettle::{Backoff, ExponentialBackoff, ExponentialBackoffConfig, Jittered, retry};

use crate::peer::{BASE, CAP, Job, Limits, Peer, Schedule};
use crate::server::{Server, answer};

pub(crate) struct Mettle;

fn exponential(base: Duration, cap: Duration, max_retries: u32) -> ExponentialBackoff {
    ExponentialBackoff::new(ExponentialBackoffConfig {
        factor: 2,
        base,
        max_retries,
        max_delay: cap,
    })
    .expect("base above zero, cap above base")
}

impl Schedule for Jittered<ExponentialBackoff> {
    type Settings = ExponentialBackoff;

    fn settings() -> ExponentialBackoff {
        exponential(BASE, CAP, u32::MAX)
    }

    /// `Jittered` does not clone, by design; its docs say to wrap a fresh inner strategy.
    fn start(settings: &ExponentialBackoff) -> Self {
        settings.clone().jittered()
    }

    fn next_wait(&mut self) -> Option<Duration> {
        self.next_delay()
    }
}

impl Peer for Mettle {
    const PACKAGE: &'static str = "mettle";
    const SETTINGS: &'static str = "ExponentialBackoff with max_delay, .jittered(); .max_elapsed";

    type Schedule = Jittered<ExponentialBackoff>;

    fn first_tries(calls: u32) -> Option<Job<'static>> {
        Some(Box::pin(async move {
            let settings = exponential(BASE, CAP, 3);
            for _ in 0..calls {
                let _ = black_box(retry(answer).backoff(settings.clone().jittered()).await.is_ok());
            }
        }))
    }

    fn keep_deadline(server: &Server, limit: Limits) -> Option<Job<'_>> {
        Some(Box::pin(async move {
            let waits = exponential(limit.base, limit.cap, u32::MAX).jittered();
            let _ = retry(|| server.call())
                .backoff(waits)
                .max_elapsed(limit.total)
                .await;
        }))
    }
}
