//! Laws of the budget, against sums in whole numbers.

use std::time::Duration;

use proptest::prelude::*;
use redeliver_policy::{Budget, BudgetRule, Class, Moment};

use crate::strategies::{any_class, any_float};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Whoever withdraws whenever he can gets exactly the ratio, whatever the order of calls and retries.
    #[test]
    fn the_ratio_is_exact_for_any_ratio_and_order(millionths in 0u64..3_000_000, calls in prop::collection::vec(any::<bool>(), 1..600)) {
        let budget = Budget::new(BudgetRule::ratio(millionths as f64 / 1e6).burst(u32::MAX));
        let (mut deposits, mut paid) = (0, 0);
        for deposit in calls {
            if deposit {
                budget.deposit();
                deposits += 1;
            } else if budget.withdraw(Moment::ZERO, Class::Transient) {
                paid += 1;
            }
            prop_assert!(paid <= deposits * millionths / 1_000_000);
        }
        // One try more than can be paid, so that a budget without a bottom fails instead of hanging.
        let left = 3 * deposits + 1;
        paid += (0..left).filter(|_| budget.withdraw(Moment::ZERO, Class::Transient)).count() as u64;
        prop_assert_eq!(paid, deposits * millionths / 1_000_000);
    }

    #[test]
    fn no_more_than_the_burst_is_saved(ratio in 0.0..5.0f64, burst in 0u32..50, deposits in 0u32..500) {
        let budget = Budget::new(BudgetRule::ratio(ratio).burst(burst));
        (0..deposits).for_each(|_| budget.deposit());
        let most = u64::from(burst).max(ratio as u64);
        prop_assert!(budget.saved() <= most);
        let paid = (0..1_000).filter(|_| budget.withdraw(Moment::ZERO, Class::Transient)).count() as u64;
        prop_assert!(paid <= most);
    }

    /// Over any span, the floor allows its rate for the span and one second more.
    #[test]
    fn the_floor_is_kept_over_every_span(floor in 0u32..200, steps in prop::collection::vec(0u64..500_000_000, 1..300)) {
        let budget = Budget::new(BudgetRule::ratio(0.0).floor_per_second(floor));
        let (mut now, mut paid) = (Moment::from_nanos(5), 0u64);
        for step in &steps {
            now = now.plus(Duration::from_nanos(*step));
            paid += (0..=floor).filter(|_| budget.withdraw(now, Class::Transient)).count() as u64;
        }
        let span = now.since(Moment::from_nanos(5)).as_nanos() as f64 / 1e9;
        let most = f64::from(floor) * (span + 1.0);
        prop_assert!(paid as f64 <= most + most * 1e-6 + 1e-9, "{paid} paid, {most} allowed");
        let first_second = u64::from(floor);
        prop_assert!(paid >= first_second);
    }

    #[test]
    fn nonsense_never_panics_and_never_makes_a_retry_free(
        ratio in any_float(), floor in any::<u32>(), burst in any::<u32>(), unknown in any_float(), throttled in any_float(),
        steps in prop::collection::vec((any::<u64>(), any_class(), any::<bool>()), 1..50),
    ) {
        let budget = Budget::new(BudgetRule::ratio(ratio).floor_per_second(floor).burst(burst).costs(unknown, throttled));
        for (now, class, deposit) in steps {
            if deposit {
                budget.deposit();
            } else {
                let before = budget.saved();
                let paid = budget.withdraw(Moment::from_nanos(now), class);
                prop_assert!(budget.saved() <= before);
                let free = |cost: f64| (0.0..1e-6).contains(&cost);
                let costs_nothing = matches!(class, Class::Unknown if free(unknown))
                    || matches!(class, Class::Throttled { .. } if free(throttled));
                prop_assert!(!paid || floor > 0 || ratio > 0.0 || costs_nothing);
            }
        }
    }
}
