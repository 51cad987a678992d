//! The way forward through the rows. SQLite has one writer at a time: numbers commit in their order, and nothing is ever behind.

use std::collections::BTreeMap;

use futures_core::future::BoxFuture;

use super::{
    SqliteStore,
    connection::{Done, Purpose, Session},
    row,
};
use crate::{
    Message, Timestamp,
    plants::{Plant, planted},
    store::{
        Demand, Found, LaneDemand, LaneFound, Lease, Reader, Result,
        acted::{Told, acted},
        columns::message,
    },
};

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
    let mut found = Found {
        now: session.now,
        ..Found::default()
    };
    for lane in &demand.lanes {
        found.lanes.push(read_lane(session, &place, lane)?);
    }
    let acted = session.read(include_str!("sql/read_acted.sql"), [&shards], acted)?;
    place.told = place.told.tell(acted, &mut found);
    let (due, more_due) = read_due(session, demand.due, &shards)?;
    found.due = due;
    let more_fresh = read_fresh(session, &mut place, demand.fresh, &mut found)?;
    found.more = more_due || more_fresh;
    let next: Option<i64> = session.row(
        include_str!("sql/next_due.sql"),
        (session.now.as_millis(), &shards),
        |row| row.get(0),
    )?;
    found.next_due = next.map(|at| Timestamp::from_millis(at).since(session.now));
    Ok((found, place))
}

fn read_lane(session: &Session<'_>, place: &Place, demand: &LaneDemand) -> Done<LaneFound> {
    // A shard that is not owned has been read nowhere: its lanes are complete and empty.
    let cursor = place.cursors.get(&demand.shard).copied().unwrap_or(0);
    let one_more = demand.limit.saturating_add(1);
    let mut messages = session.read(
        include_str!("sql/read_lane.sql"),
        (
            demand.shard,
            &demand.destination,
            &demand.key,
            demand.from,
            cursor,
            row::limit(one_more),
        ),
        message,
    )?;
    let complete = messages.len() <= demand.limit || planted(Plant::LaneReadEndsEarly);
    messages.truncate(demand.limit);
    Ok(LaneFound { messages, complete })
}

fn read_due(session: &Session<'_>, at_most: usize, shards: &str) -> Done<(Vec<Message>, bool)> {
    if at_most == 0 {
        return Ok((Vec::new(), false));
    }
    let due = session.read(
        include_str!("sql/read_due.sql"),
        (
            session.now.as_millis() + if planted(Plant::DueReadEarly) { 2_000 } else { 0 },
            shards,
            row::limit(at_most),
        ),
        message,
    )?;
    let more = due.len() == at_most;
    Ok((due, more))
}

fn read_fresh(session: &Session<'_>, place: &mut Place, at_most: usize, found: &mut Found) -> Done<bool> {
    if at_most == 0 || place.cursors.is_empty() {
        return Ok(false);
    }
    let shards: Vec<u16> = place.cursors.keys().copied().collect();
    let start = shards.iter().position(|shard| *shard > place.first).unwrap_or(0);
    place.first = shards[start];
    let mut fresh: Vec<Message> = Vec::new();
    for shard in shards[start..].iter().chain(&shards[..start]) {
        let Some(cursor) = place.cursors.get_mut(shard) else {
            continue;
        };
        let room = at_most - fresh.len();
        if room == 0 {
            break;
        }
        let rows = session.read(
            include_str!("sql/read_fresh.sql"),
            (shard, *cursor, row::limit(room)),
            message,
        )?;
        if let Some(last) = rows.last() {
            *cursor = last.number() + i64::from(planted(Plant::CursorPassesUnread));
        }
        if rows.len() < room {
            found.caught_up.push(*shard);
        }
        fresh.extend(rows);
    }
    fresh.sort_by_key(|message| (message.shard, message.number()));
    let more = fresh.len() == at_most;
    found.fresh = fresh;
    Ok(more)
}
