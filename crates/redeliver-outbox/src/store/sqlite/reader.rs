//! The way forward through the rows. SQLite has one writer at a time: numbers commit in their order, and only rows that bring a number of
//! their own are ever behind.

use std::collections::BTreeMap;

use futures_core::future::BoxFuture;
use redeliver::clock;

use super::{
    SqliteStore,
    connection::{Done, Purpose, Session},
    lease, row,
};
use crate::{
    Message, Timestamp,
    plants::{Plant, planted},
    store::{
        Demand, Found, Head, LaneDemand, LaneFound, Lease, Outline, Reader, Result,
        acted::{Told, acted},
        behind::{Behind, outline},
        columns::message,
        heads,
        weigh::{self, Room},
    },
};

/// Where the statements of this file have the lane.
const LANE_COLUMN: usize = 5;

#[derive(Debug)]
pub(super) struct SqliteReader {
    store: SqliteStore,
    place: Place,
}

/// How far a reader has come. A read makes another one, which counts once the read has succeeded.
#[derive(Clone, Debug, Default)]
struct Place {
    cursors: BTreeMap<u16, i64>,
    /// The shard that was read first the last time: the next one is first the next time, or a full shard would starve the others.
    first: u16,
    told: Told,
    behind: Behind,
    /// The last number that was given when it was last asked.
    sequence: i64,
    /// Whether the parked lanes are to be read again.
    reload: bool,
    /// Which file the last read was of, of those that had the name one after the other.
    file: u64,
}

impl Place {
    /// The file was replaced by another, or `sqlite_sequence` was set back: numbers are given a second time, behind the cursors.
    fn begin_again_where_numbers_are_given_again(&mut self, sequence: i64, file: u64) {
        if sequence < self.sequence || file != self.file {
            tracing::info!(target: "redeliver", "the SQLite file is another, or gives numbers again: every message is read again");
            self.cursors.values_mut().for_each(|cursor| *cursor = 0);
            self.reload = true;
        }
        (self.sequence, self.file) = (sequence, file);
    }
}

impl SqliteReader {
    pub(super) fn new(store: SqliteStore) -> Self {
        Self {
            store,
            place: Place::default(),
        }
    }
}

impl Reader for SqliteReader {
    fn own(&mut self, lease: Lease) {
        self.place.cursors.insert(lease.shard, 0);
    }

    fn disown(&mut self, shard: u16) {
        self.place.cursors.remove(&shard);
        self.place.told.forget(shard);
        self.place.behind.forget(shard);
    }

    fn read<'a>(&'a mut self, demand: &'a Demand) -> BoxFuture<'a, Result<Found>> {
        let (place, demand) = (self.place.clone(), demand.clone());
        let reading = self
            .store
            .run(Purpose::Read, move |session| read(session, place, &demand));
        Box::pin(async move {
            let (found, place) = reading.await?;
            self.place = place;
            Ok(found)
        })
    }
}

