//! What a written verdict changes.

use std::sync::Arc;

use super::{LaneKey, Place, Window};
use crate::{
    Timestamp,
    plants::{Plant, planted},
    store::{AfterDeath, Settlement, Until, Verdict},
};

impl Window {
    /// A verdict has been written. Says what is to be written after it.
    #[must_use = "what is said is to be written"]
    pub(in crate::relay) fn settled(
        &mut self,
        settlement: &Settlement,
        now: Timestamp,
    ) -> Option<Settlement> {
        let number = settlement.number();
        if !self.is_held(settlement.id, settlement.lease) {
            self.settled_aside(settlement, now);
            return None;
        }
        if let Verdict::Counted { attempt } = settlement.verdict {
            return self.counted(number, attempt);
        }
        if let Some(asked) = &mut self.asked {
            asked.settled.insert(settlement.id);
        }
        if let Verdict::Uncounted { attempt } = settlement.verdict {
            return self.uncounted(number, attempt);
        }
        let held = self.let_go(number)?;
        if let Some(route) = held.route {
            self.put_away_if_parked(route, &settlement.verdict);
        }
        if let Some(key) = held.lane {
            self.after_verdict(&key, settlement, held.due, now);
        }
        None
    }

    /// Only what is written can be brought back.
    pub(super) fn put_away_if_parked(&mut self, route: usize, verdict: &Verdict) {
        if *verdict == Verdict::Postponed(Until::Recovered) {
            self.tracks.put_away(route);
        }
    }

    /// What a verdict means for the lane of its message.
    pub(super) fn after_verdict(
        &mut self,
        key: &LaneKey,
        settlement: &Settlement,
        due: bool,
        now: Timestamp,
    ) {
        let number = settlement.number();
        let Some(lane) = self.lanes.get_mut(key) else {
            return;
        };
        lane.end_turn(number);
        match &settlement.verdict {
            Verdict::Retry { wait, .. } if !planted(Plant::HeadDoesNotBlock) => {
                self.schedule(key, number, Some(Until::At(now.plus(*wait))));
            }
            Verdict::Dead {
                lane: AfterDeath::Park,
                ..
            } => {
                let behind = lane.park(number);
                self.let_all_go(behind);
            }
            // It is read again.
            Verdict::Uncounted { .. } if due => self.schedule(key, number, None),
            Verdict::Uncounted { .. } => lane.spill(number),
            Verdict::Retry { .. } | Verdict::Postponed(_) | Verdict::Counted { .. } => {}
            // Whatever end it had, the lane does not wait for it any more.
            Verdict::Delivered(_) | Verdict::Dead { .. } | Verdict::FannedOut { .. } => lane.pass(number),
        }
        self.refresh(key);
    }

    fn counted(&mut self, number: i64, attempt: u32) -> Option<Settlement> {
        let held = self.held.get_mut(&number)?;
        held.counted = true;
        // Before the count it may have been the first: a retry it is not by that.
        let retry = held.message.attempts > 0;
        Arc::make_mut(&mut held.message).attempts = attempt;
        self.wait_again(number, retry, Place::First)
    }

    /// The attempt did not begin: it is as if it had not been counted.
    fn uncounted(&mut self, number: i64, attempt: u32) -> Option<Settlement> {
        let held = self.held.get_mut(&number)?;
        held.counted = false;
        if let Some(route) = held.route {
            self.tracks.uncount(route, number);
        }
        debug_assert!(attempt > 0, "the first attempt is number one");
        let before = attempt.saturating_sub(1);
        Arc::make_mut(&mut held.message).attempts = before;
        self.wait_again(number, before > 0, Place::First)
    }
}
