use core::time::Duration;

use super::{BreakerRule, window::Window};
use crate::{Moment, moment::nanos};

/// What the breaker lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum BreakerState {
    /// Everything.
    Closed,
    /// A growing share, after it closed.
    Recovering,
    /// Nothing.
    Open,
    /// Probes only.
    HalfOpen,
}

/// The right to make one call, to be handed back with its [`Verdict`].
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a permit that is not settled keeps its probe's place"]
pub struct Permit {
    /// A verdict on a call from before the last change of state says nothing about now.
    generation: u64,
}

/// How the call went, as far as the health of the other side goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The other side answered, be it with a refusal of this one request.
    Healthy,
    /// It did not, or said that it is in trouble.
    Failed,
    /// The call was given up for reasons that are not the other side's.
    Abandoned,
}

/// The breaker is open: no call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// How long until it may let a probe through.
    pub retry_after: Duration,
}

/// The breaker as pure state: time and chance are arguments. [`Breaker`](crate::Breaker) is the one to share.
#[derive(Clone, Debug)]
pub struct BreakerCore {
    rule: BreakerRule,
    generation: u64,
    phase: Phase,
    window: Window,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Closed { full_load_from: Moment },
    Open { until: Moment },
    HalfOpen { in_flight: u32, succeeded: u32 },
}

/// The share admitted at the first moment of a slow start, in parts of 2⁶⁴: a tenth.
const FIRST_SHARE: u64 = u64::MAX / 10;

impl BreakerCore {
    /// A closed breaker.
    #[must_use]
    pub fn new(rule: BreakerRule) -> Self {
        let window = Window::new(rule.window);
        Self {
            rule,
            generation: 0,
            phase: Phase::Closed {
                full_load_from: Moment::ZERO,
            },
            window,
        }
    }

    /// Asks to make a call.
    ///
    /// # Errors
    /// When it is open, when its probes are out already, or when the slow start's draw went against this call.
    pub fn admit(&mut self, now: Moment, entropy: u64) -> Result<Permit, Rejected> {
        self.follow_clock(now);
        if let Phase::Open { until } = self.phase
            && now >= until
        {
            self.enter(Phase::HalfOpen {
                in_flight: 0,
                succeeded: 0,
            });
        }
        match &mut self.phase {
            Phase::Closed { full_load_from } => {
                let full_load_from = *full_load_from;
                if now < full_load_from && entropy > self.admitted_share(now, full_load_from) {
                    return Err(Rejected {
                        retry_after: full_load_from.since(now),
                    });
                }
            }
            Phase::Open { until } => {
                return Err(Rejected {
                    retry_after: until.since(now),
                });
            }
            Phase::HalfOpen { in_flight, succeeded } => {
                if in_flight.saturating_add(*succeeded) >= self.rule.probes.max(1) {
                    return Err(Rejected {
                        retry_after: self.rule.open_for,
                    });
                }
                *in_flight += 1;
            }
        }
        Ok(Permit {
            generation: self.generation,
        })
    }

