//! tokio-retry2: an iterator of durations, `Retry::spawn`, `RetryError::retry_after`, `max_duration`.

use std::hint::black_box;
use std::time::Duration;

use tokio_retry2::strategy::{ExponentialFactorBackoff, MaxInterval, jitter, jitter_with_bounds};
use tokio_retry2::{MapErr, Retry, RetryError};

use crate::peer::{BASE, CAP, Job, Limits, Peer, Schedule};
use crate::server::{Server, answer};

pub(crate) struct TokioRetry2;

/// Jittered over the whole of each delay, by the bounds the crate lets its user set.
pub(crate) struct Bounded(ExponentialFactorBackoff);

/// Jittered by the function its README shows, which multiplies by 0.5 to 1.5.
pub(crate) struct Readme(ExponentialFactorBackoff);

fn exponential(base: Duration, cap: Duration) -> ExponentialFactorBackoff {
    let base = u64::try_from(base.as_millis()).unwrap_or(u64::MAX);
    ExponentialFactorBackoff::from_millis(base, 2.0).max_delay(cap)
}

impl Schedule for Bounded {
    type Settings = ExponentialFactorBackoff;

    fn settings() -> ExponentialFactorBackoff {
        exponential(BASE, CAP)
    }

    fn start(settings: &ExponentialFactorBackoff) -> Self {
        Self(settings.clone())
    }

    fn next_wait(&mut self) -> Option<Duration> {
        self.0.next().map(jitter_with_bounds(0.0, 1.0))
    }
}

impl Schedule for Readme {
    type Settings = ExponentialFactorBackoff;

    fn settings() -> ExponentialFactorBackoff {
        exponential(BASE, CAP)
    }

    fn start(settings: &ExponentialFactorBackoff) -> Self {
        Self(settings.clone())
    }

    fn next_wait(&mut self) -> Option<Duration> {
        self.0.next().map(jitter)
    }
}

impl Peer for TokioRetry2 {
    const PACKAGE: &'static str = "tokio-retry2";
    const SETTINGS: &'static str = "ExponentialFactorBackoff.max_delay with jitter_with_bounds(0, 1), the widest jitter \
                                    that keeps the cap; RetryError::retry_after; .max_duration, on the system's clock";
    const REAL_CLOCK: bool = true;

    type Schedule = Bounded;

    fn first_tries(calls: u32) -> Option<Job<'static>> {
        Some(Box::pin(async move {
            let settings = exponential(BASE, CAP);
            for _ in 0..calls {
                let waits = settings.clone().map(jitter_with_bounds(0.0, 1.0)).take(3);
                let action = async || answer().await.map_transient_err();
                let _ = black_box(Retry::spawn(waits, action).await.is_ok());
            }
        }))
    }

    fn obey_hints(server: &Server) -> Option<Job<'_>> {
        Some(Box::pin(async move {
            let waits = exponential(BASE, CAP).map(jitter_with_bounds(0.0, 1.0));
            let call = || async {
                server.call().await.map_err(|refused| match refused.retry_after {
                    Some(wait) => RetryError::retry_after(refused, wait),
                    None => RetryError::transient(refused),
                })
            };
            let _ = Retry::spawn(waits, call).await;
        }))
    }

    fn keep_deadline(server: &Server, limit: Limits) -> Option<Job<'_>> {
        Some(Box::pin(async move {
            let waits = exponential(limit.base, limit.cap)
                .max_duration(limit.total)
                .map(jitter_with_bounds(0.0, 1.0));
            let call = || async { server.call().await.map_transient_err() };
            let _ = Retry::spawn(waits, call).await;
        }))
    }
}
