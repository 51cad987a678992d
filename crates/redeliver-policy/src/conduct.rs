use core::time::Duration;

use crate::{Class, Decision, Moment, Policy, Session, StopReason};

/// How an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What the error says about a retry.
    pub class: Class,
    /// Whether the attempt was cut by its timeout, and there is no error of its own.
    pub timed_out: bool,
}

impl Failure {
    /// The attempt took longer than it may. Whether it executed is anybody's guess.
    pub const TIMED_OUT: Self = Self {
        class: Class::Unknown,
        timed_out: true,
    };
}

impl From<Class> for Failure {
    fn from(class: Class) -> Self {
        Self {
            class,
            timed_out: false,
        }
    }
}

/// What a driver of attempts asks before and after each: a [`Session`], or a whole pipeline around one.
pub trait Conduct {
    /// An attempt is about to begin: the time it may take, or why it may not.
    ///
    /// # Errors
    /// The reason to give up instead.
    fn begin(&mut self, now: Moment, entropy: u64) -> Result<Option<Duration>, StopReason>;

    /// The attempt succeeded, and with it the call.
    fn on_success(&mut self, now: Moment);

    /// A loop inside the attempt has retried and has nothing to show for it: the failure told next is the last, whatever its class,
    /// because one more attempt would multiply theirs.
    fn retried_inside(&mut self);

    /// The attempt failed: what now?
    fn on_failure(&mut self, now: Moment, failure: Failure, entropy: u64) -> Decision;

    /// The other side asked all its callers to stay away until `until`: how long the attempt that is about to begin waits for that,
    /// spread like any `Retry-After` so that they do not all come back at once, or why it is not made.
    ///
    /// Ask again after the wait: somebody may have been told a later moment meanwhile. No attempt is counted for it.
    ///
    /// # Errors
    /// The wait is longer than the policy obeys, or would end past the deadline.
    fn hold(&self, now: Moment, until: Moment, entropy: u64) -> Result<Duration, StopReason> {
        let asked = until.since(now);
        if asked.is_zero() {
            return Ok(Duration::ZERO);
        }
        if asked > self.policy().retry_after_max {
            return Err(StopReason::RetryAfter);
        }
        let wait = self.policy().hinted_wait(asked, entropy);
        if now.plus(wait) >= self.deadline() {
            return Err(StopReason::Deadline);
        }
        Ok(wait)
    }

    /// When the whole call must have ended; [`Moment::FAR_FUTURE`] if nothing says so.
    fn deadline(&self) -> Moment;

    /// The retry policy that decides.
    fn policy(&self) -> &Policy;
}

impl Conduct for Session<'_> {
    fn begin(&mut self, now: Moment, _entropy: u64) -> Result<Option<Duration>, StopReason> {
        // A wait that overslept may end past the deadline although it was not to.
        if self.is_over(now) {
            return Err(StopReason::Deadline);
        }
        Ok(self.attempt_timeout(now))
    }

    fn on_success(&mut self, _now: Moment) {}

    fn retried_inside(&mut self) {
        Session::retried_inside(self);
    }

    fn on_failure(&mut self, now: Moment, failure: Failure, entropy: u64) -> Decision {
        Session::on_failure(self, now, failure.class, entropy)
    }

    fn deadline(&self) -> Moment {
        Session::deadline(self)
    }

    fn policy(&self) -> &Policy {
        Session::policy(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Jitter;

    #[test]
    fn a_hold_is_waited_within_the_deadline_and_the_longest_obeyed() {
        const fn secs(secs: u64) -> Duration {
            Duration::from_secs(secs)
        }
        let policy = Policy::fixed(secs(1))
            .jitter(Jitter::None)
            .deadline(secs(10))
            .retry_after_max(secs(20));
        let session = Session::new(&policy, Moment::ZERO);
        let held = |until| session.hold(Moment::from_millis(1_000), Moment::from_millis(until), 0);
        assert_eq!(held(500), Ok(Duration::ZERO));
        assert_eq!(held(4_000), Ok(secs(3)));
        assert_eq!(held(10_000), Err(StopReason::Deadline));
        assert_eq!(held(21_001), Err(StopReason::RetryAfter));
        assert_eq!(session.failed(), 0);
    }

    #[test]
    fn a_hold_is_spread_and_never_cut() {
        let policy = Policy::fixed(Duration::from_millis(100));
        let session = Session::new(&policy, Moment::ZERO);
        let held = |entropy| session.hold(Moment::ZERO, Moment::from_millis(5_000), entropy);
        assert_eq!(held(0), Ok(Duration::from_secs(5)));
        assert!(held(u64::MAX).is_ok_and(|wait| wait > Duration::from_secs(5)));
    }
}
