use std::{fmt, time::Duration};

use redeliver_policy::{Conduct, Decision, Failure, Moment, StopReason, duration::display};

use crate::{Classifier, Ending, GaveUp, Observer, RetryEvent, StopEvent, clock, entropy};

/// How an attempt ended without a value.
pub(crate) enum Ended<E> {
    /// With an error of its own, and perhaps after a loop inside it had given up.
    Failed(E, bool),
    /// By its timeout.
    TimedOut(Duration),
}

/// What the drivers keep between attempts; the deciding is the session's.
pub(crate) struct Progress<E> {
    attempts: u32,
    started: Option<Moment>,
    last_error: Option<E>,
    timed_out: bool,
}

impl<E: fmt::Display> Progress<E> {
    pub(crate) const fn new(started: Option<Moment>) -> Self {
        Self {
            attempts: 0,
            started,
            last_error: None,
            timed_out: false,
        }
    }

    /// An attempt begins; its number.
    pub(crate) fn begin(&mut self) -> u32 {
        self.attempts = self.attempts.saturating_add(1);
        self.attempts
    }

    /// Attempts that have begun.
    pub(crate) const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// The last attempt succeeded.
    pub(crate) fn recovered(&self, observer: &impl Observer) {
        if self.attempts > 1 {
            observer.on_recovery(self.attempts);
        }
    }

    /// The attempt ended without a value: the wait before the next, or the end.
    pub(crate) fn settle(
        &mut self,
        ended: Ended<E>,
        session: &mut impl Conduct,
        classifier: &impl Classifier<E>,
        observer: &impl Observer,
    ) -> Result<Duration, GaveUp<E>> {
        let now = clock::now();
        self.started.get_or_insert(now);
        let (failure, nested, timeout) = match ended {
            Ended::Failed(error, inner_gave_up) => {
                let failure = Failure::from(classifier.class(&error));
                self.last_error = Some(error);
                (failure, inner_gave_up, None)
            }
            Ended::TimedOut(after) => (Failure::TIMED_OUT, false, Some(after)),
        };
        self.timed_out = timeout.is_some();
        let decision = match session.on_failure(now, failure, entropy::draw()) {
            Decision::Retry { .. } if nested => Decision::Stop(StopReason::Nested),
            decision => decision,
        };
        match decision {
            Decision::Retry { after, .. } => {
                let event = |error_type: &str, error: &dyn fmt::Display| {
                    let max = session.policy().max_attempts;
                    let (attempt, class) = (self.attempts, failure.class);
                    observer.on_retry(&RetryEvent {
                        attempt,
                        max,
                        delay: after,
                        class,
                        error_type,
                        error,
                    });
                };
                self.described(timeout, classifier, event);
                Ok(after)
            }
            Decision::Stop(reason) => Err(self.stop(reason, timeout, classifier, observer)),
        }
    }

    /// The end.
    pub(crate) fn stop(
        &mut self,
        reason: StopReason,
        timeout: Option<Duration>,
        classifier: &impl Classifier<E>,
        observer: &impl Observer,
    ) -> GaveUp<E> {
        let attempts = self.attempts;
        self.described(timeout, classifier, |error_type, error| {
            observer.on_stop(&StopEvent {
                attempts,
                reason,
                error_type,
                error,
            });
        });
        GaveUp::new(Ending {
            attempts,
            elapsed: self
                .started
                .map_or(Duration::ZERO, |started| clock::now().since(started)),
            reason,
            last_error: self.last_error.take(),
            timed_out: self.timed_out,
        })
    }

    /// Tells the kind and the text of how the last attempt ended.
    fn described(
        &self,
        timeout: Option<Duration>,
        classifier: &impl Classifier<E>,
        tell: impl FnOnce(&str, &dyn fmt::Display),
    ) {
        match (timeout, &self.last_error) {
            (Some(timeout), _) => {
                tell(
                    "Timeout",
                    &format_args!("the attempt took longer than {}", display(timeout)),
                );
            }
            (None, Some(error)) => tell(classifier.kind(error), error),
            (None, None) => tell("", &"no attempt was made"),
        }
    }
}
