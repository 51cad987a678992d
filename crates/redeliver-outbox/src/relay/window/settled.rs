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
        if settlement.verdict == Verdict::Postponed(Until::At(Timestamp::PARKED))
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
            Verdict::Retry { .. } if planted(Plant::HeadDoesNotBlock) => Vec::new(),
            Verdict::Retry { wait, .. } => lane.schedule(number, Some(now.plus(*wait))),
            Verdict::Dead {
                lane: AfterDeath::Park,
                ..
            } => lane.park(number),
            Verdict::Delivered(attempted) if attempted.resumes_lane => {
                lane.resume();
                Vec::new()
            }
            _ => Vec::new(),
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
        let shard = held.lease.shard;
        if let Some(route) = held.route {
            self.tracks.ready_first(route, number, retry);
        }
        // In a shard on its way out nothing begins: the attempt stays counted, as that of a process that ended.
        if self.shards.get(&shard).is_none_or(|shard| shard.leaving) {
            self.let_go(number);
        }
    }
}
