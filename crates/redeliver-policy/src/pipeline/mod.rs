//! Retry, budget, breaker and timeouts as one list, outermost first.

mod run;

use alloc::{sync::Arc, vec::Vec};
use core::{fmt, time::Duration};

pub use run::PipelineRun;

use crate::{Backoff, Breaker, Budget, Policy, duration::display};

/// One layer of a [`Pipeline`].
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a pipeline has a handful of stages and is built once"
)]
#[non_exhaustive]
pub enum Stage {
    /// Everything inside must end within this time: the deadline of the whole call outside a retry, the time of each attempt
    /// inside one.
    Timeout(Duration),
    /// Everything inside is repeated by this policy.
    Retry(Policy),
    /// Retries, of the retry around it, are paid from this budget.
    Budget(Arc<Budget>),
    /// Everything inside happens only while this breaker lets it.
    Breaker(Arc<Breaker>),
}

/// Retry, budget, breaker and timeouts in the order in which they are written, outermost first, as they read in a log:
///
/// ```
/// use core::time::Duration;
/// use redeliver_policy::{Breaker, Budget, BudgetRule, Pipeline, Policy};
///
/// let pipeline = Pipeline::new()
///     .timeout(Duration::from_secs(8))
///     .retry(Policy::INTERACTIVE)
///     .budget(Budget::new(BudgetRule::ratio(0.1).floor_per_second(10)))
///     .breaker(Breaker::default())
///     .timeout(Duration::from_millis(1200));
/// assert_eq!(
///     pipeline.to_string(),
///     "timeout 8s > retry exponential from 100ms to 3s, 3 attempts, jitter additive:0.2 > budget 0.1 \
///      > breaker > timeout 1s 200ms > call",
/// );
/// ```
///
/// Several pipelines share a budget or a breaker through an `Arc` of it. A budget starts with nothing saved up: its `floor_per_second` is what
/// a process that has just started retries with.
///
/// The order is the meaning. A timeout inside the breaker is a failure that the breaker counts; one outside it is the
/// caller losing patience, which says nothing about the other side. A breaker inside the retry is asked before each attempt; outside it,
/// once, and it sees only how the call ended.
#[derive(Clone, Debug, Default)]
pub struct Pipeline {
    stages: Vec<Stage>,
}

/// Stages that make no sense together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PipelineError {
    /// Two retries would multiply their attempts.
    SecondRetry,
    /// A budget pays for the retries of a retry around it, and there is none.
    BudgetOutsideRetry,
    /// A retry has one budget.
    SecondBudget,
}

impl fmt::Display for PipelineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SecondRetry => "a pipeline has one retry: two would multiply their attempts",
            Self::BudgetOutsideRetry => "a budget must come after the retry it pays for",
            Self::SecondBudget => "a retry has one budget",
        })
    }
}

impl core::error::Error for PipelineError {}

impl Pipeline {
    /// A pipeline with no stages: the call as it is.
    #[must_use]
    pub const fn new() -> Self {
        Self { stages: Vec::new() }
    }

