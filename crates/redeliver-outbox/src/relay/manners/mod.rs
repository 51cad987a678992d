//! How one destination is treated: how many at a time, how quickly, and whether at all. Pure: the time is an argument.

mod live;
mod outage;
mod pace;
mod rate;
mod recent;
mod rest;
mod surge;
#[cfg(test)]
mod tests;
mod throttle;

use std::time::Duration;

use redeliver::{BreakerCore, BreakerState, Budget, Class, Moment, Permit, Verdict};

pub(super) use self::outage::Tried;
use self::{
    outage::{Failure, Outage},
    pace::Pace,
    rate::{Flow, Rate},
    recent::Recent,
    rest::Rest,
    surge::Surge,
    throttle::Throttle,
};
use crate::{
    Hold, HoldCause,
    destination::{Manners, Outcome},
    limits,
    live::FailureClass,
    plants::{Plant, planted},
};

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
    /// Nothing, for now.
    pub(super) const NOTHING: Self = Self {
        sends: 0,
        retries: false,
        parked: true,
    };

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

/// What an outcome says of the destination as a whole: it is to be held.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Alarm {
    pub cause: HoldCause,
    pub detail: String,
}

/// Below this, a destination is not slowed down after an outage.
const SLOWEST_RAMP: f64 = 5.0;
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
    rest: Rest,
    throttle: Throttle,
    /// It is well again since then, after an outage before which so many a second arrived.
    ramp: Option<(f64, Moment)>,
    no_retries_until: Moment,
    was_open: bool,
    /// The circuit is open since then.
    open_since: Option<Moment>,
    /// Probes that failed with an answer since then: the message may be to blame.
    answered_probes: usize,
    outage: Outage,
    /// Failures since it last answered, be it with a refusal.
    in_a_row: u32,
    in_flight: usize,
    /// It gets nothing until somebody says otherwise.
    hold: Option<Hold>,
    surge: Option<Surge>,
    recent: Recent,
    last_failure: String,
}

impl Conduct {
    pub(super) fn new(manners: Manners, concurrency: usize) -> Self {
        Self {
            pace: Pace::new(manners.floor, concurrency),
            rate: Rate::new(),
            flow: Flow::default(),
            budget: Budget::new(manners.budget),
            breaker: BreakerCore::new(manners.breaker),
            rest: Rest::default(),
            throttle: Throttle::default(),
            ramp: None,
            no_retries_until: Moment::ZERO,
            was_open: false,
            open_since: None,
            answered_probes: 0,
            outage: Outage::default(),
            in_a_row: 0,
            in_flight: 0,
            hold: None,
            surge: manners.surge.map(Surge::new),
            recent: Recent::default(),
            last_failure: String::new(),
            manners,
        }
    }

    pub(super) const fn is_held(&self) -> bool {
        self.hold.is_some()
    }

    /// Nothing goes from now on; what is on its way ends as it ends. Says whether it was not held before.
    pub(super) fn hold(&mut self, hold: Hold, now: Moment) -> bool {
        let new = self.hold.replace(hold).is_none();
        if new {
            self.remember_flow(now);
        }
        new
    }

    /// It may go on, from the beginning: whoever says so knows more than what was seen before. Says whether it was held.
    pub(super) fn resume(&mut self, now: Moment) -> bool {
        if self.hold.take().is_none() {
            return false;
        }
        if let Some(surge) = &mut self.surge {
            surge.forget();
        }
        self.breaker = BreakerCore::new(self.manners.breaker);
        self.outage.answered();
        self.rest = Rest::default();
        self.begin_again(now);
        true
    }

