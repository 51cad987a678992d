use std::{
    fmt, mem,
    sync::Arc,
    task::{Context, Poll},
};

use tower_service::Service;

use super::{BoxError, Judge, Replay, ResponseFuture, future::Call, layer::Settings};
use crate::{ByTrait, Observer, Plan, Policy, Traced, tower::ByClone};

/// A service whose failed calls are repeated; made by [`RetryLayer`](super::RetryLayer).
#[derive(Debug)]
pub struct Retry<S, P = Policy, J = ByTrait, R = ByClone, O = Traced> {
    inner: S,
    settings: Arc<Settings<P, J, R, O>>,
}

impl<S, P, J, R, O> Retry<S, P, J, R, O> {
    pub(super) const fn new(inner: S, settings: Arc<Settings<P, J, R, O>>) -> Self {
        Self { inner, settings }
    }

    /// The service inside.
    pub const fn get_ref(&self) -> &S {
        &self.inner
    }

    /// The service inside, to change.
    pub const fn get_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// The service inside, without retries.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S: Clone, P, J, R, O> Clone for Retry<S, P, J, R, O> {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone(), Arc::clone(&self.settings))
    }
}

impl<S, Q, P, J, R, O> Service<Q> for Retry<S, P, J, R, O>
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
    type Response = S::Response;
    type Error = BoxError;
    type Future = ResponseFuture<S, Q, P, J, R, O>;

    /// Ready when the service inside is. Its error is passed on as it is: there is no request yet to repeat.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Q) -> Self::Future {
        // The service that `poll_ready` made ready goes with the call; a clone of it is not ready.
        let clone = self.inner.clone();
        let ready = mem::replace(&mut self.inner, clone);
        ResponseFuture::new(Call::new(ready, request, Arc::clone(&self.settings)))
    }
}
