//! Laws of a session: what it decides, for any policy and any history.

use std::time::Duration;

use proptest::prelude::*;
use redeliver_policy::{
    Budget, BudgetRule, Class, Conduct, Decision, Jitter, Moment, Outer, Reset, Session, StopReason,
};

use crate::strategies::{any_class, any_duration, any_entropy, any_policy, sound_policy};

/// Failures with the time that each took, entropy included.
fn history() -> impl Strategy<Value = Vec<(u64, Class, u64)>> {
    let step = prop_oneof![0u64..2_000_000_000, any::<u64>()];
    prop::collection::vec((step, any_class(), any_entropy()), 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_decision_keeps_every_limit(
        policy in any_policy(), start in any::<u64>(), history in history(), idempotent in any::<bool>(),
    ) {
        let mut session = Session::new(&policy, Moment::from_nanos(start)).idempotent(idempotent);
        let deadline = session.deadline();
        let mut now = Moment::from_nanos(start);
        for (number, (took, class, entropy)) in (1u32..).zip(history) {
            now = now.plus(Duration::from_nanos(took));
            let decision = session.on_failure(now, class, entropy);
            prop_assert_eq!(session.failed(), number);
            let Decision::Retry { after, attempt_timeout } = decision else {
                break;
            };
            prop_assert_ne!(class, Class::Permanent);
            prop_assert!(idempotent || class != Class::Unknown);
            prop_assert!(policy.max_attempts.is_none_or(|most| number < most.max(1)));
            let next = now.plus(after);
            prop_assert!(next < deadline, "{next:?} is past {deadline:?}");
            if let Class::Throttled { after: Some(hint) } = class {
                prop_assert!(after >= hint, "{after:?} is shorter than {hint:?}");
                prop_assert!(hint <= policy.retry_after_max || hint.is_zero());
            }
            prop_assert_eq!(attempt_timeout, session.attempt_timeout(next));
            if let Some(timeout) = attempt_timeout {
                prop_assert!(policy.attempt_timeout.is_none_or(|most| timeout <= most));
                prop_assert!(deadline == Moment::FAR_FUTURE || next.plus(timeout) <= deadline);
                prop_assert!(deadline == Moment::FAR_FUTURE || timeout <= deadline.since(next));
            }
            prop_assert_eq!(session.begin(next, 0), Ok(attempt_timeout));
            now = next;
        }
    }

    #[test]
    fn a_hint_is_obeyed_or_ends_the_call(policy in sound_policy(), hint in any_duration(), entropy in any_entropy()) {
        prop_assume!(policy.max_attempts != Some(1));
        let mut session = Session::new(&policy, Moment::ZERO);
        match session.on_failure(Moment::ZERO, Class::throttled_for(hint), entropy) {
            Decision::Retry { after, .. } => {
                prop_assert!(after >= hint && (hint <= policy.retry_after_max || hint.is_zero()));
                let spread = (hint / 10).max(policy.backoff.base()).min(policy.max_delay);
                let jittered = if hint.is_zero() { policy.bounds(0).1 } else { hint.saturating_add(spread) };
                prop_assert!(after <= jittered);
                if policy.jitter == Jitter::None && !hint.is_zero() {
                    prop_assert_eq!(after, hint);
                }
            }
            Decision::Stop(StopReason::RetryAfter) => prop_assert!(hint > policy.retry_after_max),
            Decision::Stop(reason) => prop_assert_eq!(reason, StopReason::Deadline),
        }
    }

    #[test]
    fn what_surrounds_a_call_only_ever_narrows_it(
        policy in any_policy(), deadline in any::<u64>(), most in prop::option::of(any::<u32>()), start in any::<u64>(),
    ) {
        let now = Moment::from_nanos(start);
        let own = Session::new(&policy, now);
        let mut inside = own.clone().inside(Outer { deadline: Moment::from_nanos(deadline), budget: None, max_attempts: most });
        prop_assert_eq!(inside.deadline(), own.deadline().min(Moment::from_nanos(deadline)));
        if let (Decision::Retry { .. }, Some(most)) = (inside.on_failure(now, Class::Transient, 0), most) {
            prop_assert!(most > 1);
        }
    }

    #[test]
    fn a_session_never_outspends_its_budget(
        policy in sound_policy(), ratio in 0u32..2_000_000, calls in 1u64..40,
        history in prop::collection::vec((any_class(), any_entropy()), 1..20),
    ) {
        let policy = policy.idempotent(true).unlimited_attempts();
        let budget = Budget::new(BudgetRule::ratio(f64::from(ratio) / 1e6).burst(u32::MAX));
        let mut retries = 0;
        for call in 1..=calls {
            budget.deposit();
            let mut session = Session::new(&policy, Moment::ZERO).budget(&budget);
            for (class, entropy) in &history {
                match session.on_failure(Moment::ZERO, *class, *entropy) {
                    Decision::Retry { .. } => retries += 1,
                    Decision::Stop(_) => break,
                }
            }
            prop_assert!(retries <= call * u64::from(ratio) / 1_000_000, "{retries} retries of {call} calls at {ratio}");
        }
    }

    #[test]
    fn a_clock_that_steps_back_breaks_no_limit(policy in any_policy(), times in prop::collection::vec(any::<u64>(), 1..10)) {
        let mut session = Session::new(&policy, Moment::from_nanos(u64::MAX / 2));
        let deadline = session.deadline();
        for time in times {
            let now = Moment::from_nanos(time);
            if let Decision::Retry { after, attempt_timeout } = session.on_failure(now, Class::Transient, time) {
                prop_assert!(now.plus(after) < deadline);
                let left = deadline.since(now.plus(after));
                prop_assert!(deadline == Moment::FAR_FUTURE || attempt_timeout.is_some_and(|timeout| timeout <= left));
            }
        }
    }

    #[test]
    fn a_reset_forgives_and_never_adds(
        policy in sound_policy(), failures in 0u32..50, up in any_duration(), items in any::<u64>(), span in any_duration(), kind in 0..4,
    ) {
        let policy = policy.unlimited_attempts().idempotent(true);
        let reset = match kind {
            0 => Reset::Never,
            1 => Reset::AfterFirstItem,
            2 => Reset::AfterUp(span),
            _ => Reset::Decay(span),
        };
        let mut session = Session::new(&policy, Moment::ZERO).resumed(failures, Duration::ZERO);
        session.on_disconnect(reset, up, items);
        let streak = session.streak();
        prop_assert!(streak <= failures);
        prop_assert_eq!(session.failed(), failures);
        if let Decision::Retry { after, .. } = session.on_failure(Moment::ZERO, Class::Transient, u64::MAX) {
            prop_assert!(after <= policy.bounds(streak).1);
        }
    }

    #[test]
    fn a_resumed_session_goes_on_where_the_row_stopped(policy in any_policy(), failed in any::<u32>(), previous in any_duration()) {
        let mut session = Session::new(&policy, Moment::ZERO).resumed(failed, previous);
        if let Decision::Retry { after, .. } = session.on_failure(Moment::ZERO, Class::Transient, 7) {
            prop_assert_eq!(after, policy.wait(failed, previous, 7));
        }
    }
}
