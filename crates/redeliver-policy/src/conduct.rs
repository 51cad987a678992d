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

    /// When the whole call must have ended; [`Moment::FAR_FUTURE`] if nothing says so.
    fn deadline(&self) -> Moment;

    /// The retry policy that decides.
    fn policy(&self) -> &Policy;
}

impl Conduct for Session<'_> {
    fn begin(&mut self, now: Moment, _entropy: u64) -> Result<Option<Duration>, StopReason> {
        // A wait that overslept may end past the deadline although it was not to.
        if now >= Session::deadline(self) {
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
