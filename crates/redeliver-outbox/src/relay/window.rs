//! What a relay holds in memory: pure bookkeeping, without a clock, a database or a destination.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use super::{
    lane::{Lane, Wish},
    shard::{Shard, Source},
    track::Tracks,
};
use crate::{
    DeadReason, Message, Timestamp,
    destination::Routes,
    limits,
    store::{
        AfterDeath, Claimed, Demand, Found, LaneDemand, LaneFound, LaneId, Lease, Settlement, Until, Verdict,
    },
};

/// How much a window may hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub messages: usize,
    pub bytes: usize,
    pub lane: usize,
    pub read_batch: usize,
}

/// A lane within a shard, its destination by its place in the list of routes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct LaneKey {
    shard: u16,
    route: usize,
    key: String,
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

/// A destination that has taken all it may hold gives its due messages this long.
const OVERFLOW_WAIT: Duration = Duration::from_secs(1);
/// So many lanes are read again in one statement.
const LANES_A_READ: usize = 16;
/// Until the weight of messages is known, so many are read.
const FIRST_READ: usize = 64;

#[derive(Debug)]
pub(super) struct Window {
    limits: Limits,
    shards: BTreeMap<u16, Shard>,
    held: HashMap<i64, Held>,
    held_due: usize,
    weight: usize,
    /// What a message weighs, as of late.
    usual_weight: Option<usize>,
    tracks: Tracks,
    lanes: HashMap<LaneKey, Lane>,
    /// Lanes that wish to be read again, in the order of their wishes.
    wanted: VecDeque<LaneKey>,
    /// While a read is under way: what was settled since. The read may have seen it as it was before.
    settled_meanwhile: Option<HashSet<i64>>,
}

impl Window {
    pub(super) fn new(limits: Limits, routes: &Routes) -> Self {
        Self {
            limits,
            shards: BTreeMap::new(),
            held: HashMap::new(),
            held_due: 0,
            weight: 0,
            usual_weight: None,
            tracks: Tracks::new(routes, limits.messages),
            lanes: HashMap::new(),
            wanted: VecDeque::new(),
            settled_meanwhile: None,
        }
    }

    pub(super) fn leases(&self) -> impl Iterator<Item = Lease> {
        self.shards.values().map(|shard| shard.lease)
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

    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    pub(super) fn in_flight(&self) -> usize {
        self.tracks.in_flight()
    }

    pub(super) fn own(&mut self, claimed: &Claimed) {
        let shard = claimed.lease.shard;
        self.shards.insert(shard, Shard::new(claimed));
        for scheduled in &claimed.scheduled {
            if let Some(lane) = self.lane(shard, &scheduled.lane) {
                lane.schedule(scheduled.number);
            }
        }
        for parked in &claimed.parked {
            if let Some(lane) = self.lane(shard, &parked.lane) {
                lane.park(parked.head);
            }
        }
    }

    fn lane(&mut self, shard: u16, lane: &LaneId) -> Option<&mut Lane> {
        let route = self.tracks.index(&lane.destination)?;
        let key = LaneKey {
            shard,
            route,
            key: lane.key.clone(),
        };
        Some(self.lanes.entry(key).or_default())
    }

    /// The shard is somebody else's: nothing of it is held any more, whatever it was.
    pub(super) fn lose(&mut self, shard: u16) {
        self.shards.remove(&shard);
        self.lanes.retain(|key, _| key.shard != shard);
        self.tracks.forget_shard(shard);
        let gone: Vec<i64> = self.numbers_of(shard, |_| true);
        for number in gone {
            self.let_go(number);
        }
    }

    /// The shard is to be given back: what has not begun does not begin.
    pub(super) fn leave(&mut self, shard: u16) {
        let Some(owned) = self.shards.get_mut(&shard) else {
            return;
        };
        owned.leaving = true;
        self.lanes.retain(|key, _| key.shard != shard);
        self.tracks.forget_shard(shard);
        let gone: Vec<i64> = self.numbers_of(shard, |held| held.stage == Stage::Waiting);
        for number in gone {
            self.let_go(number);
        }
    }

    fn numbers_of(&self, shard: u16, which: impl Fn(&Held) -> bool) -> Vec<i64> {
        let of_shard = self
            .held
            .iter()
            .filter(|(_, held)| held.lease.shard == shard && which(held));
        of_shard.map(|(&number, _)| number).collect()
    }

    /// Shards on their way out of which nothing is held any more.
    pub(super) fn quiet(&self) -> Vec<Lease> {
        let quiet = self
            .shards
            .values()
            .filter(|shard| shard.leaving && shard.held == 0);
        quiet.map(|shard| shard.lease).collect()
    }

    /// What there is room for; nothing if it would not be worth a statement.
    pub(super) fn demand(&mut self) -> Option<Demand> {
        let fresh = self.room()?;
        let mut lanes = self.lane_demands();
        lanes.extend(self.tracks.demands(LANES_A_READ));
        self.settled_meanwhile = Some(HashSet::new());
        Some(Demand {
            fresh,
            due: fresh + self.held_due,
            lanes,
        })
    }

    fn lane_demands(&mut self) -> Vec<LaneDemand> {
        let mut demands = Vec::new();
        let mut later = Vec::new();
        while demands.len() < LANES_A_READ
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
            demands.push(LaneDemand {
                shard: key.shard,
                destination: self.tracks.name(key.route).to_owned(),
                key: Some(key.key),
                from,
                limit: self.limits.lane,
            });
        }
        self.wanted.extend(later);
        demands
    }

