//! Random histories through the window alone, against the smallest model of a database that keeps the store's contract.

mod refused;
mod replaced;
mod rows;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use proptest::prelude::*;

use self::rows::Rows;
use super::{
    manners::Allowance,
    window::{Limits, Turn, Window},
};
use crate::{
    Message, MessageId, Payload, Timestamp,
    destination::{Delivery, Destination, Outcome, Route, Routes},
    store::{AfterDeath, Attempted, Demand, Found, LaneId, Settlement, Until, Verdict},
};

#[derive(Debug)]
struct Nowhere;

impl Destination for Nowhere {
    fn deliver<'a>(&'a self, _: Delivery<'a>) -> futures_core::future::BoxFuture<'a, Outcome> {
        Box::pin(std::future::ready(Outcome::Delivered))
    }

    fn kind(&self) -> &'static str {
        "nowhere"
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Insert {
        shard: u16,
        destination: usize,
        key: Option<u8>,
        delay: i64,
    },
    /// A row with a number that the database has not given, as many numbers back.
    Forge {
        shard: u16,
        destination: usize,
        key: Option<u8>,
        back: i64,
    },
    /// A read begins, or the one that is under way ends.
    Read,
    /// The outcome of the n-th message on its way: delivered, to be retried after so long, dead, dead and parked.
    End {
        which: usize,
        how: u8,
    },
    Settle {
        how_many: usize,
    },
    /// The first verdict is written, and the answer is lost: it will be written again.
    LoseAnswer,
    /// The database refuses the first verdict, while there are so many others that messages are forgotten, or not.
    Refuse {
        crowded: bool,
    },
    /// The database takes the n-th of the verdicts that it refused.
    Accept(usize),
    Pass(i64),
    /// The shard goes to somebody else and comes back.
    Lose(u16),
    /// An operator redrives the dead letters of a lane, or only the first of them.
    Redrive {
        all: bool,
    },
    /// An operator discards the n-th dead letter.
    Discard(usize),
    FailRead,
    /// An operator parks a lane.
    Hold {
        shard: u16,
        destination: usize,
        key: u8,
    },
    /// An operator lets the n-th lane that stands still go on.
    Resume(usize),
    /// A destination takes nothing from now on, or takes messages again.
    Turn(usize),
    /// The reader begins again, with all that it knew gone.
    BeginAgain,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..2_u16, 0..3_usize, proptest::option::of(0..3_u8), prop_oneof![4 => Just(0), 1 => 1..30_i64])
            .prop_map(|(shard, destination, key, delay)| Step::Insert { shard, destination, key, delay }),
        1 => (0..2_u16, 0..3_usize, proptest::option::of(0..3_u8), 1..40_i64)
            .prop_map(|(shard, destination, key, back)| Step::Forge { shard, destination, key, back }),
        4 => Just(Step::Read),
        5 => (0..8_usize, 0..8_u8).prop_map(|(which, how)| Step::End { which, how }),
        4 => (1..6_usize).prop_map(|how_many| Step::Settle { how_many }),
        1 => Just(Step::LoseAnswer),
        1 => any::<bool>().prop_map(|crowded| Step::Refuse { crowded }),
        1 => (0..8_usize).prop_map(Step::Accept),
        2 => (1..20_i64).prop_map(Step::Pass),
        1 => (0..2_u16).prop_map(Step::Lose),
        1 => any::<bool>().prop_map(|all| Step::Redrive { all }),
        1 => (0..8_usize).prop_map(Step::Discard),
        1 => Just(Step::FailRead),
        1 => (0..2_u16, 0..2_usize, 0..3_u8)
            .prop_map(|(shard, destination, key)| Step::Hold { shard, destination, key }),
        1 => (0..8_usize).prop_map(Step::Resume),
        1 => (0..2_usize).prop_map(Step::Turn),
        1 => Just(Step::BeginAgain),
    ]
}

