//! How one destination is treated: how many at a time, how quickly, and whether at all. Pure: the time is an argument.

mod pace;
mod rate;

use std::time::Duration;

use redeliver::{BreakerCore, BreakerState, Budget, Class, Moment, Permit, Verdict};

use self::{
    pace::Pace,
    rate::{Flow, Rate},
};
use crate::destination::{Manners, Outcome};

/// What a destination is allowed just now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Allowance {
    /// So many more attempts may begin.
    pub sends: usize,
    /// Whether retries may be among them.
    pub retries: bool,
    /// Nothing goes, and what comes due is put away until it does.
    pub parked: bool,
}

impl Allowance {
    /// Whatever there is.
    pub(super) const UNLIMITED: Self = Self {
        sends: usize::MAX,
        retries: true,
        parked: false,
    };
}

/// An attempt that has begun.
#[derive(Debug)]
pub(super) struct Begun {
    permit: Option<Permit>,
    /// It is there to find out whether the destination is well again: a failure says nothing of the message.
    pub probe: bool,
}

/// Below this, a destination is not slowed down after an outage.
const SLOWEST_RAMP: f64 = 5.0;
/// A destination that throttles is not asked less often than this.
const SLOWEST: f64 = 0.5;
/// By so much more a second it is asked again after it has throttled.
const REGAIN: f64 = 1.1;
/// Without tokens for a retry, it is looked again after this long.
const BUDGET_PAUSE: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(super) struct Conduct {
    manners: Manners,
    pace: Pace,
    rate: Rate,
    flow: Flow,
    budget: Budget,
    breaker: BreakerCore,
    /// It asked for a rest: nothing goes before.
    rest_until: Moment,
    /// It throttled: no more than so many a second, growing from then on.
    throttled: Option<(f64, Moment)>,
    /// It is well again since then, after an outage before which so many a second arrived.
    ramp: Option<(f64, Moment)>,
    no_retries_until: Moment,
    was_open: bool,
    in_flight: usize,
}

impl Conduct {
    pub(super) fn new(manners: Manners, concurrency: usize) -> Self {
        Self {
            pace: Pace::new(manners.floor, concurrency),
            rate: Rate::new(),
            flow: Flow::default(),
            budget: Budget::new(manners.budget),
            breaker: BreakerCore::new(manners.breaker),
            rest_until: Moment::ZERO,
            throttled: None,
            ramp: None,
            no_retries_until: Moment::ZERO,
            was_open: false,
            in_flight: 0,
            manners,
        }
    }

    pub(super) fn allowance(&self, now: Moment) -> Allowance {
        let state = self.breaker.state(now);
        let parked = matches!(state, BreakerState::Open | BreakerState::HalfOpen);
        let sends = if now < self.rest_until || state == BreakerState::Open {
            0
        } else if state == BreakerState::HalfOpen {
            // One real message, when nothing else is on its way.
            usize::from(self.in_flight == 0)
        } else {
            let by_pace = self.pace.limit().saturating_sub(self.in_flight);
            self.per_second(now).map_or(by_pace, |per_second| {
                by_pace.min(self.rate.available(per_second, now))
            })
        };
        Allowance {
            sends,
            retries: now >= self.no_retries_until,
            parked,
        }
    }

    /// When something that may not go now may, if that is known.
    pub(super) fn next_chance(&self, now: Moment) -> Option<Moment> {
        let probe = self.breaker.probes_at().unwrap_or(Moment::ZERO);
        let mut next = self.rest_until.max(probe);
        if next <= now {
            let per_second = self.per_second(now);
            let waits = per_second.filter(|&rate| self.rate.available(rate, now) == 0);
            next = waits.map_or(self.no_retries_until, |rate| self.rate.next(rate, now));
        }
        (next > now).then_some(next)
    }

