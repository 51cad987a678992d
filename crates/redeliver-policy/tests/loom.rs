//! Budget and breaker under the orders that two or three threads can take, with up to three preemptions; run with `--cfg loom`.
#![cfg(loom)]

use std::time::Duration;

use loom::{sync::Arc, thread};
use redeliver_policy::{Breaker, BreakerRule, BreakerState, Budget, BudgetRule, Class, Moment, Verdict};

/// Every order with up to three preemptions, which is where bugs are; all orders of three threads would take hours.
fn explore(scenario: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(scenario);
}

/// The results of `work` on `threads` threads at once, this one included.
fn at_once<T: Send + 'static>(threads: usize, work: impl Fn(usize) -> T + Send + Sync + 'static) -> Vec<T> {
    let work = Arc::new(work);
    let others: Vec<_> = (1..threads)
        .map(|index| {
            let work = Arc::clone(&work);
            thread::spawn(move || work(index))
        })
        .collect();
    let own = work(0);
    let joined = others
        .into_iter()
        .map(|other| other.join().expect("no thread panics"));
    std::iter::once(own).chain(joined).collect()
}

fn pays(budget: &Budget) -> bool {
    budget.withdraw(Moment::ZERO, Class::Transient)
}

#[test]
fn a_budget_is_never_overdrawn() {
    explore(|| {
        let budget = Arc::new(Budget::new(BudgetRule::ratio(1.0)));
        budget.deposit();
        budget.deposit();
        let shared = Arc::clone(&budget);
        let paid = at_once(3, move |_| pays(&shared));
        assert_eq!(paid.into_iter().filter(|paid| *paid).count(), 2);
        assert_eq!(budget.saved(), 0);
    });
}

#[test]
fn no_deposit_is_lost_below_the_cap() {
    explore(|| {
        let budget = Arc::new(Budget::new(BudgetRule::ratio(0.5).burst(3)));
        let shared = Arc::clone(&budget);
        at_once(3, move |_| {
            shared.deposit();
            shared.deposit();
        });
        assert_eq!(budget.saved(), 3);
        budget.deposit();
        assert_eq!(budget.saved(), 3, "the cap");
    });
}

#[test]
fn deposits_and_withdrawals_at_once_add_up() {
    explore(|| {
        let budget = Arc::new(Budget::new(BudgetRule::ratio(1.0)));
        budget.deposit();
        let shared = Arc::clone(&budget);
        let paid = at_once(3, move |index| match index {
            0 => {
                shared.deposit();
                0
            }
            _ => u64::from(pays(&shared)) + u64::from(pays(&shared)),
        });
        assert_eq!(paid.iter().sum::<u64>() + budget.saved(), 2);
    });
}

#[test]
fn the_floor_is_paid_out_once() {
    explore(|| {
        let budget = Arc::new(Budget::new(BudgetRule::ratio(0.0).floor_per_second(1)));
        let paid = at_once(3, move |_| pays(&budget));
        assert_eq!(paid.into_iter().filter(|paid| *paid).count(), 1);
    });
}

const RULE: BreakerRule = BreakerRule::DEFAULT
    .minimum_calls(1)
    .open_for(Duration::from_secs(1));
const HALF_OPEN: Moment = Moment::from_millis(1_000);

fn opened(rule: BreakerRule) -> Breaker {
    let breaker = Breaker::new(rule);
    let permit = breaker.admit(Moment::ZERO, 0).expect("closed");
    breaker.settle(Moment::ZERO, permit, Verdict::Failed);
    assert_eq!(breaker.state(Moment::ZERO), BreakerState::Open);
    breaker
}

#[test]
fn no_more_probes_than_allowed_are_out_at_once() {
    explore(|| {
        let breaker = Arc::new(opened(RULE.probes(2)));
        let shared = Arc::clone(&breaker);
        let permits = at_once(3, move |_| shared.admit(HALF_OPEN, 0).ok());
        let probes: Vec<_> = permits.into_iter().flatten().collect();
        assert_eq!(probes.len(), 2);
        for probe in probes {
            breaker.settle(HALF_OPEN, probe, Verdict::Healthy);
        }
        assert_eq!(breaker.state(HALF_OPEN), BreakerState::Closed);
    });
}

#[test]
fn failures_at_once_open_it_exactly_once() {
    explore(|| {
        let breaker = Arc::new(Breaker::new(RULE.minimum_calls(2)));
        let permits: Vec<_> = (0..3)
            .map(|_| loom::sync::Mutex::new(Some(breaker.admit(Moment::ZERO, 0).expect("closed"))))
            .collect();
        let shared = Arc::clone(&breaker);
        at_once(3, move |index| {
            let permit = permits[index].lock().expect("not poisoned").take();
            // The third verdict is from before the change: were it counted, the breaker would stay open for longer.
            let now = Moment::from_millis(index as u64 * 100);
            shared.settle(now, permit.expect("settled once"), Verdict::Failed);
        });
        let opened_by = (0..3u64)
            .map(|index| Moment::from_millis(index * 100 + 1_000))
            .find(|until| breaker.state(*until) == BreakerState::HalfOpen)
            .expect("half-open in the end");
        let before = Moment::from_nanos(opened_by.as_nanos() - 1);
        assert_eq!(breaker.state(before), BreakerState::Open);
        assert!(breaker.admit(opened_by, 0).is_ok());
        assert!(breaker.admit(opened_by, 0).is_err(), "one probe");
    });
}

#[test]
fn a_probe_that_fails_beside_one_that_succeeds_opens_it_again() {
    explore(|| {
        let breaker = Arc::new(opened(RULE.probes(2)));
        let shared = Arc::clone(&breaker);
        at_once(2, move |index| {
            let Ok(probe) = shared.admit(HALF_OPEN, 0) else {
                assert_eq!(index, 1, "two places, unless the other has failed by now");
                return;
            };
            let verdict = if index == 0 {
                Verdict::Failed
            } else {
                Verdict::Healthy
            };
            shared.settle(HALF_OPEN, probe, verdict);
        });
        assert_eq!(breaker.state(HALF_OPEN), BreakerState::Open);
    });
}