    /// Hands a permit back with how its call went.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a permit is spent when it is settled"
    )]
    pub fn settle(&mut self, now: Moment, permit: Permit, verdict: Verdict) {
        let Permit { generation } = permit;
        if generation != self.generation {
            return;
        }
        match (&mut self.phase, verdict) {
            (Phase::HalfOpen { in_flight, .. }, Verdict::Abandoned) => {
                // Saturating, as nothing keeps a caller from settling another breaker's permit here.
                *in_flight = in_flight.saturating_sub(1);
            }
            (_, Verdict::Abandoned) => {}
            (Phase::HalfOpen { in_flight, succeeded }, Verdict::Healthy) => {
                *in_flight = in_flight.saturating_sub(1);
                *succeeded = succeeded.saturating_add(1);
                if *succeeded >= self.rule.probes.max(1) {
                    self.window.clear();
                    self.enter(Phase::Closed {
                        full_load_from: now.plus(self.rule.slow_start),
                    });
                }
            }
            (Phase::HalfOpen { .. }, Verdict::Failed) => self.open(now),
            (Phase::Closed { .. }, verdict) => {
                self.window.record(now, verdict == Verdict::Failed);
                if verdict == Verdict::Failed && self.too_many_failures(now) {
                    self.open(now);
                }
            }
            // No permit of an open breaker's generation exists.
            (Phase::Open { .. }, _) => {}
        }
    }

    /// Opens it now, for a caller who knows more than the share of failures says.
    pub fn trip(&mut self, now: Moment) {
        self.open(now);
    }

    /// What it lets through at `now`.
    #[must_use]
    pub fn state(&self, now: Moment) -> BreakerState {
        match self.phase {
            Phase::Closed { full_load_from } if now < full_load_from => BreakerState::Recovering,
            Phase::Closed { .. } => BreakerState::Closed,
            Phase::Open { until } if now < until => BreakerState::Open,
            Phase::Open { .. } | Phase::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }

    /// When an open one lets a probe through; none if it is not open.
    #[must_use]
    pub const fn probes_at(&self) -> Option<Moment> {
        match self.phase {
            Phase::Open { until } => Some(until),
            Phase::Closed { .. } | Phase::HalfOpen { .. } => None,
        }
    }

    /// The rule it keeps.
    #[must_use]
    pub const fn rule(&self) -> &BreakerRule {
        &self.rule
    }

    fn too_many_failures(&mut self, now: Moment) -> bool {
        let total = self.window.total(now);
        total.calls >= self.rule.minimum_calls
            // Divided, not multiplied: 7 of 100 is 0.07, while 0.07 times 100 is a little more than 7.
            && f64::from(total.failures) / f64::from(total.calls.max(1)) >= self.rule.failure_rate
    }

    /// No span is longer by the caller's clock than the rule says, also if that clock was set back in the middle of it.
    fn follow_clock(&mut self, now: Moment) {
        let (end, span) = match &mut self.phase {
            Phase::Open { until } => (until, self.rule.open_for),
            Phase::Closed { full_load_from } => (full_load_from, self.rule.slow_start),
            Phase::HalfOpen { .. } => return,
        };
        *end = (*end).min(now.plus(span));
    }

    fn open(&mut self, now: Moment) {
        self.window.clear();
        self.enter(Phase::Open {
            until: now.plus(self.rule.open_for),
        });
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.generation += 1;
    }

    fn admitted_share(&self, now: Moment, full_load_from: Moment) -> u64 {
        let whole = u128::from(nanos(self.rule.slow_start)).max(1);
        let gone = whole - u128::from(nanos(full_load_from.since(now))).min(whole);
        FIRST_SHARE + (u128::from(u64::MAX - FIRST_SHARE) * gone / whole) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: BreakerRule = BreakerRule::DEFAULT.minimum_calls(4).probes(2);

    fn at(secs: u64) -> Moment {
        Moment::from_millis(secs * 1_000)
    }

    fn call(breaker: &mut BreakerCore, now: Moment, verdict: Verdict) -> bool {
        match breaker.admit(now, 0) {
            Ok(permit) => {
                breaker.settle(now, permit, verdict);
                true
            }
            Err(_) => false,
        }
    }

    fn opened(rule: BreakerRule) -> BreakerCore {
        let mut breaker = BreakerCore::new(rule);
        while breaker.state(at(1)) == BreakerState::Closed {
            assert!(call(&mut breaker, at(1), Verdict::Failed));
        }
        breaker
    }

    #[test]
    fn opens_at_the_rate_once_there_are_enough_calls() {
        let mut breaker = BreakerCore::new(RULE);
        for verdict in [Verdict::Failed, Verdict::Healthy, Verdict::Healthy] {
            assert!(call(&mut breaker, at(1), verdict));
        }
        assert_eq!(breaker.state(at(1)), BreakerState::Closed);
        assert!(call(&mut breaker, at(1), Verdict::Failed));
        assert_eq!(breaker.state(at(1)), BreakerState::Open);
        assert_eq!(
            breaker.admit(at(2), 0),
            Err(Rejected {
                retry_after: Duration::from_secs(4)
            })
        );
    }

    #[test]
    fn probes_close_it_and_one_failed_probe_opens_it_again() {
        let mut breaker = opened(RULE);
        assert_eq!(breaker.state(at(6)), BreakerState::HalfOpen);
        let (first, second) = (breaker.admit(at(6), 0).unwrap(), breaker.admit(at(6), 0).unwrap());
        assert!(breaker.admit(at(6), 0).is_err(), "only as many as must succeed");
        breaker.settle(at(6), first, Verdict::Healthy);
        breaker.settle(at(6), second, Verdict::Failed);
        assert_eq!(breaker.state(at(7)), BreakerState::Open);
        assert!(call(&mut breaker, at(12), Verdict::Healthy));
        assert!(call(&mut breaker, at(12), Verdict::Healthy));
        assert_eq!(breaker.state(at(12)), BreakerState::Closed);
    }

    #[test]
    fn an_abandoned_probe_gives_its_place_back() {
        let mut breaker = opened(RULE.probes(1));
        let probe = breaker.admit(at(6), 0).unwrap();
        breaker.settle(at(6), probe, Verdict::Abandoned);
        assert!(call(&mut breaker, at(6), Verdict::Healthy));
        assert_eq!(breaker.state(at(6)), BreakerState::Closed);
    }

    #[test]
    fn a_verdict_from_before_the_change_is_ignored() {
        let mut breaker = BreakerCore::new(RULE);
        let stale = breaker.admit(at(1), 0).unwrap();
        (0..4).for_each(|_| assert!(call(&mut breaker, at(1), Verdict::Failed)));
        let probe = breaker.admit(at(6), 0).unwrap();
        breaker.settle(at(6), stale, Verdict::Failed);
        assert_eq!(breaker.state(at(6)), BreakerState::HalfOpen);
        breaker.settle(at(6), probe, Verdict::Healthy);
    }

    #[test]
    fn the_rate_is_met_exactly() {
        let mut breaker = BreakerCore::new(BreakerRule::DEFAULT.failure_rate(0.07).minimum_calls(100));
        (0..93).for_each(|_| assert!(call(&mut breaker, at(1), Verdict::Healthy)));
        (0..6).for_each(|_| assert!(call(&mut breaker, at(1), Verdict::Failed)));
        assert_eq!(breaker.state(at(1)), BreakerState::Closed);
        assert!(call(&mut breaker, at(1), Verdict::Failed));
        assert_eq!(breaker.state(at(1)), BreakerState::Open);
    }

    #[test]
    fn whoever_knows_that_the_other_side_is_down_trips_it() {
        let mut breaker = BreakerCore::new(RULE);
        let out = breaker.admit(at(1), 0).unwrap();
        breaker.trip(at(1));
        assert_eq!(breaker.state(at(1)), BreakerState::Open);
        breaker.settle(at(1), out, Verdict::Healthy);
        assert_eq!(breaker.state(at(1)), BreakerState::Open);
        assert_eq!(breaker.state(at(6)), BreakerState::HalfOpen);
    }

    #[test]
    fn a_clock_set_back_does_not_keep_it_open() {
        let mut breaker = BreakerCore::new(RULE);
        (0..4).for_each(|_| assert!(call(&mut breaker, at(3_600), Verdict::Failed)));
        assert!(!call(&mut breaker, at(10), Verdict::Healthy));
        assert!(call(&mut breaker, at(15), Verdict::Healthy));
        assert_eq!(breaker.state(at(15)), BreakerState::HalfOpen);
    }

    #[test]
    fn a_strangers_permit_does_no_harm() {
        let (mut one, mut other) = (opened(RULE), opened(RULE));
        let strange = (one.admit(at(6), 0).unwrap(), one.admit(at(6), 0).unwrap());
        let own = other.admit(at(6), 0).unwrap();
        other.settle(at(6), strange.0, Verdict::Abandoned);
        other.settle(at(6), strange.1, Verdict::Abandoned);
        other.settle(at(6), own, Verdict::Abandoned);
        assert_eq!(other.state(at(6)), BreakerState::HalfOpen);
    }

    #[test]
    fn a_slow_start_admits_a_growing_share() {
        let mut breaker = opened(RULE.probes(1).slow_start(Duration::from_secs(10)));
        assert!(call(&mut breaker, at(6), Verdict::Healthy));
        let mut share = |secs| {
            let draws = (0..1_000u64).map(|n| n * (u64::MAX / 1_000));
            draws
                .filter(|&entropy| breaker.admit(at(secs), entropy).is_ok())
                .count()
        };
        assert_eq!((share(6), share(11), share(16)), (101, 551, 1_000));
    }
}
