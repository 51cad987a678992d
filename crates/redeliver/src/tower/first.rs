use std::{
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;

use crate::nested::{self, Frame};

pin_project! {
    /// A first try that adds no limit of its own: it runs in the frame that is there, and only keeps its word on inner retries apart.
    pub(super) struct Unlimited<F> {
        #[pin]
        attempt: F,
        retried_inside: bool,
    }
}

impl<F> Unlimited<F> {
    #[inline]
    pub(super) const fn new(attempt: F) -> Self {
        Self {
            attempt,
            retried_inside: false,
        }
    }
}

impl<F: Future> Unlimited<F> {
    /// A value, or an error with the frame as the attempt left it; which of them is `judge`'s to say.
    #[inline]
    pub(super) fn poll_judged<T, E>(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        judge: impl FnOnce(F::Output) -> Result<T, E>,
    ) -> Poll<Result<T, (E, Frame)>> {
        let this = self.project();
        let outer = nested::swap_retried_inside(*this.retried_inside);
        let poll = this.attempt.poll(context).map(judge);
        let frame = nested::current();
        if let Poll::Ready(Ok(value)) = poll {
            nested::report(false);
            return Poll::Ready(Ok(value));
        }
        *this.retried_inside = frame.retried_inside;
        nested::report(outer);
        poll.map(|result| result.map_err(|error| (error, frame)))
    }
}
