use core::time::Duration;

use crate::{
    Class, Moment,
    atomic::{AtomicU64, Ordering},
    moment::nanos,
};

/// How many retries a budget allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BudgetRule {
    /// Retries allowed for each call, such as 0.1 for one retry to ten calls. Exact to a millionth.
    pub ratio: f64,
    /// Retries a second that are always allowed, so that a caller with little traffic can retry at all.
    pub floor_per_second: u32,
    /// The most retries that can be saved up while all goes well.
    pub burst: u32,
    /// What a retry costs after a failure that may have executed; 1 is a plain retry.
    pub unknown_cost: f64,
    /// What a retry costs after a throttled call; 1 is a plain retry.
    pub throttled_cost: f64,
}

impl BudgetRule {
    /// One retry to five calls, ten a second always: the numbers of Finagle, and of Google's SRE book near enough.
    pub const FINAGLE: Self = Self::ratio(0.2).floor_per_second(10);

    /// Retries as a share of calls, with no floor, and saving up to 100 retries.
    #[must_use]
    pub const fn ratio(ratio: f64) -> Self {
        Self {
            ratio,
            floor_per_second: 0,
            burst: 100,
            unknown_cost: 1.0,
            throttled_cost: 1.0,
        }
    }

    /// Retries a second that are always allowed.
    #[must_use]
    pub const fn floor_per_second(mut self, retries: u32) -> Self {
        self.floor_per_second = retries;
        self
    }

    /// The most retries that can be saved up.
    #[must_use]
    pub const fn burst(mut self, retries: u32) -> Self {
        self.burst = retries;
        self
    }

    /// What a retry costs after a failure that may have executed, and after a throttled call.
    #[must_use]
    pub const fn costs(mut self, unknown: f64, throttled: f64) -> Self {
        self.unknown_cost = unknown;
        self.throttled_cost = throttled;
        self
    }
}

/// One retry, in the units that balances are kept in.
const RETRY: u64 = 1_000_000;
/// The floor may be used this far ahead, so that retries need not come evenly spaced.
const FLOOR_AHEAD: u64 = 1_000_000_000;

/// Retries that many callers share, so that together they never send more than a share on top of their calls.
///
/// A retry storm is the sum of many reasonable policies. A budget bounds the sum: with a ratio of 0.1, a server that fails every
/// call sees 1.1 times its load, however many attempts each caller's policy allows.
#[derive(Debug)]
pub struct Budget {
    rule: BudgetRule,
    deposit: u64,
    /// Saved-up units.
    balance: AtomicU64,
    /// When the floor's allowance, spent retry by retry, will have grown back, in nanoseconds.
    floor_spent_until: AtomicU64,
}

/// What one retry was paid with.
#[derive(Debug)]
pub(crate) enum Payment {
    /// Units of the balance.
    Saved(u64),
    /// Nanoseconds of the floor.
    Floor(u64),
}

impl Budget {
    /// A budget with nothing saved up yet.
    #[must_use]
    #[cfg(not(loom))]
    pub const fn new(rule: BudgetRule) -> Self {
        let deposit = units(rule.ratio);
        Self {
            rule,
            deposit,
            balance: AtomicU64::new(0),
            floor_spent_until: AtomicU64::new(0),
        }
    }

    /// A budget with nothing saved up yet.
    #[must_use]
    #[cfg(loom)]
    pub fn new(rule: BudgetRule) -> Self {
        let deposit = units(rule.ratio);
        Self {
            rule,
            deposit,
            balance: AtomicU64::new(0),
            floor_spent_until: AtomicU64::new(0),
        }
    }

    /// A call begins, and earns its share of a retry.
    pub fn deposit(&self) {
        self.save(self.deposit);
    }

    fn save(&self, units: u64) {
        let most = u64::from(self.rule.burst).saturating_mul(RETRY).max(self.deposit);
        let earn = |balance: u64| Some(balance.saturating_add(units).min(most));
        // Relaxed: the balance guards nothing but itself.
        let _ = self
            .balance
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, earn);
    }

    /// Pays for one retry after a failure of this class, if there is enough.
    #[must_use]
    pub fn withdraw(&self, now: Moment, class: Class) -> bool {
        self.pay(now, class).is_some()
    }

    /// Pays as [`withdraw`](Budget::withdraw) does; what was paid can be given back.
    pub(crate) fn pay(&self, now: Moment, class: Class) -> Option<Payment> {
        let cost = match class {
            Class::Unknown => cost(self.rule.unknown_cost),
            Class::Throttled { .. } => cost(self.rule.throttled_cost),
            Class::Transient | Class::Permanent => RETRY,
        };
        let spend = |balance: u64| balance.checked_sub(cost);
        match self
            .balance
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend)
        {
            Ok(_) => Some(Payment::Saved(cost)),
            Err(_) => self.pay_from_floor(now, cost).map(Payment::Floor),
        }
    }

    /// Gives back what was paid for a retry that is not made.
    #[expect(clippy::needless_pass_by_value, reason = "a payment is given back once")]
    pub(crate) fn give_back(&self, payment: Payment) {
        match payment {
            Payment::Saved(cost) => self.save(cost),
            Payment::Floor(price) => {
                let unspend = |until: u64| Some(until.saturating_sub(price));
                let _ = self
                    .floor_spent_until
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, unspend);
            }
        }
    }

    /// What the floor took for it, if it had enough.
    fn pay_from_floor(&self, now: Moment, cost: u64) -> Option<u64> {
        let each = FLOOR_AHEAD.checked_div(u64::from(self.rule.floor_per_second))?;
        let price = u128::from(each) * u128::from(cost) / u128::from(RETRY);
        // Dearer than all that the floor can hold: never paid. It also keeps the price within 64 bits.
        let price = u64::try_from(price).ok().filter(|price| *price <= FLOOR_AHEAD)?;
        let now = now.as_nanos();
        let spend = |until: u64| {
            // Spent further ahead than can be spent means that the clock was set back: it must not cost the floor that long.
            let stepped_back = until > now.saturating_add(2 * FLOOR_AHEAD);
            let next = if stepped_back { now } else { until.max(now) }.checked_add(price)?;
            (next <= now.saturating_add(FLOOR_AHEAD)).then_some(next)
        };
        self.floor_spent_until
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend)
            .ok()
            .map(|_| price)
    }

    /// Whole retries saved up at the moment, the floor aside.
    #[must_use]
    pub fn saved(&self) -> u64 {
        self.balance.load(Ordering::Relaxed) / RETRY
    }

    /// The rule it keeps.
    #[must_use]
    pub const fn rule(&self) -> &BudgetRule {
        &self.rule
    }
}

