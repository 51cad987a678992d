//! What a program on a small processor does with the policy: if this builds, it needs neither `std` nor an operating system.

#![no_std]

use core::time::Duration;

use redeliver_policy::{
    BreakerCore, BreakerRule, Budget, BudgetRule, Class, Decision, Jitter, Moment, Policy, Session, Verdict,
    classify::by_text, http_date, retry_after,
};

const POLICY: Policy = Policy::exponential(Duration::from_millis(100), Duration::from_secs(10))
    .jitter(Jitter::Decorrelated)
    .deadline(Duration::from_secs(60));

/// A radio's uplink: one failure, and the wait before the next try in nanoseconds.
pub fn next_wait(
    budget: &Budget,
    breaker: &mut BreakerCore,
    error: &str,
    now: u64,
    entropy: u64,
) -> Option<u64> {
    let now = Moment::from_nanos(now);
    let permit = breaker.admit(now, entropy).ok()?;
    budget.deposit();
    breaker.settle(now, permit, Verdict::Failed);
    let mut session = Session::new(&POLICY, now).budget(budget);
    match session.on_failure(now, by_text(error), entropy) {
        Decision::Retry { after, .. } => u64::try_from(after.as_nanos()).ok(),
        Decision::Stop(_) => None,
    }
}

/// What the uplink begins with.
pub fn start() -> (Budget, BreakerCore) {
    (
        Budget::new(BudgetRule::FINAGLE),
        BreakerCore::new(BreakerRule::DEFAULT),
    )
}

/// A throttled answer's class, by its header.
pub fn throttled(header: &str, now: Duration) -> Class {
    let after = retry_after::parse(header, None, now);
    Class::Throttled {
        after: after.or_else(|| http_date::parse(header, now)),
    }
}
