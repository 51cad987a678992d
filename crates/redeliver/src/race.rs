//! An attempt within its time, and whatever is waited for against the caller's wish to end.
//!
//! Both are plain futures, because an `async fn` keeps a future that it is given twice: calls inside calls would grow by that factor with
//! each level.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use pin_project_lite::pin_project;
use tokio::time::Timeout;

use crate::{nested::Scoped, progress::Ended};

pin_project! {
    /// The future's value, or `None` if the caller wanted the end first.
    pub(crate) struct Race<'a, U, F> {
        until: Pin<&'a mut U>,
        #[pin]
        future: F,
    }
}

impl<'a, U, F> Race<'a, U, F> {
    #[inline]
    pub(crate) const fn new(until: Pin<&'a mut U>, future: F) -> Self {
        Self { until, future }
    }
}

impl<U: Future<Output = ()>, F: Future> Future for Race<'_, U, F> {
    type Output = Option<F::Output>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        match this.until.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => this.future.poll(context).map(Some),
        }
    }
}

pin_project! {
    /// An attempt that ends with its time at the latest.
    #[project = LimitedProjection]
    pub(crate) enum Limited<'a, A> {
        Free { #[pin] attempt: Scoped<'a, A> },
        Timed { #[pin] attempt: Timeout<Scoped<'a, A>>, timeout: Duration },
    }
}

impl<'a, A: Future> Limited<'a, A> {
    pub(crate) fn new(attempt: Scoped<'a, A>, timeout: Option<Duration>) -> Self {
        match timeout {
            None => Self::Free { attempt },
            Some(timeout) => Self::Timed {
                attempt: tokio::time::timeout(timeout, attempt),
                timeout,
            },
        }
    }
}

impl<T, E, A: Future<Output = Result<T, E>>> Future for Limited<'_, A> {
    type Output = Result<T, Ended<E>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (result, frame) = match self.project() {
            LimitedProjection::Free { attempt } => ready!(attempt.poll(context)),
            LimitedProjection::Timed { mut attempt, timeout } => match ready!(attempt.as_mut().poll(context))
            {
                Ok(ended) => ended,
                Err(_) => return Poll::Ready(Err(Ended::TimedOut(*timeout, attempt.get_ref().frame()))),
            },
        };
        Poll::Ready(result.map_err(|error| Ended::Failed(error, frame)))
    }
}
