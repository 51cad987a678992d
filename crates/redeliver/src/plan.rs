use std::sync::Arc;

use redeliver_policy::{Budget, Conduct, Moment, Outer, Pipeline, PipelineRun, Policy, Session};

/// What can be run: a [`Policy`], or a [`Pipeline`] around one.
pub trait Plan {
    /// One call's way through it.
    type Session<'a>: Conduct + Send
    where
        Self: 'a;

    /// Whether a first try must be told the time.
    fn needs_clock(&self) -> bool;

    /// A call whose first attempt begins now.
    fn start<'a>(&'a self, now: Moment, outer: Outer<'a>) -> Self::Session<'a>;

    /// The budget that loops inside this one pay from too.
    fn shared_budget(&self) -> Option<&Arc<Budget>>;

    /// Until when the other side asked all its callers to stay away; looked at by `run` and `run_blocking` before each attempt, the first
    /// included.
    #[inline]
    fn held_until(&self) -> Moment {
        Moment::ZERO
    }
}

impl Plan for Policy {
    type Session<'a> = Session<'a>;

    #[inline]
    fn needs_clock(&self) -> bool {
        self.deadline.is_some() || self.attempt_timeout.is_some()
    }

    #[inline]
    fn start<'a>(&'a self, now: Moment, outer: Outer<'a>) -> Session<'a> {
        Session::new(self, now).inside(outer)
    }

    #[inline]
    fn shared_budget(&self) -> Option<&Arc<Budget>> {
        None
    }
}

impl Plan for Pipeline {
    type Session<'a> = PipelineRun<'a>;

    fn needs_clock(&self) -> bool {
        true
    }

    fn start<'a>(&'a self, now: Moment, outer: Outer<'a>) -> PipelineRun<'a> {
        PipelineRun::inside(self, now, outer)
    }

    fn shared_budget(&self) -> Option<&Arc<Budget>> {
        Pipeline::shared_budget(self)
    }
}
