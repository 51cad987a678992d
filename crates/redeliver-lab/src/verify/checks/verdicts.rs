//! Each verdict, against what really happened: what is called delivered was taken, what is put off is put off long enough, and what is
//! given up has its reason.

use std::time::Duration;

use redeliver::{Backoff, Jitter};
use redeliver_outbox::{
    DeadReason, Timestamp,
    destination::LanePolicy,
    store::{AfterDeath, Attempted, Settlement, Until, Verdict},
};

use crate::verify::{
    history::{Kind, ProcessId},
    look::{self, Seen},
    record::{Attempt, Sent},
    scenario::DestinationPlan,
    world::World,
};

pub(in crate::verify) fn check(
    world: &World,
    process: ProcessId,
    settlement: &Settlement,
    old: &Seen,
    now: Timestamp,
) {
    let state = world.state();
    let Some(message) = state.records.messages.get(&settlement.number()) else {
        return;
    };
    let case = Case {
        world,
        process,
        settlement,
        old,
        now,
        message,
        plan: world.scenario.destination(&message.destination),
        clocks_agree: state.records.steps.is_empty(),
    };
    let objection = case.objection();
    drop(state);
    if let Some((checker, what)) = objection {
        world.object(checker, Some(settlement.number()), what);
    }
}

struct Case<'a> {
    world: &'a World,
    process: ProcessId,
    settlement: &'a Settlement,
    old: &'a Seen,
    now: Timestamp,
    message: &'a Sent,
    plan: Option<&'a DestinationPlan>,
    clocks_agree: bool,
}

