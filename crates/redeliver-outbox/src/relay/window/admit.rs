//! Taking in what a read found.

use std::{sync::Arc, time::Duration};

use super::{Held, LaneKey, Source, Stage, Window};
use crate::{
    DeadReason, Message, MessageId, Timestamp,
    destination::{KEY_IS_NO_TEXT, unknown},
    limits,
    plants::{Plant, planted},
    relay::{fan_out, lane::Due},
    store::{
        AfterDeath, Demand, Found, LaneDemand, LaneFound, Lease, ParkedLane, Settlement, Until, Verdict,
    },
};

/// A due message that there is no room for, or that waits for another of its lane, looks again after this long.
pub(super) const NOT_NOW: Duration = Duration::from_secs(1);

/// A message on its way into the window.
struct Arrival {
    message: Message,
    lease: Lease,
    source: Source,
    suspect: bool,
    route: usize,
}

impl Window {
    /// Takes in what a read found, and says what can be written of it at once.
    pub(in crate::relay) fn admit(&mut self, found: Found, demand: &Demand) -> Vec<Settlement> {
        let mut settlements = Vec::new();
        let now = found.now;
        let nothing = found.is_empty() && !found.more && found.next_due.is_none();
        for (shard, lane) in &found.parked {
            if self.is_as_asked(*shard) && !planted(Plant::ParkedByHandIgnored) {
                settlements.extend(self.hold_lane(*shard, lane));
            }
        }
        if let Some(parked) = &found.reloaded {
            self.begin_again(parked);
        }
        self.take_heads(&found.heads);
        // What was read again comes before what is new: a lane that is complete again takes the new ones in.
        let read_again = demand.lanes.iter().zip(found.lanes);
        for (asked, found) in read_again {
            if !self.is_as_asked(asked.shard) {
                continue;
            }
            self.end_lane_read(asked, &found);
            for message in found.messages {
                settlements.extend(self.take_in(message, Source::Fresh, now));
            }
            if let (Some(route), Some(key)) = (self.tracks.index(&asked.destination), &asked.key) {
                self.refresh(&LaneKey::new(asked.shard, route, key));
            }
        }
        for (shard, parked) in found.resumed {
            if self.is_as_asked(shard) {
                self.resume(shard, &parked);
            }
        }
        for message in found.fresh {
            settlements.extend(self.take_in(message, Source::Fresh, now));
        }
        for shard in found.caught_up {
            if self.is_as_asked(shard)
                && let Some(shard) = self.shards.get_mut(&shard)
            {
                shard.caught_up = true;
            }
        }
        self.announce_heads(&found.due);
        for message in by_lane(found.due) {
            settlements.extend(self.take_in(message, Source::Due, now));
        }
        // Last: what the same read has brought is known by now.
        for outline in found.behind {
            self.drop_vanished(&outline, &found.heads);
            settlements.extend(self.find_behind(outline));
        }
        let unchanged = self.asked.take().is_none_or(|asked| asked.settled.is_empty());
        if nothing && unchanged {
            self.acquit();
        }
        #[cfg(debug_assertions)]
        self.check();
        settlements
    }

    /// A read has found nothing in any shard, due or not: if nothing is held or was let go either, there are no suspects left.
    fn acquit(&mut self) {
        if self.held.is_empty()
            && self.aside.is_empty()
            && self.lanes.is_empty()
            && !self.tracks.has_spilled()
        {
            for shard in self.shards.values_mut().filter(|shard| shard.caught_up) {
                shard.acquit();
            }
        }
    }

    fn end_lane_read(&mut self, asked: &LaneDemand, found: &LaneFound) {
        let Some(route) = self.tracks.index(&asked.destination) else {
            return;
        };
        let last = found.messages.last().map_or(asked.from, |last| last.number() + 1);
        let next = (!found.complete && !planted(Plant::RereadEndsEarly)).then_some(last);
        match &asked.key {
            None => self.tracks.track(asked.shard, route).end_read(next),
            Some(key) => {
                let key = LaneKey::new(asked.shard, route, key);
                if let Some(lane) = self.lanes.get_mut(&key) {
                    lane.end_read(next);
                }
            }
        }
    }

