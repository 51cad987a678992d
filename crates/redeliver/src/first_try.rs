//! The first try of a call: most calls end with it, so it is all that they pay for.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;

use crate::{
    Attempt, GaveUp, Plan, Retrier,
    nested::{self, Frame},
    run::First,
};

pin_project! {
    /// A call whose first try is polled in place if the session of its plan has nothing to say about it, and which goes on in a box.
    ///
    /// A future by hand, because the state that an `async fn` keeps for its later steps is paid for by the first.
    pub(crate) struct FirstTry<'a, P, C, O, U, F, A, G, D> {
        call: Option<Call<'a, P, C, O, U, F, G>>,
        retried_inside: bool,
        #[pin]
        state: State<A, D>,
    }
}

/// What is needed to go on: `go_on` makes the future of all that comes after the first try.
struct Call<'a, P, C, O, U, F, G> {
    // `until` is in a box because it goes on being polled where the call goes on; the usual one has no size, and takes no allocation.
    retrier: Retrier<'a, P, C, O, Pin<Box<U>>>,
    operation: F,
    go_on: G,
}

pin_project! {
    #[project = StateProjection]
    enum State<A, D> {
        Start,
        First { #[pin] attempt: A },
        Rest { rest: Pin<Box<D>> },
    }
}

impl<'a, P: Plan, C, O, U, F: FnMut(Attempt) -> A, A, G, D> FirstTry<'a, P, C, O, U, F, A, G, D> {
    #[inline]
    pub(crate) fn new(retrier: Retrier<'a, P, C, O, U>, mut operation: F, go_on: G) -> Self {
        let Retrier {
            plan,
            classifier,
            observer,
            until,
        } = retrier;
        let state = if plan.needs_clock() || nested::has_deadline() {
            State::Start
        } else {
            State::First {
                attempt: operation(Attempt::FIRST),
            }
        };
        let retrier = Retrier {
            plan,
            classifier,
            observer,
            until: Box::pin(until),
        };
        Self {
            call: Some(Call {
                retrier,
                operation,
                go_on,
            }),
            retried_inside: false,
            state,
        }
    }
}

impl<'a, T, E, P, C, O, U, F, A, G, D> Future for FirstTry<'a, P, C, O, U, F, A, G, D>
where
    E: fmt::Display,
    P: Plan,
    U: Future<Output = ()>,
    F: FnMut(Attempt) -> A,
    A: Future<Output = Result<T, E>>,
    G: FnOnce(Retrier<'a, P, C, O, Pin<Box<U>>>, Frame, First<E>, F) -> D,
    D: Future<Output = Result<T, GaveUp<E>>>,
{
    type Output = Result<T, GaveUp<E>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        // Before anything else is written: what follows then stays in registers.
        let outer = nested::swap_retried_inside(*this.retried_inside);
        let first = match this.state.as_mut().project() {
            StateProjection::First { attempt } => {
                let until = this.call.as_mut().map(|call| call.retrier.until.as_mut());
                if until.is_some_and(|until| until.poll(context).is_ready()) {
                    Some(None)
                } else {
                    match attempt.poll(context) {
                        Poll::Ready(Ok(value)) => {
                            nested::report(false);
                            return Poll::Ready(Ok(value));
                        }
                        Poll::Ready(Err(error)) => Some(Some((error, nested::current()))),
                        Poll::Pending => {
                            *this.retried_inside = nested::swap_retried_inside(outer);
                            return Poll::Pending;
                        }
                    }
                }
            }
            StateProjection::Start | StateProjection::Rest { .. } => None,
        };
        nested::report(outer);
        go_on(this.call, this.state, first, context).map(|result| *result)
    }
}

/// All that is not a first try that works. Its result is in a box so that the usual one, which is not, can stay in registers.
#[cold]
#[inline(never)]
fn go_on<'a, T, E, P, C, O, U, F, A, G, D>(
    call: &mut Option<Call<'a, P, C, O, U, F, G>>,
    mut state: Pin<&mut State<A, D>>,
    first: First<E>,
    context: &mut Context<'_>,
) -> Poll<Box<Result<T, GaveUp<E>>>>
where
    G: FnOnce(Retrier<'a, P, C, O, Pin<Box<U>>>, Frame, First<E>, F) -> D,
    D: Future<Output = Result<T, GaveUp<E>>>,
{
    if let Some(call) = call.take() {
        let rest = (call.go_on)(call.retrier, nested::current(), first, call.operation);
        state.set(State::Rest { rest: Box::pin(rest) });
    }
    match state.project() {
        StateProjection::Rest { rest } => rest.as_mut().poll(context).map(Box::new),
        StateProjection::Start | StateProjection::First { .. } => Poll::Pending,
    }
}
