//! The invariants of a window, in debug builds: what is counted agrees with what is there, and everything in memory has its place.

use std::collections::BTreeSet;

use super::{Held, Stage, Window, Wish};
use crate::{plants::is_sound, relay::numbers};

/// With more lanes than this the look at each of them is left out: it would be most of the work.
const LANES: usize = 4096;

impl Window {
    /// Checks everything. Costs a look at each message.
    pub(super) fn check(&self) {
        if !is_sound() {
            return;
        }
        self.check_counts();
        self.check_aside();
        self.tracks.check(
            self.held
                .values()
                .filter_map(|held| Some((held.route?, held.message.weight()))),
        );
        self.tracks
            .check_counted(|number| self.held.contains_key(&number));
        self.check_places();
        if self.lanes.len() <= LANES {
            self.check_lanes();
        }
    }

    fn check_counts(&self) {
        let held = || self.held.values();
        let weight: usize = held().map(|held| held.message.weight()).sum();
        debug_assert_eq!(self.weight, weight, "bytes");
        debug_assert_eq!(self.held_due, held().filter(|held| held.due).count(), "due");
        for (number, shard) in &self.shards {
            let of_shard = held().filter(|held| held.lease.shard == *number).count();
            debug_assert_eq!(shard.held, of_shard, "messages of shard {number}");
        }
        for held in held() {
            debug_assert!(
                self.shards
                    .get(&held.lease.shard)
                    .is_some_and(|shard| shard.lease == held.lease),
                "a message of a shard that is not owned"
            );
        }
    }

    fn check_aside(&self) {
        let due = self.aside.values().filter(|aside| aside.is_due()).count();
        debug_assert_eq!(self.aside_due, due, "due messages that are set aside");
        for (number, aside) in &self.aside {
            debug_assert!(!self.held.contains_key(number), "{number} is held and set aside");
            debug_assert!(
                self.shards.keys().any(|&shard| aside.is_of(shard)),
                "{number} is set aside, of a shard that is not owned"
            );
        }
    }

    /// Each message that waits has a place from which its turn comes: without one it would be taken for known, and never sent.
    fn check_places(&self) {
        let ready: numbers::Set<i64> = self.tracks.ready_numbers().collect();
        let waiting = self.held.iter();
        for (number, held) in waiting.filter(|(_, held)| held.stage == Stage::Waiting) {
            let lane = held.lane.as_ref().map(|key| self.lanes.get(key));
            let (queued, turn) = match lane {
                None => (false, true),
                Some(lane) => (
                    lane.is_some_and(|lane| lane.is_queued(*number)),
                    lane.is_some_and(|lane| lane.turn() == Some(*number)),
                ),
            };
            debug_assert!(
                queued || (turn && ready.contains(number)),
                "{number} has no place: {held:?} in {lane:?}"
            );
        }
    }

    fn check_lanes(&self) {
        let wanted: BTreeSet<_> = self
            .wanted
            .iter()
            .map(|key| (key.shard, key.route, &key.key))
            .collect();
        for (key, lane) in &self.lanes {
            lane.check(|number| {
                let of_lane = |held: &Held| held.lane.as_ref() == Some(key);
                self.held.get(&number).is_some_and(of_lane)
                    || self.aside.get(&number).is_some_and(|aside| aside.is_in(key))
            });
            debug_assert!(
                !lane.is_asleep() || lane.noted_asleep,
                "{key:?} would stay in memory: {lane:?}"
            );
            match lane.wish() {
                Wish::Go(number) => debug_assert!(false, "{number} of {key:?} could go: {lane:?}"),
                Wish::Read(_) => debug_assert!(
                    lane.wanted && wanted.contains(&(key.shard, key.route, &key.key)),
                    "nothing reads {key:?}: {lane:?}"
                ),
                Wish::Wait | Wish::Gone => {}
            }
        }
    }
}
