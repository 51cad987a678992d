//! retry-policies: decisions only, `should_retry(started, past retries)`; the caller loops and sleeps.

use std::time::{Duration, SystemTime};

use retry_policies::policies::ExponentialBackoff;
use retry_policies::{Jitter, RetryDecision, RetryPolicy};
use tokio::time::{Instant, sleep};

use crate::peer::{BASE, CAP, Job, Limits, Peer, Schedule};
use crate::server::Server;

pub(crate) struct RetryPolicies;

pub(crate) struct Waits {
    policy: ExponentialBackoff,
    started: SystemTime,
    past_retries: u32,
}

/// How long from now the decision waits; read after the decision, so never longer than it meant.
fn wait(decision: &RetryDecision) -> Option<Duration> {
    match decision {
        RetryDecision::Retry { execute_after } => Some(
            execute_after
                .duration_since(SystemTime::now())
                .unwrap_or_default(),
        ),
        RetryDecision::DoNotRetry => None,
    }
}

impl Schedule for Waits {
    type Settings = ExponentialBackoff;

    fn settings() -> ExponentialBackoff {
        ExponentialBackoff::builder()
            .retry_bounds(BASE, CAP)
            .jitter(Jitter::Full)
            .base(2)
            .build_with_max_retries(u32::MAX)
    }

    fn start(settings: &ExponentialBackoff) -> Self {
        Self {
            policy: *settings,
            started: SystemTime::now(),
            past_retries: 0,
        }
    }

    fn next_wait(&mut self) -> Option<Duration> {
        let decision = self.policy.should_retry(self.started, self.past_retries);
        self.past_retries = self.past_retries.saturating_add(1);
        wait(&decision)
    }
}

impl Peer for RetryPolicies {
    const PACKAGE: &'static str = "retry-policies";
    const SETTINGS: &'static str = "ExponentialBackoff.retry_bounds with Jitter::Full; build_with_total_retry_duration_and_limit_retries, \
                                    told a start as long ago as the paused clock has run; it runs no calls itself";

    type Schedule = Waits;

    fn keep_deadline(server: &Server, limit: Limits) -> Option<Job<'_>> {
        Some(Box::pin(async move {
            let policy = ExponentialBackoff::builder()
                .retry_bounds(limit.base, limit.cap)
                .jitter(Jitter::Full)
                .base(2)
                .build_with_total_retry_duration_and_limit_retries(limit.total);
            let began = Instant::now();
            for past_retries in 0.. {
                if server.call().await.is_ok() {
                    return;
                }
                let started = SystemTime::now() - began.elapsed();
                match wait(&policy.should_retry(started, past_retries)) {
                    Some(wait) => sleep(wait).await,
                    None => return,
                }
            }
        }))
    }
}