    /// The read failed; it will be asked for again.
    pub(super) fn read_failed(&mut self, demand: &Demand) {
        self.settled_meanwhile = None;
        for asked in &demand.lanes {
            let Some(route) = self.tracks.index(&asked.destination) else {
                continue;
            };
            match &asked.key {
                None => self.tracks.track(asked.shard, route).forget_read(),
                Some(key) => {
                    let key = LaneKey {
                        shard: asked.shard,
                        route,
                        key: key.clone(),
                    };
                    if let Some(lane) = self.lanes.get_mut(&key) {
                        lane.forget_read();
                        self.refresh(&key);
                    }
                }
            }
        }
    }

    /// Takes in what a read found, and says what can be written of it at once.
    pub(super) fn admit(&mut self, found: Found, demand: &Demand) -> Vec<Settlement> {
        let mut settlements = Vec::new();
        let now = found.now;
        // What was read again comes before what is new: a lane that is complete again takes the new ones in.
        for (asked, found) in demand.lanes.iter().zip(found.lanes) {
            self.end_lane_read(asked, &found);
            for message in found.messages {
                self.take_in(message, Source::Fresh, now, &mut settlements);
            }
            self.refresh_asked(asked);
        }
        for (shard, id) in found.resumed {
            if let Some(lane) = self.lane(shard, &id) {
                lane.resume();
                let route = self.tracks.index(&id.destination);
                if let Some(route) = route {
                    self.refresh(&LaneKey {
                        shard,
                        route,
                        key: id.key,
                    });
                }
            }
        }
        for message in found.fresh {
            self.take_in(message, Source::Fresh, now, &mut settlements);
        }
        for message in found.due {
            self.take_in(message, Source::Due, now, &mut settlements);
        }
        self.settled_meanwhile = None;
        settlements
    }

    fn end_lane_read(&mut self, asked: &LaneDemand, found: &LaneFound) {
        let Some(route) = self.tracks.index(&asked.destination) else {
            return;
        };
        let last = found.messages.last().map_or(asked.from, |last| last.number() + 1);
        let next = (!found.complete).then_some(last);
        match &asked.key {
            None => self.tracks.track(asked.shard, route).end_read(next),
            Some(key) => {
                let key = LaneKey {
                    shard: asked.shard,
                    route,
                    key: key.clone(),
                };
                if let Some(lane) = self.lanes.get_mut(&key) {
                    lane.end_read(next);
                }
            }
        }
    }

    fn refresh_asked(&mut self, asked: &LaneDemand) {
        if let (Some(route), Some(key)) = (self.tracks.index(&asked.destination), &asked.key) {
            self.refresh(&LaneKey {
                shard: asked.shard,
                route,
                key: key.clone(),
            });
        }
    }