type Objection = Option<(&'static str, String)>;

impl Case<'_> {
    fn objection(&self) -> Objection {
        match &self.settlement.verdict {
            Verdict::Delivered(attempted) => self.delivered(attempted),
            Verdict::Retry { attempted, wait } => self.retry(attempted, *wait),
            Verdict::Dead {
                attempted,
                reason,
                lane,
                ..
            } => self.dead(attempted.as_ref(), *reason, *lane),
            Verdict::Postponed(until) => self.postponed(*until),
            Verdict::Counted { attempt } => self.counted(*attempt),
            Verdict::Uncounted { attempt } => self.uncounted(*attempt),
            Verdict::FannedOut { .. } => self.fanned_out(),
        }
    }

    /// The attempt that the verdict is about, if this process made it.
    fn attempt(&self, number: u32) -> Option<&Attempt> {
        let lease = self.settlement.lease.into();
        let mut attempts = self.message.attempts.iter().rev();
        attempts.find(|attempt| {
            attempt.process == self.process && attempt.lease == lease && attempt.number == number
        })
    }

    fn heard(&self, attempted: &Attempted) -> Option<Kind> {
        self.attempt(attempted.attempt)?.heard.map(|(kind, _)| kind)
    }

    fn most(&self) -> u32 {
        self.plan
            .and_then(|plan| plan.policy.max_attempts)
            .unwrap_or(u32::MAX)
    }

    /// When its time has come, and after every event before it with the same key.
    fn fanned_out(&self) -> Objection {
        if self.clocks_agree && self.old.not_before.is_some_and(|time| time > self.now) {
            let what = "it fanned out before the time that its sender named".to_owned();
            return Some(("time", what));
        }
        let (key, number) = (self.message.key.as_deref()?, self.settlement.number());
        let before = self
            .world
            .look(|connection| look::predecessor(connection, "", key, number));
        let before = before.flatten()?;
        Some(("order", format!("it fanned out before event {before} of its key")))
    }

    fn delivered(&self, attempted: &Attempted) -> Objection {
        let taken = self
            .attempt(attempted.attempt)
            .is_some_and(|attempt| attempt.taken);
        if !taken || self.heard(attempted) != Some(Kind::Delivered) {
            let what = format!(
                "it is called delivered, and attempt {} was not",
                attempted.attempt
            );
            return Some(("lost", what));
        }
        None
    }

    fn retry(&self, attempted: &Attempted, wait: Duration) -> Objection {
        let heard = self.heard(attempted);
        if !heard.is_some_and(failed) {
            return Some((
                "attempts",
                format!("it is to be tried again, and the attempt met {heard:?}"),
            ));
        }
        let once = self.plan.is_some_and(|plan| !plan.idempotent);
        if once && matches!(heard, Some(Kind::Ambiguous | Kind::Open)) {
            let what = "it is to be tried again, may have arrived, and must not arrive twice".to_owned();
            return Some(("attempts", what));
        }
        if attempted.attempt >= self.most() {
            let (attempt, most) = (attempted.attempt, self.most());
            return Some((
                "attempts",
                format!("it is to be tried again after attempt {attempt}, the last of {most}"),
            ));
        }
        let skips = self.plan.is_some_and(|plan| plan.lane == LanePolicy::Skip);
        if skips && self.message.key.is_some() {
            let what = "it is to be tried again, and its lane does not wait".to_owned();
            return Some(("order", what));
        }
        let shortest = self.shortest_wait(attempted);
        if wait < shortest {
            return Some((
                "time",
                format!("it waits {wait:?}, and should wait {shortest:?} at least"),
            ));
        }
        None
    }

    /// What the policy says without jitter, and what the destination asked for.
    fn shortest_wait(&self, attempted: &Attempted) -> Duration {
        let Some(plan) = self.plan else {
            return Duration::ZERO;
        };
        let told = |attempt: &&Attempt| matches!(attempt.heard, Some((Kind::Throttled | Kind::Open, _)));
        let asked = self
            .attempt(attempted.attempt)
            .filter(told)
            .map_or(0, |attempt| attempt.asked_wait_ms);
        let asked = Duration::from_millis(asked);
        match plan.policy.backoff {
            Backoff::Exponential { base, .. } if plan.policy.jitter == Jitter::None && asked.is_zero() => {
                let doubled = base.saturating_mul(1 << (attempted.attempt - 1).min(20));
                doubled.min(plan.policy.max_delay)
            }
            _ => asked,
        }
    }

    fn dead(&self, attempted: Option<&Attempted>, reason: DeadReason, lane: AfterDeath) -> Objection {
        if let Some(what) = self.unfounded(attempted, reason) {
            return Some((
                "reasons",
                format!("it is a dead letter with the reason {reason}, and {what}"),
            ));
        }
        // A relay without the destination knows nothing of its lanes.
        let park = reason != DeadReason::UnknownDestination
            && self.plan.is_some_and(|plan| plan.lane == LanePolicy::Park);
        let right = match (&self.message.key, park) {
            (None, _) => AfterDeath::None,
            (Some(_), true) => AfterDeath::Park,
            (Some(_), false) => AfterDeath::Gap,
        };
        (lane != right).then(|| {
            (
                "order",
                format!("its lane should be {right:?} after its death, and is {lane:?}"),
            )
        })
    }

    fn unfounded(&self, attempted: Option<&Attempted>, reason: DeadReason) -> Option<String> {
        let heard = attempted.map(|attempted| self.heard(attempted));
        let failed = heard.flatten().is_some_and(failed);
        let wrong = match reason {
            DeadReason::Permanent => heard != Some(Some(Kind::Reject)),
            DeadReason::AttemptsExhausted => {
                let used = attempted.map_or(self.old.state.attempts, |attempted| attempted.attempt);
                used != self.most() || (attempted.is_some() && !failed)
            }
            DeadReason::Expired => !self.is_old(attempted.is_some()),
            DeadReason::UnknownDestination => self.plan.is_some_and(|plan| !plan.has_left(self.world.now())),
            DeadReason::UnknownOutcome => {
                let met = matches!(heard, Some(Some(Kind::Ambiguous | Kind::Open)));
                // Counted by an owner before, who did not write how it ended.
                let counted = Some((self.old.state.redrives, self.old.state.attempts));
                let unanswered = attempted.is_none() && self.message.counted == counted;
                !(met || unanswered) || self.plan.is_none_or(|plan| plan.idempotent)
            }
            DeadReason::RetryAfter => !matches!(heard, Some(Some(Kind::Throttled | Kind::Open))),
            DeadReason::LaneSkipped => {
                !failed
                    || self.message.key.is_none()
                    || self.plan.is_none_or(|plan| plan.lane != LanePolicy::Skip)
            }
            DeadReason::InvalidPayload | DeadReason::TooLarge => !self.message.broken || attempted.is_some(),
            _ => true,
        };
        wrong.then(|| {
            format!(
                "that is not so: {heard:?} after {} attempts",
                self.old.state.attempts
            )
        })
    }

    /// Whether it is too late, or would be at the time of the next attempt. Where the clock was set nobody can tell.
    fn is_old(&self, attempted: bool) -> bool {
        if !self.clocks_agree {
            return true;
        }
        let wait = if attempted {
            Duration::from_secs(60)
        } else {
            Duration::from_millis(10)
        };
        let soon = self.now.plus(wait);
        let deadline = self.plan.and_then(|plan| plan.policy.deadline);
        let age = self.world.now().saturating_sub(self.message.committed);
        let too_old = deadline.is_some_and(|most| Duration::from_millis(age) + wait >= most);
        self.old.state.redrives == 0 && (too_old || self.old.expires_at.is_some_and(|end| soon >= end))
    }

    fn postponed(&self, until: Until) -> Objection {
        let until = match until {
            Until::At(at) => at,
            Until::After(wait) => self.now.plus(wait),
            Until::Recovered => Timestamp::PARKED,
        };
        // What was due once may go, though the clock was set back since.
        let latest = self.world.clocks.latest();
        let asked = self
            .old
            .not_before
            .filter(|&asked| self.old.state.redrives == 0 && asked > latest)?;
        (until < asked).then(|| ("time", format!("it waits until {until}, and asked for {asked}")))
    }

    fn uncounted(&self, attempt: u32) -> Objection {
        let begun = self.attempt(attempt).filter(|attempt| !attempt.written)?;
        let what = format!(
            "the count of attempt {attempt} is taken back, and it began at {}",
            begun.began
        );
        Some(("attempts", what))
    }

    fn counted(&self, attempt: u32) -> Objection {
        let most = self.most();
        (attempt > most).then(|| {
            (
                "attempts",
                format!("attempt {attempt} is counted, and at most {most} are allowed"),
            )
        })
    }
}

/// Whether an attempt that met this may be made again.
const fn failed(heard: Kind) -> bool {
    matches!(
        heard,
        Kind::Retry | Kind::Throttled | Kind::Ambiguous | Kind::Open
    )
}
