use std::{sync::Arc, time::Duration};

use redeliver_policy::{Breaker, BreakerRule, Budget, BudgetRule, Pipeline, Policy};

/// The time that an attempt may take where a policy does not say: without one, a hanging server would hold a client for ever.
pub const DEFAULT_ATTEMPT_TIMEOUT: Duration = Duration::from_secs(1);

/// A policy under a name, with what is around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    name: String,
    policy: Policy,
    budget: Option<BudgetRule>,
    breaker: Option<BreakerRule>,
}

impl Contender {
    /// A policy by itself; [`DEFAULT_ATTEMPT_TIMEOUT`] holds where it has no attempt timeout.
    #[must_use]
    pub fn new(name: impl Into<String>, policy: Policy) -> Self {
        let mut policy = policy;
        policy.attempt_timeout.get_or_insert(DEFAULT_ATTEMPT_TIMEOUT);
        Self {
            name: name.into(),
            policy,
            budget: None,
            breaker: None,
        }
    }

    /// Retries are paid from a budget.
    #[must_use]
    pub const fn budget(mut self, rule: BudgetRule) -> Self {
        self.budget = Some(rule);
        self
    }

    /// Attempts are made while a breaker lets them.
    #[must_use]
    pub const fn breaker(mut self, rule: BreakerRule) -> Self {
        self.breaker = Some(rule);
        self
    }

    /// The same under another name.
    #[must_use]
    pub fn renamed(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// What the report calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its policy.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What the clients of one process share: stages of their own, in the order of the documentation.
    pub(super) fn pipeline(&self) -> Pipeline {
        let mut pipeline = Pipeline::new().retry(self.policy);
        if let Some(rule) = self.budget {
            pipeline = pipeline.budget(Arc::new(Budget::new(rule)));
        }
        if let Some(rule) = self.breaker {
            pipeline = pipeline.breaker(Arc::new(Breaker::new(rule)));
        }
        pipeline
    }
}
