//! What a relay holds in memory: pure bookkeeping, without a clock, a database or a destination.

mod admit;
mod aside;
mod behind;
#[cfg(debug_assertions)]
mod check;
mod demand;
mod heads;
mod settled;

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
};

use super::{
    lane::{Lane, Wish},
    manners::Allowance,
    numbers::{self, ByNumber},
    shard::{Shard, Source},
    track::Tracks,
};
use crate::{
    Message, MessageId,
    destination::Routes,
    plants::{Plant, is_sound, planted},
    store::{Claimed, LaneId, Lease, Settlement, Verdict},
};

/// How much a window may hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub messages: usize,
    pub bytes: usize,
    pub lane: usize,
    pub read_batch: usize,
    /// The longest payload that any destination takes.
    pub largest: usize,
}

/// A lane within a shard, its destination by its place in the list of routes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct LaneKey {
    shard: u16,
    route: usize,
    key: String,
}

impl LaneKey {
    fn new(shard: u16, route: usize, key: &str) -> Self {
        let key = key.to_owned();
        Self { shard, route, key }
    }
}

#[derive(Debug)]
struct Held {
    message: Arc<Message>,
    lease: Lease,
    route: Option<usize>,
    lane: Option<LaneKey>,
    /// Its attempt is to be counted before the send.
    suspect: bool,
    /// Its attempt has been.
    counted: bool,
    due: bool,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// For its turn.
    Waiting,
    /// On its way, or its verdict on its way to the database.
    Busy,
}

/// Where a message waits that is put back to its destination.
#[derive(Clone, Copy, Debug)]
enum Place {
    First,
    Last,
}

/// A message whose turn it is.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub message: Arc<Message>,
    pub lease: Lease,
    pub route: usize,
    /// Its attempt has to be counted first.
    pub count_first: bool,
    /// Its attempt is counted already: it is the one that `message.attempts` says.
    pub counted: bool,
    pub headed_parked_lane: bool,
}

#[derive(Debug)]
pub(super) struct Window {
    limits: Limits,
    shards: BTreeMap<u16, Shard>,
    held: ByNumber<Held>,
    held_due: usize,
    /// Messages whose verdict the database refuses.
    aside: ByNumber<aside::Aside>,
    aside_due: usize,
    weight: usize,
    /// What a message weighs, as of late.
    usual_weight: Option<usize>,
    tracks: Tracks,
    lanes: HashMap<LaneKey, Lane>,
    /// Lanes that wish to be read again, in the order of their wishes.
    wanted: VecDeque<LaneKey>,
    /// Lanes of which only scheduled messages are known.
    asleep: Vec<LaneKey>,
    /// While a read is under way.
    asked: Option<Asked>,
}

/// What was so when a read began: its answer may be of that time.
#[derive(Debug, Default)]
struct Asked {
    /// A shard that was given back and taken again since is read from its beginning; what this read says of it comes from the middle.
    epochs: HashMap<u16, i64>,
    /// What was settled since: the read may have seen it as it was before.
    settled: numbers::Set<MessageId>,
}

impl Window {
    pub(super) fn new(limits: Limits, routes: &Routes) -> Self {
        let tracks = Tracks::new(routes, limits.messages, limits.bytes);
        Self {
            limits,
            shards: BTreeMap::new(),
            held: ByNumber::default(),
            held_due: 0,
            aside: ByNumber::default(),
            aside_due: 0,
            weight: 0,
            usual_weight: None,
            tracks,
            lanes: HashMap::new(),
            wanted: VecDeque::new(),
            asleep: Vec::new(),
            asked: None,
        }
    }

    pub(super) fn leases(&self) -> impl Iterator<Item = Lease> {
        self.shards.values().map(|shard| shard.lease)
    }

    /// Whether what the read under way says of a shard is to be believed.
    fn is_as_asked(&self, shard: u16) -> bool {
        let asked = self.asked.as_ref().and_then(|asked| asked.epochs.get(&shard));
        let owned = self.shards.get(&shard).map(|shard| &shard.lease.epoch);
        asked.is_some() && asked == owned
    }

    pub(super) fn owned(&self) -> usize {
        self.shards.len()
    }

    /// Shards that stay.
    pub(super) fn staying(&self) -> impl Iterator<Item = u16> {
        self.shards
            .iter()
            .filter(|(_, shard)| !shard.leaving)
            .map(|(&shard, _)| shard)
    }

    /// The most messages that it ever holds.
    pub(super) fn most(&self) -> usize {
        self.limits.messages
    }

    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    pub(super) fn held_for(&self, route: usize) -> usize {
        self.tracks.held_for(route)
    }

