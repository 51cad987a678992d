//! The async driver: it waits, polls and measures; the session decides.

use std::{
    fmt,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use redeliver_policy::{Budget, Conduct, Moment, Outer, StopReason};

use crate::{
    Attempt, Classifier, GaveUp, Observer, Plan, Retrier, clock, entropy,
    nested::{self, Frame, Heard, Scoped},
    progress::{Ended, Progress},
    testing,
};

/// How a first try without a session failed: its error, and whether a loop inside it gave up.
pub(crate) type First<E> = Option<(E, bool)>;

impl<P: Plan, C, O: Observer> Retrier<'_, P, C, O> {
    /// Goes on after a first try, or makes it, until there is a value or an end.
    pub(crate) async fn drive<T, E, F, U>(
        &self,
        operation: &mut F,
        first: First<E>,
        until: Pin<&mut U>,
    ) -> Result<T, GaveUp<E>>
    where
        F: AsyncFnMut(Attempt) -> Result<T, E>,
        E: fmt::Display,
        C: Classifier<E>,
        U: Future<Output = ()>,
    {
        let result = self.attempt_until(operation, first, until).await;
        report(&result);
        result
    }

    async fn attempt_until<T, E, F, U>(
        &self,
        operation: &mut F,
        first: First<E>,
        mut until: Pin<&mut U>,
    ) -> Result<T, GaveUp<E>>
    where
        F: AsyncFnMut(Attempt) -> Result<T, E>,
        E: fmt::Display,
        C: Classifier<E>,
        U: Future<Output = ()>,
    {
        let outer = nested::current();
        let outer_budget = nested::current_budget(outer);
        let now = clock::now();
        let mut session = self.plan.start(now, surroundings(outer, outer_budget.as_ref()));
        let frame = frame_inside(outer, self.plan, session.deadline());
        let mut progress = Progress::new(first.is_none().then_some(now));
        let mut failed = first.map(|(error, inner_gave_up)| {
            progress.begin();
            Ended::Failed(error, inner_gave_up)
        });
        loop {
            if let Some(ended) = failed.take() {
                let wait = progress.settle(ended, &mut session, &self.classifier, &self.observer)?;
                if race(until.as_mut(), clock::sleep(wait)).await.is_none() {
                    return Err(self.stopped(progress, StopReason::Cancelled));
                }
            }
            if let Err(reason) = self
                .held_back(&session, progress.attempts(), until.as_mut())
                .await
            {
                return Err(self.stopped(progress, reason));
            }
            let timeout = match session.begin(clock::now(), entropy::draw()) {
                Ok(timeout) => timeout,
                Err(reason) => return Err(self.stopped(progress, reason)),
            };
            let attempt = operation(Attempt {
                number: progress.begin(),
                timeout,
            });
            let attempt = Scoped::new(Heard::new(attempt), frame, self.plan.shared_budget());
            match race(until.as_mut(), limited(attempt, timeout)).await {
                Some(Ok(value)) => {
                    session.on_success(clock::now());
                    progress.recovered(&self.observer);
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
        session: &impl Conduct,
        attempts: u32,
        mut until: Pin<&mut U>,
    ) -> Result<(), StopReason> {
        loop {
            let wait = hold(self.plan, session)?;
            if wait.is_zero() {
                return Ok(());
            }
            self.observer.on_hold(attempts.saturating_add(1), wait);
            if race(until.as_mut(), clock::sleep(wait)).await.is_none() {
                return Err(StopReason::Cancelled);
            }
        }
    }

    fn stopped<E: fmt::Display>(&self, mut progress: Progress<E>, reason: StopReason) -> GaveUp<E>
    where
        C: Classifier<E>,
    {
        progress.stop(reason, None, &self.classifier, &self.observer)
    }
}

/// Tells the loops outside of this one if a retry of theirs would be a retry of retries.
pub(crate) fn report<T, E>(result: &Result<T, GaveUp<E>>) {
    use StopReason::{Cancelled, Permanent, UnknownOutcome};
    let retried = |reason| !matches!(reason, Permanent | UnknownOutcome | Cancelled);
    if result.as_ref().is_err_and(|gave_up| retried(gave_up.reason)) {
        nested::gave_up();
    }
}

/// What surrounds a call, as its session sees it.
pub(crate) fn surroundings(outer: Frame, budget: Option<&Arc<Budget>>) -> Outer<'_> {
    let budget = budget.map(Arc::as_ref);
    Outer {
        deadline: outer.deadline,
        budget,
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

/// The frame that the attempts of a plan run in.
pub(crate) fn frame_inside<P: Plan>(outer: Frame, plan: &P, deadline: Moment) -> Frame {
    Frame {
        deadline,
        has_budget: outer.has_budget || plan.shared_budget().is_some(),
    }
}

/// Runs an attempt within its time.
async fn limited<T, E>(
    attempt: impl Future<Output = Result<T, (E, bool)>>,
    timeout: Option<Duration>,
) -> Result<T, Ended<E>> {
    let result = match timeout {
        None => attempt.await,
        Some(timeout) => match tokio::time::timeout(timeout, attempt).await {
            Ok(result) => result,
            Err(_) => return Err(Ended::TimedOut(timeout)),
        },
    };
    result.map_err(|(error, inner_gave_up)| Ended::Failed(error, inner_gave_up))
}

/// The future's value, or `None` if the caller wanted the end first.
async fn race<T>(
    mut until: Pin<&mut impl Future<Output = ()>>,
    future: impl Future<Output = T>,
) -> Option<T> {
    let mut future = pin!(future);
    std::future::poll_fn(move |context| match until.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(None),
        Poll::Pending => future.as_mut().poll(context).map(Some),
    })
    .await
}