struct World {
    rows: Rows,
    window: Window,
    on_the_way: Vec<Turn>,
    pending: Vec<Settlement>,
    /// Verdicts that the database refuses.
    refused: Vec<Settlement>,
    /// Shards with messages that were forgotten, because there were too many refused verdicts.
    unread: BTreeSet<u16>,
    reading: Option<(Demand, Found)>,
    away: [bool; 2],
    epoch: i64,
    epochs: HashMap<u16, i64>,
    /// The epochs when the read under way began.
    epochs_asked: HashMap<u16, i64>,
    last: i64,
    /// Numbers that were forged.
    forged: BTreeSet<i64>,
    acts: u64,
    /// The act of an operator that made a message live again.
    live_since: BTreeMap<i64, u64>,
    /// Lanes that the window has heard to be parked by hand.
    held: BTreeSet<(u16, LaneId)>,
    /// What was sent, in its order, to check lanes: (shard, destination, key, number).
    sent: Vec<(LaneId, i64)>,
    /// Destinations that take nothing.
    down: [bool; 2],
    limits: Limits,
}

const LIMITS: Limits = Limits {
    messages: 12,
    bytes: 1 << 20,
    lane: 2,
    read_batch: 5,
    largest: 1 << 20,
};
/// Fewer places than the two destinations would have.
const CROWDED: Limits = Limits {
    messages: 3,
    ..LIMITS
};

impl World {
    fn new(limits: Limits) -> Self {
        let route = || Route {
            concurrency: 2,
            ..Route::to(Nowhere)
        };
        let routes = Routes::new().with("a", route()).with("b", route());
        let mut world = Self {
            rows: Rows::default(),
            window: Window::new(limits, &routes),
            on_the_way: Vec::new(),
            pending: Vec::new(),
            refused: Vec::new(),
            unread: BTreeSet::new(),
            reading: None,
            away: [true; 2],
            epoch: 0,
            epochs: HashMap::new(),
            epochs_asked: HashMap::new(),
            last: 0,
            forged: BTreeSet::new(),
            acts: 0,
            live_since: BTreeMap::new(),
            held: BTreeSet::new(),
            sent: Vec::new(),
            down: [false; 2],
            limits,
        };
        for shard in 0..2 {
            world.own(shard);
        }
        world
    }

