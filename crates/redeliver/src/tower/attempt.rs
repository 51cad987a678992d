use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;
use tower_service::Service;

pin_project! {
    /// One call of a service, which waits first until the service is ready for it.
    #[project = AttemptProjection]
    pub(super) enum AttemptFuture<S, Q>
    where
        S: Service<Q>,
    {
        Waiting { service: S, request: Option<Q> },
        Called { #[pin] future: S::Future },
    }
}

impl<S: Service<Q>, Q> AttemptFuture<S, Q> {
    /// A call of a service that is ready for it.
    pub(super) fn ready(service: &mut S, request: Q) -> Self {
        Self::Called {
            future: service.call(request),
        }
    }

    /// A call of a service that may not be ready yet.
    pub(super) const fn waiting(service: S, request: Q) -> Self {
        Self::Waiting {
            service,
            request: Some(request),
        }
    }
}

impl<S: Service<Q>, Q> Future for AttemptFuture<S, Q> {
    type Output = Result<S::Response, S::Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let future = match self.as_mut().project() {
                AttemptProjection::Called { future } => return future.poll(context),
                AttemptProjection::Waiting { service, request } => {
                    ready!(service.poll_ready(context))?;
                    let Some(request) = request.take() else {
                        return Poll::Pending;
                    };
                    service.call(request)
                }
            };
            self.set(Self::Called { future });
        }
    }
}
