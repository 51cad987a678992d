//! The async entry points: a first try at no cost, then the driver.

use std::{
    fmt,
    pin::{Pin, pin},
    task::{Context, Poll},
};

use crate::{
    Attempt, Classifier, GaveUp, Observer, Plan, Retrier, Until,
    drive::First,
    nested::{self, Heard},
};

impl<P: Plan, C, O: Observer> Retrier<'_, P, C, O> {
    /// Runs the operation until it succeeds or the plan gives up.
    ///
    /// Dropping the future ends it at once. A first try that works reads no clock, draws no random number and allocates
    /// nothing, unless a deadline, a timeout or a pipeline asks for it.
    ///
    /// # Errors
    /// [`GaveUp`], with the last real error and the reason.
    #[inline]
    pub async fn run<T, E, F>(self, mut operation: F) -> Result<T, GaveUp<E>>
    where
        F: AsyncFnMut(Attempt) -> Result<T, E>,
        E: fmt::Display,
        C: Classifier<E>,
    {
        let first = if self.plan.needs_clock() || nested::has_deadline() {
            None
        } else {
            // The session of such a plan has nothing to say about a first try, so there is none yet.
            match Heard::new(operation(Attempt::FIRST)).await {
                Ok(value) => return Ok(value),
                Err(failed) => Some(failed),
            }
        };
        self.go_on(&mut operation, first).await
    }

    /// All but a first try that works. On the heap and out of line: kept in place, it made such a first try twice as slow.
    #[cold]
    #[inline(never)]
    fn go_on<T, E, F>(
        &self,
        operation: &mut F,
        first: First<E>,
    ) -> Apart<impl Future<Output = Result<T, GaveUp<E>>>>
    where
        F: AsyncFnMut(Attempt) -> Result<T, E>,
        E: fmt::Display,
        C: Classifier<E>,
    {
        Apart(Box::pin(async move {
            self.drive(operation, first, pin!(std::future::pending())).await
        }))
    }
}

impl<P: Plan, C, O: Observer, U: Future<Output = ()>> Until<'_, P, C, O, U> {
    /// Runs the operation until it succeeds, the plan gives up, or the future is ready.
    ///
    /// # Errors
    /// [`GaveUp`], with the last real error and the reason.
    pub async fn run<T, E, F>(self, mut operation: F) -> Result<T, GaveUp<E>>
    where
        F: AsyncFnMut(Attempt) -> Result<T, E>,
        E: fmt::Display,
        C: Classifier<E>,
    {
        let Self { retrier, until } = self;
        retrier.drive(&mut operation, None, pin!(until)).await
    }
}

/// A future on the heap that is also polled out of line.
struct Apart<F>(Pin<Box<F>>);

impl<F: Future> Future for Apart<F> {
    type Output = F::Output;

    #[cold]
    #[inline(never)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.0.as_mut().poll(context)
    }
}