    pub(super) fn in_flight(&self) -> usize {
        self.tracks.in_flight()
    }

    pub(super) fn own(&mut self, claimed: &Claimed) {
        let shard = claimed.lease.shard;
        self.shards.insert(shard, Shard::new(claimed));
        let parked = claimed.parked.iter();
        for parked in parked.filter(|_| !planted(Plant::ParkForgotten)) {
            if let Some(lane) = self.lane(shard, &parked.lane) {
                let behind = match parked.head {
                    0 => lane.hold(),
                    head => lane.park(head),
                };
                self.let_all_go(behind);
            }
        }
    }

    /// An operator has parked a lane: what has not begun does not begin.
    fn hold_lane(&mut self, shard: u16, id: &LaneId) -> Option<Settlement> {
        let route = self.tracks.index(&id.destination)?;
        let key = LaneKey::new(shard, route, &id.key);
        let behind = self.lanes.entry(key.clone()).or_default().hold();
        self.let_all_go(behind);
        self.end_turn_in_vain(&key)
    }

    /// Lets go of a message that waits for its turn, if an operator has parked its lane: it is read again.
    #[must_use = "what is said is to be written"]
    fn end_turn_in_vain(&mut self, key: &LaneKey) -> Option<Settlement> {
        let number = self.lanes.get(key)?.turn_in_vain()?;
        let held = self.held.get(&number)?;
        if held.stage != Stage::Waiting {
            return None;
        }
        let due = held.due;
        if let Some(uncounted) = self.give_up(number) {
            return Some(uncounted);
        }
        let lane = self.lanes.get_mut(key)?;
        lane.end_turn(number);
        if due {
            self.schedule(key, number, None);
        } else {
            lane.spill(number);
        }
        None
    }

    fn lane(&mut self, shard: u16, lane: &LaneId) -> Option<&mut Lane> {
        let route = self.tracks.index(&lane.destination)?;
        let key = LaneKey::new(shard, route, &lane.key);
        Some(self.lanes.entry(key).or_default())
    }

    /// The shard is somebody else's: nothing of it is held any more, whatever it was.
    pub(super) fn lose(&mut self, shard: u16) {
        self.shards.remove(&shard);
        self.forget_aside(shard);
        self.forget(shard, |_| true);
    }

    /// The shard is to be given back: what has not begun does not begin. Says what is to be written of it.
    #[must_use = "what is said is to be written"]
    pub(super) fn leave(&mut self, shard: u16) -> Vec<Settlement> {
        let Some(owned) = self.shards.get_mut(&shard) else {
            return Vec::new();
        };
        owned.leaving = true;
        let counted = self
            .held
            .iter()
            .filter(|(_, held)| held.lease.shard == shard && held.stage == Stage::Waiting && held.counted);
        let counted: Vec<i64> = counted.map(|(&number, _)| number).collect();
        let uncounted = counted
            .into_iter()
            .filter_map(|number| self.give_up(number))
            .collect();
        self.forget(shard, |held| held.stage == Stage::Waiting);
        uncounted
    }

    fn forget(&mut self, shard: u16, which: impl Fn(&Held) -> bool) {
        self.lanes.retain(|key, _| key.shard != shard);
        self.tracks.forget_shard(shard);
        let gone = self
            .held
            .iter()
            .filter(|(_, held)| held.lease.shard == shard && which(held));
        let gone = gone.map(|(&number, _)| number).collect();
        self.let_all_go(gone);
    }

    /// Shards on their way out of which nothing is held any more: those that can be given back as clean, or those that cannot.
    pub(super) fn quiet(&self, clean: bool) -> Vec<Lease> {
        let quiet = self
            .shards
            .values()
            .filter(|shard| shard.leaving && (shard.held == 0 || planted(Plant::ReleasedInFlight)))
            // How a message ended whose verdict could not be written, the next owner does not know.
            .filter(|shard| (shard.has_suspects() || self.has_aside(shard.lease.shard)) != clean);
        quiet.map(|shard| shard.lease).collect()
    }

    fn hold(&mut self, held: Held) {
        self.weight += held.message.weight();
        self.held_due += usize::from(held.due);
        if let Some(shard) = self.shards.get_mut(&held.lease.shard) {
            shard.held += 1;
        }
        if let Some(route) = held.route {
            self.tracks.hold(route, held.message.weight());
        }
        self.held.insert(held.message.number(), held);
    }