    fn own(&mut self, shard: u16) {
        self.epoch += 1;
        self.epochs.insert(shard, self.epoch);
        let claimed = self.rows.claim(shard, self.epoch);
        self.window.own(&claimed);
        self.held.retain(|(of, _)| *of != shard);
        let held = claimed.parked.into_iter().filter(|parked| parked.head == 0);
        self.held.extend(held.map(|parked| (shard, parked.lane)));
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Insert {
                shard,
                destination,
                key,
                delay,
            } => self.insert(shard, destination, key, delay),
            Step::Forge {
                shard,
                destination,
                key,
                back,
            } => self.forge(shard, destination, key, back),
            Step::Read => match self.reading.take() {
                Some((demand, found)) => self.admit(&demand, found),
                None => {
                    self.unpark();
                    let demand = self.demand();
                    self.epochs_asked.clone_from(&self.epochs);
                    self.reading = demand.map(|demand| {
                        let found = self.rows.read(&demand);
                        (demand, found)
                    });
                }
            },
            Step::FailRead => {
                if self.reading.is_none()
                    && let Some(demand) = self.demand()
                {
                    self.window.read_failed(&demand);
                }
            }
            Step::End { which, how } => self.end(which, how),
            Step::Settle { how_many } => {
                for _ in 0..how_many.min(self.pending.len()) {
                    let settlement = self.pending.remove(0);
                    self.rows.settle(&settlement);
                    let next = self
                        .window
                        .settled(&settlement, Timestamp::from_millis(self.rows.now));
                    self.pending.extend(next);
                }
            }
            Step::LoseAnswer => {
                if let Some(settlement) = self.pending.first() {
                    self.rows.settle(settlement);
                }
            }
            Step::Refuse { crowded } => self.refuse(crowded),
            Step::Accept(which) => self.accept(which),
            Step::Discard(which) => {
                if let Some(&number) = self.rows.dead.keys().nth(which) {
                    self.rows.discard(number);
                }
            }
            Step::Pass(time) => self.rows.now += time,
            Step::Lose(shard) => {
                self.window.lose(shard);
                self.pending.retain(|settlement| settlement.lease.shard != shard);
                self.refused.retain(|settlement| settlement.lease.shard != shard);
                self.read_unread();
                self.on_the_way.retain(|turn| {
                    let lost = turn.lease.shard == shard;
                    if lost {
                        self.window.sent(turn.route);
                    }
                    !lost
                });
                self.own(shard);
                self.away = [true; 2];
            }
            Step::Redrive { all } => self.redrive(all),
            Step::Hold {
                shard,
                destination,
                key,
            } => {
                let lane = LaneId {
                    destination: ["a", "b"][destination].to_owned(),
                    key: format!("{shard}-{key}"),
                };
                self.rows.hold((shard, lane));
            }
            Step::Resume(which) => {
                let standing = self.rows.lanes.iter().filter(|(_, row)| row.resumed.is_none());
                let lane = standing.map(|(lane, _)| lane.clone()).nth(which);
                lane.iter().for_each(|lane| self.rows.resume(lane));
            }
            Step::Turn(route) => self.down[route] = !self.down[route],
            Step::BeginAgain => {
                self.rows.replaced = true;
                self.rows.cursors.values_mut().for_each(|cursor| *cursor = 0);
            }
        }
        self.begin();
        assert!(
            self.window.in_flight() <= self.limits.messages,
            "no more is on its way than the window has room for"
        );
        assert!(
            self.window.held() <= self.limits.messages + LIMITS.read_batch + 16 * LIMITS.lane,
            "the window is bounded"
        );
    }

    fn admit(&mut self, demand: &Demand, found: Found) {
        // What a read says of a shard that was lost and taken again since is not believed.
        let epochs = &self.epochs_asked;
        let believed = |shard: u16| epochs.get(&shard) == self.epochs.get(&shard);
        let parked = found.parked.iter().filter(|(shard, _)| believed(*shard));
        self.held.extend(parked.cloned());
        for (shard, resumed) in found.resumed.iter().filter(|(shard, _)| believed(*shard)) {
            self.held.remove(&(*shard, resumed.lane.clone()));
        }
        self.pending.extend(self.window.admit(found, demand));
    }

    fn demand(&mut self) -> Option<Demand> {
        let demand = self.window.demand()?;
        Some(Demand { behind: 3, ..demand })
    }

    /// The numbers in between are free for others.
    fn insert(&mut self, shard: u16, destination: usize, key: Option<u8>, delay: i64) {
        self.last += 2;
        self.put(self.last, shard, destination, key, delay);
    }

    fn forge(&mut self, shard: u16, destination: usize, key: Option<u8>, back: i64) {
        let number = self.last + 1 - 2 * back;
        if number > 0 && self.forged.insert(number) {
            self.put(number, shard, destination, key, 0);
        }
    }

    fn put(&mut self, number: i64, shard: u16, destination: usize, key: Option<u8>, delay: i64) {
        let message = Message {
            id: MessageId::new(number, 7),
            shard,
            destination: ["a", "b", "nowhere"][destination].to_owned(),
            topic: None,
            key: key.map(|key| format!("{shard}-{key}")),
            payload: Payload::from("x"),
            content_type: None,
            headers: None,
            traceparent: None,
            not_before: (delay > 0).then(|| Timestamp::from_millis(self.rows.now + delay)),
            expires_at: None,
            created_at: Timestamp::from_millis(self.rows.now),
            attempts: 0,
            redrives: 0,
            next_attempt_at: None,
            last_attempt_at: None,
            last_error: None,
            last_wait_ms: 0,
            interrupted: false,
            withheld: None,
            unreadable_key: false,
        };
        self.rows.live.insert(number, message);
    }

    fn redrive(&mut self, all: bool) {
        let lasts = self.rows.lanes.values().map(|row| row.last());
        let parked = lasts.filter(|number| self.rows.dead.contains_key(number)).min();
        let first = self.rows.dead.keys().next().copied();
        let Some(chosen) = parked.or(first).and_then(|number| self.rows.dead.get(&number)) else {
            return;
        };
        let lane = (chosen.destination.clone(), chosen.key.clone());
        let (number, keyed) = (chosen.number(), chosen.key.is_some());
        let together = |row: &Message| (row.destination.clone(), row.key.clone()) == lane;
        let redriven = |row: &Message| row.number() == number || (all && keyed && together(row));
        let dead = std::mem::take(&mut self.rows.dead);
        let (redriven, dead): (Vec<_>, Vec<_>) = dead.into_iter().partition(|(_, row)| redriven(row));
        self.rows.dead.extend(dead);
        self.acts += 1;
        for (number, mut row) in redriven {
            self.live_since.insert(number, self.acts);
            row.next_attempt_at = Some(Timestamp::from_millis(self.rows.now));
            self.rows.live.insert(number, row);
        }
    }

    fn unpark(&mut self) {
        for (route, destination) in ["a", "b"].into_iter().enumerate() {
            self.away[route] |= self.window.was_put_away(route);
            let room = self.window.room_left(route);
            if !self.away[route] || room == 0 || self.down[route] {
                continue;
            }
            let away = self.rows.live.values_mut().filter(|row| {
                row.destination == destination && row.next_attempt_at == Some(Timestamp::PARKED)
            });
            let mut count = 0;
            for row in away.take(room) {
                row.next_attempt_at = Some(Timestamp::from_millis(self.rows.now));
                count += 1;
            }
            self.away[route] = count == room;
            self.window.expect(route, count);
        }
    }

    fn begin(&mut self) {
        for route in 0..2 {
            let busy = self.on_the_way.iter().filter(|turn| turn.route == route).count();
            let parked = self.down[route];
            let sends = if parked { 0 } else { 2_usize.saturating_sub(busy) };
            self.window.allow(
                route,
                Allowance {
                    sends,
                    retries: true,
                    parked,
                },
            );
        }
        while let Some(turn) = self.window.next() {
            let number = turn.message.number();
            if turn.count_first {
                let verdict = Verdict::Counted {
                    attempt: turn.message.attempts + 1,
                };
                self.pending
                    .push(Settlement::of(&turn.message, turn.lease, verdict));
                continue;
            }
            assert!(
                turn.message
                    .not_before
                    .is_none_or(|due| due.as_millis() <= self.rows.now),
                "{number} is early"
            );
            if let Some(key) = turn.message.key.clone() {
                let lane = LaneId {
                    destination: turn.message.destination.clone(),
                    key,
                };
                let busy = self
                    .on_the_way
                    .iter()
                    .any(|other| other.message.key == turn.message.key && other.route == turn.route);
                assert!(!busy, "{number} while another of its lane is on its way");
                // One that was redriven later does not hold back what was live before.
                let since = |number: i64| self.live_since.get(&number).copied().unwrap_or(0);
                let before = self.rows.live.values().find(|row| {
                    row.key == turn.message.key
                        && row.destination == turn.message.destination
                        && row.number() < number
                        // Nobody knows of it before the look has come to it.
                        && !self.forged.contains(&row.number())
                        && since(row.number()) <= since(number)
                });
                assert!(
                    before.is_none(),
                    "{number} overtakes {:?}",
                    before.map(Message::number)
                );
                let at = (turn.lease.shard, lane.clone());
                let parked = self.rows.lanes.get(&at).and_then(|row| row.parked());
                let passes = |head: i64| head > number && self.rows.live.contains_key(&head);
                assert!(
                    parked.is_none_or(|head| head == number || passes(head)),
                    "{number} of a lane parked for {parked:?}"
                );
                assert!(!self.held.contains(&at), "{number} of a lane parked by hand");
                self.sent.push((lane, number));
            }
            self.window.sending(turn.route);
            self.on_the_way.push(turn);
        }
    }

    fn end(&mut self, which: usize, how: u8) {
        if self.on_the_way.is_empty() {
            return;
        }
        let turn = self.on_the_way.remove(which % self.on_the_way.len());
        self.window.sent(turn.route);
        let attempted = Attempted {
            attempt: turn.message.attempts + u32::from(!turn.counted),
            took: Duration::ZERO,
            class: "",
            error: String::new(),
            resumes_lane: how < 5 && turn.headed_parked_lane,
        };
        let verdict = match how {
            0..5 => Verdict::Delivered(attempted),
            5 => Verdict::Retry {
                attempted,
                wait: Duration::from_millis(5),
            },
            _ => Verdict::Dead {
                attempted: Some(attempted),
                reason: crate::DeadReason::Permanent,
                error: String::new(),
                lane: match (&turn.message.key, how) {
                    (None, _) => AfterDeath::None,
                    (Some(_), 6) => AfterDeath::Gap,
                    _ => AfterDeath::Park,
                },
            },
        };
        if self.window.is_held(turn.message.id, turn.lease) {
            self.pending
                .push(Settlement::of(&turn.message, turn.lease, verdict));
        }
    }

    /// With nothing failing any more, everything must come to its end.
    fn finish(&mut self) {
        self.down = [false; 2];
        for _ in 0..2_000 {
            if self.rows.live.is_empty() {
                return;
            }
            let lanes: Vec<(u16, LaneId)> = self.rows.lanes.keys().cloned().collect();
            lanes.iter().for_each(|lane| self.rows.resume(lane));
            while !self.refused.is_empty() {
                self.accept(0);
            }
            self.take(Step::Read);
            while !self.on_the_way.is_empty() {
                self.end(0, 0);
            }
            self.take(Step::Settle { how_many: 100 });
            self.take(Step::Pass(1_500));
        }
        let left: Vec<_> = self
            .rows
            .live
            .values()
            .map(|row| {
                (
                    row.number(),
                    row.destination.clone(),
                    row.key.clone(),
                    row.next_attempt_at,
                )
            })
            .collect();
        panic!("stuck: {left:?}\n{:#?}", Arc::new(&self.window));
    }
}

