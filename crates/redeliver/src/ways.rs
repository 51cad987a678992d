//! The ways to start a call: on the policy, on the operation, or as a loop of one's own.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redeliver_policy::{Budget, Class, Classify, Conduct, Decision, Failure, Moment, StopReason};

use crate::{
    Attempt, ByTrait, GaveUp, Observer as _, Plan, Retrier, RetryEvent, Traced, clock, entropy, nested,
    run::{is_exhausted, surroundings},
};

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
    /// A function that is async already needs no async block around it: `policy.run(|_| fetch(&order))`.
    /// A closure that changes what it has borrowed ("async closure does not implement `FnMut` because it captures state") is for
    /// [`run_mut`](Run::run_mut).
    ///
    /// Which errors are retried is theirs to say, by [`Classify`]: `io::Error` by its kind, `String` and boxed errors by what their text
    /// ([`by_text`](crate::classify::by_text)) or their cause says, where **what no table knows is permanent** and not retried. Say otherwise for one
    /// call with [`retrier().classify(…)`](Retrier::classify).
    ///
    /// Inside an attempt of another loop, this one keeps to that one's deadline and budget, and if it gives up after retrying, that one stops
    /// with [`StopReason::Nested`] instead of repeating it all. What an attempt spawns as a task of its own is not inside.
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

    /// Attempts for a loop of your own, which ends when the policy gives up. As an iterator it **holds the thread** while it waits; async code
    /// asks for [`next_async`](Attempts::next_async).
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
        let outer = nested::current();
        let own = self.shared_budget();
        // One budget around and inside is one payment.
        let outer_budget =
            nested::current_budget(outer).filter(|outer| !own.is_some_and(|own| Arc::ptr_eq(own, outer)));
        Attempts {
            session: self.start(clock::now(), surroundings(outer, None)),
            outer_budget,
            begun: 0,
            failed: Arc::default(),
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
    /// The budget of the loop around this one. The session has only what lives as long as the policy.
    outer_budget: Option<Arc<Budget>>,
    begun: u32,
    failed: Said,
    stopped: Option<StopReason>,
}

/// What an attempt said of its failure. Shared with the loop, and `Send` with it.
type Said = Arc<Mutex<Option<Class>>>;

fn said(failed: &Said) -> MutexGuard<'_, Option<Class>> {
    failed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One attempt of a loop of your own.
#[derive(Debug)]
pub struct LoopAttempt {
    /// 1 for the first.
    pub number: u32,
    failed: Said,
}

impl LoopAttempt {
    /// Says what the failure of this attempt means; without it, that it was transient.
    pub fn failed(&self, class: Class) {
        *said(&self.failed) = Some(class);
    }
}

impl<'a, P: Plan + 'a> Attempts<'a, P> {
    /// The next attempt, after its wait, without holding the thread; `next` in async code.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// use redeliver::prelude::*;
    ///
    /// # async fn look_up() -> Option<u32> { Some(42) }
    /// let mut answer = None;
    /// let mut attempts = Policy::INTERACTIVE.attempts();
    /// while let Some(_attempt) = attempts.next_async().await {
    ///     answer = look_up().await;
    ///     if answer.is_some() { break }
    /// }
    /// assert_eq!(answer, Some(42));
    /// # }
    /// ```
    pub async fn next_async(&mut self) -> Option<LoopAttempt> {
        let wait = self.wait()?;
        if !wait.is_zero() {
            clock::sleep(wait).await;
        }
        self.begin()
    }

    /// Why the attempts ended, once they have.
    #[must_use]
    pub const fn stopped(&self) -> Option<StopReason> {
        self.stopped
    }

    /// How long to wait for the next attempt; nothing if there is none.
    fn wait(&mut self) -> Option<Duration> {
        if self.stopped.is_some() {
            return None;
        }
        if self.begun == 0 {
            return Some(Duration::ZERO);
        }
        let (now, class) = (clock::now(), said(&self.failed).take().unwrap_or_default());
        let reason = match self
            .session
            .on_failure(now, Failure::from(class), entropy::draw())
        {
            Decision::Retry { .. } if !self.outer_pays(now, class) => StopReason::Budget,
            Decision::Retry { after, .. } => {
                nested::report(true);
                self.tell(class, after);
                return Some(after);
            }
            Decision::Stop(reason) => reason,
        };
        self.stop(reason)
    }

    fn begin(&mut self) -> Option<LoopAttempt> {
        if let Err(reason) = self.session.begin(clock::now(), entropy::draw()) {
            return self.stop(reason);
        }
        self.begun = self.begun.saturating_add(1);
        Some(LoopAttempt {
            number: self.begun,
            failed: Arc::clone(&self.failed),
        })
    }

    fn stop<T>(&mut self, reason: StopReason) -> Option<T> {
        nested::report(is_exhausted(reason, self.begun));
        self.stopped = Some(reason);
        None
    }

    /// A loop keeps its errors to itself, so that the class is all there is to tell.
    fn tell(&self, class: Class, delay: Duration) {
        Traced.on_retry(&RetryEvent {
            attempt: self.begun,
            max: self.session.policy().max_attempts,
            delay,
            class,
            error_type: class.as_str(),
            error: &"the attempt of a loop did not succeed",
        });
    }

    fn outer_pays(&self, now: Moment, class: Class) -> bool {
        self.outer_budget
            .as_ref()
            .is_none_or(|budget| budget.withdraw(now, class))
    }
}

impl<'a, P: Plan + 'a> Drop for Attempts<'a, P> {
    /// Leaving the loop is success, unless [`LoopAttempt::failed`] has said otherwise or the attempt panicked.
    fn drop(&mut self) {
        if self.stopped.is_none() {
            nested::report(false);
            if said(&self.failed).is_none() && !std::thread::panicking() {
                self.session.on_success(clock::now());
            }
        }
    }
}

impl<'a, P: Plan + 'a> Iterator for Attempts<'a, P> {
    type Item = LoopAttempt;

    /// The next attempt, after its wait, which holds the thread; [`next_async`](Attempts::next_async) does not.
    fn next(&mut self) -> Option<LoopAttempt> {
        let wait = self.wait()?;
        if !wait.is_zero() {
            clock::block(wait);
        }
        self.begin()
    }
}