fn read(session: &Session<'_>, mut place: Place, demand: &Demand) -> Done<(Found, Place)> {
    let shards = serde_json::Value::from_iter(place.cursors.keys().copied()).to_string();
    let (sequence, highest): (i64, i64) = session.row(include_str!("sql/read_sequence.sql"), [], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?;
    place.begin_again_where_numbers_are_given_again(sequence, session.file);
    let mut found = Found {
        now: session.now,
        ..Found::default()
    };
    if std::mem::take(&mut place.reload) {
        let mut reloaded = Vec::new();
        for &shard in place.cursors.keys() {
            let parked = lease::parked(session, shard)?;
            reloaded.extend(parked.into_iter().map(|lane| (shard, lane)));
        }
        found.reloaded = Some(reloaded);
    }
    let scale = Scale::of(demand);
    let (mut part, mut one) = (Room::of(demand.bytes).part(4), true);
    for lane in &demand.lanes {
        let mut lane = read_lane(session, &place, lane, &scale)?;
        lane.complete &= !scale.weigh(session, &mut part, &mut lane.messages, one)?;
        one &= lane.messages.is_empty();
        found.lanes.push(lane);
    }
    let acted = session.read(include_str!("sql/read_acted.sql"), [&shards], acted)?;
    place.told = place.told.tell(acted, &mut found);
    let (due, more_due) = read_due(session, demand, &shards, &scale)?;
    found.due = due;
    let mut cut = false;
    if highest > sequence {
        let room = row::limit(demand.due - found.due.len());
        let mut strange = session.read(
            &Scale::within(include_str!("sql/read_strange.sql"), scale.at_first),
            (sequence, &shards, room),
            message,
        )?;
        let one = found.due.is_empty();
        cut = scale.weigh(session, &mut Room::of(demand.bytes).part(4), &mut strange, one)?;
        found.due.extend(strange);
    }
    found.behind = look_behind(session, &mut place, demand.behind)?;
    let more_due = more_due || cut || (demand.due > 0 && found.due.len() == demand.due);
    let more_fresh = read_fresh(session, &mut place, demand, &scale, &mut found)?;
    found.more = more_due || more_fresh;
    let next: Option<i64> = session.row(
        include_str!("sql/next_due.sql"),
        (session.now.as_millis(), &shards),
        |row| row.get(0),
    )?;
    found.next_due = next.map(|at| Timestamp::from_millis(at).since(session.now));
    found.heads = read_heads(session, &found)?;
    Ok((found, place))
}

/// The first scheduled messages of each lane that the read has a message of.
fn read_heads(session: &Session<'_>, found: &Found) -> Done<Vec<Head>> {
    let of_lanes = found.lanes.iter().flat_map(|lane| &lane.messages);
    let lanes = heads::lanes(of_lanes.chain(&found.fresh).chain(&found.due), &found.behind);
    let mut found_heads = Vec::new();
    if lanes.is_empty() || !session.row(include_str!("sql/has_heads.sql"), [], |row| row.get(0))? {
        return Ok(found_heads);
    }
    for lane in lanes {
        let (_, destination, key) = lane;
        if key.contains(char::REPLACEMENT_CHARACTER) {
            found_heads.extend(read_odd_heads(session, lane)?);
        } else {
            let statement = include_str!("sql/read_heads.sql");
            found_heads.extend(session.read(statement, (destination, key), heads::head)?);
        }
    }
    Ok(found_heads)
}

/// The same, of a lane whose bytes may be no UTF-8: rows are compared as they are read.
fn read_odd_heads(session: &Session<'_>, (_, destination, key): heads::Lane<'_>) -> Done<Vec<Head>> {
    let mut statement = session.prepare(include_str!("sql/read_odd_heads.sql"))?;
    let mut rows = statement.query([destination])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let head = heads::head(&mut row::SqliteColumns::of(row))?;
        if head.lane.key == key {
            found.push(head);
        }
    }
    found.sort_unstable_by_key(|head| head.id.number());
    found.truncate(2);
    Ok(found)
}

/// The next part of the rows behind the cursors.
fn look_behind(session: &Session<'_>, place: &mut Place, at_most: usize) -> Done<Vec<Outline>> {
    if at_most == 0 {
        return Ok(Vec::new());
    }
    let ends: Vec<(u16, i64)> = place
        .cursors
        .iter()
        .map(|(&shard, &cursor)| (shard, cursor))
        .collect();
    let plan = place.behind.plan(&ends);
    let begun = clock::now();
    let mut found = Vec::new();
    for stretch in &plan.stretches {
        let room = row::limit(at_most - found.len());
        let values = (stretch.shard, stretch.above, stretch.to, room);
        found.extend(session.read(include_str!("sql/read_behind.sql"), values, outline)?);
    }
    place
        .behind
        .looked(&plan, &found, at_most, clock::now().since(begun));
    Ok(found)
}

/// How large the messages of a read may be.
struct Scale {
    /// The longest payload that comes at first: a power of two, so that there are few statements to be prepared.
    at_first: u64,
    largest: u64,
}

impl Scale {
    fn of(demand: &Demand) -> Self {
        let lanes: usize = demand.lanes.iter().map(|lane| lane.limit + 1).sum();
        let at_first = demand.bytes.at_first(demand.fresh + demand.due + lanes);
        Self {
            at_first: 1 << at_first.max(1).ilog2(),
            largest: u64::try_from(demand.bytes.largest).unwrap_or(u64::MAX),
        }
    }

    /// A statement that reads messages, those with a longer payload only as far as they are to be known.
    fn within(statement: &str, payload: u64) -> String {
        let most = payload.min(LONGEST_VALUE).to_string();
        statement
            .replace("{columns}", include_str!("sql/columns.sql").trim_end())
            .replace("{most}", &most)
    }

    /// Reads the large messages that there is room for, cuts off the others, and says whether there were such.
    fn weigh(
        &self,
        session: &Session<'_>,
        room: &mut Room,
        messages: &mut Vec<Message>,
        one: bool,
    ) -> Done<bool> {
        let (chosen, cut) = room.choose(messages, one);
        if !chosen.is_empty() {
            let statement = Self::within(include_str!("sql/read_named.sql"), self.largest);
            let mut full = Vec::with_capacity(chosen.len());
            for (_, number) in chosen {
                full.extend(session.read(&statement, [number], message)?);
            }
            weigh::fill(messages.iter_mut(), full);
        }
        Ok(cut)
    }
}

