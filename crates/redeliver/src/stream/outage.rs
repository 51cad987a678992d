use std::time::Duration;

use redeliver_policy::{Class, Conduct, Decision, Moment, Outer, Policy, Reset, Session, StopReason};

use crate::{entropy, testing};

/// The session of a stream, kept between decisions as the three values that it goes on from: a session borrows its policy, and a stream
/// owns the policy that the other side may change on the way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outage {
    /// When the count last started again, which is where the policy's deadline counts from.
    pub(super) began: Moment,
    pub(super) failures: u32,
    previous_wait: Duration,
}

/// How a connection was up before it was lost.
#[derive(Clone, Copy)]
pub(super) struct Uptime {
    pub(super) up_for: Duration,
    pub(super) items: u64,
}

impl Outage {
    pub(super) const fn new(began: Moment) -> Self {
        Self {
            began,
            failures: 0,
            previous_wait: Duration::ZERO,
        }
    }

    fn session<'p>(&self, policy: &'p Policy) -> Session<'p> {
        let outer = Outer {
            max_attempts: testing::max_attempts(),
            ..Outer::NONE
        };
        // A new connection repeats no side effect, so a loss of unknown outcome is a loss like any other.
        Session::new(policy, self.began)
            .inside(outer)
            .idempotent(true)
            .resumed(self.failures, self.previous_wait)
    }

    /// A connection is about to be made: the time it may take, or why it is not.
    pub(super) fn begin(&self, policy: &Policy, now: Moment) -> Result<Option<Duration>, StopReason> {
        self.session(policy).begin(now, 0)
    }

    /// A connection was lost, or could not be made.
    pub(super) fn lost(
        &mut self,
        policy: &Policy,
        reset: Reset,
        uptime: Option<Uptime>,
        now: Moment,
        class: Class,
    ) -> Decision {
        let mut session = self.session(policy);
        if let Some(Uptime { up_for, items }) = uptime {
            session.on_disconnect(reset, up_for, items);
            if session.streak() == 0 && reset != Reset::Never {
                *self = Self::new(now);
                session = self.session(policy);
            }
        }
        let decision = session.on_failure(now, class, entropy::draw());
        self.failures = session.streak();
        self.previous_wait = session.previous_wait();
        decision
    }
}
