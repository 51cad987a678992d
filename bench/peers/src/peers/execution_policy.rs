//! execution-policy: `ExecutionPolicyBuilder`, `Retry::exponential`, `.retry_after`, `.total_timeout`, `RetryBudget`.

use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use execution_policy::{BoxFuture, Core, DefaultCore, ExecutionPolicyBuilder, Jitter, Retry, RetryBudget};

use crate::peer::{BASE, CAP, Job, Limits, Peer, Schedule};
use crate::server::{Refused, Server, answer};

pub(crate) struct ExecutionPolicy;

/// What the budget allows beyond its ratio.
const BURST: u32 = 2;

fn exponential<T>(base: Duration, cap: Duration, attempts: u32) -> Retry<T, Refused> {
    Retry::exponential()
        .base_delay(base)
        .max_delay(cap)
        .jitter(Jitter::Full)
        .max_attempts(attempts)
}

/// The crate's own door for another clock: tokio's, which can be paused. Chance stays the crate's own.
struct TokioTime(DefaultCore);

impl Core for TokioTime {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()> {
        self.0.sleep(wait)
    }

    fn next_u64(&self) -> u64 {
        self.0.next_u64()
    }
}

/// Notes each wait the engine asks for and lets it pass after one poll, since the crate computes waits only inside a run.
pub(crate) struct Noted {
    core: DefaultCore,
    wait: Arc<AtomicU64>,
}

impl Core for Noted {
    fn now(&self) -> Instant {
        self.core.now()
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()> {
        self.wait.store(
            u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX),
            Ordering::Relaxed,
        );
        Box::pin(OnePoll(false))
    }

    fn next_u64(&self) -> u64 {
        self.core.next_u64()
    }
}

struct OnePoll(bool);

impl Future for OnePoll {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// One policy and the note its core leaves of each wait; a policy on the default core does not clone, it is shared.
pub(crate) struct Shared {
    policy: Arc<execution_policy::ExecutionPolicy<Noted, (), Refused>>,
    wait: Arc<AtomicU64>,
}

pub(crate) struct Waits {
    run: Job<'static>,
    wait: Arc<AtomicU64>,
}

impl Schedule for Waits {
    type Settings = Shared;

    fn settings() -> Shared {
        let wait = Arc::new(AtomicU64::new(0));
        let core = Noted {
            core: DefaultCore::new(),
            wait: Arc::clone(&wait),
        };
        let policy = ExecutionPolicyBuilder::new()
            .retry(exponential(BASE, CAP, u32::MAX))
            .build_with(core);
        Shared {
            policy: Arc::new(policy),
            wait,
        }
    }

    fn start(settings: &Shared) -> Self {
        let policy = Arc::clone(&settings.policy);
        let run = async move {
            let _ = policy.run(async || Err(Refused { retry_after: None })).await;
        };
        Self {
            run: Box::pin(run),
            wait: Arc::clone(&settings.wait),
        }
    }

    fn next_wait(&mut self) -> Option<Duration> {
        match self.run.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => Some(Duration::from_nanos(self.wait.load(Ordering::Relaxed))),
            Poll::Ready(()) => None,
        }
    }
}

impl Peer for ExecutionPolicy {
    const PACKAGE: &'static str = "execution-policy";
    const SETTINGS: &'static str = "Retry::exponential with max_delay and Jitter::Full; .retry_after; .total_timeout on \
                                    its own Core trait; RetryBudget with a burst of 2, the smallest that loses no \
                                    deposit at 30 %; it computes waits only \
                                    inside a run, so a wait alone has no cost to show";
    const BUDGET_FLOOR: u32 = BURST;

    type Schedule = Waits;

    fn first_tries(calls: u32) -> Option<Job<'static>> {
        Some(Box::pin(async move {
            let policy = ExecutionPolicyBuilder::new()
                .retry(exponential(BASE, CAP, 4))
                .build();
            for _ in 0..calls {
                let _ = black_box(policy.run(answer).await.is_ok());
            }
        }))
    }

    fn time_waits() -> Option<f64> {
        None
    }

    fn obey_hints(server: &Server) -> Option<Job<'_>> {
        Some(Box::pin(async move {
            let retry = exponential(BASE, CAP, 100).retry_after(|refused: &Refused| refused.retry_after);
            let policy = ExecutionPolicyBuilder::new().retry(retry).build();
            let _ = policy.run(async || server.call().await).await;
        }))
    }

    fn keep_deadline(server: &Server, limit: Limits) -> Option<Job<'_>> {
        Some(Box::pin(async move {
            let policy = ExecutionPolicyBuilder::new()
                .retry(exponential(limit.base, limit.cap, u32::MAX))
                .total_timeout(limit.total)
                .build_with(TokioTime(DefaultCore::new()));
            let _ = policy.run(async || server.call().await).await;
        }))
    }

    fn spend_budget(server: &Server, calls: u32, ratio: f64) -> Option<Job<'_>> {
        Some(Box::pin(async move {
            let retry = exponential(BASE, CAP, 100).budget(RetryBudget::new(ratio, BURST));
            let policy = ExecutionPolicyBuilder::new().retry(retry).build();
            for _ in 0..calls {
                let _ = policy.run(async || server.call().await).await;
            }
        }))
    }
}
