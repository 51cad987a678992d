use alloc::vec::Vec;
use core::time::Duration;

use super::{Pipeline, Stage};
use crate::{Conduct, Decision, Failure, Moment, Outer, Permit, Policy, Session, StopReason, Verdict};

/// A pipeline without a retry makes one attempt.
static ONCE: Policy = Policy::fixed(Duration::from_secs(1)).max_attempts(1);

/// One call's way through a [`Pipeline`]: a [`Session`] with the breakers and timeouts around it.
#[derive(Debug)]
pub struct PipelineRun<'a> {
    pipeline: &'a Pipeline,
    session: Session<'a>,
    /// Stages before this one are passed once a call, the others once an attempt.
    retry_at: usize,
    permits: Vec<(usize, Permit)>,
    /// Where the session's deadline comes from.
    deadline_at: Place,
    /// Whose timeout would be the first to cut the running attempt.
    cut_by: Place,
}

/// A stage of the pipeline, or `None` for what surrounds it; what is less is further out.
type Place = Option<usize>;

const AROUND: Place = None;
/// Stands for the policy's own attempt timeout, which is inside everything.
const INNERMOST: Place = Some(usize::MAX);

impl<'a> PipelineRun<'a> {
    /// A run whose first attempt begins now.
    #[must_use]
    pub fn new(pipeline: &'a Pipeline, now: Moment) -> Self {
        Self::inside(pipeline, now, Outer::NONE)
    }

    /// A run whose first attempt begins now, within the limits of what surrounds it.
    #[must_use]
    pub fn inside(pipeline: &'a Pipeline, now: Moment, outer: Outer<'a>) -> Self {
        let (retry_at, policy) = pipeline
            .retry_position()
            .unwrap_or((pipeline.stages.len(), &ONCE));
        let mut session = Session::new(policy, now).inside(outer);
        let (mut earliest, mut deadline_at) = (outer.deadline, AROUND);
        for (position, stage) in pipeline.stages[..pipeline.stages.len().min(retry_at + 1)]
            .iter()
            .enumerate()
        {
            let end = match stage {
                Stage::Timeout(timeout) => now.plus(*timeout),
                Stage::Retry(policy) => policy.deadline.map_or(Moment::FAR_FUTURE, |left| now.plus(left)),
                Stage::Budget(_) | Stage::Breaker(_) => continue,
            };
            if end < earliest {
                (earliest, deadline_at) = (end, Some(position));
            }
        }
        session = session.within(earliest);
        if let Some(budget) = pipeline.shared_budget() {
            budget.deposit();
            session = session.budget(budget);
        }
        Self {
            pipeline,
            session,
            retry_at,
            permits: Vec::new(),
            deadline_at,
            cut_by: INNERMOST,
        }
    }

    fn admit(&mut self, from: usize, now: Moment, entropy: u64) -> Result<(), StopReason> {
        for (position, stage) in self.pipeline.stages.iter().enumerate().skip(from) {
            if let Stage::Breaker(breaker) = stage {
                let permit = breaker.admit(now, entropy).map_err(|_| StopReason::Breaker)?;
                self.permits.push((position, permit));
            }
        }
        Ok(())
    }

    /// The time of the attempt that begins now, and which stage it comes from.
    fn timeout(&self, now: Moment) -> (Option<Duration>, Place) {
        let own = self
            .session
            .policy()
            .attempt_timeout
            .map(|timeout| (timeout, INNERMOST));
        let inner = self
            .pipeline
            .stages
            .iter()
            .enumerate()
            .skip(self.retry_at)
            .filter_map(|(position, stage)| match stage {
                Stage::Timeout(timeout) => Some((*timeout, Some(position))),
                _ => None,
            });
        let deadline = self.session.deadline();
        let outer = (deadline < Moment::FAR_FUTURE).then(|| (deadline.since(now), self.deadline_at));
        match outer
            .into_iter()
            .chain(inner)
            .chain(own)
            .min_by_key(|(timeout, _)| *timeout)
        {
            Some((timeout, place)) => (Some(timeout), place),
            None => (None, INNERMOST),
        }
    }

