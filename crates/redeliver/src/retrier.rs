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
#[must_use = "nothing is run until `run`, `run_mut` or `run_blocking`"]
pub struct Retrier<'a, P, C = ByTrait, O = Traced> {
    pub(crate) plan: &'a P,
    pub(crate) classifier: C,
    pub(crate) observer: O,
}

impl<'a, P: Plan> Retrier<'a, P> {
    #[inline]
    pub(crate) const fn new(plan: &'a P) -> Self {
        Self {
            plan,
            classifier: ByTrait,
            observer: Traced,
        }
    }
}

impl<'a, P: Plan, C, O> Retrier<'a, P, C, O> {
    /// Classifies errors with this closure instead of their own [`Classify`](crate::Classify).
    pub fn classify<F>(self, classifier: F) -> Retrier<'a, P, F, O> {
        let Self { plan, observer, .. } = self;
        Retrier {
            plan,
            classifier,
            observer,
        }
    }

    /// Also tells this observer what happens.
    pub fn observe<N: Observer>(self, observer: N) -> Retrier<'a, P, C, Both<O, N>> {
        let Self {
            plan,
            classifier,
            observer: first,
        } = self;
        Retrier {
            plan,
            classifier,
            observer: Both(first, observer),
        }
    }

    /// Gives up as soon as this future is ready, be it in the middle of an attempt or of a wait.
    ///
    /// Dropping the whole future does the same without a result.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// use redeliver::{StopReason, prelude::*};
    ///
    /// let shutdown = std::future::ready(());
    /// let result = Policy::STANDARD.retrier().until(shutdown).run(async |_| Ok::<_, String>(1)).await;
    /// assert_eq!(result.unwrap_err().reason, StopReason::Cancelled);
    /// # }
    /// ```
    pub const fn until<U: Future<Output = ()>>(self, until: U) -> Until<'a, P, C, O, U> {
        Until { retrier: self, until }
    }
}

/// A [`Retrier`] that gives up when a future is ready; see [`Retrier::until`].
#[derive(Clone, Debug)]
#[must_use = "nothing is run until `run`"]
pub struct Until<'a, P, C, O, U> {
    pub(crate) retrier: Retrier<'a, P, C, O>,
    pub(crate) until: U,
}
