use std::{any::Any, fmt, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use redeliver::{Class, Classify, address::printable};

use super::{Delivery, Destination, Outcome};
use crate::{DeadReason, Message};

/// A destination that is a closure of yours.
///
/// It is given each message and says what came of it: an [`Outcome`], or a `Result` whose error knows its [`Class`]. A panic inside is
/// a transient failure of this one attempt.
///
/// ```
/// use redeliver_outbox::destination::{Handler, Route};
///
/// let print = Handler::new(|delivery| async move {
///     if delivery.message.payload.is_empty() {
///         return Err("busy, try again");
///     }
///     Ok(())
/// });
/// let route = Route::to(print);
/// # assert_eq!(route.destination.kind(), "handler");
/// ```
#[derive(Clone)]
pub struct Handler(Arc<Handle>);

type Handle = dyn Fn(OwnedDelivery) -> BoxFuture<'static, Outcome> + Send + Sync;

/// What a [`Handler`] is given: a delivery with a message of its own, which may go wherever the closure takes it. (To read a large payload
/// without a copy, implement [`Destination`] instead.)
#[derive(Clone, Debug)]
pub struct OwnedDelivery {
    /// The message.
    pub message: Message,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// How long it may take; the engine cuts it off a little later.
    pub timeout: Duration,
}

/// What a [`Handler`] may return.
pub trait IntoOutcome {
    /// The same as an outcome.
    fn into_outcome(self) -> Outcome;
}

impl IntoOutcome for Outcome {
    fn into_outcome(self) -> Outcome {
        self
    }
}

impl<E: Classify + fmt::Display> IntoOutcome for Result<(), E> {
    fn into_outcome(self) -> Outcome {
        let Err(error) = self else {
            return Outcome::Delivered;
        };
        let reason = error.to_string();
        match error.class() {
            Class::Permanent => Outcome::Reject {
                kind: DeadReason::Permanent,
                reason,
            },
            Class::Unknown => Outcome::Ambiguous { reason, asked: None },
            class => Outcome::Retry { class, reason },
        }
    }
}

impl Handler {
    /// Every message goes to `handle`. Dropping the future that it returns ends the attempt.
    pub fn new<F, A>(handle: F) -> Self
    where
        F: Fn(OwnedDelivery) -> A + Send + Sync + 'static,
        A: Future<Output: IntoOutcome> + Send + 'static,
    {
        Self(Arc::new(move |delivery| {
            handle(delivery).map(IntoOutcome::into_outcome).boxed()
        }))
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handler")
    }
}

impl Destination for Handler {
    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Outcome> {
        let attempt = async move {
            let owned = OwnedDelivery {
                message: delivery.message.clone(),
                attempt: delivery.attempt,
                timeout: delivery.timeout,
            };
            (self.0)(owned).await
        };
        // What the closure left half done is the closure's own: nothing of ours is seen again after a panic.
        let caught = AssertUnwindSafe(attempt).catch_unwind();
        caught
            .map(|ended| ended.unwrap_or_else(|panic| panicked(panic.as_ref())))
            .boxed()
    }

    fn kind(&self) -> &'static str {
        "handler"
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Outcome {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a text");
    Outcome::Retry {
        class: Class::Transient,
        reason: format!("the handler panicked: {}", printable(text)),
    }
}

#[cfg(test)]
mod tests {
    use redeliver::Classified;

    use super::*;

    #[test]
    fn an_error_becomes_the_outcome_of_its_class() {
        let outcome = |class| Err(Classified::new(class, "no")).into_outcome();
        let reason = "no".to_owned();
        assert_eq!(
            outcome(Class::Unknown),
            Outcome::Ambiguous {
                reason: reason.clone(),
                asked: None,
            }
        );
        let kind = DeadReason::Permanent;
        assert_eq!(
            outcome(Class::Permanent),
            Outcome::Reject {
                kind,
                reason: reason.clone()
            }
        );
        let class = Class::throttled_for(Duration::from_secs(3));
        assert_eq!(outcome(class), Outcome::Retry { class, reason });
        assert_eq!(Ok::<(), &str>(()).into_outcome(), Outcome::Delivered);
    }
}