    fn take_in(
        &mut self,
        message: Message,
        source: Source,
        now: Timestamp,
        settlements: &mut Vec<Settlement>,
    ) {
        let number = message.number();
        let known = self.held.contains_key(&number)
            || self
                .settled_meanwhile
                .as_ref()
                .is_some_and(|settled| settled.contains(&number));
        let Some(shard) = self
            .shards
            .get_mut(&message.shard)
            .filter(|shard| !shard.leaving && !known)
        else {
            return;
        };
        let weight = message.weight();
        self.usual_weight = Some(self.usual_weight.map_or(weight, |usual| (usual * 7 + weight) / 8));
        let suspect = shard.suspects(&message, source, now);
        let lease = shard.lease;
        let route = self.tracks.index(&message.destination);
        let verdict = match route {
            None => Some(self.unknown(&message)),
            Some(_) if source == Source::Fresh => message
                .not_before
                .filter(|&due| due > now)
                .map(|due| Verdict::Postponed(Until::At(due))),
            Some(route) => {
                let overflows = message.key.is_none() && !self.tracks.has_room(route);
                overflows.then_some(Verdict::Postponed(Until::After(OVERFLOW_WAIT)))
            }
        };
        let lane = route.zip(message.key.clone()).map(|(route, key)| LaneKey {
            shard: message.shard,
            route,
            key,
        });
        if let Some(verdict) = verdict {
            if let (Some(key), Verdict::Postponed(_)) = (&lane, &verdict) {
                self.lanes.entry(key.clone()).or_default().schedule(number);
            }
            self.hold(message, lease, route, None, suspect, source, Stage::Busy);
            settlements.push(Settlement {
                lease,
                number,
                verdict,
            });
            return;
        }
        let Some(route_index) = route else { return };
        match lane {
            Some(key) => {
                let room = self.tracks.has_room(route_index);
                let lane = self.lanes.entry(key.clone()).or_default();
                let taken = match source {
                    Source::Due => {
                        lane.push_due(number);
                        true
                    }
                    Source::Fresh => lane.push(number, room && lane.waiting() < self.limits.lane),
                };
                if taken {
                    self.hold(
                        message,
                        lease,
                        route,
                        Some(key.clone()),
                        suspect,
                        source,
                        Stage::Waiting,
                    );
                }
                self.refresh(&key);
            }
            None => {
                let room = self.tracks.has_room(route_index) || source == Source::Due;
                if self
                    .tracks
                    .track(message.shard, route_index)
                    .takes(number, room, source == Source::Due)
                {
                    self.hold(message, lease, route, None, suspect, source, Stage::Waiting);
                    self.tracks.ready(route_index, number);
                }
            }
        }
    }

    fn unknown(&self, message: &Message) -> Verdict {
        let error = format!(
            "there is no destination '{}'; the configuration has {}",
            message
                .destination
                .chars()
                .take(limits::DESTINATION_LIMIT)
                .collect::<String>(),
            self.tracks.names()
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

    #[expect(
        clippy::too_many_arguments,
        reason = "one place makes what is held, from all that is known of it"
    )]
    fn hold(
        &mut self,
        message: Message,
        lease: Lease,
        route: Option<usize>,
        lane: Option<LaneKey>,
        suspect: bool,
        source: Source,
        stage: Stage,
    ) {
        self.weight += message.weight();
        if let Some(shard) = self.shards.get_mut(&lease.shard) {
            shard.held += 1;
        }
        if let Some(route) = route {
            self.tracks.held(route, 1);
        }
        let due = source == Source::Due;
        self.held_due += usize::from(due);
        let held = Held {
            lease,
            route,
            lane,
            suspect,
            counted: false,
            due,
            stage,
            message: Arc::new(message),
        };
        self.held.insert(held.message.number(), held);
    }

    fn let_go(&mut self, number: i64) -> Option<Held> {
        let held = self.held.remove(&number)?;
        self.weight = self.weight.saturating_sub(held.message.weight());
        self.held_due -= usize::from(held.due);
        if let Some(shard) = self.shards.get_mut(&held.lease.shard) {
            shard.held = shard.held.saturating_sub(1);
        }
        if let Some(route) = held.route {
            self.tracks.held(route, -1);
        }
        Some(held)
    }

    /// Gives a lane's next message its turn, or puts down the lane's wish.
    fn refresh(&mut self, key: &LaneKey) {
        let Some(lane) = self.lanes.get_mut(key) else {
            return;
        };
        match lane.wish() {
            Wish::Go(number) => {
                lane.take_turn(number);
                self.tracks.ready(key.route, number);
            }
            Wish::Read(_) => {
                if !lane.wanted {
                    lane.wanted = true;
                    self.wanted.push_back(key.clone());
                }
            }
            Wish::Wait => {}
            Wish::Gone => {
                self.lanes.remove(key);
            }
        }
    }

