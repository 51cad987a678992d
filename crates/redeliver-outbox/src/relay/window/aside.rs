//! Messages whose verdict the database refuses: they are out of the window, and known nevertheless.

use std::time::Duration;

use super::{Held, LaneKey, Window, admit::NOT_NOW};
use crate::{
    MessageId, Timestamp, limits,
    store::{Lease, Settlement, Verdict},
};

/// A message without its payload: only its lane waits for the verdict to be written.
#[derive(Debug)]
pub(super) struct Aside {
    id: MessageId,
    lease: Lease,
    route: Option<usize>,
    lane: Option<LaneKey>,
    due: bool,
    since: Timestamp,
}

impl Aside {
    /// How long a due message of the lane waits before it looks again: about as long as the lane has waited.
    pub(super) fn look_again_after(&self, now: Timestamp) -> Duration {
        now.since(self.since).clamp(NOT_NOW, limits::STANDING_LANE_LOOK)
    }

    pub(super) fn is(&self, id: MessageId) -> bool {
        self.id == id
    }

    pub(super) const fn is_of(&self, shard: u16) -> bool {
        self.lease.shard == shard
    }

    #[cfg(debug_assertions)]
    pub(super) const fn is_due(&self) -> bool {
        self.due
    }

    #[cfg(debug_assertions)]
    pub(super) fn is_in(&self, lane: &LaneKey) -> bool {
        self.lane.as_ref() == Some(lane)
    }
}

impl Window {
    /// Lets go of a message whose verdict is refused. It is not sent again, and its lane waits.
    pub(in crate::relay) fn set_aside(&mut self, settlement: &Settlement, since: Timestamp) {
        let number = settlement.number();
        if !self.is_held(settlement.id, settlement.lease) {
            return;
        }
        let Some(held) = self.let_go(number) else { return };
        let Held {
            message,
            lease,
            route,
            lane,
            due,
            ..
        } = held;
        if let Some(key) = &lane
            && let Some(lane) = self.lanes.get_mut(key)
        {
            let behind = lane.stick(number);
            self.let_all_go(behind);
        }
        self.aside_due += usize::from(due);
        let aside = Aside {
            id: message.id,
            lease,
            route,
            lane,
            due,
            since,
        };
        let before = self.aside.insert(number, aside);
        debug_assert!(before.is_none(), "a message is set aside once");
    }

    /// Forgets a message of which nothing was sent and that no lane waits for. Says whether it could: it is read again with its shard.
    pub(in crate::relay) fn drop_unsent(&mut self, settlement: &Settlement) -> bool {
        if !self.is_held(settlement.id, settlement.lease) {
            return false;
        }
        let number = settlement.number();
        let held = self.held.get(&number);
        let free = held.is_some_and(|held| held.lane.is_none() && !held.due);
        if free {
            self.let_go(number);
        }
        free
    }

    /// The shard is read from its beginning again: until it is known to its end, a due message may have predecessors.
    pub(in crate::relay) fn read_again(&mut self, shard: u16) {
        if let Some(shard) = self.shards.get_mut(&shard) {
            shard.caught_up = false;
        }
    }

    pub(in crate::relay) fn is_aside(&self, id: MessageId, lease: Lease) -> bool {
        let aside = self.aside.get(&id.number());
        aside.is_some_and(|aside| aside.id == id && aside.lease == lease)
    }

    /// Whether a message that is read is set aside. One that has its number by now is another one.
    pub(super) fn is_known_aside(&mut self, id: MessageId) -> bool {
        match self.aside.get(&id.number()) {
            Some(aside) if aside.id == id => true,
            Some(_) => {
                if let Some(key) = self.take_aside(id.number()).and_then(|aside| aside.lane)
                    && let Some(lane) = self.lanes.get_mut(&key)
                {
                    lane.forget(id.number());
                    self.refresh(&key);
                }
                false
            }
            None => false,
        }
    }

    fn take_aside(&mut self, number: i64) -> Option<Aside> {
        let aside = self.aside.remove(&number)?;
        self.aside_due -= usize::from(aside.due);
        Some(aside)
    }

    /// A verdict that was refused before has been written.
    pub(super) fn settled_aside(&mut self, settlement: &Settlement, now: Timestamp) {
        let number = settlement.number();
        if !self.is_aside(settlement.id, settlement.lease)
            // It was not sent: the count is taken back first.
            || matches!(settlement.verdict, Verdict::Counted { .. })
        {
            return;
        }
        if let Some(asked) = &mut self.asked {
            asked.settled.insert(settlement.id);
        }
        let Some(aside) = self.take_aside(number) else {
            return;
        };
        match (aside.lane, aside.route) {
            (Some(key), _) => self.after_verdict(&key, settlement, aside.due, now),
            (None, Some(route)) => self.after_unkeyed(route, settlement, aside.due),
            (None, None) => {}
        }
    }

    /// What was set aside before its attempt could be counted is read again.
    fn after_unkeyed(&mut self, route: usize, settlement: &Settlement, due: bool) {
        match settlement.verdict {
            Verdict::Uncounted { .. } if !due => {
                self.tracks
                    .track(settlement.lease.shard, route)
                    .spill(settlement.number());
            }
            Verdict::Postponed(_) => self.put_away_if_parked(route, &settlement.verdict),
            _ => {}
        }
    }

    pub(super) fn forget_aside(&mut self, shard: u16) {
        self.aside.retain(|_, aside| aside.lease.shard != shard);
        self.aside_due = self.aside.values().filter(|aside| aside.due).count();
    }

    pub(super) fn has_aside(&self, shard: u16) -> bool {
        self.aside.values().any(|aside| aside.lease.shard == shard)
    }

    /// The destination of a message that is set aside.
    pub(super) fn route_aside(&self, number: i64) -> Option<usize> {
        self.aside.get(&number)?.route
    }
}
