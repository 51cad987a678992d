//! tokio-retry: an iterator of durations and `Retry::start`.

use std::hint::black_box;
use std::iter::Map;
use std::time::Duration;

use tokio_retry::Retry;
use tokio_retry::strategy::{ExponentialBackoff, jitter};

use crate::peer::{CAP, Job, Peer, Schedule};
use crate::server::answer;

pub(crate) struct TokioRetry;

type Waits = Map<ExponentialBackoff, fn(Duration) -> Duration>;

/// The crate raises its base to a power: 2 and a factor of 50 give 100, 200, 400 ms.
fn exponential() -> ExponentialBackoff {
    ExponentialBackoff::from_millis(2).factor(50).max_delay(CAP)
}

impl Schedule for Waits {
    type Settings = ExponentialBackoff;

    fn settings() -> ExponentialBackoff {
        exponential()
    }

    fn start(settings: &ExponentialBackoff) -> Self {
        settings.clone().map(jitter)
    }

    fn next_wait(&mut self) -> Option<Duration> {
        self.next()
    }
}

impl Peer for TokioRetry {
    const PACKAGE: &'static str = "tokio-retry";
    const SETTINGS: &'static str = "ExponentialBackoff::from_millis(2).factor(50).max_delay, then .map(jitter) as its \
                                    docs show; Retry::start";

    type Schedule = Waits;

    fn first_tries(calls: u32) -> Option<Job<'static>> {
        Some(Box::pin(async move {
            let settings = exponential();
            for _ in 0..calls {
                let _ = black_box(
                    Retry::start(settings.clone().map(jitter).take(3), answer)
                        .await
                        .is_ok(),
                );
            }
        }))
    }
}
