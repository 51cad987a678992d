//! The fault server's doors to time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::{Interval, interval};

#[expect(
    clippy::disallowed_methods,
    reason = "the server's delays are real ones: they are what its clients are tested with"
)]
pub(crate) async fn pause(duration: Duration) {
    if !duration.is_zero() {
        tokio::time::sleep(duration).await;
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "HTTP dates and log lines tell the wall clock"
)]
pub(crate) fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// A steady pace: the first step at once, the following ones `every` apart on average.
pub(crate) struct Pace(Option<Interval>);

impl Pace {
    pub(crate) fn new(every: Duration) -> Self {
        Self((!every.is_zero()).then(|| interval(every)))
    }

    pub(crate) async fn step(&mut self) {
        match &mut self.0 {
            Some(interval) => {
                interval.tick().await;
            }
            None => tokio::task::yield_now().await,
        }
    }
}