    /// The next attempt may not begin: what it was let into saw nothing of it, and what is around the retry saw a call that
    /// ended with its last failure, if there was one.
    fn give_up(&mut self, now: Moment) {
        let retry_at = self.retry_at;
        let ended = match self.session.failed() {
            0 => Verdict::Abandoned,
            _ => Verdict::Failed,
        };
        self.settle(0, now, |position| match position {
            inside if inside >= retry_at => Verdict::Abandoned,
            _ => ended,
        });
    }

    /// Settles the permits of the stages from `from` on.
    fn settle(&mut self, from: usize, now: Moment, verdict: impl Fn(usize) -> Verdict) {
        while let Some((position, permit)) = self.permits.pop_if(|(position, _)| *position >= from) {
            if let Stage::Breaker(breaker) = &self.pipeline.stages[position] {
                breaker.settle(now, permit, verdict(position));
            }
        }
    }
}

impl Conduct for PipelineRun<'_> {
    fn begin(&mut self, now: Moment, entropy: u64) -> Result<Option<Duration>, StopReason> {
        let from = if self.session.failed() == 0 {
            0
        } else {
            self.retry_at
        };
        let admitted = if self.session.is_over(now) {
            Err(StopReason::Deadline)
        } else {
            self.admit(from, now, entropy)
        };
        if let Err(reason) = admitted {
            self.give_up(now);
            return Err(reason);
        }
        let (timeout, cut_by) = self.timeout(now);
        self.cut_by = cut_by;
        Ok(timeout)
    }

    fn on_success(&mut self, now: Moment) {
        self.settle(0, now, |_| Verdict::Healthy);
    }

    fn retried_inside(&mut self) {
        self.session.retried_inside();
    }

    fn on_failure(&mut self, now: Moment, failure: Failure, entropy: u64) -> Decision {
        let Failure { class, timed_out } = failure;
        let cut_by = self.cut_by;
        let verdict = move |position: usize| match class {
            _ if timed_out && cut_by < Some(position) => Verdict::Abandoned,
            class if class.is_sign_of_trouble() => Verdict::Failed,
            _ => Verdict::Healthy,
        };
        self.settle(self.retry_at, now, verdict);
        let mut decision = self.session.on_failure(now, class, entropy);
        match &mut decision {
            Decision::Retry {
                after,
                attempt_timeout,
            } => *attempt_timeout = self.timeout(now.plus(*after)).0,
            Decision::Stop(_) => self.settle(0, now, verdict),
        }
        decision
    }

    fn deadline(&self) -> Moment {
        self.session.deadline()
    }

    fn policy(&self) -> &Policy {
        self.session.policy()
    }
}

