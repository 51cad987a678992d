//! What a lane knows of its scheduled messages. It is a copy of what the database says: every read brings the first scheduled messages
//! of each lane that it has a message of, so a lane of which nothing but scheduled messages is known is forgotten.

use super::{LaneKey, Window};
use crate::{
    plants::{Plant, planted},
    store::{Head, Outline, Until},
};

impl Window {
    /// A message of the lane is scheduled. What comes after it need not stay in memory meanwhile.
    pub(super) fn schedule(&mut self, key: &LaneKey, number: i64, until: Option<Until>) {
        let lane = self.lanes.entry(key.clone()).or_default();
        let behind = lane.schedule(number, until);
        self.let_all_go(behind);
        self.note_asleep(key);
    }

    /// Remembers a lane that waits for nothing but scheduled messages, to be forgotten.
    pub(super) fn note_asleep(&mut self, key: &LaneKey) {
        if let Some(lane) = self.lanes.get_mut(key)
            && lane.is_asleep()
            && !lane.noted_asleep
        {
            lane.noted_asleep = true;
            self.asleep.push(key.clone());
        }
    }

    /// Forgets lanes of which only scheduled messages are known. Only while no read is under way, and once all of it is written: what
    /// the next read finds says the same.
    pub(super) fn forget_asleep(&mut self) {
        debug_assert!(self.asked.is_none(), "a read that is under way may be older");
        for key in std::mem::take(&mut self.asleep) {
            let Some(lane) = self.lanes.get_mut(&key) else {
                continue;
            };
            lane.noted_asleep = false;
            if !lane.is_asleep() {
                continue;
            }
            let unwritten = |number: i64| self.held.contains_key(&number) || self.aside.contains_key(&number);
            if lane.scheduled().any(unwritten) {
                lane.noted_asleep = true;
                self.asleep.push(key);
            } else {
                self.lanes.remove(&key);
            }
        }
    }

    /// Takes over what a read says of scheduled messages. What is held, or was settled since the read began, is known better here.
    pub(super) fn take_heads(&mut self, heads: &[Head]) {
        for head in heads.iter().filter(|_| !planted(Plant::HeadsIgnored)) {
            let Some(route) = self.tracks.index(&head.lane.destination) else {
                continue;
            };
            if self.is_as_asked(head.shard) && !self.is_known(head.id) {
                let key = LaneKey::new(head.shard, route, &head.lane.key);
                self.schedule(&key, head.id.number(), Some(head.until));
            }
        }
    }

    /// A lane does not wait for a scheduled message that is gone from the database, deleted by hand for instance: before the row behind
    /// the cursor, the read has found only these.
    pub(super) fn drop_vanished(&mut self, row: &Outline, heads: &[Head]) {
        let (Some(route), Some(key)) = (self.tracks.index(&row.destination), &row.key) else {
            return;
        };
        let key = LaneKey::new(row.shard, route, key);
        let Some(lane) = self
            .lanes
            .get(&key)
            .filter(|lane| lane.is_blocked(row.id.number()))
        else {
            return;
        };
        let of_lane = heads
            .iter()
            .filter(|head| head.shard == row.shard && head.lane.destination == row.destination)
            .filter(|head| head.lane.key == key.key);
        let first = of_lane
            .map(|head| head.id.number())
            .min()
            .unwrap_or(row.id.number());
        let before: Vec<i64> = lane.scheduled().take_while(|&number| number < first).collect();
        for number in before {
            let settled = self.asked.iter().flat_map(|asked| &asked.settled);
            let unwritten = self.held.contains_key(&number) || self.aside.contains_key(&number);
            if !unwritten && settled.map(|id| id.number()).all(|settled| settled != number) {
                self.lanes.entry(key.clone()).or_default().unschedule(number);
            }
        }
        self.refresh(&key);
    }
}