    fn let_go(&mut self, number: i64) -> Option<Held> {
        let held = self.held.remove(&number)?;
        debug_assert!(
            self.weight >= held.message.weight(),
            "more bytes were let go than held"
        );
        self.weight = self.weight.saturating_sub(held.message.weight());
        self.held_due -= usize::from(held.due);
        if let Some(shard) = self.shards.get_mut(&held.lease.shard) {
            debug_assert!(
                shard.held > 0 || !is_sound(),
                "more of a shard was let go than held"
            );
            shard.held = shard.held.saturating_sub(1);
        }
        if let Some(route) = held.route {
            self.tracks.let_go(route, held.message.weight());
            self.tracks.uncount(route, number);
        }
        Some(held)
    }

    /// The message is no more, and nothing waits for it.
    fn forget_message(&mut self, number: i64) {
        let lane = self.let_go(number).and_then(|held| held.lane);
        if let Some(key) = lane
            && let Some(lane) = self.lanes.get_mut(&key)
        {
            lane.forget(number);
            self.refresh(&key);
        }
    }

    fn let_all_go(&mut self, numbers: Vec<i64>) {
        for number in numbers {
            self.let_go(number);
        }
    }

    /// Gives a lane's next message its turn, or puts down the lane's wish.
    fn refresh(&mut self, key: &LaneKey) {
        let Some(lane) = self.lanes.get_mut(key) else {
            return;
        };
        match lane.wish() {
            Wish::Go(number) => {
                lane.take_turn(number);
                let retry = self
                    .held
                    .get(&number)
                    .is_some_and(|held| held.message.attempts > 0);
                self.tracks.ready(key.route, number, retry);
            }
            Wish::Read(_) if !lane.wanted => {
                lane.wanted = true;
                self.wanted.push_back(key.clone());
            }
            Wish::Read(_) => {}
            Wish::Wait => self.note_asleep(key),
            Wish::Gone => {
                self.lanes.remove(key);
            }
        }
    }

    /// The next message whose turn it is at a destination that takes one more.
    pub(super) fn next(&mut self) -> Option<Turn> {
        if self.tracks.in_flight() >= self.limits.messages && !planted(Plant::ConcurrencyIgnored) {
            return None;
        }
        loop {
            let (route, number) = self.tracks.next()?;
            // What was let go while it waited for its turn leaves its number behind.
            // So does another message that had the number before.
            let lanes = &self.lanes;
            let is_its_turn = |held: &Held| {
                let lane = held.lane.as_ref().and_then(|key| lanes.get(key));
                lane.is_none_or(|lane| lane.has_turn(number) || planted(Plant::TurnEndsAtSend))
            };
            let waiting = self.held.get_mut(&number).filter(|held| {
                held.stage == Stage::Waiting && held.route == Some(route) && is_its_turn(held)
            });
            let Some(held) = waiting else {
                continue;
            };
            let count_first = (held.suspect || self.tracks.counts_first(route)) && !held.counted;
            match count_first {
                true => self.tracks.count(route, number),
                false => self.tracks.uncount(route, number),
            }
            held.stage = Stage::Busy;
            if planted(Plant::TurnEndsAtSend)
                && let Some(lane) = held.lane.as_ref().and_then(|key| self.lanes.get_mut(key))
            {
                lane.end_turn(number);
            }
            let lane = held.lane.as_ref().and_then(|key| self.lanes.get(key));
            return Some(Turn {
                message: Arc::clone(&held.message),
                lease: held.lease,
                route,
                count_first,
                counted: held.counted,
                headed_parked_lane: lane.is_some_and(|lane| lane.is_parked_for(number)),
            });
        }
    }

    /// It could not go after all, or nothing came of it that would count: it is the next one, as it was. Says what is to be written, if
    /// it does not stay in memory.
    #[must_use = "what is said is to be written"]
    pub(super) fn put_back(&mut self, id: MessageId, lease: Lease) -> Option<Settlement> {
        self.put(id, lease, Place::First)
    }

    /// Nothing came of it that would count, and another one may do better: it is the last one, as it was.
    #[must_use = "what is said is to be written"]
    pub(super) fn put_behind(&mut self, id: MessageId, lease: Lease) -> Option<Settlement> {
        self.put(id, lease, Place::Last)
    }

    fn put(&mut self, id: MessageId, lease: Lease, place: Place) -> Option<Settlement> {
        if !self.is_held(id, lease) {
            return None;
        }
        let held = self.held.get_mut(&id.number())?;
        let retry = held.message.attempts > u32::from(held.counted);
        if let Some(route) = held.route.filter(|_| held.counted) {
            self.tracks.count(route, id.number());
        }
        self.wait_again(id.number(), retry, place)
    }

