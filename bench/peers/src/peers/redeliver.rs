//! redeliver: a `const` policy, `policy.run(…)`, `Classify`, `deadline`, and a pipeline with a `Budget`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use redeliver::{
    Budget, BudgetRule, Class, Classify, Decision, Moment, Pipeline, Policy, Run as _, Session, entropy,
};

use crate::laws::wait_cost;
use crate::peer::{BASE, CAP, Job, Limits, Peer, Schedule};
use crate::server::{Refused, Server, answer};

pub(crate) struct Redeliver;

static ENDLESS: Policy = Policy::exponential(BASE, CAP).unlimited_attempts();
static FOUR_ATTEMPTS: Policy = Policy::exponential(BASE, CAP).max_attempts(4);

impl Classify for Refused {
    fn class(&self) -> Class {
        match self.retry_after {
            Some(wait) => Class::throttled_for(wait),
            None => Class::Transient,
        }
    }
}

/// The whole decision after a failure, with chance drawn as the executor draws it.
pub(crate) struct Waits(Session<'static>);

impl Schedule for Waits {
    type Settings = &'static Policy;

    fn settings() -> &'static Policy {
        &ENDLESS
    }

    /// Out of the optimiser's sight, so that the figures are those of a policy it has not seen.
    fn start(settings: &&'static Policy) -> Self {
        Self(Session::new(black_box(*settings), Moment::ZERO))
    }

    fn next_wait(&mut self) -> Option<Duration> {
        match self.0.on_failure(Moment::ZERO, Class::Transient, entropy::draw()) {
            Decision::Retry { after, .. } => Some(after),
            Decision::Stop(_) => None,
        }
    }
}

/// One wait and nothing else, with its generator at hand, as the hand-written one has it.
struct WaitAlone {
    waits: redeliver::Waits<'static>,
    chance: fastrand::Rng,
}

impl Schedule for WaitAlone {
    type Settings = &'static Policy;

    fn settings() -> &'static Policy {
        &ENDLESS
    }

    fn start(settings: &&'static Policy) -> Self {
        Self {
            waits: black_box(*settings).waits(),
            chance: fastrand::Rng::new(),
        }
    }

    fn next_wait(&mut self) -> Option<Duration> {
        Some(self.waits.draw(self.chance.u64(..)))
    }
}

impl Peer for Redeliver {
    const PACKAGE: &'static str = "redeliver";
    const SETTINGS: &'static str = "Policy::exponential with its default, full jitter; Classify::class with the hint; \
                                    .deadline; Pipeline with a Budget and no floor; one wait through Policy::waits";

    type Schedule = Waits;

    fn first_tries(calls: u32) -> Option<Job<'static>> {
        Some(Box::pin(async move {
            let policy = black_box(&FOUR_ATTEMPTS);
            for _ in 0..calls {
                let _ = black_box(policy.run(|_| answer()).await.is_ok());
            }
        }))
    }

    fn time_waits() -> Option<f64> {
        Some(wait_cost::batch::<WaitAlone>())
    }

    fn obey_hints(server: &Server) -> Option<Job<'_>> {
        Some(Box::pin(async move {
            let _ = ENDLESS.run(async |_| server.call().await).await;
        }))
    }

    fn keep_deadline(server: &Server, limit: Limits) -> Option<Job<'_>> {
        Some(Box::pin(async move {
            let policy = Policy::exponential(limit.base, limit.cap)
                .unlimited_attempts()
                .deadline(limit.total);
            let _ = policy.run(async |_| server.call().await).await;
        }))
    }

    fn spend_budget(server: &Server, calls: u32, ratio: f64) -> Option<Job<'_>> {
        Some(Box::pin(async move {
            let budget = Arc::new(Budget::new(BudgetRule::ratio(ratio)));
            let pipeline = Pipeline::new().retry(ENDLESS).budget(budget);
            for _ in 0..calls {
                let _ = pipeline.run(async |_| server.call().await).await;
            }
        }))
    }
}
