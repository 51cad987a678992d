//! The first try of a call: most calls end with it, so it is all that they pay for.

use std::{
    mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;

use crate::{
    Attempt, GaveUp, Plan, Retrier,
    nested::{self, Frame},
    run::First,
};

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

impl<F> Unlimited<F> {
    /// One whose closure may have done its work, inner retries included, before there is a future.
    fn begun_inside(attempt: impl FnOnce() -> F) -> Self {
        let outer = nested::swap_retried_inside(false);
        let attempt = attempt();
        Self {
            attempt,
            retried_inside: nested::swap_retried_inside(outer),
        }
    }
}

impl<T, E, F: Future<Output = Result<T, E>>> Unlimited<F> {
    /// As the other polls, where [`nested::is_eventful`] has just said no; after an error the frame is as the attempt left it.
    #[inline]
    fn poll_uneventful(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let poll = this.attempt.poll(context);
        if nested::is_eventful() {
            match poll {
                Poll::Ready(Ok(_)) => nested::forget(),
                Poll::Ready(Err(_)) => {}
                Poll::Pending => *this.retried_inside = nested::suspend(),
            }
        }
        poll
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

pin_project! {
    /// A call whose first try is polled in place if the session of its plan has nothing to say about it, and which goes on in a box.
    ///
    /// A future by hand: an `async fn` begins and resumes its attempt at one place, where the compiler no longer knows that a new attempt is
    /// new, and jumps through a table to find out.
    pub(crate) struct FirstTry<'a, P, C, O, F, A, G, D> {
        #[pin]
        attempt: Option<Unlimited<A>>,
        call: Call<'a, P, C, O, F, G, D>,
    }
}

/// What is needed to go on, and then what goes on: `go_on` makes the future of all that comes after the first try.
enum Call<'a, P, C, O, F, G, D> {
    First {
        retrier: Retrier<'a, P, C, O>,
        operation: F,
        go_on: G,
    },
    Rest(Apart<D>),
}

/// All that comes after a first try. It is dropped out of line: a call that ended with its first try has none.
struct Apart<D>(Option<Pin<Box<D>>>);

impl<D> Drop for Apart<D> {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        self.0 = None;
    }
}

impl<'a, P, C, O, F, A, G, D> FirstTry<'a, P, C, O, F, A, G, D> {
    #[inline]
    pub(crate) const fn new(retrier: Retrier<'a, P, C, O>, operation: F, go_on: G) -> Self {
        Self {
            attempt: None,
            call: Call::First {
                retrier,
                operation,
                go_on,
            },
        }
    }
}

impl<'a, T, E, P, C, O, F, A, G, D> Future for FirstTry<'a, P, C, O, F, A, G, D>
where
    P: Plan,
    F: FnMut(Attempt) -> A,
    A: Future<Output = Result<T, E>>,
    G: FnOnce(Retrier<'a, P, C, O>, Frame, First<E>, F) -> D,
    D: Future<Output = Result<T, GaveUp<E>>>,
{
    type Output = Result<T, GaveUp<E>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        match this.attempt.as_mut().as_pin_mut() {
            None => match this.call {
                Call::First {
                    retrier, operation, ..
                } if !retrier.plan.needs_clock() => {
                    if nested::is_eventful() {
                        return begin_inside(this.call, this.attempt, context);
                    }
                    // The session of such a plan has nothing to say about a first try, so there is none yet.
                    let attempt = Unlimited::new(operation(Attempt::FIRST));
                    this.attempt.set(Some(attempt));
                    let Some(attempt) = this.attempt.as_mut().as_pin_mut() else {
                        return Poll::Pending;
                    };
                    // Polled here and not with those that come back, so that the compiler knows in which state it is.
                    match attempt.poll_uneventful(context) {
                        Poll::Ready(Ok(value)) => Poll::Ready(Ok(value)),
                        Poll::Ready(Err(error)) => {
                            let first = (error, nested::leave());
                            go_on(this.call, this.attempt, Some(first), context)
                        }
                        Poll::Pending => Poll::Pending,
                    }
                }
                _ => go_on(this.call, this.attempt, None, context),
            },
            Some(attempt) => match ready!(attempt.poll(context)) {
                Ok(value) => Poll::Ready(Ok(value)),
                Err(failed) => go_on(this.call, this.attempt, Some(failed), context),
            },
        }
    }
}

/// A first try inside another loop's attempt, or after an inner loop that has retried in vain.
#[cold]
#[inline(never)]
fn begin_inside<'a, T, E, P, C, O, F, G, A, D>(
    call: &mut Call<'a, P, C, O, F, G, D>,
    mut attempt: Pin<&mut Option<Unlimited<A>>>,
    context: &mut Context<'_>,
) -> Poll<Result<T, GaveUp<E>>>
where
    F: FnMut(Attempt) -> A,
    A: Future<Output = Result<T, E>>,
    G: FnOnce(Retrier<'a, P, C, O>, Frame, First<E>, F) -> D,
    D: Future<Output = Result<T, GaveUp<E>>>,
{
    let mut first = None;
    if let (false, Call::First { operation, .. }) = (nested::has_deadline(), &mut *call) {
        attempt.set(Some(Unlimited::begun_inside(|| operation(Attempt::FIRST))));
        if let Some(attempt) = attempt.as_mut().as_pin_mut() {
            match ready!(attempt.poll(context)) {
                Ok(value) => return Poll::Ready(Ok(value)),
                Err(failed) => first = Some(failed),
            }
        }
    }
    go_on(call, attempt, first, context)
}

/// All that is not a first try, out of line: in place it doubles what a first try that works costs.
#[cold]
#[inline(never)]
fn go_on<'a, T, E, P, C, O, F, G, A, D>(
    call: &mut Call<'a, P, C, O, F, G, D>,
    mut attempt: Pin<&mut Option<Unlimited<A>>>,
    first: First<E>,
    context: &mut Context<'_>,
) -> Poll<Result<T, GaveUp<E>>>
where
    G: FnOnce(Retrier<'a, P, C, O>, Frame, First<E>, F) -> D,
    D: Future<Output = Result<T, GaveUp<E>>>,
{
    // An attempt is gone before the next one begins.
    attempt.set(None);
    *call = match mem::replace(call, Call::Rest(Apart(None))) {
        Call::First {
            retrier,
            operation,
            go_on,
        } => {
            let rest = go_on(retrier, nested::current(), first, operation);
            Call::Rest(Apart(Some(Box::pin(rest))))
        }
        rest @ Call::Rest(_) => rest,
    };
    match call {
        Call::Rest(Apart(Some(rest))) => rest.as_mut().poll(context),
        _ => Poll::Pending,
    }
}
