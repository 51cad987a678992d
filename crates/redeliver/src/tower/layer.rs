use std::sync::Arc;

use tower_layer::Layer;

use super::{ByClone, Retry};
use crate::{Both, ByTrait, Observer, Plan, Policy, Traced};

/// Repeats a service's failed calls by a [`Policy`] or a [`Pipeline`](crate::Pipeline); see [the module](crate::tower).
#[derive(Debug)]
pub struct RetryLayer<P = Policy, J = ByTrait, R = ByClone, O = Traced> {
    pub(super) settings: Arc<Settings<P, J, R, O>>,
}

/// What every call of a layer's services shares.
#[derive(Debug)]
pub(super) struct Settings<P, J, R, O> {
    pub(super) plan: Arc<P>,
    pub(super) judge: Arc<J>,
    pub(super) replay: Arc<R>,
    pub(super) observer: Arc<O>,
}

impl<P: Plan> RetryLayer<P> {
    /// A layer with this policy or pipeline.
    pub fn new(plan: P) -> Self {
        Self::shared(Arc::new(plan))
    }

    /// A layer with a policy or pipeline that others use too.
    pub fn shared(plan: Arc<P>) -> Self {
        let settings = Arc::new(Settings {
            plan,
            judge: Arc::new(ByTrait),
            replay: Arc::new(ByClone),
            observer: Arc::new(Traced),
        });
        Self { settings }
    }
}

impl<P, J, R, O> RetryLayer<P, J, R, O> {
    /// Decides by this which results are failures, and of which class: a [`Judge`](super::Judge), or a closure over the result.
    ///
    /// ```
    /// use redeliver::{Class, Policy, tower::RetryLayer};
    ///
    /// struct Response { status: u16 }
    ///
    /// let layer = RetryLayer::new(Policy::STANDARD).judge(|result: &Result<Response, std::io::Error>| match result {
    ///     Ok(response) if response.status == 503 => Some(Class::Transient),
    ///     Ok(_) => None,
    ///     Err(_) => Some(Class::Unknown),
    /// });
    /// # let _ = layer;
    /// ```
    #[must_use]
    pub fn judge<N>(self, judge: N) -> RetryLayer<P, N, R, O> {
        let (plan, _, replay, observer) = self.parts();
        RetryLayer::of(plan, Arc::new(judge), replay, observer)
    }

    /// Copies requests by this: a [`Replay`](super::Replay), or a closure that gives `None` for a request that can be sent once only.
    #[must_use]
    pub fn replay<N>(self, replay: N) -> RetryLayer<P, J, N, O> {
        let (plan, judge, _, observer) = self.parts();
        RetryLayer::of(plan, judge, Arc::new(replay), observer)
    }

    /// Also tells this observer what happens.
    #[must_use]
    pub fn observe<N: Observer>(self, observer: N) -> RetryLayer<P, J, R, Both<Arc<O>, N>> {
        let (plan, judge, replay, first) = self.parts();
        RetryLayer::of(plan, judge, replay, Arc::new(Both(first, observer)))
    }

    fn of(plan: Arc<P>, judge: Arc<J>, replay: Arc<R>, observer: Arc<O>) -> Self {
        let settings = Arc::new(Settings {
            plan,
            judge,
            replay,
            observer,
        });
        Self { settings }
    }

    fn parts(&self) -> (Arc<P>, Arc<J>, Arc<R>, Arc<O>) {
        let Settings {
            plan,
            judge,
            replay,
            observer,
        } = &*self.settings;
        (plan.clone(), judge.clone(), replay.clone(), observer.clone())
    }
}

impl<P, J, R, O> Clone for RetryLayer<P, J, R, O> {
    fn clone(&self) -> Self {
        Self {
            settings: Arc::clone(&self.settings),
        }
    }
}

impl<S, P, J, R, O> Layer<S> for RetryLayer<P, J, R, O> {
    type Service = Retry<S, P, J, R, O>;

    fn layer(&self, inner: S) -> Self::Service {
        Retry::new(inner, Arc::clone(&self.settings))
    }
}