    /// Whether something could be read that was let go before, and there is room for it.
    pub(super) fn wants_lanes(&self) -> bool {
        self.wanted.iter().any(|key| self.tracks.has_room(key.route)) || self.tracks.wants_read()
    }

    /// Whether a read is worth its statement.
    pub(super) fn has_room(&self) -> bool {
        self.room().is_some()
    }

    fn room(&self) -> Option<usize> {
        let room = self.limits.messages.saturating_sub(self.held.len());
        let fitting = match self.usual_weight {
            Some(usual) => self.limits.bytes.saturating_sub(self.weight) / usual.max(1),
            None => FIRST_READ,
        };
        let fresh = room.min(fitting).min(self.limits.read_batch);
        let worth_it = self
            .limits
            .read_batch
            .min(self.limits.messages)
            .div_ceil(4)
            .min(FIRST_READ);
        let enough = fresh >= worth_it || (fresh > 0 && self.held.is_empty());
        enough.then_some(fresh)
    }

    /// The next message whose turn it is at a destination that takes one more.
    pub(super) fn next(&mut self) -> Option<Turn> {
        loop {
            let (route, number) = self.tracks.next()?;
            // What was let go while it waited for its turn leaves its number behind.
            let Some(held) = self
                .held
                .get_mut(&number)
                .filter(|held| held.stage == Stage::Waiting)
            else {
                continue;
            };
            held.stage = Stage::Busy;
            let lane = held.lane.as_ref().and_then(|key| self.lanes.get(key));
            return Some(Turn {
                message: Arc::clone(&held.message),
                lease: held.lease,
                route,
                count_first: held.suspect && !held.counted,
                counted: held.counted,
                headed_parked_lane: lane.is_some_and(|lane| lane.is_parked_for(number)),
            });
        }
    }

    pub(super) fn sending(&mut self, route: usize) {
        self.tracks.sending(route, 1);
    }

    pub(super) fn sent(&mut self, route: usize) {
        self.tracks.sending(route, -1);
    }

    /// The message of an attempt that has ended, if it is still this relay's.
    pub(super) fn is_held(&self, number: i64, lease: Lease) -> bool {
        self.held.get(&number).is_some_and(|held| held.lease == lease)
    }

    /// A verdict has been written.
    pub(super) fn settled(&mut self, settlement: &Settlement) {
        let number = settlement.number;
        if !self.is_held(number, settlement.lease) {
            return;
        }
        if let Verdict::Counted { attempt } = settlement.verdict {
            self.counted(number, attempt);
            return;
        }
        if let Some(settled) = &mut self.settled_meanwhile {
            settled.insert(number);
        }
        let Some(key) = self.let_go(number).and_then(|held| held.lane) else {
            return;
        };
        let Some(lane) = self.lanes.get_mut(&key) else {
            return;
        };
        lane.end_turn(number);
        let mut spilled = Vec::new();
        match &settlement.verdict {
            Verdict::Retry { .. } | Verdict::Postponed(_) => {
                lane.schedule(number);
                spilled = lane.spill_all();
            }
            Verdict::Dead {
                lane: AfterDeath::Park,
                ..
            } => {
                lane.park(number);
                spilled = lane.spill_all();
            }
            Verdict::Delivered(attempted) if attempted.resumes_lane => lane.resume(),
            _ => {}
        }
        for number in spilled {
            self.let_go(number);
        }
        self.refresh(&key);
    }

    fn counted(&mut self, number: i64, attempt: u32) {
        let Some(held) = self.held.get_mut(&number) else {
            return;
        };
        held.counted = true;
        held.stage = Stage::Waiting;
        Arc::make_mut(&mut held.message).attempts = attempt;
        if let Some(route) = held.route {
            self.tracks.ready_first(route, number);
        }
        // In a shard on its way out nothing begins: the attempt stays counted, as that of a process that ended.
        if self
            .shards
            .get(&held.lease.shard)
            .is_none_or(|shard| shard.leaving)
        {
            self.let_go(number);
        }
    }
}