    /// The most a second, if there is such a thing now.
    fn per_second(&self, now: Moment) -> Option<f64> {
        let throttled = self
            .throttled
            .map(|(rate, since)| rate * REGAIN.powf(now.since(since).as_secs_f64().min(600.0)));
        let ramp = self.ramp.filter(|(_, since)| now < since.plus(self.manners.ramp));
        let ramp = ramp.map(|(before, since)| {
            let gone =
                now.since(since).as_secs_f64() / self.manners.ramp.as_secs_f64().max(f64::MIN_POSITIVE);
            before.max(SLOWEST_RAMP) * (0.5 + 1.5 * gone)
        });
        [self.manners.rate, throttled, ramp]
            .into_iter()
            .flatten()
            .reduce(f64::min)
    }

    /// An attempt begins, if it may; `retry` if it is not the message's first.
    pub(super) fn begin(&mut self, retry: bool, now: Moment, entropy: u64) -> Option<Begun> {
        let probe = self.breaker.state(now) == BreakerState::HalfOpen;
        if retry && !probe && !self.budget.withdraw(now, Class::Transient) {
            self.no_retries_until = now.plus(BUDGET_PAUSE);
            return None;
        }
        let permit = self.breaker.admit(now, entropy).ok()?;
        if !retry {
            self.budget.deposit();
        }
        if let Some(per_second) = self.per_second(now) {
            self.rate.take(per_second, now);
        }
        self.in_flight += 1;
        Some(Begun {
            permit: Some(permit),
            probe,
        })
    }

    /// It has ended.
    pub(super) fn ended(&mut self, mut begun: Begun, outcome: &Outcome, took: Duration, now: Moment) {
        let in_flight = self.in_flight;
        self.in_flight = in_flight.saturating_sub(1);
        let verdict = match outcome {
            Outcome::Delivered => {
                self.flow.count(now);
                self.pace.answered(took, in_flight, now);
                Verdict::Healthy
            }
            Outcome::Reject { .. } => {
                self.pace.answered(took, in_flight, now);
                Verdict::Healthy
            }
            Outcome::Retry {
                class: Class::Throttled { after, .. },
                ..
            } => {
                self.throttle(*after, now);
                Verdict::Failed
            }
            // Who says that it is gone for good is as good as down until a person says otherwise.
            Outcome::Retry { .. } | Outcome::Disable { .. } => Verdict::Failed,
            Outcome::Ambiguous { .. } => {
                self.pace.cut(now);
                Verdict::Failed
            }
        };
        if let Some(permit) = begun.permit.take() {
            self.breaker.settle(now, permit, verdict);
        }
        self.follow_breaker(now);
    }

    fn throttle(&mut self, after: Option<Duration>, now: Moment) {
        self.pace.cut(now);
        if let Some(after) = after {
            self.rest_until = self
                .rest_until
                .max(now.plus(after.min(self.manners.longest_rest)));
        }
        let arriving = self.flow.per_second(now);
        let current = self
            .per_second(now)
            .unwrap_or(arriving)
            .min(arriving.max(SLOWEST));
        let again = self
            .throttled
            .is_none_or(|(_, since)| now.since(since) >= Duration::from_secs(1));
        if again {
            self.throttled = Some(((current * 0.7).max(SLOWEST), now));
        }
    }

