use std::future::Pending;

use crate::{ByTrait, Observer, Plan, Traced, observe::Both};

/// A policy or pipeline with what else a call may need: another classification, an observer, a way to end it early.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use redeliver::{Class, prelude::*};
///
/// let result = Policy::INTERACTIVE
///     .retrier()
///     .classify(|error: &String| if error.contains("busy") { Class::Transient } else { Class::Permanent })
///     .run(async |_| Err::<(), _>("no such account".to_owned()))
///     .await;
/// assert_eq!(result.unwrap_err().attempts, 1);
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is run until `run` or `run_blocking`"]
pub struct Retrier<'a, P, C = ByTrait, O = Traced, U = Pending<()>> {
    pub(crate) plan: &'a P,
    pub(crate) classifier: C,
    pub(crate) observer: O,
    pub(crate) until: U,
}

impl<'a, P: Plan> Retrier<'a, P> {
    pub(crate) fn new(plan: &'a P) -> Self {
        Self {
            plan,
            classifier: ByTrait,
            observer: Traced,
            until: std::future::pending(),
        }
    }
}

impl<'a, P: Plan, C, O, U> Retrier<'a, P, C, O, U> {
    /// Classifies errors with this closure instead of their own [`Classify`](crate::Classify).
    pub fn classify<F>(self, classifier: F) -> Retrier<'a, P, F, O, U> {
        let Self {
            plan,
            observer,
            until,
            ..
        } = self;
        Retrier {
            plan,
            classifier,
            observer,
            until,
        }
    }

    /// Also tells this observer what happens.
    pub fn observe<N: Observer>(self, observer: N) -> Retrier<'a, P, C, Both<O, N>, U> {
        let Self {
            plan,
            classifier,
            observer: first,
            until,
        } = self;
        Retrier {
            plan,
            classifier,
            observer: Both(first, observer),
            until,
        }
    }

    /// Gives up as soon as this future is ready, be it in the middle of an attempt or of a wait.
    ///
    /// Dropping the whole future does the same without a result. A blocking run does not look at it.
    pub fn until<F: Future<Output = ()>>(self, until: F) -> Retrier<'a, P, C, O, F> {
        let Self {
            plan,
            classifier,
            observer,
            ..
        } = self;
        Retrier {
            plan,
            classifier,
            observer,
            until,
        }
    }
}
