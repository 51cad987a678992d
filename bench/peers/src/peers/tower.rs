//! tower: `retry::Retry` with a `Policy`, `ExponentialBackoffMaker`, `TpsBudget`, and `timeout::Timeout` around it.

use std::future::{Ready, ready};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};
use tower::retry::backoff::{Backoff, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff};
use tower::retry::budget::{Budget, TpsBudget};
use tower::retry::{Policy, Retry};
use tower::timeout::Timeout;
use tower::util::rng::HasherRng;
use tower::{Service, ServiceExt, service_fn};

use crate::peer::{BASE, CAP, Job, Limits, Peer, Schedule};
use crate::server::{Refused, Server, answer};

pub(crate) struct Tower;

/// As wide as the jitter goes before it only adds what the cap takes away again.
const JITTER: f64 = 1.0;
/// Longer than the budget law takes, so that no deposit runs out on the way.
const BUDGET_LIFE: Duration = Duration::from_secs(60);

fn maker(base: Duration, cap: Duration) -> ExponentialBackoffMaker {
    ExponentialBackoffMaker::new(base, cap, JITTER, HasherRng::default())
        .expect("base below cap, jitter between 0 and 100")
}

impl Schedule for ExponentialBackoff {
    type Settings = ExponentialBackoffMaker;

    fn settings() -> ExponentialBackoffMaker {
        maker(BASE, CAP)
    }

    fn start(settings: &ExponentialBackoffMaker) -> Self {
        settings.clone().make_backoff()
    }

    /// The crate gives a timer, not a duration: the timer's deadline says how long it would wait.
    fn next_wait(&mut self) -> Option<Duration> {
        let timer = self.next_backoff();
        Some(timer.deadline().saturating_duration_since(Instant::now()))
    }
}

/// A policy as the crate's docs write them: retry every error, wait as the backoff (or the server) says.
#[derive(Clone)]
struct Patient {
    waits: ExponentialBackoff,
    retries_left: u32,
}

impl Patient {
    fn new(base: Duration, cap: Duration, retries: u32) -> Self {
        Self {
            waits: maker(base, cap).make_backoff(),
            retries_left: retries,
        }
    }
}

impl<T> Policy<(), T, Refused> for Patient {
    type Future = Sleep;

    fn retry(&mut self, _request: &mut (), result: &mut Result<T, Refused>) -> Option<Sleep> {
        let refused = result.as_ref().err()?;
        self.retries_left = self.retries_left.checked_sub(1)?;
        Some(match refused.retry_after {
            Some(wait) => sleep(wait),
            None => self.waits.next_backoff(),
        })
    }

    fn clone_request(&mut self, (): &()) -> Option<()> {
        Some(())
    }
}

/// Withdraws for every retry, as the budget's docs show, and never waits.
#[derive(Clone)]
struct Thrifty(Arc<TpsBudget>);

impl Policy<(), (), Refused> for Thrifty {
    type Future = Ready<()>;

    fn retry(&mut self, _request: &mut (), result: &mut Result<(), Refused>) -> Option<Ready<()>> {
        result.as_ref().err()?;
        self.0.withdraw().then(|| ready(()))
    }

    fn clone_request(&mut self, (): &()) -> Option<()> {
        Some(())
    }
}

impl Peer for Tower {
    const PACKAGE: &'static str = "tower";
    const SETTINGS: &'static str = "ExponentialBackoffMaker with jitter 1.0; its Policy sees the error and returns the \
                                    wait, so the caller's own code obeys the hint; Timeout around Retry; TpsBudget with a \
                                    deposit for every call (its example deposits for successes only, which allows no \
                                    retry at all while everything fails)";

    type Schedule = ExponentialBackoff;

    fn first_tries(calls: u32) -> Option<Job<'static>> {
        Some(Box::pin(async move {
            let mut service = Retry::new(Patient::new(BASE, CAP, 3), service_fn(|()| answer()));
            for _ in 0..calls {
                let ready = service.ready().await.expect("a service_fn is always ready");
                let _ = black_box(ready.call(()).await.is_ok());
            }
        }))
    }

    fn obey_hints(server: &Server) -> Option<Job<'_>> {
        Some(Box::pin(async move {
            let service = Retry::new(Patient::new(BASE, CAP, u32::MAX), service_fn(|()| server.call()));
            let _ = service.oneshot(()).await;
        }))
    }

    fn keep_deadline(server: &Server, limit: Limits) -> Option<Job<'_>> {
        Some(Box::pin(async move {
            let policy = Patient::new(limit.base, limit.cap, u32::MAX);
            let service = Timeout::new(Retry::new(policy, service_fn(|()| server.call())), limit.total);
            let _ = service.oneshot(()).await;
        }))
    }

    fn spend_budget(server: &Server, calls: u32, ratio: f64) -> Option<Job<'_>> {
        Some(Box::pin(async move {
            let budget = Arc::new(TpsBudget::new(BUDGET_LIFE, 0, ratio as f32));
            let service = Retry::new(Thrifty(Arc::clone(&budget)), service_fn(|()| server.call()));
            for _ in 0..calls {
                budget.deposit();
                let _ = service.clone().oneshot(()).await;
            }
        }))
    }
}