    fn resume(&mut self, shard: u16, parked: &ParkedLane) {
        let Some(route) = self.tracks.index(&parked.lane.destination) else {
            return;
        };
        let key = LaneKey::new(shard, route, &parked.lane.key);
        if let Some(lane) = self.lanes.get_mut(&key)
            && !planted(Plant::LaneNeverResumes)
        {
            lane.resume(parked.head);
            self.refresh(&key);
        }
    }

    /// Lets paused lanes know of heads that were redriven, so that what was redriven with them and is before them goes first.
    fn announce_heads(&mut self, due: &[Message]) {
        for message in due {
            let (number, shard) = (message.number(), message.shard);
            let lane = self
                .tracks
                .index(&message.destination)
                .zip(message.key.as_deref());
            let Some(key) = lane.map(|(route, key)| LaneKey::new(shard, route, key)) else {
                continue;
            };
            let parked = self
                .lanes
                .get(&key)
                .is_some_and(|lane| lane.is_parked_for(number));
            let owned = self.shards.get(&shard);
            let ready = owned.is_some_and(|shard| shard.caught_up && !shard.leaving);
            if parked && ready && self.is_as_asked(shard) && !self.is_known(message.id) {
                self.schedule(&key, number, message.next_attempt_at.map(Until::At));
            }
        }
    }

    /// Whether a message is held, or was settled since the read began that found it.
    pub(super) fn is_known(&self, id: MessageId) -> bool {
        let aside = self.aside.get(&id.number());
        self.held.contains_key(&id.number())
            || aside.is_some_and(|aside| aside.is(id))
            || self.was_settled(id)
    }

    /// Whether a message was settled since the read under way began.
    pub(super) fn was_settled(&self, id: MessageId) -> bool {
        let asked = self.asked.as_ref();
        asked.is_some_and(|asked| asked.settled.contains(&id)) && !planted(Plant::OldReadBelieved)
    }

    fn take_in(&mut self, message: Message, source: Source, now: Timestamp) -> Option<Settlement> {
        let number = message.number();
        if !self.is_as_asked(message.shard) {
            return None;
        }
        match self.held.get(&number) {
            // Each shard has its own row of a number that was given twice: one waits until the other is done.
            Some(held) if held.lease.shard != message.shard => return self.wait_for_namesake(&message, now),
            // In the same shard the one that had the number is gone.
            Some(held) if held.message.id != message.id => self.forget_message(number),
            _ => {}
        }
        if self
            .aside
            .get(&number)
            .is_some_and(|aside| !aside.is_of(message.shard))
        {
            return self.wait_for_namesake(&message, now);
        }
        let known = self.is_known_aside(message.id) || self.is_known(message.id);
        let shard = self.shards.get_mut(&message.shard)?;
        // A due message of a shard that is not yet known to its end comes again with the next read.
        let too_soon = source == Source::Due
            && message.key.is_some()
            && !shard.caught_up
            && !planted(Plant::DueBeforeCaughtUp);
        if known || shard.leaving || too_soon {
            return None;
        }
        let weight = message.weight();
        self.usual_weight = Some(self.usual_weight.map_or(weight, |usual| (usual * 7 + weight) / 8));
        let (lease, suspect) = (shard.lease, shard.suspects(&message, source, now));
        let Some(route) = self.tracks.index(&message.destination) else {
            let settlement = Settlement::of(&message, lease, self.unknown_destination(&message));
            self.hold(busy(message, lease, None, source));
            return Some(settlement);
        };
        if let Some(verdict) = bad_key(&message) {
            let settlement = Settlement::of(&message, lease, verdict);
            self.hold(busy(message, lease, Some(route), source));
            return Some(settlement);
        }
        let (id, redrives) = (message.id, message.redrives);
        let arrival = Arrival {
            message,
            lease,
            source,
            suspect,
            route,
        };
        let until = match (&arrival.message.key, source) {
            (Some(key), Source::Fresh) => {
                self.lane_fresh(&LaneKey::new(lease.shard, route, key), arrival, now)
            }
            (Some(key), Source::Due) => self.lane_due(&LaneKey::new(lease.shard, route, key), arrival, now),
            (None, _) => self.unkeyed(arrival, now),
        }?;
        Some(Settlement {
            lease,
            id,
            redrives,
            verdict: Verdict::Postponed(until),
        })
    }

