//! backoff: `ExponentialBackoffBuilder`, `future::retry`, `Error::retry_after`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use backoff::backoff::Backoff as _;
use backoff::exponential::{ExponentialBackoff, ExponentialBackoffBuilder};
use backoff::{Clock, Error, SystemClock};

use crate::peer::{BASE, CAP, Job, Limits, Peer, Schedule};
use crate::server::{Refused, Server, answer};

pub(crate) struct Backoff;

/// The crate's own door for another clock, so that its time limit runs on tokio's paused one.
#[derive(Clone, Copy, Debug, Default)]
struct TokioClock;

impl Clock for TokioClock {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }
}

fn exponential<C: Clock + Default>(
    base: Duration,
    cap: Duration,
    total: Option<Duration>,
) -> ExponentialBackoff<C> {
    ExponentialBackoffBuilder::new()
        .with_initial_interval(base)
        .with_multiplier(2.0)
        .with_max_interval(cap)
        .with_max_elapsed_time(total)
        .build()
}

fn hinted(refused: Refused) -> Error<Refused> {
    match refused.retry_after {
        Some(wait) => Error::retry_after(refused, wait),
        None => Error::transient(refused),
    }
}

impl Schedule for ExponentialBackoff<SystemClock> {
    type Settings = Self;

    fn settings() -> Self {
        exponential(BASE, CAP, None)
    }

    fn start(settings: &Self) -> Self {
        settings.clone()
    }

    fn next_wait(&mut self) -> Option<Duration> {
        self.next_backoff()
    }
}

impl Peer for Backoff {
    const PACKAGE: &'static str = "backoff";
    const SETTINGS: &'static str = "ExponentialBackoffBuilder with_max_interval, its default randomization of ±50 %; \
                                    Error::retry_after; with_max_elapsed_time on its own Clock trait";

    type Schedule = ExponentialBackoff<SystemClock>;

    fn first_tries(calls: u32) -> Option<Job<'static>> {
        Some(Box::pin(async move {
            let settings = exponential::<SystemClock>(BASE, CAP, None);
            for _ in 0..calls {
                let call = || async { answer().await.map_err(Error::transient) };
                let _ = black_box(backoff::future::retry(settings.clone(), call).await.is_ok());
            }
        }))
    }

    fn obey_hints(server: &Server) -> Option<Job<'_>> {
        Some(Box::pin(async move {
            let waits = exponential::<SystemClock>(BASE, CAP, None);
            let _ = backoff::future::retry(waits, || async { server.call().await.map_err(hinted) }).await;
        }))
    }

    fn keep_deadline(server: &Server, limit: Limits) -> Option<Job<'_>> {
        Some(Box::pin(async move {
            let waits = exponential::<TokioClock>(limit.base, limit.cap, Some(limit.total));
            let _ = backoff::future::retry(waits, || async { server.call().await.map_err(hinted) }).await;
        }))
    }
}