    /// Nothing of it is on its way any more: it waits for its turn again, unless it is not to begin.
    fn wait_again(&mut self, number: i64, retry: bool, place: Place) -> Option<Settlement> {
        let held = self.held.get_mut(&number)?;
        held.stage = Stage::Waiting;
        let (shard, lane) = (held.lease.shard, held.lane.clone());
        match (held.route, place) {
            (Some(route), Place::First) => self.tracks.ready_first(route, number, retry),
            // Behind those that were never attempted, too.
            (Some(route), Place::Last) => self.tracks.ready(route, number, false),
            (None, _) => {}
        }
        if let Some(key) = lane
            && let Some(uncounted) = self.end_turn_in_vain(&key)
        {
            return Some(uncounted);
        }
        // In a shard on its way out nothing begins.
        let leaving = self.shards.get(&shard).is_none_or(|shard| shard.leaving);
        leaving.then(|| self.give_up(number)).flatten()
    }

    /// Lets go of a message that does not begin. Where each attempt is counted, the count is taken back first: whoever reads it again
    /// would take it for one that may have arrived.
    fn give_up(&mut self, number: i64) -> Option<Settlement> {
        let held = self.held.get_mut(&number)?;
        let counts_first = held.route.is_some_and(|route| self.tracks.counts_first(route));
        if held.counted && counts_first {
            held.stage = Stage::Busy;
            let attempt = held.message.attempts;
            return Some(Settlement::of(
                &held.message,
                held.lease,
                Verdict::Uncounted { attempt },
            ));
        }
        self.let_go(number);
        None
    }

    /// What a destination is allowed from now on.
    pub(super) fn allow(&mut self, route: usize, allowance: Allowance) {
        self.tracks.allow(route, allowance);
        for number in self.tracks.in_the_way(route) {
            self.make_way(number);
        }
    }

    /// Lets go of a message that waits for its turn, to be read again, unless its attempt is counted already.
    fn make_way(&mut self, number: i64) {
        let held = self.held.get(&number);
        let Some(held) = held.filter(|held| held.stage == Stage::Waiting) else {
            return;
        };
        let (Some(route), due, shard) = (held.route, held.due, held.lease.shard) else {
            return;
        };
        if held.counted {
            self.tracks.ready_first(route, number, held.message.attempts > 1);
            return;
        }
        match held.lane.clone() {
            // What is due comes again by itself.
            None if due => {}
            None => self.tracks.track(shard, route).spill(number),
            Some(key) => {
                let Some(lane) = self.lanes.get_mut(&key) else {
                    return;
                };
                let gone = lane.make_way(number);
                if due {
                    self.schedule(&key, number, None);
                } else {
                    lane.spill(number);
                }
                self.let_all_go(gone);
                self.let_go(number);
                self.refresh(&key);
                return;
            }
        }
        self.let_go(number);
    }

    /// Whether something of a destination was put away since this was last asked.
    pub(super) fn was_put_away(&mut self, route: usize) -> bool {
        self.tracks.was_put_away(route)
    }

    /// So many messages of a destination were brought back, and will be read.
    pub(super) fn expect(&mut self, route: usize, count: usize) {
        self.tracks.expect(route, count);
    }

    pub(super) fn room_left(&self, route: usize) -> usize {
        self.tracks.room_left(route)
    }

    pub(super) fn name(&self, route: usize) -> &str {
        self.tracks.name(route)
    }

    /// How many messages wait for their turn at a destination.
    pub(super) fn ready(&self, route: usize) -> usize {
        self.tracks.waiting(route)
    }

    /// Whether a message waits for its turn at a destination.
    pub(super) fn has_ready(&self, route: usize) -> bool {
        self.tracks.has_ready(route)
    }

    pub(super) fn sending(&mut self, route: usize) {
        self.tracks.sending(route, 1);
    }

    pub(super) fn sent(&mut self, route: usize) {
        self.tracks.sending(route, -1);
    }

    /// A message that is held.
    pub(super) fn message(&self, number: i64) -> Option<&Message> {
        self.held.get(&number).map(|held| &*held.message)
    }

    /// The destination of a message that is held, if it has one that there is.
    pub(super) fn route_of(&self, number: i64) -> Option<usize> {
        match self.held.get(&number) {
            Some(held) => held.route,
            None => self.route_aside(number),
        }
    }

    /// Whether a message is still this relay's, in this epoch of its shard.
    pub(super) fn is_held(&self, id: MessageId, lease: Lease) -> bool {
        let held = self.held.get(&id.number());
        held.is_some_and(|held| held.lease == lease && held.message.id == id)
    }
}