    pub(super) fn allowance(&self, now: Moment) -> Allowance {
        if self.is_held() && !planted(Plant::HoldNotMinded) {
            return Allowance {
                parked: true,
                ..Allowance::default()
            };
        }
        let state = self.breaker.state(now);
        let parked = matches!(state, BreakerState::Open | BreakerState::HalfOpen);
        let sends = if now < self.rest.until() || state == BreakerState::Open {
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
        if self.is_held() {
            return None;
        }
        let probe = self.breaker.probes_at().unwrap_or(Moment::ZERO);
        let mut next = self.rest.until().max(probe);
        if next <= now {
            let per_second = self.per_second(now);
            let waits = per_second.filter(|&rate| self.rate.available(rate, now) == 0);
            next = waits.map_or(self.no_retries_until, |rate| self.rate.next(rate, now));
        }
        (next > now).then_some(next)
    }

    /// The most a second, if there is such a thing now.
    fn per_second(&self, now: Moment) -> Option<f64> {
        let ramp = self.ramp.filter(|(_, since)| now < since.plus(self.manners.ramp));
        let ramp = ramp.map(|(before, since)| {
            let gone =
                now.since(since).as_secs_f64() / self.manners.ramp.as_secs_f64().max(f64::MIN_POSITIVE);
            before.max(SLOWEST_RAMP) * (0.5 + 1.5 * gone)
        });
        [self.manners.rate, self.throttle.per_second(), ramp]
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

    /// What had begun was not sent after all: nothing is known of the destination.
    pub(super) fn unsent(&mut self, mut begun: Begun, now: Moment) {
        debug_assert!(self.in_flight > 0, "more attempts ended than began");
        self.in_flight = self.in_flight.saturating_sub(1);
        if let Some(permit) = begun.permit.take() {
            self.breaker.settle(now, permit, Verdict::Abandoned);
        }
    }

    /// Whether its circuit is open or half-open.
    pub(super) fn is_down(&self, now: Moment) -> bool {
        matches!(
            self.breaker.state(now),
            BreakerState::Open | BreakerState::HalfOpen
        )
    }

    /// How long it takes from one probe of an open circuit to the next; none if the circuit never opens.
    pub(super) fn probe_interval(&self) -> Option<Duration> {
        let rule = self.manners.breaker;
        (rule.minimum_calls < u32::MAX).then_some(rule.open_for)
    }

    /// How many messages of an open circuit were tried in vain, and may have been to blame for it.
    pub(super) const fn answered_probes(&self) -> usize {
        self.answered_probes
    }

    /// It has ended. Says whether the destination is to be held for it.
    pub(super) fn ended(
        &mut self,
        mut begun: Begun,
        outcome: &Outcome,
        took: Duration,
        tried: Tried,
        now: Moment,
    ) -> Option<Alarm> {
        self.recent.ended(FailureClass::of(outcome), took, now);
        if let Outcome::Retry { reason, .. }
        | Outcome::Unreachable { reason }
        | Outcome::Ambiguous { reason, .. } = outcome
        {
            self.last_failure = limits::error_text(reason);
        }
        let in_flight = self.in_flight;
        debug_assert!(in_flight > 0, "more attempts ended than began");
        self.in_flight = in_flight.saturating_sub(1);
        let verdict = match outcome {
            Outcome::Delivered => {
                self.flow.count(now);
                self.pace.answered(took, in_flight, now);
                self.rest.taken(now);
                self.throttle.taken(&mut self.pace, now);
                Verdict::Healthy
            }
            Outcome::Reject { .. } => {
                self.pace.answered(took, in_flight, now);
                Verdict::Healthy
            }
            Outcome::Retry {
                class: Class::Throttled { after, .. },
                ..
            }
            | Outcome::Ambiguous {
                asked: after @ Some(_),
                ..
            } => {
                if let Some(after) = after {
                    self.rest.asked((*after).min(self.manners.longest_rest), now);
                }
                if self.throttle.refused(after.is_some(), &mut self.pace, now) {
                    self.rest.means_all();
                }
                Verdict::Failed
            }
            Outcome::Retry { .. } | Outcome::Unreachable { .. } => Verdict::Failed,
            // It is held for it, until a person says otherwise.
            Outcome::Disable { .. } => Verdict::Abandoned,
            Outcome::Ambiguous { asked: None, .. } => {
                self.pace.cut(now);
                Verdict::Failed
            }
        };
        if let Some(permit) = begun.permit.take() {
            self.breaker.settle(now, permit, verdict);
        }
        let unreachable = matches!(outcome, Outcome::Unreachable { .. });
        if begun.probe && verdict == Verdict::Failed && !unreachable {
            self.answered_probes = self.answered_probes.saturating_add(1);
        }
        self.count_in_a_row(outcome, now);
        let failure = Failure {
            tried,
            unreachable,
            in_flight: self.in_flight,
        };
        self.notice_outage(verdict, failure, now);
        self.follow_breaker(now);
        self.alarm(outcome).filter(|_| !self.is_held())
    }

    /// After a busy spell it takes seconds until an outage is most of what the breaker looks back on, and no more than these to notice it.
    fn count_in_a_row(&mut self, outcome: &Outcome, now: Moment) {
        let silent = match outcome {
            Outcome::Retry { class, .. } => !matches!(class, Class::Throttled { .. }),
            Outcome::Ambiguous { asked, .. } => asked.is_none(),
            Outcome::Unreachable { .. } => true,
            Outcome::Delivered | Outcome::Reject { .. } | Outcome::Disable { .. } => false,
        };
        self.in_a_row = if silent {
            self.in_a_row.saturating_add(1)
        } else {
            0
        };
        if self.in_a_row >= self.manners.breaker.minimum_calls
            && self.breaker.state(now) == BreakerState::Closed
        {
            self.in_a_row = 0;
            self.breaker.trip(now);
        }
    }

    fn notice_outage(&mut self, verdict: Verdict, failure: Failure, now: Moment) {
        let down = match verdict {
            Verdict::Healthy => {
                self.outage.answered();
                false
            }
            Verdict::Failed => self.outage.failed(failure, now),
            Verdict::Abandoned => false,
        };
        if down && self.probe_interval().is_some() && !self.is_down(now) {
            self.breaker.trip(now);
        }
    }

    fn alarm(&mut self, outcome: &Outcome) -> Option<Alarm> {
        match outcome {
            Outcome::Disable { reason } => Some(Alarm {
                cause: HoldCause::Gone,
                detail: limits::error_text(reason),
            }),
            Outcome::Delivered => {
                self.surge.as_mut()?.arrived();
                None
            }
            Outcome::Reject { kind, reason } => {
                let surge = self.surge.as_mut()?;
                let same = surge.rejected(*kind, reason)?;
                let detail = format!(
                    "{same} of the last {} messages were rejected in the same way, the last one with ({kind}) {reason}",
                    surge.of()
                );
                Some(Alarm {
                    cause: HoldCause::Surge,
                    detail: limits::error_text(&detail),
                })
            }
            Outcome::Retry { .. } | Outcome::Unreachable { .. } | Outcome::Ambiguous { .. } => None,
        }
    }

    fn follow_breaker(&mut self, now: Moment) {
        match self.breaker.state(now) {
            BreakerState::Open if !self.was_open => {
                self.was_open = true;
                self.open_since = Some(now);
                self.answered_probes = 0;
                self.throttle.tripped(self.flow.per_second(now), now);
                self.remember_flow(now);
            }
            BreakerState::Closed if self.was_open => self.begin_again(now),
            _ => {}
        }
    }

    /// What arrived before an outage, or a hold, is remembered over all probes that fail.
    fn remember_flow(&mut self, now: Moment) {
        let before = self
            .ramp
            .map_or(0.0, |(before, _)| before)
            .max(self.flow.per_second(now));
        self.ramp = Some((before, now));
    }

    fn begin_again(&mut self, now: Moment) {
        self.was_open = false;
        self.open_since = None;
        self.pace.begin_again();
        self.ramp = self.ramp.map(|(before, _)| (before, now));
    }
}
