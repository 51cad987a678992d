//! backon: `ExponentialBuilder`, `.retry(…)`, `.adjust(…)`.

use std::hint::black_box;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder, Retryable};

use crate::peer::{BASE, CAP, Job, Limits, Peer, Schedule};
use crate::server::{Refused, Server, answer};

pub(crate) struct Backon;

fn builder(base: Duration, cap: Duration) -> ExponentialBuilder {
    ExponentialBuilder::new()
        .with_min_delay(base)
        .with_max_delay(cap)
        .with_jitter()
        .without_max_times()
}

impl Schedule for ExponentialBackoff {
    type Settings = ExponentialBuilder;

    fn settings() -> ExponentialBuilder {
        builder(BASE, CAP)
    }

    fn start(settings: &ExponentialBuilder) -> Self {
        settings.build()
    }

    fn next_wait(&mut self) -> Option<Duration> {
        self.next()
    }
}

impl Peer for Backon {
    const PACKAGE: &'static str = "backon";
    const SETTINGS: &'static str = "ExponentialBuilder with_jitter, with_max_delay; the hint through .adjust as its docs \
                                    show; with_total_delay, which counts waits alone and not the attempts between them";

    type Schedule = ExponentialBackoff;

    fn first_tries(calls: u32) -> Option<Job<'static>> {
        Some(Box::pin(async move {
            let settings = builder(BASE, CAP).with_max_times(3);
            for _ in 0..calls {
                let _ = black_box(answer.retry(settings).await.is_ok());
            }
        }))
    }

    fn obey_hints(server: &Server) -> Option<Job<'_>> {
        Some(Box::pin(async move {
            let call = || server.call();
            let _ = call
                .retry(builder(BASE, CAP))
                .adjust(|refused: &Refused, wait| refused.retry_after.or(wait))
                .await;
        }))
    }

    fn keep_deadline(server: &Server, limit: Limits) -> Option<Job<'_>> {
        Some(Box::pin(async move {
            let call = || server.call();
            let _ = call
                .retry(builder(limit.base, limit.cap).with_total_delay(Some(limit.total)))
                .await;
        }))
    }
}
