//! The blocking driver: the same session, another way to wait.

use std::{fmt, time::Duration};

use redeliver_policy::{Conduct, StopReason};

use crate::{
    Attempt, Classifier, GaveUp, Observer, Plan, Retrier, clock, entropy,
    nested::{self, Frame},
    progress::{Ended, Progress},
    run::{hold, report, surroundings},
};

impl<P: Plan, C, O> Retrier<'_, P, C, O> {
    /// Runs a blocking operation until it succeeds or the plan gives up, holding the thread while it waits.
    ///
    /// A blocking attempt cannot be cut short from outside: its time is in [`Attempt::timeout`] for it to keep, and the
    /// deadline is looked at between attempts.
    ///
    /// # Errors
    /// [`GaveUp`], with the last real error and the reason.
    pub fn run_blocking<T, E>(
        self,
        mut operation: impl FnMut(Attempt) -> Result<T, E>,
    ) -> Result<T, GaveUp<E>>
    where
        E: fmt::Display,
        C: Classifier<E>,
        O: Observer,
    {
        let result = self.drive_blocking(&mut operation);
        report(&result);
        result
    }

    fn drive_blocking<T, E>(self, operation: &mut impl FnMut(Attempt) -> Result<T, E>) -> Result<T, GaveUp<E>>
    where
        E: fmt::Display,
        C: Classifier<E>,
        O: Observer,
    {
        let Self {
            plan,
            classifier,
            observer,
        } = self;
        let outer = nested::current();
        let outer_budget = nested::current_budget(outer);
        let started = clock::now();
        let mut session = plan.start(started, surroundings(outer, outer_budget.as_ref()));
        let mut progress = Progress::new(Some(started));
        let has_budget = outer.has_budget || plan.shared_budget().is_some();
        let frame = Frame {
            deadline: session.deadline(),
            has_budget,
            ..Frame::NONE
        };
        loop {
            let timeout = begin(plan, &mut session, &observer, progress.attempts())
                .map_err(|reason| progress.stop(reason, &classifier, &observer))?;
            let attempt = Attempt {
                number: progress.begin(),
                timeout,
            };
            let (result, left) = nested::enter(frame, plan.shared_budget(), || operation(attempt));
            match result {
                Ok(value) => {
                    session.on_success(clock::now());
                    if progress.attempts() > 1 {
                        observer.on_recovery(progress.attempts());
                    }
                    return Ok(value);
                }
                Err(error) => {
                    let ended = Ended::Failed(error, left);
                    clock::block(progress.settle(ended, &mut session, &classifier, &observer)?);
                }
            }
        }
    }
}

/// Waits until nothing holds the next attempt back, then begins it.
fn begin(
    plan: &impl Plan,
    session: &mut impl Conduct,
    observer: &impl Observer,
    attempts: u32,
) -> Result<Option<Duration>, StopReason> {
    loop {
        let wait = hold(plan, session)?;
        if wait.is_zero() {
            return session.begin(clock::now(), entropy::draw());
        }
        observer.on_hold(attempts.saturating_add(1), wait);
        clock::block(wait);
    }
}
