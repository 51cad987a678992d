//! The first try of a call: most calls end with it, so it is all that they pay for.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;

use crate::nested::{self, Frame};

pin_project! {
    /// A first try that adds no limit of its own: it runs in the frame that is there, and only keeps its word on inner retries apart.
    pub(crate) struct Unlimited<F> {
        #[pin]
        attempt: F,
        retried_inside: bool,
    }
}

impl<F> Unlimited<F> {
    #[inline]
    pub(crate) const fn new(attempt: F) -> Self {
        Self {
            attempt,
            retried_inside: false,
        }
    }
}

impl<F: Future> Unlimited<F> {
    /// A value, or an error with the frame as the attempt left it; which of them is `judge`'s to say.
    #[inline]
    pub(crate) fn poll_judged<T, E>(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        judge: impl FnOnce(F::Output) -> Result<T, E>,
    ) -> Poll<Result<T, (E, Frame)>> {
        let this = self.project();
        let outer = nested::swap_retried_inside(*this.retried_inside);
        let error = match this.attempt.poll(context).map(judge) {
            Poll::Ready(Ok(value)) => {
                nested::report(false);
                return Poll::Ready(Ok(value));
            }
            Poll::Ready(Err(error)) => Some(error),
            Poll::Pending => None,
        };
        let frame = nested::current();
        *this.retried_inside = frame.retried_inside;
        nested::report(outer);
        match error {
            Some(error) => Poll::Ready(Err((error, frame))),
            None => Poll::Pending,
        }
    }
}

impl<T, E, F: Future<Output = Result<T, E>>> Future for Unlimited<F> {
    type Output = Result<T, (E, Frame)>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_judged(context, |result| result)
    }
}

/// What comes after a first try, on the heap and polled out of line: in place it doubles what a first try that works costs.
pub(crate) struct Apart<F>(Pin<Box<F>>);

impl<F> Apart<F> {
    #[cold]
    #[inline(never)]
    pub(crate) fn new(rest: impl FnOnce() -> F) -> Self {
        Self(Box::pin(rest()))
    }
}

impl<F: Future> Future for Apart<F> {
    type Output = F::Output;

    #[cold]
    #[inline(never)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.0.as_mut().poll(context)
    }
}
