//! Rows that appeared behind the cursors.

use super::{
    LaneKey, Source, Window,
    admit::{busy, unusable_key},
};
use crate::{
    Message, NewMessage, Timestamp,
    store::{Lease, Outline, Settlement, Verdict},
};

impl Window {
    /// A never-scheduled row behind the cursor of its shard. A row that the window does not know is let go as if there had been no room
    /// for it, so that it is read in its place among the others of its lane. Says what can be written of it at once.
    pub(super) fn find_behind(&mut self, outline: Outline) -> Option<Settlement> {
        let (shard, number) = (outline.shard, outline.id.number());
        let owned = self.shards.get(&shard)?;
        let (lease, leaving) = (owned.lease, owned.leaving);
        if leaving || !self.is_as_asked(shard) || self.has_taken_in(&outline) {
            return None;
        }
        let Some(route) = self.tracks.index(&outline.destination) else {
            let message = sketch(outline);
            let verdict = self.unknown_destination(&message);
            return self.settle_behind(message, lease, None, verdict);
        };
        let Some(key) = &outline.key else {
            let track = self.tracks.track(shard, route);
            if !track.has_spilled(number) {
                track.spill(number);
            }
            return None;
        };
        if let Some(verdict) = unusable_key(key, outline.unreadable_key, true) {
            return self.settle_behind(sketch(outline), lease, Some(route), verdict);
        }
        let key = LaneKey::new(shard, route, key);
        let lane = self.lanes.entry(key.clone()).or_default();
        let was_scheduled = lane.unschedule(number);
        if was_scheduled || !lane.has_spilled(number) {
            lane.spill(number);
            self.refresh(&key);
        }
        None
    }

    /// Whether the row is that of a message that is held, set aside, or settled since the read began.
    fn has_taken_in(&self, outline: &Outline) -> bool {
        let (id, number) = (outline.id, outline.id.number());
        let held = self.held.get(&number);
        let aside = self.aside.get(&number);
        held.is_some_and(|held| held.message.id == id)
            || aside.is_some_and(|aside| aside.is(id))
            || self.was_settled(id)
    }

    /// Holds the message until its verdict is written. While another one with its number is held, it waits for the next look.
    fn settle_behind(
        &mut self,
        message: Message,
        lease: Lease,
        route: Option<usize>,
        verdict: Verdict,
    ) -> Option<Settlement> {
        let number = message.number();
        if self.held.contains_key(&number) || self.aside.contains_key(&number) {
            return None;
        }
        let settlement = Settlement::of(&message, lease, verdict);
        self.hold(busy(message, lease, route, Source::Fresh));
        Some(settlement)
    }
}

/// A message that is not sent, so that it need not be read.
fn sketch(outline: Outline) -> Message {
    Message {
        shard: outline.shard,
        redrives: outline.redrives,
        destination: outline.destination,
        topic: outline.topic,
        key: outline.key,
        ..Message::of(&NewMessage::to(""), outline.id, Timestamp::default())
    }
}