    /// The message comes again as due.
    fn wait_for_namesake(&mut self, message: &Message, now: Timestamp) -> Option<Settlement> {
        let lease = self.shards.get(&message.shard)?.lease;
        let soonest = now.plus(NOT_NOW);
        let until = Until::At(never_scheduled_yet(message, now).map_or(soonest, |due| due.max(soonest)));
        if let (Some(route), Some(key)) = (self.tracks.index(&message.destination), &message.key) {
            let key = LaneKey::new(lease.shard, route, key);
            self.schedule(&key, message.number(), Some(until));
        }
        Some(Settlement::of(message, lease, Verdict::Postponed(until)))
    }

    pub(super) fn unknown_destination(&self, message: &Message) -> Verdict {
        if message.is_event() {
            return fan_out::no_route(message);
        }
        let error = unknown(
            &message.destination,
            self.tracks.names().filter(|name| !name.is_empty()),
        );
        Verdict::Dead {
            attempted: None,
            reason: DeadReason::UnknownDestination,
            error: limits::error_text(&error),
            lane: if message.key.is_some() {
                AfterDeath::Gap
            } else {
                AfterDeath::None
            },
        }
    }

    fn unkeyed(&mut self, arrival: Arrival, now: Timestamp) -> Option<Until> {
        let (number, route) = (arrival.message.number(), arrival.route);
        let room = self.tracks.has_room(route);
        let until = match arrival.source {
            Source::Fresh => not_yet(&arrival.message, now).map(Until::At),
            Source::Due if let Some(due) = never_scheduled_yet(&arrival.message, now) => Some(Until::At(due)),
            Source::Due if self.tracks.takes_due(route) => None,
            Source::Due => Some(Until::Recovered),
        };
        if until.is_some() {
            self.hold(busy(arrival.message, arrival.lease, Some(route), arrival.source));
            return until;
        }
        let fresh = arrival.source == Source::Fresh;
        if !fresh || self.tracks.track(arrival.lease.shard, route).takes(number, room) {
            let retry = arrival.message.attempts > 0;
            self.hold(waiting(arrival, None));
            self.tracks.ready(route, number, retry);
        }
        None
    }

    fn lane_fresh(&mut self, key: &LaneKey, arrival: Arrival, now: Timestamp) -> Option<Until> {
        let number = arrival.message.number();
        let room = self.tracks.has_room(key.route);
        if let Some(due) = not_yet(&arrival.message, now) {
            self.schedule(key, number, Some(Until::At(due)));
            self.hold(busy(
                arrival.message,
                arrival.lease,
                Some(key.route),
                arrival.source,
            ));
            return Some(Until::At(due));
        }
        let lane = self.lanes.entry(key.clone()).or_default();
        if lane.push(number, room && lane.waiting() < self.limits.lane) {
            self.hold(waiting(arrival, Some(key.clone())));
        }
        self.refresh(key);
        None
    }

