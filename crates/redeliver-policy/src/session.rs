use core::time::Duration;

use crate::{Budget, Class, Moment, Policy, Reset, StopReason, moment::nanos};

/// What to do after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Wait, then try again.
    Retry {
        /// How long to wait.
        after: Duration,
        /// The time that the next attempt may take, if it is limited.
        attempt_timeout: Option<Duration>,
    },
    /// Give up.
    Stop(StopReason),
}

/// What surrounds a call: the limits of the call that it is made in.
#[derive(Clone, Copy, Debug)]
pub struct Outer<'a> {
    /// When the outer call must have ended.
    pub deadline: Moment,
    /// The budget that the outer call pays its retries from; inner retries are paid from it too.
    pub budget: Option<&'a Budget>,
    /// A limit on attempts from outside, as a test sets it.
    pub max_attempts: Option<u32>,
}

impl Outer<'_> {
    /// Nothing surrounds the call.
    pub const NONE: Self = Self {
        deadline: Moment::FAR_FUTURE,
        budget: None,
        max_attempts: None,
    };
}

/// One call's way through its attempts, without a clock, a timer or a source of chance of its own.
///
/// Whoever drives it says what happened and when, and brings 64 random bits; the session says what to do. Every front
/// end (async, blocking, tower, streams, the relay, the simulators) drives this one, so they cannot disagree.
///
/// ```
/// use core::time::Duration;
/// use redeliver_policy::{Class, Decision, Moment, Policy, Session, StopReason};
///
/// let policy = Policy::fixed(Duration::from_secs(1)).jitter(redeliver_policy::Jitter::None).max_attempts(2);
/// let mut session = Session::new(&policy, Moment::ZERO);
/// let retry = Decision::Retry { after: Duration::from_secs(1), attempt_timeout: None };
/// assert_eq!(session.on_failure(Moment::from_millis(3), Class::Transient, 42), retry);
/// assert_eq!(session.on_failure(Moment::from_millis(9), Class::Transient, 42), Decision::Stop(StopReason::Attempts));
/// ```
#[derive(Clone, Debug)]
pub struct Session<'a> {
    policy: &'a Policy,
    budget: Option<&'a Budget>,
    outer_budget: Option<&'a Budget>,
    max_attempts: Option<u32>,
    /// Attempts that have failed, in all.
    failed: u32,
    /// Failures since the count last started again; the backoff follows it.
    streak: u32,
    previous_wait: u64,
    deadline: Moment,
    idempotent: bool,
    retried_inside: bool,
}

impl<'a> Session<'a> {
    /// A session whose first attempt begins now.
    ///
    /// Where the policy has no deadline, `now` does not matter: a driver may start without reading its clock.
    #[inline]
    #[must_use]
    pub const fn new(policy: &'a Policy, now: Moment) -> Self {
        let deadline = match policy.deadline {
            Some(deadline) => now.plus(deadline),
            None => Moment::FAR_FUTURE,
        };
        Self {
            policy,
            budget: None,
            outer_budget: None,
            max_attempts: policy.max_attempts,
            failed: 0,
            streak: 0,
            previous_wait: 0,
            deadline,
            idempotent: policy.idempotent,
            retried_inside: false,
        }
    }

    /// Goes on with a count from elsewhere: a row that says how often it was attempted, and how long it last waited.
    #[must_use]
    pub const fn resumed(mut self, failed: u32, previous_wait: Duration) -> Self {
        self.failed = failed;
        self.streak = failed;
        self.previous_wait = nanos(previous_wait);
        self
    }

    /// Keeps to what surrounds the call: an outer call's deadline and budget.
    #[must_use]
    pub const fn inside(mut self, outer: Outer<'a>) -> Self {
        self.outer_budget = outer.budget;
        if let Some(most) = outer.max_attempts {
            self.max_attempts = match self.max_attempts {
                Some(own) if own < most => Some(own),
                _ => Some(most),
            };
        }
        self.within(outer.deadline)
    }

    /// Ends no later than `deadline`.
    #[must_use]
    pub const fn within(mut self, deadline: Moment) -> Self {
        if deadline.as_nanos() < self.deadline.as_nanos() {
            self.deadline = deadline;
        }
        self
    }

    /// Pays for each retry from this budget.
    #[must_use]
    pub const fn budget(mut self, budget: &'a Budget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Overrides the policy's word on whether a failure that may have executed may be repeated.
    #[must_use]
    pub const fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = idempotent;
        self
    }

