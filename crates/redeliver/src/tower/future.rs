use std::{
    fmt,
    future::pending,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;
use redeliver_policy::{Budget, Class, Moment, Outer};
use tower_service::Service;

use super::{
    BoxError, Cause, Judge, Replay,
    attempt::AttemptFuture,
    judge::{Judged, Unwanted},
    layer::Settings,
};
use crate::{
    Ending, GaveUp, Observer, Plan, Retrier,
    first_try::Unlimited,
    nested::{self, Frame},
    run::First,
};

pin_project! {
    /// The response of a [`Retry`](super::Retry) service, after as many attempts as it takes.
    ///
    /// A first try that works is polled in place and allocates nothing, unless a deadline, a timeout or a pipeline asks for the clock; a
    /// call that needs more goes on in a box, driven by what drives [`Run::run`](crate::Run::run).
    #[must_use = "nothing is sent until it is polled"]
    pub struct ResponseFuture<S, Q, P, J, R, O>
    where
        S: Service<Q>,
    {
        #[pin]
        state: State<S, Q, P, J, R, O>,
    }
}

type Driven<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

pin_project! {
    #[project = StateProjection]
    enum State<S, Q, P, J, R, O>
    where
        S: Service<Q>,
    {
        Start { call: Option<Call<S, Q, P, J, R, O>> },
        First { #[pin] attempt: Unlimited<S::Future>, call: Option<Call<S, Q, P, J, R, O>>, outer: Frame },
        Driven { driven: Driven<S::Response> },
    }
}

impl<S: Service<Q>, Q, P, J, R, O> ResponseFuture<S, Q, P, J, R, O> {
    pub(super) const fn new(call: Call<S, Q, P, J, R, O>) -> Self {
        let state = State::Start { call: Some(call) };
        Self { state }
    }
}

impl<S, Q, P, J, R, O> Future for ResponseFuture<S, Q, P, J, R, O>
where
    S: Service<Q> + Clone + Send + 'static,
    S::Response: Send + 'static,
    S::Error: Into<BoxError> + fmt::Display + Send + 'static,
    S::Future: Send + 'static,
    Q: Send + 'static,
    P: Plan + Send + Sync + 'static,
    J: Judge<S::Response, S::Error> + Send + Sync + 'static,
    R: Replay<Q> + Send + Sync + 'static,
    O: Observer + Send + Sync + 'static,
{
    type Output = Result<S::Response, BoxError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            let next = match state.as_mut().project() {
                StateProjection::Driven { driven } => return driven.as_mut().poll(context),
                StateProjection::Start { call } => match call.take() {
                    Some(call) => call.start(),
                    None => return Poll::Pending,
                },
                StateProjection::First { attempt, call, outer } => {
                    let Some(settings) = call.as_ref().map(|call| &call.settings) else {
                        return Poll::Pending;
                    };
                    let judge = |result| Unwanted::judge(result, &*settings.judge);
                    let judged = ready!(attempt.poll_judged(context, judge));
                    match (judged, call.take()) {
                        (Ok(wanted), _) => return Poll::Ready(wanted.map_err(Into::into)),
                        (Err(failed), Some(call)) => State::Driven {
                            driven: Box::pin(call.drive(*outer, Some(failed))),
                        },
                        (Err(_), None) => return Poll::Pending,
                    }
                }
            };
            state.set(next);
        }
    }
}

/// One call of a service, with what it takes to repeat it.
pub(super) struct Call<S, Q, P, J, R, O> {
    service: S,
    /// What the next attempt sends.
    request: Option<Q>,
    settings: Arc<Settings<P, J, R, O>>,
}

impl<S, Q, P, J, R, O> Call<S, Q, P, J, R, O> {
    /// `service` is ready for the first attempt.
    pub(super) const fn new(service: S, request: Q, settings: Arc<Settings<P, J, R, O>>) -> Self {
        Self {
            service,
            request: Some(request),
            settings,
        }
    }
}

