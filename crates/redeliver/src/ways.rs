//! The ways to start a call: on the policy, on the operation, or as a loop of one's own.

use std::{cell::Cell, fmt, rc::Rc};

use redeliver_policy::{Class, Classify, Conduct, Decision, Failure, StopReason};

use crate::{Attempt, ByTrait, GaveUp, Plan, Retrier, Traced, clock, entropy, nested, run::surroundings};

/// `run`, `run_blocking` and `attempts` on a [`Policy`](crate::Policy) or a [`Pipeline`](crate::Pipeline).
pub trait Run: Plan + Sized {
    /// Runs an async operation until it succeeds or the policy gives up.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use redeliver::prelude::*;
    ///
    /// let order = String::from("order 42");
    /// // The closure may borrow what is around it, in a spawned task too: nothing is cloned.
    /// let fetched = Policy::STANDARD.run(async |_attempt| {
    ///     Ok::<_, std::io::Error>(order.len())
    /// }).await?;
    /// assert_eq!(fetched, order.len());
    /// # Ok(()) }
    /// ```
    ///
    /// A closure that changes what it has borrowed is for [`run_mut`](Run::run_mut).
    ///
    /// # Errors
    /// [`GaveUp`], with the last real error and the reason.
    #[inline]
    fn run<T, E, F, A>(&self, operation: F) -> impl Future<Output = Result<T, GaveUp<E>>>
    where
        F: FnMut(Attempt) -> A,
        A: Future<Output = Result<T, E>>,
        E: Classify + fmt::Display,
    {
        self.retrier().run(operation)
    }

    /// Runs an async operation that changes what it has borrowed or owns.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use redeliver::prelude::*;
    ///
    /// let mut fetched = Vec::new();
    /// Policy::STANDARD.run_mut(async |_attempt| {
    ///     fetched.push("order 42");
    ///     Ok::<_, std::io::Error>(())
    /// }).await?;
    /// assert_eq!(fetched.len(), 1);
    /// # Ok(()) }
    /// ```
    ///
    /// In a task that may move between threads (`tokio::spawn`, an axum handler) the closure must own what it changes
    /// (`async move |attempt| …`): for one that borrows from the task, today's compiler cannot see that the future is `Send`.
    ///
    /// # Errors
    /// [`GaveUp`], with the last real error and the reason.
    #[inline]
    fn run_mut<T, E, F>(&self, operation: F) -> impl Future<Output = Result<T, GaveUp<E>>>
    where
        F: AsyncFnMut(Attempt) -> Result<T, E>,
        E: Classify + fmt::Display,
    {
        self.retrier().run_mut(operation)
    }

    /// Runs a blocking operation until it succeeds or the policy gives up.
    ///
    /// ```
    /// use redeliver::prelude::*;
    ///
    /// let text = Policy::INTERACTIVE.run_blocking(|_| std::fs::read_to_string("Cargo.toml")).unwrap();
    /// assert!(text.contains("redeliver"));
    /// ```
    ///
    /// # Errors
    /// [`GaveUp`], with the last real error and the reason.
    fn run_blocking<T, E>(&self, operation: impl FnMut(Attempt) -> Result<T, E>) -> Result<T, GaveUp<E>>
    where
        E: Classify + fmt::Display,
    {
        self.retrier().run_blocking(operation)
    }

    /// Attempts for a loop of your own, which waits between them and ends when the policy gives up.
    ///
    /// ```
    /// use redeliver::prelude::*;
    ///
    /// # let mut lookups = ["busy", "busy", "42"].into_iter();
    /// # let _guard = redeliver::testing::start().enter();
    /// let mut answer = None;
    /// for attempt in Policy::INTERACTIVE.attempts() {
    ///     match lookups.next() {
    ///         Some("busy") => continue, // coming round again is a transient failure
    ///         Some(text) => { answer = Some(text); break }
    ///         None => attempt.failed(Class::Permanent), // says otherwise
    ///     }
    /// }
    /// assert_eq!(answer, Some("42"));
    /// ```
    fn attempts(&self) -> Attempts<'_, Self> {
        let now = clock::now();
        let outer = surroundings(nested::current(), None);
        Attempts {
            session: self.start(now, outer),
            begun: 0,
            class: Rc::default(),
            stopped: None,
        }
    }

    /// This policy or pipeline with another classification, an observer or a way to end early.
    #[inline]
    fn retrier(&self) -> Retrier<'_, Self, ByTrait, Traced> {
        Retrier::new(self)
    }
}

impl<P: Plan> Run for P {}

/// `operation.retry(&policy)` on any function or closure without arguments that gives a future.
pub trait RetryOperation<T, E, A: Future<Output = Result<T, E>>>: FnMut() -> A + Sized {
    /// Runs the operation until it succeeds or the policy gives up.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use redeliver::prelude::*;
    ///
    /// async fn fetch() -> Result<u32, std::io::Error> { Ok(42) }
    ///
    /// assert_eq!(fetch.retry(&Policy::STANDARD).await?, 42);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`GaveUp`], with the last real error and the reason.
    #[inline]
    fn retry<P: Plan>(mut self, plan: &P) -> impl Future<Output = Result<T, GaveUp<E>>>
    where
        E: Classify + fmt::Display,
    {
        Retrier::new(plan).run(move |_| self())
    }
}

impl<T, E, A: Future<Output = Result<T, E>>, F: FnMut() -> A> RetryOperation<T, E, A> for F {}

/// The attempts of a loop of your own; see [`Run::attempts`].
pub struct Attempts<'a, P: Plan + 'a> {
    session: P::Session<'a>,
    begun: u32,
    class: Rc<Cell<Class>>,
    stopped: Option<StopReason>,
}

/// One attempt of a loop of your own.
#[derive(Debug)]
pub struct LoopAttempt {
    /// 1 for the first.
    pub number: u32,
    class: Rc<Cell<Class>>,
}

impl LoopAttempt {
    /// Says what the failure of this attempt means; without it, that it was transient.
    pub fn failed(&self, class: Class) {
        self.class.set(class);
    }
}

impl<'a, P: Plan + 'a> Attempts<'a, P> {
    /// Why the attempts ended, once they have.
    #[must_use]
    pub const fn stopped(&self) -> Option<StopReason> {
        self.stopped
    }

    fn wait(&mut self) -> Result<(), StopReason> {
        if self.begun > 0 {
            let failure = Failure::from(self.class.replace(Class::Transient));
            match self.session.on_failure(clock::now(), failure, entropy::draw()) {
                Decision::Retry { after, .. } => clock::block(after),
                Decision::Stop(reason) => return Err(reason),
            }
        }
        self.session.begin(clock::now(), entropy::draw()).map(|_| ())
    }
}

impl<'a, P: Plan + 'a> Iterator for Attempts<'a, P> {
    type Item = LoopAttempt;

    fn next(&mut self) -> Option<LoopAttempt> {
        if self.stopped.is_some() {
            return None;
        }
        if let Err(reason) = self.wait() {
            self.stopped = Some(reason);
            return None;
        }
        self.begun = self.begun.saturating_add(1);
        Some(LoopAttempt {
            number: self.begun,
            class: Rc::clone(&self.class),
        })
    }
}
