//! The smallest model of a database that keeps the store's contract.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Message, Timestamp,
    store::{
        AfterDeath, Claimed, Demand, Found, Head, LaneFound, LaneId, Lease, Left, Outline, ParkedLane,
        Settlement, Until, Verdict,
    },
};

/// What the rows of a database would say.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) now: i64,
    pub(super) live: BTreeMap<i64, Message>,
    pub(super) cursors: BTreeMap<u16, i64>,
    pub(super) lanes: BTreeMap<(u16, LaneId), LaneRow>,
    /// What the reader has told of lanes.
    pub(super) told: BTreeMap<(u16, LaneId), LaneRow>,
    pub(super) resumes: u32,
    /// Other tables have taken the place of these.
    pub(super) replaced: bool,
    pub(super) delivered: Vec<i64>,
    pub(super) dead: BTreeMap<i64, Message>,
    /// The last row that the look behind the cursors has come to.
    pub(super) looked: (u16, i64),
}

/// What a database says of a lane.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LaneRow {
    /// 0 if an operator parked it.
    pub(super) head: i64,
    /// What died while an operator had it parked.
    pub(super) died: i64,
    /// The how-manieth end of standing still it was, if it goes on.
    pub(super) resumed: Option<u32>,
}

impl LaneRow {
    pub(super) fn is_held(self) -> bool {
        self.head == 0 && self.resumed.is_none()
    }

    /// The message that it stands still for.
    pub(super) fn parked(self) -> Option<i64> {
        (self.head != 0 && self.resumed.is_none()).then_some(self.head)
    }

    pub(super) fn last(self) -> i64 {
        if self.head == 0 { self.died } else { self.head }
    }
}

impl Rows {
    pub(super) fn hold(&mut self, lane: (u16, LaneId)) {
        let row = self.lanes.entry(lane).or_default();
        *row = LaneRow {
            head: 0,
            died: row.last(),
            resumed: None,
        };
    }

    pub(super) fn resume(&mut self, lane: &(u16, LaneId)) {
        let Some(row) = self.lanes.get_mut(lane).filter(|row| row.resumed.is_none()) else {
            return;
        };
        self.resumes += 1;
        let died = row.last();
        *row = LaneRow {
            head: 0,
            died: if self.live.contains_key(&died) { 0 } else { died },
            resumed: Some(self.resumes),
        };
    }

    /// Gives up a dead letter; the lane that stands still for it continues.
    pub(super) fn discard(&mut self, number: i64) {
        self.dead.remove(&number);
        let standing = self.lanes.values_mut().filter(|row| row.parked() == Some(number));
        for row in standing {
            self.resumes += 1;
            row.resumed = Some(self.resumes);
        }
    }

    pub(super) fn tell(&mut self, found: &mut Found) {
        let owned = |shard: u16| self.cursors.contains_key(&shard);
        let acted: BTreeMap<_, _> = self
            .lanes
            .iter()
            .filter(|((shard, _), row)| owned(*shard) && row.parked().is_none())
            .map(|(lane, row)| (lane.clone(), *row))
            .collect();
        for (lane, row) in &acted {
            let before = self.told.get(lane);
            match row.resumed {
                None if before.is_none_or(|before| !before.is_held()) => found.parked.push(lane.clone()),
                Some(_) if before != Some(row) => found.resumed.push(freed(lane, row.last())),
                _ => {}
            }
        }
        let ended = self.told.iter().filter(|(_, before)| before.is_held());
        let ended = ended.filter(|(lane, _)| !acted.contains_key(*lane));
        found.resumed.extend(ended.map(|(lane, _)| freed(lane, 0)));
        self.told = acted;
    }

    pub(super) fn read(&mut self, demand: &Demand) -> Found {
        let fresh_rows = |message: &&Message| message.next_attempt_at.is_none();
        let mut found = Found {
            now: Timestamp::from_millis(self.now),
            ..Found::default()
        };
        self.tell(&mut found);
        if std::mem::take(&mut self.replaced) {
            let parked = self.lanes.iter();
            let parked = parked.filter_map(|(lane, row)| Some(freed(lane, row.parked()?)));
            found.reloaded = Some(parked.collect());
        }
        for asked in &demand.lanes {
            let cursor = self.cursors.get(&asked.shard).copied().unwrap_or(0);
            let rows = self
                .live
                .range(asked.from..=cursor.max(asked.from))
                .map(|(_, row)| row)
                .filter(fresh_rows);
            let mut messages: Vec<Message> = rows
                .filter(|row| {
                    row.shard == asked.shard && row.destination == asked.destination && row.key == asked.key
                })
                .filter(|row| row.number() <= cursor)
                .take(asked.limit + 1)
                .cloned()
                .collect();
            let complete = messages.len() <= asked.limit;
            messages.truncate(asked.limit);
            found.lanes.push(LaneFound { messages, complete });
        }
        found.behind = self.look(demand.behind);
        for (&shard, cursor) in &mut self.cursors {
            let room = demand.fresh - found.fresh.len();
            let rows = self
                .live
                .range(*cursor + 1..)
                .map(|(_, row)| row)
                .filter(fresh_rows);
            let rows: Vec<Message> = rows
                .filter(|row| row.shard == shard)
                .take(room)
                .cloned()
                .collect();
            if let Some(last) = rows.last() {
                *cursor = last.number();
            }
            if rows.len() < room {
                found.caught_up.push(shard);
            }
            found.fresh.extend(rows);
        }
        let mut due: Vec<Message> = self
            .live
            .values()
            .filter(|row| row.next_attempt_at.is_some_and(|due| due <= found.now))
            .cloned()
            .collect();
        due.retain(|row| self.cursors.contains_key(&row.shard));
        due.sort_by_key(|row| (row.next_attempt_at, row.number()));
        due.truncate(demand.due);
        found.due = due;
        found.heads = self.heads(&found);
        found
    }