    /// Everything after this must end within `timeout`.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with(Stage::Timeout(timeout))
    }

    /// Everything after this is repeated.
    #[must_use]
    pub fn retry(self, policy: Policy) -> Self {
        self.with(Stage::Retry(policy))
    }

    /// The retries of the retry before this are paid from `budget`.
    #[must_use]
    pub fn budget(self, budget: impl Into<Arc<Budget>>) -> Self {
        self.with(Stage::Budget(budget.into()))
    }

    /// Everything after this happens only while `breaker` lets it.
    #[must_use]
    pub fn breaker(self, breaker: impl Into<Arc<Breaker>>) -> Self {
        self.with(Stage::Breaker(breaker.into()))
    }

    fn with(mut self, stage: Stage) -> Self {
        self.stages.push(stage);
        self
    }

    /// The stages, outermost first.
    #[must_use]
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// Checks that the stages make sense together.
    ///
    /// # Errors
    /// What does not. A pipeline that is run all the same uses the first retry and the first budget after it.
    pub fn validate(&self) -> Result<(), PipelineError> {
        let (mut retries, mut budgets) = (0, 0);
        for stage in &self.stages {
            match stage {
                Stage::Retry(_) => retries += 1,
                Stage::Budget(_) if retries == 0 => return Err(PipelineError::BudgetOutsideRetry),
                Stage::Budget(_) => budgets += 1,
                Stage::Timeout(_) | Stage::Breaker(_) => {}
            }
        }
        match (retries, budgets) {
            (2.., _) => Err(PipelineError::SecondRetry),
            (_, 2..) => Err(PipelineError::SecondBudget),
            _ => Ok(()),
        }
    }

    /// The budget that retries are paid from.
    #[must_use]
    pub fn shared_budget(&self) -> Option<&Arc<Budget>> {
        let (retry_at, _) = self.retry_position()?;
        self.stages[retry_at..].iter().find_map(|stage| match stage {
            Stage::Budget(budget) => Some(budget),
            _ => None,
        })
    }

    pub(crate) fn retry_position(&self) -> Option<(usize, &Policy)> {
        self.stages
            .iter()
            .enumerate()
            .find_map(|(position, stage)| match stage {
                Stage::Retry(policy) => Some((position, policy)),
                _ => None,
            })
    }
}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for stage in &self.stages {
            match stage {
                Stage::Timeout(timeout) => write!(f, "timeout {}", display(*timeout))?,
                Stage::Retry(policy) => write!(f, "retry {policy}")?,
                Stage::Budget(budget) => write!(f, "budget {}", budget.rule().ratio)?,
                Stage::Breaker(_) => f.write_str("breaker")?,
            }
            f.write_str(" > ")?;
        }
        f.write_str("call")
    }
}

impl Policy {
    /// Everything that decides the waits, but not what goes without saying: doubling, and a step as long as the base.
    fn fmt_backoff(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = self.backoff.base();
        f.write_str(self.backoff.as_str())?;
        match &self.backoff {
            Backoff::Fixed { .. } => return write!(f, " {}", display(base.min(self.max_delay))),
            Backoff::List(list) => {
                for (index, wait) in list.iter().enumerate() {
                    let separator = if index == 0 { " " } else { ", " };
                    write!(f, "{separator}{}", display(wait.min(self.max_delay)))?;
                }
                return Ok(());
            }
            Backoff::Exponential { multiplier, .. } if *multiplier != 2.0 => write!(f, " ×{multiplier}")?,
            Backoff::Linear { step, .. } if *step != base => write!(f, " by {}", display(*step))?,
            _ => {}
        }
        write!(f, " from {} to {}", display(base), display(self.max_delay))
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_backoff(f)?;
        match self.max_attempts {
            Some(1) => f.write_str(", 1 attempt")?,
            Some(most) => write!(f, ", {most} attempts")?,
            None => f.write_str(", unlimited attempts")?,
        }
        write!(f, ", jitter {}", self.jitter)?;
        if let Some(deadline) = self.deadline {
            write!(f, ", deadline {}", display(deadline))?;
        }
        if let Some(timeout) = self.attempt_timeout {
            write!(f, ", attempt timeout {}", display(timeout))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn policies_that_wait_differently_read_differently() {
        const fn secs(seconds: u64) -> Duration {
            Duration::from_secs(seconds)
        }
        let stepped = Backoff::Linear {
            base: secs(1),
            step: secs(3),
        };
        for (policy, shown) in [
            (
                Policy::GRPC,
                "exponential ×1.6 from 1s to 2m, unlimited attempts, jitter proportional:0.2",
            ),
            (Policy::fixed(secs(2)), "fixed 2s, 5 attempts, jitter full"),
            (
                Policy::new(stepped, secs(9)),
                "linear by 3s from 1s to 9s, 5 attempts, jitter full",
            ),
            (
                Policy::list(&[secs(1), secs(60)]),
                "list 1s, 1m, 5 attempts, jitter full",
            ),
        ] {
            assert_eq!(policy.to_string(), shown);
        }
    }
}
