//! The async driver: it waits, polls and measures; the session decides.

use std::{
    fmt,
    future::pending,
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use redeliver_policy::{Budget, Conduct, Moment, Outer, StopReason};

use crate::{
    Attempt, Classifier, GaveUp, Observer, Plan, Retrier, Until, clock, entropy,
    first_try::FirstTry,
    nested::{self, Frame, Scoped},
    progress::{Ended, Progress},
    race::{Limited, Race},
    testing,
};

impl<P: Plan, C, O: Observer> Retrier<'_, P, C, O> {
    /// Runs the operation until it succeeds or the plan gives up.
    ///
    /// Dropping the future ends it at once. A first try that works reads no clock, draws no random number and allocates
    /// nothing, unless a deadline, a timeout or a pipeline asks for it; all that comes after takes one allocation a call.
    ///
    /// # Errors
    /// [`GaveUp`], with the last real error and the reason.
    #[inline]
    pub fn run<T, E, F, A>(self, operation: F) -> impl Future<Output = Result<T, GaveUp<E>>>
    where
        F: FnMut(Attempt) -> A,
        A: Future<Output = Result<T, E>>,
        E: fmt::Display,
        C: Classifier<E>,
    {
        FirstTry::new(self, operation, Retrier::resume)
    }

    /// Goes on after the first try, or with it if there was none yet.
    pub(crate) async fn resume<T, E, F, A>(
        self,
        outer: Frame,
        first: First<E>,
        mut operation: F,
    ) -> Result<T, GaveUp<E>>
    where
        F: FnMut(Attempt) -> A,
        A: Future<Output = Result<T, E>>,
        E: fmt::Display,
        C: Classifier<E>,
    {
        let result = self.drive(outer, &mut operation, first, pin!(pending())).await;
        report(&result);
        result
    }
}

impl<P: Plan, C, O: Observer, U: Future<Output = ()>> Until<'_, P, C, O, U> {
    /// Runs the operation until it succeeds, the plan gives up, or the future is ready.
    ///
    /// # Errors
    /// [`GaveUp`], with the last real error and the reason.
    pub async fn run<T, E, F, A>(self, mut operation: F) -> Result<T, GaveUp<E>>
    where
        F: FnMut(Attempt) -> A,
        A: Future<Output = Result<T, E>>,
        E: fmt::Display,
        C: Classifier<E>,
    {
        let Self { retrier, until } = self;
        let result = retrier
            .drive(nested::current(), &mut operation, None, pin!(until))
            .await;
        report(&result);
        result
    }
}

/// Tells a loop outside of this one whether its own retry would be a retry of retries.
pub(crate) fn report<T, E>(result: &Result<T, GaveUp<E>>) {
    nested::report(
        result
            .as_ref()
            .is_err_and(|gave_up| is_exhausted(gave_up.reason, gave_up.attempts)),
    );
}

/// Whether a loop that ended so has done what retries can do.
pub(crate) const fn is_exhausted(reason: StopReason, attempts: u32) -> bool {
    match reason {
        StopReason::Permanent | StopReason::UnknownOutcome | StopReason::Cancelled => false,
        // A plan of one attempt has retried nothing.
        StopReason::Attempts => attempts > 1,
        _ => true,
    }
}

/// What surrounds a call, as its session sees it.
pub(crate) fn surroundings(outer: Frame, budget: Option<&Arc<Budget>>) -> Outer<'_> {
    Outer {
        deadline: outer.deadline,
        budget: budget.map(Arc::as_ref),
        max_attempts: testing::max_attempts(),
    }
}

/// How long the next attempt is held back.
pub(crate) fn hold(plan: &impl Plan, session: &impl Conduct) -> Result<Duration, StopReason> {
    match plan.held_until() {
        // Most plans hold nobody back, and need no clock to say so.
        Moment::ZERO => Ok(Duration::ZERO),
        until => session.hold(clock::now(), until, entropy::draw()),
    }
}

/// How a first try without a session failed, and the frame that it left.
pub(crate) type First<E> = Option<(E, Frame)>;

impl<P: Plan, C, O: Observer> Retrier<'_, P, C, O> {
    async fn drive<T, E, F, A, U>(
        &self,
        outer: Frame,
        operation: &mut F,
        first: First<E>,
        mut until: Pin<&mut U>,
    ) -> Result<T, GaveUp<E>>
    where
        F: FnMut(Attempt) -> A,
        A: Future<Output = Result<T, E>>,
        E: fmt::Display,
        C: Classifier<E>,
        U: Future<Output = ()>,
    {
        let outer_budget = nested::current_budget(outer);
        let started = clock::now();
        let mut session = self
            .plan
            .start(started, surroundings(outer, outer_budget.as_ref()));
        let mut progress = Progress::new(first.is_none().then_some(started));
        let frame = Frame {
            deadline: session.deadline(),
            has_budget: self.frame_has_budget(outer),
            ..Frame::NONE
        };
        let mut failed = first.map(|(error, frame)| {
            progress.begin();
            Ended::Failed(error, frame)
        });
        loop {
            if let Some(ended) = failed.take() {
                let wait = progress.settle(ended, &mut session, &self.classifier, &self.observer)?;
                if Race::new(until.as_mut(), clock::sleep(wait)).await.is_none() {
                    return Err(self.stopped(progress, StopReason::Cancelled));
                }
            }
            let begun = match self
                .held_back(&mut session, progress.attempts(), until.as_mut())
                .await
            {
                Ok(()) => session.begin(clock::now(), entropy::draw()),
                Err(reason) => Err(reason),
            };
            let timeout = match begun {
                Ok(timeout) => timeout,
                Err(reason) => return Err(self.stopped(progress, reason)),
            };
            let (number, budget) = (progress.begin(), self.plan.shared_budget());
            // A closure may do its work before there is a future, so it is inside the frame as well.
            let (attempt, frame) = nested::enter(frame, budget, || operation(Attempt { number, timeout }));
            let attempt = Scoped::new(attempt, frame, budget);
            match Race::new(until.as_mut(), Limited::new(attempt, timeout)).await {
                Some(Ok(value)) => {
                    session.on_success(clock::now());
                    if progress.attempts() > 1 {
                        self.observer.on_recovery(progress.attempts());
                    }
                    return Ok(value);
                }
                Some(Err(ended)) => failed = Some(ended),
                None => return Err(self.stopped(progress, StopReason::Cancelled)),
            }
        }
    }

    /// Waits for as long as the other side asked all its callers to stay away.
    async fn held_back<U: Future<Output = ()>>(
        &self,
        session: &mut impl Conduct,
        attempts: u32,
        mut until: Pin<&mut U>,
    ) -> Result<(), StopReason> {
        loop {
            let wait = hold(self.plan, &*session)?;
            if wait.is_zero() {
                return Ok(());
            }
            self.observer.on_hold(attempts.saturating_add(1), wait);
            if Race::new(until.as_mut(), clock::sleep(wait)).await.is_none() {
                return Err(StopReason::Cancelled);
            }
        }
    }

    fn frame_has_budget(&self, outer: Frame) -> bool {
        outer.has_budget || self.plan.shared_budget().is_some()
    }

    fn stopped<E: fmt::Display>(&self, mut progress: Progress<E>, reason: StopReason) -> GaveUp<E>
    where
        C: Classifier<E>,
    {
        progress.stop(reason, &self.classifier, &self.observer)
    }
}