    /// The first scheduled messages of each lane that the read has a message of.
    fn heads(&self, found: &Found) -> Vec<Head> {
        let of_lanes = found.lanes.iter().flat_map(|lane| &lane.messages);
        let lanes: BTreeSet<(u16, LaneId)> = of_lanes
            .chain(&found.fresh)
            .chain(&found.due)
            .filter_map(|row| Some((row.shard, lane_of(row)?)))
            .chain(found.behind.iter().filter_map(|row| {
                let (destination, key) = (row.destination.clone(), row.key.clone()?);
                Some((row.shard, LaneId { destination, key }))
            }))
            .collect();
        let head = |row: &Message| {
            let until = match row.next_attempt_at? {
                Timestamp::PARKED => Until::Recovered,
                at => Until::At(at),
            };
            Some(Head {
                shard: row.shard,
                lane: lane_of(row)?,
                id: row.id,
                until,
            })
        };
        let first = |(shard, lane): &(u16, LaneId)| -> Vec<Head> {
            let scheduled = self.live.values().filter_map(head);
            let of_lane = scheduled.filter(|head| head.shard == *shard && head.lane == *lane);
            of_lane.take(2).collect()
        };
        lanes.iter().flat_map(first).collect()
    }

    /// The next rows behind the cursors, or the first ones again.
    fn look(&mut self, at_most: usize) -> Vec<Outline> {
        let passed = |row: &&Message| self.cursors.get(&row.shard).is_some_and(|&to| row.number() <= to);
        let never_scheduled = self.live.values().filter(|row| row.next_attempt_at.is_none());
        let mut rows: Vec<Outline> = never_scheduled.filter(passed).map(outline).collect();
        rows.sort_by_key(|row| (row.shard, row.id.number()));
        rows.retain(|row| (row.shard, row.id.number()) > self.looked);
        rows.truncate(at_most);
        let last = rows.last().filter(|_| rows.len() == at_most);
        self.looked = last.map_or((0, 0), |row| (row.shard, row.id.number()));
        rows
    }

    pub(super) fn settle(&mut self, settlement: &Settlement) {
        let number = settlement.number();
        let now = Timestamp::from_millis(self.now);
        let row = self.live.get_mut(&number);
        let Some(row) = row.filter(|row| row.redrives == settlement.redrives) else {
            return;
        };
        match &settlement.verdict {
            Verdict::Delivered(_) => {
                let row = self.live.remove(&number).unwrap();
                self.lanes.retain(|_, lane| lane.head != number);
                self.delivered.push(row.number());
            }
            Verdict::Retry { attempted, wait } => {
                row.attempts = attempted.attempt;
                row.next_attempt_at = Some(now.plus(*wait));
            }
            Verdict::Dead { lane, .. } => {
                let mut row = self.live.remove(&number).unwrap();
                if let (AfterDeath::Park, Some(key)) = (lane, &row.key) {
                    let lane = LaneId {
                        destination: row.destination.clone(),
                        key: key.clone(),
                    };
                    let lane = self.lanes.entry((row.shard, lane)).or_insert(LaneRow {
                        resumed: Some(0),
                        ..LaneRow::default()
                    });
                    if lane.is_held() {
                        lane.died = number;
                    } else {
                        *lane = LaneRow {
                            head: number,
                            ..LaneRow::default()
                        };
                    }
                } else {
                    self.lanes.retain(|_, lane| lane.head != number);
                }
                row.attempts = 0;
                row.redrives += 1;
                self.dead.insert(number, row);
            }
            Verdict::Postponed(Until::At(at)) => row.next_attempt_at = Some(*at),
            Verdict::Postponed(Until::Recovered) => row.next_attempt_at = Some(Timestamp::PARKED),
            Verdict::Postponed(Until::After(wait)) => row.next_attempt_at = Some(now.plus(*wait)),
            Verdict::Counted { attempt } => row.attempts = *attempt,
            Verdict::Uncounted { attempt } => row.attempts = attempt.saturating_sub(1),
            Verdict::FannedOut { .. } => {
                self.live.remove(&number);
            }
        }
    }

    pub(super) fn claim(&mut self, shard: u16, epoch: i64) -> Claimed {
        self.cursors.insert(shard, 0);
        self.told.retain(|(of, _), _| *of != shard);
        let of_shard = self.live.values().filter(|row| row.shard == shard);
        Claimed {
            lease: Lease { shard, epoch },
            left: if epoch % 2 == 0 {
                Left::Clean
            } else {
                Left::Crashed { window: 4 }
            },
            highest: of_shard.map(Message::number).max().unwrap_or(0),
            parked: self
                .lanes
                .iter()
                .filter(|((of, _), row)| *of == shard && row.resumed.is_none())
                .map(|(lane, row)| freed(lane, row.head).1)
                .collect(),
        }
    }
}

fn lane_of(row: &Message) -> Option<LaneId> {
    row.key.clone().map(|key| LaneId {
        destination: row.destination.clone(),
        key,
    })
}

fn outline(row: &Message) -> Outline {
    Outline {
        id: row.id,
        shard: row.shard,
        redrives: row.redrives,
        destination: row.destination.clone(),
        topic: row.topic.clone(),
        key: row.key.clone(),
        unreadable_key: row.unreadable_key,
    }
}

fn freed((shard, lane): &(u16, LaneId), head: i64) -> (u16, ParkedLane) {
    let lane = lane.clone();
    (*shard, ParkedLane { lane, head })
}
