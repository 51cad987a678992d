//! How a destination is just now, in figures.

use redeliver::{BreakerState, Moment};

use super::Conduct;
use crate::{
    HoldKind, Timestamp,
    live::{LiveFigures, LiveState},
};

/// What regains its pace grows without end; from here on it is no limit worth telling.
const NO_LIMIT: f64 = 100_000.0;

impl Conduct {
    /// The figures at a moment that is this time on the database's clock. What the window holds and what the database refuses is not known
    /// here.
    pub(in crate::relay) fn live(&self, now: Moment, time: Timestamp) -> LiveFigures {
        let (state, until, detail) = self.state(now);
        let recent = self.recent.summary(now);
        LiveFigures {
            state,
            in_flight: self.in_flight as u64,
            limit: match state {
                LiveState::Open | LiveState::Paused | LiveState::Disabled | LiveState::Resting => 0,
                LiveState::Probing => 1,
                _ => self.pace.limit() as u64,
            },
            ceiling: self.pace.ceiling() as u64,
            rate: self.per_second(now).filter(|&rate| rate < NO_LIMIT),
            delivered_per_second: recent.delivered_per_second,
            failed_per_second: recent.failed_per_second,
            failures: recent.failures,
            latency_p50_ms: recent.p50_ms,
            latency_p99_ms: recent.p99_ms,
            held: 0,
            stuck: 0,
            stuck_verdicts: Vec::new(),
            until: until.map(|until| time.plus(until.since(now))),
            since: self
                .open_since
                .filter(|_| matches!(state, LiveState::Open | LiveState::Probing))
                .map(|since| time.minus(now.since(since))),
            detail: detail.to_owned(),
        }
    }

    /// The worst that is so, until when, and why.
    fn state(&self, now: Moment) -> (LiveState, Option<Moment>, &str) {
        let failure = self.last_failure.as_str();
        if let Some(hold) = &self.hold {
            let state = match hold.kind {
                HoldKind::Paused => LiveState::Paused,
                HoldKind::Disabled => LiveState::Disabled,
            };
            return (state, None, &hold.detail);
        }
        match self.breaker.state(now) {
            BreakerState::Open => return (LiveState::Open, self.breaker.probes_at(), failure),
            BreakerState::HalfOpen => return (LiveState::Probing, None, failure),
            BreakerState::Closed | BreakerState::Recovering => {}
        }
        if now < self.rest.until() {
            return (LiveState::Resting, Some(self.rest.until()), failure);
        }
        if let Some((_, since)) = self.ramp.filter(|(_, since)| now < since.plus(self.manners.ramp)) {
            return (LiveState::Ramping, Some(since.plus(self.manners.ramp)), "");
        }
        if self.throttle.complained(now) {
            return (LiveState::Throttled, None, failure);
        }
        (LiveState::Well, None, "")
    }
}