    fn follow_breaker(&mut self, now: Moment) {
        match self.breaker.state(now) {
            BreakerState::Open if !self.was_open => {
                self.was_open = true;
                // What arrived before is remembered over all probes that fail.
                let before = self
                    .ramp
                    .map_or(0.0, |(before, _)| before)
                    .max(self.flow.per_second(now));
                self.ramp = Some((before, now));
            }
            BreakerState::Closed if self.was_open => {
                self.was_open = false;
                self.pace.begin_again();
                self.throttled = None;
                self.ramp = self.ramp.map(|(before, _)| (before, now));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOK: Duration = Duration::from_millis(5);

    fn down() -> Outcome {
        Outcome::Retry {
            class: Class::Transient,
            reason: "connection refused".to_owned(),
        }
    }

    /// Sends whatever may go in one millisecond after the other, and says how many were sent.
    fn run(conduct: &mut Conduct, from: u64, to: u64, retry: bool, outcome: &Outcome) -> u64 {
        let mut sent = 0;
        for millis in from..to {
            let now = Moment::from_millis(millis);
            for _ in 0..conduct.allowance(now).sends {
                let Some(begun) = conduct.begin(retry, now, 0) else {
                    break;
                };
                conduct.ended(begun, outcome, TOOK, now);
                sent += 1;
            }
        }
        sent
    }

    #[test]
    fn an_outage_costs_a_probe_each_time_and_ends_on_a_ramp() {
        let manners = Manners {
            rate: Some(100.0),
            ..Manners::default()
        };
        let mut conduct = Conduct::new(manners, 16);
        let before = run(&mut conduct, 1_000, 121_000, false, &Outcome::Delivered);
        assert!((11_900..=12_100).contains(&before), "{before} in two minutes");

        let until_open = run(&mut conduct, 121_000, 136_000, false, &down());
        assert!(conduct.allowance(Moment::from_millis(136_000)).parked);
        assert!(until_open <= 1_100, "{until_open} until the breaker opened");
        let during = run(&mut conduct, 136_000, 736_000, false, &down());
        assert!((19..=21).contains(&during), "{during} probes in ten minutes");

        let manners = Manners::default();
        conduct.manners = manners;
        let probe = conduct.next_chance(Moment::from_millis(736_000));
        let well = probe.map_or(736_000, |probe| probe.as_nanos() / 1_000_000);
        let first_minute = run(&mut conduct, well, well + 60_000, false, &Outcome::Delivered);
        assert!(
            (3_000..=12_000).contains(&first_minute),
            "{first_minute} in the first minute; 6000 a minute before"
        );
        assert!(!conduct.allowance(Moment::from_millis(well + 60_000)).parked);
    }

    #[test]
    fn a_rest_that_one_message_was_asked_for_holds_all() {
        let mut conduct = Conduct::new(Manners::default(), 16);
        let now = Moment::from_millis(1_000);
        let throttled = Outcome::Retry {
            class: Class::throttled_for(Duration::from_secs(7)),
            reason: "429".to_owned(),
        };
        let begun = conduct.begin(false, now, 0).unwrap();
        conduct.ended(begun, &throttled, TOOK, now);
        assert_eq!(run(&mut conduct, 1_000, 8_000, false, &Outcome::Delivered), 0);
        assert_eq!(conduct.next_chance(now), Some(Moment::from_millis(8_000)));
        assert!(run(&mut conduct, 8_000, 8_100, false, &Outcome::Delivered) > 0);
    }

    #[test]
    fn retries_stay_within_their_budget() {
        let mut conduct = Conduct::new(Manners::default(), 64);
        let retried = run(&mut conduct, 1_000, 61_000, true, &Outcome::Delivered);
        assert!(
            retried <= 20 * 60 + 200,
            "{retried} retries in a minute, and nothing else"
        );
        assert!(
            run(&mut conduct, 61_000, 61_100, false, &Outcome::Delivered) > 1_000,
            "the others go on"
        );
    }

    #[test]
    fn who_throttles_is_asked_less_often_until_it_does_not() {
        let mut conduct = Conduct::new(Manners::default(), 64);
        // A server that takes fifty a second and refuses the rest without a hint.
        let (mut taken, mut refused) = (0_u32, 0_u32);
        let (mut second, mut in_second) = (0, 0);
        for millis in 0..120_000_u64 {
            let now = Moment::from_millis(millis);
            if millis / 1_000 != second {
                (second, in_second) = (millis / 1_000, 0);
            }
            for _ in 0..conduct.allowance(now).sends {
                let Some(begun) = conduct.begin(false, now, 0) else {
                    break;
                };
                in_second += 1;
                let outcome = if in_second <= 50 {
                    Outcome::Delivered
                } else {
                    Outcome::Retry {
                        class: Class::THROTTLED,
                        reason: "429".to_owned(),
                    }
                };
                let refusal = outcome != Outcome::Delivered;
                conduct.ended(begun, &outcome, TOOK, now);
                if second >= 60 {
                    taken += u32::from(!refusal);
                    refused += u32::from(refusal);
                }
            }
        }
        assert!(taken > 60 * 20, "{taken} taken in the second minute");
        assert!(refused * 4 < taken, "{refused} refused, {taken} taken");
    }
}
