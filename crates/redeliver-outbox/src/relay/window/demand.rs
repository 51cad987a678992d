//! What a window has room for.

use super::{Asked, LaneKey, Window, Wish, numbers};
use crate::{
    plants::{Plant, planted},
    store::{Bytes, Demand, LaneDemand},
};

/// So many lanes are read again in one statement.
const LANES_A_READ: usize = 16;
/// Until the weight of messages is known, so many are read.
const FIRST_READ: usize = 64;

impl Window {
    /// What there is room for; nothing if it would not be worth a statement.
    pub(in crate::relay) fn demand(&mut self) -> Option<Demand> {
        let room = self.room()?;
        // A part of the room is for what is due, or a long backlog would keep every retry waiting behind it.
        let fresh = room - room / 4;
        self.forget_asleep();
        let mut rows = room;
        let mut lanes = self.lane_demands(&mut rows);
        lanes.extend(self.tracks.demands(LANES_A_READ, &mut rows));
        self.asked = Some(Asked {
            epochs: self.leases().map(|lease| (lease.shard, lease.epoch)).collect(),
            settled: numbers::Set::default(),
        });
        Some(Demand {
            fresh,
            due: (room - fresh).max(1) + self.held_due + self.aside_due,
            lanes,
            behind: 0,
            bytes: Bytes {
                all: self.limits.bytes.saturating_sub(self.weight).max(1),
                largest: self.limits.largest,
            },
        })
    }

    /// Whether a read is worth its statement.
    pub(in crate::relay) fn has_room(&self) -> bool {
        self.room().is_some()
    }

    fn room(&self) -> Option<usize> {
        let held = if planted(Plant::WindowUnbounded) {
            0
        } else {
            self.held.len()
        };
        let room = self.limits.messages.saturating_sub(held);
        let fitting = match self.usual_weight {
            Some(usual) => self.limits.bytes.saturating_sub(self.weight) / usual.max(1),
            None => FIRST_READ,
        };
        // One message fits into an empty window, whatever it weighs.
        let fitting = if self.held.is_empty() {
            fitting.max(1)
        } else {
            fitting
        };
        let fresh = room.min(fitting).min(self.limits.read_batch);
        let worth_it = self.limits.read_batch.min(self.limits.messages).div_ceil(4);
        let enough = fresh >= worth_it.min(FIRST_READ);
        (enough || (fresh > 0 && self.held.is_empty())).then_some(fresh)
    }

    /// Whether something could be read that was let go before, and there is room for it.
    pub(in crate::relay) fn wants_lanes(&self) -> bool {
        self.wanted.iter().any(|key| self.tracks.has_room(key.route)) || self.tracks.wants_read()
    }

    /// Lanes to be read again, with at most so many rows in all.
    fn lane_demands(&mut self, rows: &mut usize) -> Vec<LaneDemand> {
        let mut demands = Vec::new();
        let mut later = Vec::new();
        while demands.len() < LANES_A_READ
            && *rows > 0
            && let Some(key) = self.wanted.pop_front()
        {
            let Some(lane) = self.lanes.get_mut(&key) else {
                continue;
            };
            lane.wanted = false;
            let Wish::Read(from) = lane.wish() else { continue };
            if !self.tracks.has_room(key.route) {
                lane.wanted = true;
                later.push(key);
                continue;
            }
            lane.begin_read();
            let limit = self.limits.lane.min(*rows);
            *rows -= limit;
            demands.push(LaneDemand {
                shard: key.shard,
                destination: self.tracks.name(key.route).to_owned(),
                key: Some(key.key),
                from,
                limit,
            });
        }
        self.wanted.extend(later);
        demands
    }

    /// The read failed; it will be asked for again.
    pub(in crate::relay) fn read_failed(&mut self, demand: &Demand) {
        self.asked = None;
        if planted(Plant::FailedReadForgotten) {
            return;
        }
        for asked in &demand.lanes {
            let Some(route) = self.tracks.index(&asked.destination) else {
                continue;
            };
            let Some(key) = &asked.key else {
                self.tracks.track(asked.shard, route).forget_read();
                continue;
            };
            let key = LaneKey::new(asked.shard, route, key);
            if let Some(lane) = self.lanes.get_mut(&key) {
                lane.forget_read();
                self.refresh(&key);
            }
        }
    }
}
