use std::{fmt, time::Duration};

use redeliver_policy::{Conduct, Decision, Failure, Moment, StopReason, duration::display};

use crate::{
    Classifier, Ending, GaveUp, Observer, RetryEvent, StopEvent, clock, entropy,
    nested::{self, Frame},
};

/// How an attempt ended without a value.
pub(crate) enum Ended<E> {
    /// With an error of its own, and perhaps after an inner loop had given up.
    Failed(E, Frame),
    /// By its timeout, and perhaps in the middle of an inner loop's retries.
    TimedOut(Duration, Frame),
}

/// What the drivers keep between attempts; the deciding is the session's.
pub(crate) struct Progress<E> {
    attempts: u32,
    started: Option<Moment>,
    last_error: Option<E>,
    /// The time after which the last attempt was cut, if it was.
    timed_out: Option<Duration>,
}

impl<E: fmt::Display> Progress<E> {
    pub(crate) const fn new(started: Option<Moment>) -> Self {
        Self {
            attempts: 0,
            started,
            last_error: None,
            timed_out: None,
        }
    }

    /// An attempt begins; its number.
    pub(crate) fn begin(&mut self) -> u32 {
        self.attempts = self.attempts.saturating_add(1);
        self.timed_out = None;
        self.attempts
    }

    /// Attempts that have begun.
    pub(crate) const fn attempts(&self) -> u32 {
        self.attempts
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
        let (failure, frame) = match ended {
            Ended::Failed(error, frame) => {
                let failure = Failure::from(classifier.class(&error));
                self.last_error = Some(error);
                (failure, frame)
            }
            Ended::TimedOut(after, frame) => {
                self.timed_out = Some(after);
                (Failure::TIMED_OUT, frame)
            }
        };
        if frame.retried_inside {
            session.retried_inside();
        }
        match session.on_failure(now, failure, entropy::draw()) {
            Decision::Retry { after, .. } => {
                // Whoever cuts this loop short from outside must not take it for one that has not retried.
                nested::report(true);
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
                self.described(classifier, event);
                Ok(after)
            }
            Decision::Stop(reason) => Err(self.stop(reason, classifier, observer)),
        }
    }

    /// The end.
    pub(crate) fn stop(
        &mut self,
        reason: StopReason,
        classifier: &impl Classifier<E>,
        observer: &impl Observer,
    ) -> GaveUp<E> {
        let attempts = self.attempts;
        self.described(classifier, |error_type, error| {
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
            timed_out: self.timed_out.is_some(),
        })
    }

    /// Tells the kind and the text of how the last attempt ended.
    fn described(&self, classifier: &impl Classifier<E>, tell: impl FnOnce(&str, &dyn fmt::Display)) {
        match (self.timed_out, &self.last_error) {
            (Some(timeout), _) => tell(
                "Timeout",
                &format_args!("the attempt took longer than {}", display(timeout)),
            ),
            (None, Some(error)) => tell(classifier.kind(error), error),
            (None, None) if self.attempts == 0 => tell("", &"no attempt was made"),
            (None, None) => tell("", &"the attempt did not end by itself"),
        }
    }
}
