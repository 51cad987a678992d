//! exponential-backoff: an iterator for the caller's own loop.

use std::time::Duration;

use exponential_backoff::{Backoff, IntoIter};
use tokio::time::sleep;

use crate::peer::{BASE, CAP, Job, Peer, Schedule};
use crate::server::answer;

pub(crate) struct ExponentialBackoff;

fn backoff(attempts: u32) -> Backoff {
    let mut backoff = Backoff::new(attempts, BASE, CAP);
    backoff.set_jitter(1.0);
    backoff
}

impl Schedule for IntoIter {
    type Settings = Backoff;

    fn settings() -> Backoff {
        backoff(u32::MAX)
    }

    fn start(settings: &Backoff) -> Self {
        settings.clone().into_iter()
    }

    fn next_wait(&mut self) -> Option<Duration> {
        self.next().flatten()
    }
}

impl Peer for ExponentialBackoff {
    const PACKAGE: &'static str = "exponential-backoff";
    const SETTINGS: &'static str = "Backoff::new with set_jitter(1.0), the widest it takes; first try through the loop \
                                    of its docs";

    type Schedule = IntoIter;

    fn first_tries(calls: u32) -> Option<Job<'static>> {
        Some(Box::pin(async move {
            let backoff = backoff(4);
            for _ in 0..calls {
                for wait in &backoff {
                    match (answer().await, wait) {
                        (Ok(_), _) | (Err(_), None) => break,
                        (Err(_), Some(wait)) => sleep(wait).await,
                    }
                }
            }
        }))
    }
}
