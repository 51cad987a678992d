//! What a lane knows of its scheduled messages. It is a copy of what the database says: every read brings the first scheduled messages
//! of each lane that it has a message of, so a lane of which nothing but scheduled messages is known is forgotten.

use std::collections::HashMap;

use super::{LaneKey, Window};
use crate::{
    plants::{Plant, planted},
    store::{Head, Outline, ParkedLane, Until},
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
            if !self.has_news_of(number) {
                self.lanes.entry(key.clone()).or_default().unschedule(number);
            }
        }
        self.refresh(&key);
    }

    /// The reader has begun again, perhaps on other tables. Lanes are parked for the dead letters that these have, and for no others.
    /// What a lane has let go is not read before the reader has come to it again, so due messages wait until then.
    pub(super) fn begin_again(&mut self, parked: &[(u16, ParkedLane)]) {
        for shard in self.shards.values_mut() {
            shard.caught_up = false;
        }
        let mut now: HashMap<LaneKey, i64> = HashMap::new();
        for (shard, lane) in parked.iter().filter(|(_, lane)| lane.head != 0) {
            if let Some(route) = self.tracks.index(&lane.lane.destination) {
                now.insert(LaneKey::new(*shard, route, &lane.lane.key), lane.head);
            }
        }
        let before: Vec<(LaneKey, i64)> = self
            .lanes
            .iter()
            .filter_map(|(key, lane)| Some((key.clone(), lane.parked_for()?)))
            .filter(|(key, head)| self.is_as_asked(key.shard) && !self.has_news_of(*head))
            .collect();
        for (key, head) in before {
            if let Some(lane) = self.lanes.get_mut(&key).filter(|_| now.get(&key) != Some(&head)) {
                lane.pass(head);
                self.refresh(&key);
            }
        }
        for (key, head) in now {
            if self.is_as_asked(key.shard) && !self.has_news_of(head) {
                let behind = self.lanes.entry(key).or_default().park(head);
                self.let_all_go(behind);
            }
        }
    }

    /// Whether something is known of a message that the read under way may not have seen.
    fn has_news_of(&self, number: i64) -> bool {
        let mut settled = self.asked.iter().flat_map(|asked| &asked.settled);
        self.held.contains_key(&number)
            || self.aside.contains_key(&number)
            || settled.any(|id| id.number() == number)
    }
}