    fn lane_due(&mut self, key: &LaneKey, arrival: Arrival, now: Timestamp) -> Option<Until> {
        let number = arrival.message.number();
        let parked = self.tracks.is_parked(key.route) && !self.tracks.takes_due(key.route);
        let lane = self.lanes.entry(key.clone()).or_default();
        // What cannot go yet makes room for others that are due.
        let until = if parked {
            Until::Recovered
        } else if let Some(due) = never_scheduled_yet(&arrival.message, now) {
            Until::At(due)
        } else {
            match lane.push_due(number) {
                Due::Taken => {
                    self.hold(waiting(arrival, Some(key.clone())));
                    self.refresh(key);
                    return None;
                }
                Due::After(Until::Recovered) => Until::Recovered,
                Due::After(Until::At(due)) => Until::At(due.max(now.plus(NOT_NOW))),
                Due::Soon | Due::After(Until::After(_)) => Until::At(now.plus(NOT_NOW)),
                Due::Later => {
                    let stuck = lane.stuck_behind().and_then(|number| self.aside.get(&number));
                    let wait = stuck.map_or(limits::STANDING_LANE_LOOK, |stuck| stuck.look_again_after(now));
                    Until::At(now.plus(wait))
                }
            }
        };
        // Left in the window without a place in their lane, they would be taken for known when they are read again.
        self.schedule(key, number, Some(until));
        self.hold(busy(
            arrival.message,
            arrival.lease,
            Some(key.route),
            arrival.source,
        ));
        Some(until)
    }
}

/// Due messages, those with an ordering key by number. Several of one lane can become due in the wrong order, by two redrives for
/// instance; the one that is taken in first is sent first.
fn by_lane(due: Vec<Message>) -> impl Iterator<Item = Message> {
    let (mut keyed, unkeyed): (Vec<_>, Vec<_>) = due.into_iter().partition(|message| message.key.is_some());
    keyed.sort_by_key(Message::number);
    keyed.into_iter().chain(unkeyed)
}

/// The end of a message whose key cannot be read whole and exactly: it is in no lane that could be read again.
fn bad_key(message: &Message) -> Option<Verdict> {
    let key = message.key.as_ref()?;
    unusable_key(key, message.unreadable_key, message.withheld.is_some())
}

/// The end of a message whose key cannot be read exactly, or was cut off because it is too long.
pub(super) fn unusable_key(key: &str, unreadable: bool, may_be_cut: bool) -> Option<Verdict> {
    let limit = limits::KEY_LIMIT;
    let error = if unreadable {
        KEY_IS_NO_TEXT.to_owned()
    } else if may_be_cut && key.len() > limit {
        format!("the key has too many bytes; at most {limit} are allowed")
    } else {
        return None;
    };
    Some(Verdict::Dead {
        attempted: None,
        reason: DeadReason::InvalidKey,
        error,
        lane: AfterDeath::Gap,
    })
}

/// The time that the message asked for, if it has not come.
fn not_yet(message: &Message, now: Timestamp) -> Option<Timestamp> {
    let asked = message.not_before.filter(|_| !planted(Plant::NotBeforeIgnored));
    asked.filter(|&due| due > now)
}

/// The same, of a message that came as due without ever having been scheduled.
fn never_scheduled_yet(message: &Message, now: Timestamp) -> Option<Timestamp> {
    not_yet(message, now).filter(|_| message.next_attempt_at.is_none())
}

/// Held only until its verdict is written.
pub(super) fn busy(message: Message, lease: Lease, route: Option<usize>, source: Source) -> Held {
    Held {
        message: Arc::new(message),
        lease,
        route,
        lane: None,
        suspect: false,
        counted: false,
        due: source == Source::Due,
        stage: Stage::Busy,
    }
}

fn waiting(arrival: Arrival, lane: Option<LaneKey>) -> Held {
    Held {
        message: Arc::new(arrival.message),
        lease: arrival.lease,
        route: Some(arrival.route),
        lane,
        suspect: arrival.suspect,
        counted: false,
        due: arrival.source == Source::Due,
        stage: Stage::Waiting,
    }
}