/// No value of SQLite is longer.
const LONGEST_VALUE: u64 = 1 << 31;

fn read_lane(session: &Session<'_>, place: &Place, demand: &LaneDemand, scale: &Scale) -> Done<LaneFound> {
    // A shard that is not owned has been read nowhere: its lanes are complete and empty.
    let cursor = place.cursors.get(&demand.shard).copied().unwrap_or(0);
    let one_more = demand.limit.saturating_add(1);
    let mut messages = match &demand.key {
        Some(key) if key.contains(char::REPLACEMENT_CHARACTER) => {
            read_odd_lane(session, demand, key, (cursor, one_more), scale)?
        }
        _ => session.read(
            &Scale::within(include_str!("sql/read_lane.sql"), scale.at_first),
            (
                demand.shard,
                &demand.destination,
                &demand.key,
                demand.from,
                cursor,
                row::limit(one_more),
            ),
            message,
        )?,
    };
    let complete = messages.len() <= demand.limit || planted(Plant::LaneReadEndsEarly);
    messages.truncate(demand.limit);
    Ok(LaneFound { messages, complete })
}

/// A lane whose bytes may be no UTF-8: rows are compared as they are read.
fn read_odd_lane(
    session: &Session<'_>,
    demand: &LaneDemand,
    key: &str,
    (cursor, limit): (i64, usize),
    scale: &Scale,
) -> Done<Vec<Message>> {
    let mut statement = session.prepare(&Scale::within(
        include_str!("sql/read_odd_lane.sql"),
        scale.at_first,
    ))?;
    let mut rows = statement.query((demand.shard, &demand.destination, demand.from, cursor))?;
    let mut messages = Vec::new();
    while messages.len() < limit
        && let Some(row) = rows.next()?
    {
        if row::text(row, LANE_COLUMN)?.as_deref() == Some(key) {
            messages.push(message(&mut row::SqliteColumns::of(row))?);
        }
    }
    Ok(messages)
}

fn read_due(
    session: &Session<'_>,
    demand: &Demand,
    shards: &str,
    scale: &Scale,
) -> Done<(Vec<Message>, bool)> {
    let at_most = demand.due;
    if at_most == 0 {
        return Ok((Vec::new(), false));
    }
    let mut due = session.read(
        &Scale::within(include_str!("sql/read_due.sql"), scale.at_first),
        (
            session.now.as_millis() + if planted(Plant::DueReadEarly) { 2_000 } else { 0 },
            shards,
            row::limit(at_most),
        ),
        message,
    )?;
    let met = due.len() == at_most;
    let cut = scale.weigh(session, &mut Room::of(demand.bytes).part(4), &mut due, true)?;
    Ok((due, met || cut))
}

fn read_fresh(
    session: &Session<'_>,
    place: &mut Place,
    demand: &Demand,
    scale: &Scale,
    found: &mut Found,
) -> Done<bool> {
    let at_most = demand.fresh;
    if at_most == 0 || place.cursors.is_empty() {
        return Ok(false);
    }
    let shards: Vec<u16> = place.cursors.keys().copied().collect();
    let start = shards.iter().position(|shard| *shard > place.first).unwrap_or(0);
    place.first = shards[start];
    let mut fresh: Vec<Message> = Vec::new();
    let (mut part, mut cut) = (Room::of(demand.bytes).part(2), false);
    for shard in shards[start..].iter().chain(&shards[..start]) {
        let Some(cursor) = place.cursors.get_mut(shard) else {
            continue;
        };
        let room = at_most - fresh.len();
        if room == 0 || cut {
            break;
        }
        let mut rows = session.read(
            &Scale::within(include_str!("sql/read_fresh.sql"), scale.at_first),
            (shard, *cursor, row::limit(room), place.sequence),
            message,
        )?;
        let whole = rows.len() < room;
        cut = scale.weigh(session, &mut part, &mut rows, fresh.is_empty())?;
        if let Some(last) = rows.last() {
            *cursor = last.number() + i64::from(planted(Plant::CursorPassesUnread));
        }
        if whole && !cut {
            found.caught_up.push(*shard);
        }
        fresh.extend(rows);
    }
    fresh.sort_by_key(|message| (message.shard, message.number()));
    let more = cut || fresh.len() == at_most;
    found.fresh = fresh;
    Ok(more)
}
