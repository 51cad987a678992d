use std::{fmt, sync::Arc, time::Duration};

use redeliver_policy::{Class, StopReason};

use crate::clock;

/// An attempt failed, and another follows after a wait.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct RetryEvent<'a> {
    /// The attempt that failed, from 1.
    pub attempt: u32,
    /// The most attempts that the policy allows, if it limits them.
    pub max: Option<u32>,
    /// The wait before the next attempt.
    pub delay: Duration,
    /// What the failure means.
    pub class: Class,
    /// The kind of error in a word or two.
    pub error_type: &'a str,
    /// The error itself.
    pub error: &'a dyn fmt::Display,
}

/// The call is given up.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct StopEvent<'a> {
    /// Attempts that were made.
    pub attempts: u32,
    /// Why no further one is.
    pub reason: StopReason,
    /// The kind of the last error; empty if no attempt ended with one.
    pub error_type: &'a str,
    /// The last error.
    pub error: &'a dyn fmt::Display,
}

/// Sees what happens to a call. Every method does nothing unless you write it.
pub trait Observer {
    /// An attempt failed, and another follows.
    fn on_retry(&self, event: &RetryEvent<'_>) {
        let _ = event;
    }

    /// The attempt of this number is ready, but held back for so long, because another call was told to stay away.
    fn on_hold(&self, attempt: u32, wait: Duration) {
        let _ = (attempt, wait);
    }

    /// The call is given up.
    fn on_stop(&self, event: &StopEvent<'_>) {
        let _ = event;
    }

    /// The call succeeded after at least one failure. A first try that works is not told, so that it costs nothing.
    fn on_recovery(&self, attempts: u32) {
        let _ = attempts;
    }
}

impl<O: Observer + ?Sized> Observer for &O {
    fn on_retry(&self, event: &RetryEvent<'_>) {
        (**self).on_retry(event);
    }

    fn on_hold(&self, attempt: u32, wait: Duration) {
        (**self).on_hold(attempt, wait);
    }

    fn on_stop(&self, event: &StopEvent<'_>) {
        (**self).on_stop(event);
    }

    fn on_recovery(&self, attempts: u32) {
        (**self).on_recovery(attempts);
    }
}

impl<O: Observer + ?Sized> Observer for Arc<O> {
    fn on_retry(&self, event: &RetryEvent<'_>) {
        (**self).on_retry(event);
    }

    fn on_hold(&self, attempt: u32, wait: Duration) {
        (**self).on_hold(attempt, wait);
    }

    fn on_stop(&self, event: &StopEvent<'_>) {
        (**self).on_stop(event);
    }

    fn on_recovery(&self, attempts: u32) {
        (**self).on_recovery(attempts);
    }
}

/// The observer that every call has: one `tracing` event named `retry_attempt` per retry, with the fields `attempt`, `max`,
/// `delay_ms`, `error_type`, `error_message` and `timestamp`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traced;

impl Observer for Traced {
    fn on_retry(&self, event: &RetryEvent<'_>) {
        tracing::event!(
            name: "retry_attempt",
            target: "redeliver",
            tracing::Level::WARN,
            attempt = event.attempt,
            max = event.max,
            delay_ms = u64::try_from(event.delay.as_millis()).unwrap_or(u64::MAX),
            error_type = event.error_type,
            error_message = %event.error,
            timestamp = %clock::timestamp(clock::wall()),
            "retry_attempt"
        );
    }
}

/// Two observers, both told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Both<A, B>(pub A, pub B);

impl<A: Observer, B: Observer> Observer for Both<A, B> {
    fn on_retry(&self, event: &RetryEvent<'_>) {
        self.0.on_retry(event);
        self.1.on_retry(event);
    }

    fn on_hold(&self, attempt: u32, wait: Duration) {
        self.0.on_hold(attempt, wait);
        self.1.on_hold(attempt, wait);
    }

    fn on_stop(&self, event: &StopEvent<'_>) {
        self.0.on_stop(event);
        self.1.on_stop(event);
    }

    fn on_recovery(&self, attempts: u32) {
        self.0.on_recovery(attempts);
        self.1.on_recovery(attempts);
    }
}