/// A number of retries in units, to the nearest; a negative or NaN number is none, as the cast saturates.
const fn units(retries: f64) -> u64 {
    (retries * RETRY as f64 + 0.5) as u64
}

/// What a retry costs, in units. A cost that is none (negative, NaN) must not make retries free: it is a plain retry's.
const fn cost(retries: f64) -> u64 {
    if retries >= 0.0 { units(retries) } else { RETRY }
}

/// Keeps the compiler honest about the one conversion the floor relies on.
const _: () = assert!(nanos(Duration::from_secs(1)) == FLOOR_AHEAD);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_exact() {
        for (ratio, allowed) in [(0.1, 1_000), (0.2, 2_000), (0.333_333, 3_333), (1.0, 10_000)] {
            let budget = Budget::new(BudgetRule::ratio(ratio));
            let mut retries = 0;
            for _ in 0..10_000 {
                budget.deposit();
                retries += u32::from(budget.withdraw(Moment::ZERO, Class::Transient));
            }
            assert_eq!(retries, allowed, "{ratio}");
        }
    }

    #[test]
    fn savings_end_at_the_burst() {
        let budget = Budget::new(BudgetRule::ratio(1.0).burst(3));
        (0..50).for_each(|_| budget.deposit());
        let paid = (0..50)
            .filter(|_| budget.withdraw(Moment::ZERO, Class::Transient))
            .count();
        assert_eq!(paid, 3);
    }

    #[test]
    fn the_floor_serves_low_traffic_and_no_more() {
        let budget = Budget::new(BudgetRule::ratio(0.0).floor_per_second(10));
        let at = |millis| {
            (0..99)
                .filter(|_| budget.withdraw(Moment::from_millis(millis), Class::Transient))
                .count()
        };
        assert_eq!(at(0), 10);
        assert_eq!(at(50), 0);
        assert_eq!(at(300), 3);
        assert_eq!(at(60_000), 10);
    }

    #[test]
    fn a_nonsense_cost_is_a_plain_retry_and_a_huge_one_is_never_paid() {
        for nonsense in [f64::NAN, -1.0, f64::NEG_INFINITY] {
            let budget = Budget::new(BudgetRule::ratio(1.0).costs(nonsense, nonsense));
            budget.deposit();
            assert!(budget.withdraw(Moment::ZERO, Class::Unknown));
            assert!(!budget.withdraw(Moment::ZERO, Class::THROTTLED), "{nonsense}");
        }
        // 2^64 floor prices later, a product cut to 64 bits would be small again.
        for huge in [f64::INFINITY, 1e300, 18_446_744_074.0, 1e6] {
            let budget = Budget::new(BudgetRule::ratio(1.0).floor_per_second(1).costs(huge, huge));
            budget.deposit();
            assert!(!budget.withdraw(Moment::ZERO, Class::Unknown), "{huge}");
        }
    }

    #[test]
    fn a_clock_set_back_does_not_starve_the_floor() {
        let budget = Budget::new(BudgetRule::ratio(0.0).floor_per_second(2));
        let paid = |millis| {
            (0..9)
                .filter(|_| budget.withdraw(Moment::from_millis(millis), Class::Transient))
                .count()
        };
        assert_eq!(paid(3_600_000), 2);
        assert_eq!(paid(10_000), 2);
        assert_eq!(paid(10_500), 1);
    }

    #[test]
    fn an_unknown_outcome_may_cost_more() {
        let budget = Budget::new(BudgetRule::ratio(1.0).costs(2.0, 0.5));
        (0..4).for_each(|_| budget.deposit());
        assert!(budget.withdraw(Moment::ZERO, Class::Unknown));
        assert_eq!(budget.saved(), 2);
        assert!((0..4).all(|_| budget.withdraw(Moment::ZERO, Class::THROTTLED)));
        assert!(!budget.withdraw(Moment::ZERO, Class::THROTTLED));
    }
}
