//! What a written verdict changes.

use std::sync::Arc;

use super::{Stage, Window};
use crate::{
    Timestamp,
    plants::{Plant, planted},
    store::{AfterDeath, Settlement, Until, Verdict},
};

impl Window {
    /// A verdict has been written.
    pub(in crate::relay) fn settled(&mut self, settlement: &Settlement, now: Timestamp) {
        let number = settlement.number();
        if !self.is_held(settlement.id, settlement.lease) {
            return;
        }
        if let Verdict::Counted { attempt } = settlement.verdict {
            self.counted(number, attempt);
            return;
        }
        if let Some(asked) = &mut self.asked {
            asked.settled.insert(settlement.id);
        }
        let Some(held) = self.let_go(number) else {
            return;
        };
        if settlement.verdict == Verdict::Postponed(Until::Recovered)
            && let Some(route) = held.route
        {
            // Only what is written can be brought back.
            self.tracks.put_away(route);
        }
        let Some(key) = held.lane else {
            return;
        };
        let Some(lane) = self.lanes.get_mut(&key) else {
            return;
        };
        lane.end_turn(number);
        let behind = match &settlement.verdict {
            Verdict::Retry { wait, .. } if !planted(Plant::HeadDoesNotBlock) => {
                lane.schedule(number, Some(Until::At(now.plus(*wait))))
            }
            Verdict::Dead {
                lane: AfterDeath::Park,
                ..
            } => lane.park(number),
            Verdict::Retry { .. } | Verdict::Postponed(_) | Verdict::Counted { .. } => Vec::new(),
            // Whatever end it had, the lane does not wait for it any more.
            Verdict::Delivered(_) | Verdict::Dead { .. } | Verdict::FannedOut { .. } => {
                lane.pass(number);
                Vec::new()
            }
        };
        self.let_all_go(behind);
        self.refresh(&key);
    }

    fn counted(&mut self, number: i64, attempt: u32) {
        let Some(held) = self.held.get_mut(&number) else {
            return;
        };
        held.counted = true;
        held.stage = Stage::Waiting;
        // Before the count it may have been the first: a retry it is not by that.
        let retry = held.message.attempts > 0;
        Arc::make_mut(&mut held.message).attempts = attempt;
        let (shard, lane) = (held.lease.shard, held.lane.clone());
        if let Some(route) = held.route {
            self.tracks.ready_first(route, number, retry);
        }
        if let Some(key) = lane {
            self.end_turn_in_vain(&key);
        }
        // In a shard on its way out nothing begins: the attempt stays counted, as that of a process that ended.
        if self.shards.get(&shard).is_none_or(|shard| shard.leaving) {
            self.let_go(number);
        }
    }
}