    /// The attempt that just failed with `class`: what now?
    pub fn on_failure(&mut self, now: Moment, class: Class, entropy: u64) -> Decision {
        self.failed = self.failed.saturating_add(1);
        let streak = self.streak;
        self.streak = self.streak.saturating_add(1);

        let hint = match class {
            Class::Permanent => return Decision::Stop(StopReason::Permanent),
            Class::Unknown if !self.idempotent => return Decision::Stop(StopReason::UnknownOutcome),
            // "Come back in zero seconds" is no guidance, and obeying it to the letter is a hot loop.
            Class::Throttled { after } => after.filter(|after| !after.is_zero()),
            Class::Transient | Class::Unknown => None,
        };
        if self.max_attempts.is_some_and(|most| self.streak >= most) {
            return Decision::Stop(StopReason::Attempts);
        }
        let after = match hint {
            Some(hint) if hint > self.policy.retry_after_max => {
                return Decision::Stop(StopReason::RetryAfter);
            }
            Some(hint) => self.policy.hinted_wait(hint, entropy),
            None => self
                .policy
                .wait(streak, Duration::from_nanos(self.previous_wait), entropy),
        };
        let next = now.plus(after);
        if next >= self.deadline {
            return Decision::Stop(StopReason::Deadline);
        }
        if self.retried_inside {
            return Decision::Stop(StopReason::Nested);
        }
        // Last, so that only a retry that will be made is paid for.
        if !self.pay(now, class) {
            return Decision::Stop(StopReason::Budget);
        }
        if hint.is_none() {
            self.previous_wait = nanos(after);
        }
        Decision::Retry {
            after,
            attempt_timeout: self.attempt_timeout(next),
        }
    }

    /// A loop inside the attempt has retried and has nothing to show for it: no failure is followed by a retry any more.
    pub const fn retried_inside(&mut self) {
        self.retried_inside = true;
    }

    fn pay(&self, now: Moment, class: Class) -> bool {
        // One budget around and inside is one payment.
        let outer = self
            .outer_budget
            .filter(|outer| !self.budget.is_some_and(|own| core::ptr::eq(own, *outer)));
        let own = || self.budget.is_none_or(|budget| budget.withdraw(now, class));
        let Some(outer) = outer else {
            return own();
        };
        let Some(payment) = outer.pay(now, class) else {
            return false;
        };
        let paid = own();
        if !paid {
            outer.give_back(payment);
        }
        paid
    }

    /// Whether no attempt may begin any more.
    pub(crate) fn is_over(&self, now: Moment) -> bool {
        now >= self.deadline && self.deadline < Moment::FAR_FUTURE
    }

    /// The time that an attempt beginning at `now` may take: the policy's, or what is left of the deadline if that is less.
    #[must_use]
    pub fn attempt_timeout(&self, now: Moment) -> Option<Duration> {
        let left = (self.deadline < Moment::FAR_FUTURE).then(|| self.deadline.since(now));
        match (self.policy.attempt_timeout, left) {
            (Some(timeout), Some(left)) => Some(timeout.min(left)),
            (timeout, left) => timeout.or(left),
        }
    }

    /// A connection that had been up ended at `now`: whether the count starts again is `reset`'s to say.
    ///
    /// Call it before [`on_failure`](Session::on_failure), with the time since the connection was made and the number of items it gave.
    pub fn on_disconnect(&mut self, reset: Reset, up: Duration, items: u64) {
        self.streak = reset.streak_after(self.streak, up, items);
        // Decorrelated jitter grows from the previous wait: what is forgiven must not live on in it.
        self.previous_wait = match self.streak {
            0 => 0,
            streak => self.previous_wait.min(self.policy.longest_previous(streak)),
        };
    }

    /// Attempts that have failed so far.
    #[must_use]
    pub const fn failed(&self) -> u32 {
        self.failed
    }

    /// Failures since the count last started again.
    #[must_use]
    pub const fn streak(&self) -> u32 {
        self.streak
    }

    /// The last wait that was not a server's own, as [`resumed`](Session::resumed) takes it.
    #[must_use]
    pub const fn previous_wait(&self) -> Duration {
        Duration::from_nanos(self.previous_wait)
    }

    /// When the whole call must have ended; [`Moment::FAR_FUTURE`] if nothing says so.
    #[must_use]
    pub const fn deadline(&self) -> Moment {
        self.deadline
    }

    /// The policy that decides.
    #[must_use]
    pub const fn policy(&self) -> &'a Policy {
        self.policy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Jitter;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    const PLAIN: Policy = Policy::exponential(ms(100), ms(1_000)).jitter(Jitter::None);

    fn retry(after: u64) -> Decision {
        Decision::Retry {
            after: ms(after),
            attempt_timeout: None,
        }
    }

    #[test]
    fn waits_grow_and_attempts_run_out() {
        let mut session = Session::new(&PLAIN, Moment::ZERO);
        for expected in [100, 200, 400, 800] {
            assert_eq!(
                session.on_failure(Moment::ZERO, Class::Transient, 0),
                retry(expected)
            );
        }
        assert_eq!(
            session.on_failure(Moment::ZERO, Class::Transient, 0),
            Decision::Stop(StopReason::Attempts)
        );
        assert_eq!(session.failed(), 5);
    }