/// The verdict is in the database and its answer is lost; an operator discards the dead letter before the relay asks again.
#[test]
fn a_lane_whose_head_was_discarded_continues_although_the_answer_was_lost() {
    let mut world = World::new(LIMITS);
    for _ in 0..2 {
        world.insert(0, 0, Some(0), 0);
    }
    let park = Step::End { which: 0, how: 7 };
    for step in [Step::Read, Step::Read, park, Step::LoseAnswer, Step::Discard(0)] {
        world.take(step);
    }
    for step in [Step::Read, Step::Read, Step::Settle { how_many: 9 }] {
        world.take(step);
    }
    world.finish();
    assert_eq!(world.rows.delivered, [4]);
}

/// Two shards have a row of the same number: one waits for the other, and for the time that its sender named.
#[test]
fn a_message_that_waits_for_its_namesake_is_not_early() {
    let mut world = World::new(LIMITS);
    world.insert(0, 0, None, 0);
    for step in [Step::Read, Step::Read] {
        world.take(step);
    }
    let first = &world.on_the_way[0].message;
    let due = Timestamp::from_millis(60_000);
    let other = Message {
        id: MessageId::new(first.number(), 9),
        shard: 1,
        not_before: Some(due),
        ..Message::clone(first)
    };
    let demand = world.demand().unwrap();
    let found = Found {
        fresh: vec![other],
        ..Found::default()
    };
    let settlements = world.window.admit(found, &demand);
    let verdicts: Vec<&Verdict> = settlements.iter().map(|settlement| &settlement.verdict).collect();
    assert_eq!(verdicts, [&Verdict::Postponed(Until::At(due))]);
}

/// A destination may take payloads that are larger than a small window.
#[test]
fn messages_that_weigh_more_than_the_window_go_one_by_one() {
    let mut world = World::new(Limits { bytes: 100, ..LIMITS });
    for _ in 0..3 {
        world.insert(0, 0, None, 0);
    }
    let all: Vec<i64> = world.rows.live.keys().copied().collect();
    world.finish();
    assert_eq!(world.rows.delivered, all);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_and_no_lane_is_overtaken(steps in proptest::collection::vec(step(), 1..200)) {
        for limits in [LIMITS, CROWDED] {
            let mut world = World::new(limits);
            for step in &steps {
                world.take(*step);
            }
            world.finish();
            let ended: BTreeSet<i64> = world.rows.delivered.iter().copied().collect();
            prop_assert_eq!(ended.len(), world.rows.delivered.len(), "delivered once each");
        }
    }
}