impl Drop for PipelineRun<'_> {
    /// A call that is dropped half-way gives its probes' places back.
    fn drop(&mut self) {
        self.settle(0, Moment::ZERO, |_| Verdict::Abandoned);
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;

    use super::*;
    use crate::{Breaker, BreakerRule, BreakerState, Budget, BudgetRule, Class, Jitter, PipelineError};

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    const POLICY: Policy = Policy::fixed(ms(10)).jitter(Jitter::None).max_attempts(3);
    const TIMED_OUT: Failure = Failure {
        class: Class::Unknown,
        timed_out: true,
    };
    const DOWN: Failure = Failure {
        class: Class::Transient,
        timed_out: false,
    };

    fn breaker() -> Arc<Breaker> {
        Arc::new(Breaker::new(BreakerRule::DEFAULT.minimum_calls(1)))
    }

    fn at(millis: u64) -> Moment {
        Moment::from_millis(millis)
    }

    #[test]
    fn an_open_breaker_inside_the_retry_stops_it_with_that_reason() {
        let breaker = breaker();
        let pipeline = Pipeline::new().retry(POLICY).breaker(breaker.clone());
        let mut run = PipelineRun::new(&pipeline, at(0));
        assert_eq!(run.begin(at(0), 0), Ok(None));
        assert!(matches!(run.on_failure(at(1), DOWN, 0), Decision::Retry { .. }));
        assert_eq!(run.begin(at(11), 0), Err(StopReason::Breaker));
        assert_eq!(breaker.state(at(11)), BreakerState::Open);
    }

    #[test]
    fn a_timeout_counts_for_the_breaker_around_it_only() {
        let (outer, inner) = (breaker(), breaker());
        let pipeline = Pipeline::new()
            .retry(POLICY)
            .breaker(outer.clone())
            .timeout(ms(5))
            .breaker(inner.clone());
        let mut run = PipelineRun::new(&pipeline, at(0));
        assert_eq!(run.begin(at(0), 0), Ok(Some(ms(5))));
        let _ = run.on_failure(at(5), TIMED_OUT, 0);
        assert_eq!(
            (outer.state(at(5)), inner.state(at(5))),
            (BreakerState::Open, BreakerState::Closed)
        );
    }

    #[test]
    fn a_breaker_counts_the_deadline_inside_it_and_not_the_one_around_it() {
        let verdict_of = |pipeline: Pipeline, outer: Outer<'_>, breaker: &Breaker| {
            let mut run = PipelineRun::inside(&pipeline, at(0), outer);
            let timeout = run.begin(at(0), 0).unwrap().unwrap();
            assert_eq!(timeout, ms(50));
            assert!(matches!(run.on_failure(at(50), TIMED_OUT, 0), Decision::Stop(_)));
            breaker.state(at(50))
        };
        let (long, short) = (ms(80), ms(50));
        let around = Outer {
            deadline: at(50),
            ..Outer::NONE
        };
        let place = |pipeline: Pipeline, breaker: &Arc<Breaker>| pipeline.breaker(breaker.clone());
        let cases = [
            (
                Pipeline::new().timeout(long),
                Some(short),
                Outer::NONE,
                BreakerState::Open,
            ),
            (
                Pipeline::new().timeout(short),
                Some(long),
                Outer::NONE,
                BreakerState::Closed,
            ),
            (Pipeline::new(), None, around, BreakerState::Closed),
        ];
        for (outside, inside, outer, expected) in cases {
            let breaker = breaker();
            let mut pipeline = place(outside, &breaker);
            if let Some(timeout) = inside {
                pipeline = pipeline.timeout(timeout);
            }
            assert_eq!(
                verdict_of(pipeline.clone(), outer, &breaker),
                expected,
                "{pipeline}"
            );
        }
        let breaker = breaker();
        let pipeline = place(Pipeline::new().timeout(long), &breaker).retry(POLICY.deadline(short));
        assert_eq!(verdict_of(pipeline, Outer::NONE, &breaker), BreakerState::Open);
    }

    #[test]
    fn an_inner_breaker_that_ends_the_call_leaves_no_permit_behind() {
        let outer = Arc::new(Breaker::new(BreakerRule::DEFAULT.minimum_calls(1)));
        let inner = breaker();
        let pipeline = Pipeline::new()
            .breaker(outer.clone())
            .retry(POLICY)
            .breaker(inner);
        let mut run = PipelineRun::new(&pipeline, at(0));
        assert_eq!(run.begin(at(0), 0), Ok(None));
        assert!(matches!(run.on_failure(at(1), DOWN, 0), Decision::Retry { .. }));
        assert_eq!(run.begin(at(11), 0), Err(StopReason::Breaker));
        assert_eq!(outer.state(at(11)), BreakerState::Open, "the call failed");
        let mut probe = PipelineRun::new(&pipeline, at(5_005));
        assert_eq!(probe.begin(at(5_005), 0), Err(StopReason::Breaker));
    }

    #[test]
    fn a_retry_is_told_the_timeout_that_it_will_get() {
        let pipeline = Pipeline::new().timeout(ms(100)).retry(POLICY).timeout(ms(70));
        let mut run = PipelineRun::new(&pipeline, at(0));
        assert_eq!(run.begin(at(0), 0), Ok(Some(ms(70))));
        for (failed_at, left) in [(5, 70), (40, 50)] {
            let expected = Some(ms(left));
            let decision = run.on_failure(at(failed_at), DOWN, 0);
            assert_eq!(
                decision,
                Decision::Retry {
                    after: ms(10),
                    attempt_timeout: expected
                }
            );
            assert_eq!(run.begin(at(failed_at + 10), 0), Ok(expected));
        }
    }

    #[test]
    fn a_breaker_outside_the_retry_sees_only_the_end() {
        let breaker = breaker();
        let pipeline = Pipeline::new().breaker(breaker.clone()).retry(POLICY);
        let mut run = PipelineRun::new(&pipeline, at(0));
        for step in 0..2 {
            assert_eq!(run.begin(at(step), 0), Ok(None));
            assert!(matches!(
                run.on_failure(at(step), DOWN, 0),
                Decision::Retry { .. }
            ));
            assert_eq!(breaker.state(at(step)), BreakerState::Closed);
        }
        assert_eq!(
            run.on_failure(at(3), DOWN, 0),
            Decision::Stop(StopReason::Attempts)
        );
        assert_eq!(breaker.state(at(3)), BreakerState::Open);
    }

    #[test]
    fn an_outer_timeout_is_the_deadline_and_an_inner_one_the_attempts() {
        let pipeline = Pipeline::new().timeout(ms(100)).retry(POLICY).timeout(ms(70));
        let mut run = PipelineRun::new(&pipeline, at(0));
        assert_eq!(run.begin(at(0), 0), Ok(Some(ms(70))));
        assert!(matches!(
            run.on_failure(at(70), TIMED_OUT, 0),
            Decision::Retry { .. }
        ));
        assert_eq!(run.begin(at(80), 0), Ok(Some(ms(20))));
        assert_eq!(
            run.on_failure(at(95), TIMED_OUT, 0),
            Decision::Stop(StopReason::Deadline)
        );
    }

    #[test]
    fn the_budget_is_paid_from_and_a_dropped_run_frees_its_probe() {
        let (budget, breaker) = (Arc::new(Budget::new(BudgetRule::ratio(0.0))), breaker());
        let pipeline = Pipeline::new()
            .retry(POLICY)
            .budget(budget)
            .breaker(breaker.clone());
        let mut run = PipelineRun::new(&pipeline, at(0));
        assert_eq!(run.begin(at(0), 0), Ok(None));
        assert_eq!(run.on_failure(at(0), DOWN, 0), Decision::Stop(StopReason::Budget));
        let half_open = at(6_000);
        let mut dropped = PipelineRun::new(&pipeline, half_open);
        assert_eq!(dropped.begin(half_open, 0), Ok(None));
        drop(dropped);
        let mut probe = PipelineRun::new(&pipeline, half_open);
        assert_eq!(probe.begin(half_open, 0), Ok(None));
        probe.on_success(half_open);
        assert_eq!(breaker.state(half_open), BreakerState::Closed);
    }

    #[test]
    fn stages_that_make_no_sense_are_named() {
        let budget = || Arc::new(Budget::new(BudgetRule::ratio(0.1)));
        let twice = Pipeline::new().retry(POLICY).retry(POLICY);
        assert_eq!(twice.validate(), Err(PipelineError::SecondRetry));
        assert_eq!(
            Pipeline::new().budget(budget()).validate(),
            Err(PipelineError::BudgetOutsideRetry)
        );
        let budgets = Pipeline::new().retry(POLICY).budget(budget()).budget(budget());
        assert_eq!(budgets.validate(), Err(PipelineError::SecondBudget));
        assert_eq!(Pipeline::new().timeout(ms(5)).validate(), Ok(()));
    }
}