impl<S, Q, P, J, R, O> Call<S, Q, P, J, R, O>
where
    S: Service<Q> + Clone + Send + 'static,
    S::Response: Send + 'static,
    S::Error: Into<BoxError> + fmt::Display + Send + 'static,
    S::Future: Send + 'static,
    Q: Send + 'static,
    P: Plan + Send + Sync + 'static,
    J: Judge<S::Response, S::Error> + Send + Sync + 'static,
    R: Replay<Q> + Send + Sync + 'static,
    O: Observer + Send + Sync + 'static,
{
    fn start(mut self) -> State<S, Q, P, J, R, O> {
        let outer = nested::current();
        if self.settings.plan.needs_clock() || outer.deadline < Moment::FAR_FUTURE {
            let driven = Box::pin(self.drive(outer, None));
            return State::Driven { driven };
        }
        match self.next_request() {
            Some(request) => State::First {
                attempt: Unlimited::new(self.service.call(request)),
                call: Some(self),
                outer,
            },
            None => State::Start { call: None },
        }
    }

    /// The request to send now; a copy is kept for the next attempt if there can be one.
    fn next_request(&mut self) -> Option<Q> {
        let request = self.request.take()?;
        self.request = self.settings.replay.replay(&request);
        Some(request)
    }

    async fn drive(
        mut self,
        outer: Frame,
        first: First<Unwanted<S::Response, S::Error>>,
    ) -> Result<S::Response, BoxError> {
        let mut ready = match first {
            None => self.next_request(),
            Some(_) => None,
        };
        let settings = Arc::clone(&self.settings);
        let plan = Repeatable {
            plan: Arc::clone(&settings.plan),
            once: self.request.is_none(),
        };
        let retrier = Retrier {
            plan: &plan,
            classifier: Judged(&*settings.judge),
            observer: &*settings.observer,
        };
        let operation = |_| {
            let attempt = match ready.take() {
                Some(request) => Some(AttemptFuture::ready(&mut self.service, request)),
                None => self
                    .next_request()
                    .map(|request| AttemptFuture::waiting(self.service.clone(), request)),
            };
            let (judge, last) = (&*settings.judge, self.request.is_none() && !plan.once);
            async move {
                let Some(attempt) = attempt else {
                    return pending().await;
                };
                Unwanted::judge(attempt.await, judge).map_err(|unwanted| unwanted.last(last))
            }
        };
        settle(retrier.resume(outer, first, operation).await)
    }
}

/// What the caller gets: a response as it is, if the last attempt gave one, or else why there is none.
fn settle<T, E: Into<BoxError>>(result: Result<Result<T, E>, GaveUp<Unwanted<T, E>>>) -> Result<T, BoxError> {
    let ending = match result {
        Ok(wanted) => return wanted.map_err(Into::into),
        Err(gave_up) => gave_up.into_ending(),
    };
    match ending {
        Ending {
            last_error: Some(Unwanted::Response { response, .. }),
            timed_out: false,
            ..
        } => Ok(response),
        ending => Err(GaveUp::new(ending).map(Unwanted::into_cause).into()),
    }
}

impl<R, E> Unwanted<R, E> {
    /// There is no request left to send: this is the end, whatever the class.
    fn last(mut self, is_last: bool) -> Self {
        if is_last {
            let (Self::Response { class, .. } | Self::Error { class, .. }) = &mut self;
            *class = Class::Permanent;
        }
        self
    }

    fn into_cause(self) -> Cause
    where
        E: Into<BoxError>,
    {
        Cause(match self {
            Self::Response { description, .. } => description.into(),
            Self::Error { error, .. } => error.into(),
        })
    }
}

/// A plan for a request that may be one to be sent once only.
struct Repeatable<P> {
    plan: Arc<P>,
    once: bool,
}

impl<P: Plan> Plan for Repeatable<P> {
    type Session<'a>
        = P::Session<'a>
    where
        Self: 'a;

    fn needs_clock(&self) -> bool {
        self.plan.needs_clock()
    }

    fn start<'a>(&'a self, now: Moment, mut outer: Outer<'a>) -> P::Session<'a> {
        if self.once {
            outer.max_attempts = Some(1);
        }
        self.plan.start(now, outer)
    }

    fn shared_budget(&self) -> Option<&Arc<Budget>> {
        self.plan.shared_budget()
    }

    fn held_until(&self) -> Moment {
        self.plan.held_until()
    }
}
