use std::time::Duration;

use redeliver_policy::{Class, Conduct, Decision, Moment, Outer, Policy, Reset, Session, StopReason};

use crate::testing;

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
        entropy: u64,
    ) -> Decision {
        let mut session = self.session(policy);
        if let Some(Uptime { up_for, items }) = uptime {
            session.on_disconnect(reset, up_for, items);
            if session.streak() == 0 && reset != Reset::Never {
                *self = Self::new(now);
                session = self.session(policy);
            }
        }
        let decision = session.on_failure(now, class, entropy);
        self.failures = session.streak();
        self.previous_wait = session.previous_wait();
        decision
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use redeliver_policy::Jitter;

    use super::*;

    const JITTERS: [Jitter; 4] = [
        Jitter::None,
        Jitter::Full,
        Jitter::Decorrelated,
        Jitter::Proportional(0.1),
    ];

    fn a_class() -> impl Strategy<Value = Class> {
        prop_oneof![
            3 => Just(Class::Transient),
            1 => Just(Class::Unknown),
            1 => (0_u64..9).prop_map(|after| Class::throttled_for(Duration::from_secs(after))),
        ]
    }

    fn an_uptime() -> impl Strategy<Value = Option<(u64, u64)>> {
        proptest::option::of((0_u64..3_000, 0_u64..3))
    }

    proptest! {
        #[test]
        fn it_decides_as_one_session_that_never_ended_would(
            jitter in proptest::sample::select(&JITTERS[..]),
            max_attempts in proptest::option::of(1_u32..9),
            span in 0_u64..2_000,
            kind in 0_usize..4,
            losses in proptest::collection::vec((an_uptime(), a_class(), any::<u64>()), 1..30),
        ) {
            let ms = Duration::from_millis;
            let mut policy = Policy::exponential(ms(100), ms(5_000)).jitter(jitter);
            policy.max_attempts = max_attempts;
            let reset = [
                Reset::Never,
                Reset::AfterFirstItem,
                Reset::AfterUp(ms(span)),
                Reset::Decay(ms(span)),
            ][kind];
            let mut session = Session::new(&policy, Moment::ZERO);
            let mut outage = Outage::new(Moment::ZERO);
            for (index, (uptime, class, entropy)) in losses.into_iter().enumerate() {
                let now = Moment::from_millis(index as u64);
                let uptime = uptime.map(|(up, items)| Uptime { up_for: ms(up), items });
                if let Some(Uptime { up_for, items }) = uptime {
                    session.on_disconnect(reset, up_for, items);
                }
                let expected = session.on_failure(now, class, entropy);
                prop_assert_eq!(outage.lost(&policy, reset, uptime, now, class, entropy), expected);
                prop_assert_eq!(outage.failures, session.streak());
            }
        }
    }
}