    #[test]
    fn a_hint_beats_the_backoff_within_its_limit() {
        let mut session = Session::new(&PLAIN, Moment::ZERO);
        let hint = |secs| Class::throttled_for(Duration::from_secs(secs));
        assert_eq!(session.on_failure(Moment::ZERO, hint(7), 0), retry(7_000));
        assert_eq!(session.on_failure(Moment::ZERO, hint(0), 0), retry(200));
        assert_eq!(
            session.on_failure(Moment::ZERO, hint(301), 0),
            Decision::Stop(StopReason::RetryAfter)
        );
    }

    #[test]
    fn a_wait_past_the_deadline_is_not_waited() {
        let policy = PLAIN.deadline(ms(1_000)).attempt_timeout(ms(600));
        let mut session = Session::new(&policy, Moment::ZERO);
        let at = Moment::from_millis;
        assert_eq!(session.attempt_timeout(at(0)), Some(ms(600)));
        let decision = session.on_failure(at(600), Class::Unknown, 0);
        assert_eq!(
            decision,
            Decision::Retry {
                after: ms(100),
                attempt_timeout: Some(ms(300))
            }
        );
        assert_eq!(
            session.on_failure(at(800), Class::Unknown, 0),
            Decision::Stop(StopReason::Deadline)
        );
    }

    #[test]
    fn an_unknown_outcome_is_repeated_only_if_that_does_no_harm() {
        let mut session = Session::new(&PLAIN, Moment::ZERO).idempotent(false);
        assert_eq!(session.on_failure(Moment::ZERO, Class::Transient, 0), retry(100));
        let decision = session.on_failure(Moment::ZERO, Class::Unknown, 0);
        assert_eq!(decision, Decision::Stop(StopReason::UnknownOutcome));
    }

    #[test]
    fn no_attempt_begins_past_the_deadline() {
        use crate::Conduct;
        let policy = PLAIN.deadline(ms(500));
        let mut session = Session::new(&policy, Moment::ZERO);
        let at = Moment::from_millis;
        assert_eq!(session.begin(at(499), 0), Ok(Some(ms(1))));
        assert_eq!(session.begin(at(500), 0), Err(StopReason::Deadline));
        assert_eq!(
            Session::new(&PLAIN, Moment::ZERO).begin(at(u64::MAX), 0),
            Ok(None)
        );
    }

    #[test]
    fn a_forgiven_failure_does_not_live_on_in_the_next_wait() {
        let policy = Policy::exponential(ms(100), ms(90_000))
            .jitter(Jitter::Decorrelated)
            .unlimited_attempts();
        let mut session = Session::new(&policy, Moment::ZERO);
        (0..6).for_each(|_| {
            let _ = session.on_failure(Moment::ZERO, Class::Transient, u64::MAX);
        });
        session.on_disconnect(Reset::Decay(ms(1_000)), ms(5_000), 0);
        assert_eq!(session.streak(), 1);
        let (_, longest) = policy.bounds(1);
        assert_eq!(
            session.on_failure(Moment::ZERO, Class::Transient, u64::MAX),
            retry(u64::try_from(longest.as_millis()).unwrap())
        );
    }

    #[test]
    fn a_retry_that_the_own_budget_refuses_costs_the_outer_one_nothing() {
        use crate::BudgetRule;
        let own = Budget::new(BudgetRule::ratio(0.0));
        let saved = Budget::new(BudgetRule::ratio(1.0));
        let floor = Budget::new(BudgetRule::ratio(0.0).floor_per_second(1));
        saved.deposit();
        for outer in [&saved, &floor] {
            let around = Outer {
                budget: Some(outer),
                ..Outer::NONE
            };
            let mut session = Session::new(&PLAIN, Moment::ZERO).inside(around).budget(&own);
            let decision = session.on_failure(Moment::ZERO, Class::Transient, 0);
            assert_eq!(decision, Decision::Stop(StopReason::Budget));
            assert!(outer.withdraw(Moment::ZERO, Class::Transient));
            assert!(!outer.withdraw(Moment::ZERO, Class::Transient));
        }
    }

    #[test]
    fn an_outer_deadline_only_ever_shortens() {
        let policy = PLAIN.deadline(ms(500));
        let outer = Session::new(&policy, Moment::ZERO).within(Moment::from_millis(900));
        assert_eq!(outer.deadline(), Moment::from_millis(500));
        assert_eq!(
            outer.within(Moment::from_millis(50)).deadline(),
            Moment::from_millis(50)
        );
    }
}
