//! The way through the rows of the shards that a worker owns.
//!
//! A read is one snapshot. Forward goes by number over what was never scheduled; what was committed late in a range that was passed
//! before is looked for again as [`segments`](super::segments) says. No row is returned twice as fresh: [`Seen`] knows those in ranges
//! that are still open. A row that is settled or scheduled while the read runs may be in its answer, because the snapshot is older; the
//! engine knows what it held when it asked.
//!
//! The order of a lane holds with late commits too. Whoever writes two messages of a lane one after the other commits the first before
//! the second gets its number, so a snapshot that shows the second shows the first. If the first lies in a range that is not being
//! looked at just now, going forward would overtake it: so the lanes of everything that is about to be returned are looked up in the
//! open ranges, and if there is an unseen message of one of them, all open ranges are looked at first and the way forward waits for the
//! next read.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use futures_core::future::BoxFuture;
use mysql_async::{Params, Value};
use redeliver::{Moment, clock, entropy};

use super::{
    MySqlStore, Work, lease, row,
    seen::Seen,
    segments::{Listing, Range, Segments},
    server::{self, Met, Reached, Start},
    writers,
};
use crate::{
    Message,
    store::{
        Demand, Found, LaneDemand, LaneFound, Lease, Reader, Result,
        acted::{Acted, Told, acted},
        behind::Behind,
        columns::{Columns as _, Known as _, message},
        heads,
    },
};

mod head;
mod late;
mod look;
mod strays;
mod weigh;

/// How often the server is asked who is writing: rarely, because each question keeps it from making a new list.
const LISTING_SOONEST: Duration = Duration::from_millis(250);
/// The same while only old lists come back.
const LISTING_LATEST: Duration = Duration::from_secs(4);
/// No payload is longer.
const LONGEST_PAYLOAD: usize = 1 << 32;

pub(super) struct MySqlReader {
    store: MySqlStore,
    /// The last number of each shard that was passed.
    cursors: BTreeMap<u16, i64>,
    segments: Segments,
    seen: BTreeMap<u16, Seen>,
    met: Met,
    /// Set where other servers write to the same tables.
    cluster: Option<&'static str>,
    told: Told,
    /// Whether the parked lanes are to be read again.
    reload: bool,
    behind: Behind,
    /// Whether the last look met rows with numbers below 1.
    strays: bool,
    next_listing: Moment,
    listing_interval: Duration,
}

impl std::fmt::Debug for MySqlReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MySqlReader")
            .field("cursors", &self.cursors)
            .finish_non_exhaustive()
    }
}

/// What the probe says of a shard.
struct Probed {
    shard: u16,
    fresh: bool,
    due: bool,
    /// Whether anything is scheduled, due or not.
    scheduled: bool,
}

/// A message and the hash of its lane.
type Hashed = (Message, Option<i64>);

/// What was found of never-scheduled messages, to be remembered once the whole read has succeeded.
#[derive(Default)]
struct Fresh {
    messages: Vec<Hashed>,
    passed: Vec<Range>,
    caught_up: Vec<u16>,
    /// Whether the ranges that were due (or all of them) have been looked at to their ends.
    looked: bool,
    all: bool,
    more: bool,
}

/// How many messages are asked for, and the longest payload that comes with them.
#[derive(Clone, Copy)]
struct Limit {
    rows: usize,
    payload: usize,
}

impl MySqlReader {
    pub(super) fn new(store: MySqlStore) -> Self {
        Self {
            store,
            cursors: BTreeMap::new(),
            segments: Segments::new(),
            seen: BTreeMap::new(),
            met: Met::default(),
            cluster: None,
            told: Told::default(),
            reload: false,
            behind: Behind::default(),
            strays: false,
            next_listing: Moment::ZERO,
            listing_interval: LISTING_SOONEST,
        }
    }

    fn was_seen(&self, shard: u16, number: i64) -> bool {
        self.seen.get(&shard).is_some_and(|seen| seen.contains(number))
    }

    async fn read_on(&mut self, demand: &Demand) -> Result<Found> {
        let now = clock::now();
        let store = self.store.clone();
        let mut connection = store.connection().await?;
        // What is refused here must not keep the others from being read.
        if std::mem::take(&mut self.strays)
            && let Err(error) = strays::renumber(&store, &mut connection).await
        {
            tracing::warn!(target: "redeliver", "rows with a number below 1 cannot be given another one: {error}");
        }
        if self.segments.want_listing(now) && now >= self.next_listing {
            let mut work = Work::snapshot(&store, &mut connection).await?;
            let listing = writers::listing(&mut work).await?;
            work.commit().await?;
            self.note(listing, now);
        }
        let mut work = Work::snapshot(&store, &mut connection).await?;
        let begun = clock::now();
        let (mut found, mut probed, remembered) = self.probe(&mut work).await?;
        let round_trip = clock::now().since(begun);
        if !probed.is_empty() && self.reach(&mut work, remembered, now).await? {
            (found, probed, _) = self.probe(&mut work).await?;
        }
        let acted = self.acted(&mut work).await?;
        if self.reload {
            let shards: Vec<u16> = self.cursors.keys().copied().collect();
            found.reloaded = Some(lease::parked(&mut work, &shards).await?);
        }
        let looked = self.look_behind(&mut work, demand.behind, round_trip).await?;
        let payload = demand.bytes.at_first(rows_asked_for(demand, &probed));
        // A power of two, so that there are few statements for the server to keep.
        let payload = 1 << payload.max(1).ilog2();
        for lane in &demand.lanes {
            found.lanes.push(self.lane(&mut work, lane, payload).await?);
        }
        weigh::lanes(&mut work, demand, &mut found.lanes).await?;
        let of_lanes: BTreeSet<i64> = found
            .lanes
            .iter()
            .flat_map(|lane| &lane.messages)
            .map(Message::number)
            .collect();
        let limit = Limit {
            rows: demand.fresh,
            payload,
        };
        let mut fresh = self.fresh(&mut work, limit, &probed, now, &of_lanes).await?;
        weigh::fresh(&mut work, demand, &mut fresh).await?;
        (found.due, found.more) = due(&mut work, demand.due, payload, &probed).await?;
        found.more |= weigh::due(&mut work, demand, &mut found.due).await?;
        let of_lanes = found.lanes.iter().flat_map(|lane| &lane.messages);
        let messages = of_lanes
            .chain(&found.due)
            .chain(fresh.messages.iter().map(|(message, _)| message));
        found.heads = head::heads(&mut work, &probed, heads::lanes(messages, &looked.found)).await?;
        work.commit().await?;
        self.remember(&fresh, &found, now);
        found.more |= fresh.more;
        found.caught_up = fresh.caught_up;
        found.fresh = fresh.messages.into_iter().map(|(message, _)| message).collect();
        self.told = self.told.tell(acted, &mut found);
        self.reload = false;
        found.behind = self.have_looked(looked, demand.behind);
        Ok(found)
    }

    /// A server that lost its power, a failover, a restore: what was committed last is gone. Numbers are given a second time, behind the
    /// cursors, and what was settled is there again.
    fn begin_again(&mut self) {
        tracing::info!(target: "redeliver", "the database server is another, or was started again: every message is read again");
        self.segments = Segments::new();
        self.seen.clear();
        self.reload = true;
        self.cursors.values_mut().for_each(|cursor| *cursor = 0);
    }

    /// Looks which server the connection has reached, and says whether the reader has to begin again.
    async fn reach(&mut self, work: &mut Work<'_>, remembered: Option<Start>, now: Moment) -> Result<bool> {
        let start = match remembered {
            Some(start) => start,
            None => {
                let server = server::server(work).await?;
                if server.read_only {
                    return Err(server::read_only());
                }
                server::remember(work, &server.start).await?;
                self.cluster = server.cluster;
                server.start
            }
        };
        let reached = self.met.meet(&start, now);
        if reached == Reached::InTurns {
            return Err(server::in_turns());
        }
        if reached == Reached::Another {
            self.begin_again();
        }
        if let Some(cluster) = self.cluster.filter(|_| !self.segments.is_blind()) {
            tracing::warn!(target: "redeliver", "{cluster}: other servers write too, so late commits are looked for by time");
            self.segments.go_blind(self.store.longest_transaction);
        }
        Ok(reached == Reached::Another)
    }

    /// Only here does the reader move.
    fn remember(&mut self, fresh: &Fresh, found: &Found, now: Moment) {
        let of_lanes = found.lanes.iter().flat_map(|lane| &lane.messages);
        for message in fresh.messages.iter().map(|(message, _)| message).chain(of_lanes) {
            self.seen.entry(message.shard).or_default().add(message.number());
        }
        if fresh.looked {
            self.segments.looked(now, fresh.all);
        }
        for range in &fresh.passed {
            self.cursors.insert(range.shard, range.to);
        }
        self.segments.pass(&fresh.passed, now, found.now);
        for (&shard, seen) in &mut self.seen {
            seen.forget(self.segments.lowest(shard));
        }
    }

    fn note(&mut self, listing: Option<Listing>, now: Moment) {
        let Some(listing) = listing else {
            self.segments.go_blind(self.store.longest_transaction);
            return;
        };
        self.listing_interval = if self.segments.observe(&listing) {
            LISTING_SOONEST
        } else {
            (self.listing_interval * 2).min(LISTING_LATEST)
        };
        // Spread, so that several relays do not keep each other from a new list.
        let spread = Duration::from_millis(entropy::draw() % (1 + self.listing_interval.as_millis() as u64));
        self.next_listing = now.plus(self.listing_interval / 2 + spread);
    }

    /// One statement that says where there is anything to read. An idle poll ends here.
    async fn probe(&self, work: &mut Work<'_>) -> Result<(Found, Vec<Probed>, Option<Start>)> {
        let mut found = Found::default();
        if self.cursors.is_empty() {
            found.now = writers::server_time(work).await?;
            return Ok((found, Vec::new(), None));
        }
        let one = include_str!("sql/probe.sql");
        let sql = vec![one; self.cursors.len()].join("UNION ALL\n");
        let values = self.cursors.iter().flat_map(|(&shard, &cursor)| {
            [
                shard.into(),
                shard.into(),
                Value::from(cursor),
                shard.into(),
                shard.into(),
            ]
        });
        let rows = work.rows(&sql, Params::Positional(values.collect())).await?;
        let mut probed = Vec::new();
        let mut next_due = None;
        let mut remembered = None;
        for mut row in rows {
            found.now = row.known_time()?;
            remembered = row.text()?;
            let (shard, fresh, due) = (row.take()?, row.take()?, row.take()?);
            let later = row.time()?.map(|time| time.since(found.now));
            let scheduled = due || later.is_some();
            probed.push(Probed {
                shard,
                fresh,
                due,
                scheduled,
            });
            next_due = next_due.into_iter().chain(later).min();
        }
        found.next_due = next_due;
        Ok((found, probed, remembered.as_deref().and_then(Start::read)))
    }

    async fn acted(&self, work: &mut Work<'_>) -> Result<Vec<Acted>> {
        let shards: Vec<u16> = self.cursors.keys().copied().collect();
        if shards.is_empty() {
            return Ok(Vec::new());
        }
        let sql = include_str!("sql/read_acted.sql").replace("{shards}", &row::places(shards.len()));
        work.read(&sql, Params::Positional(row::padded(&shards)), acted)
            .await
    }

    async fn lane(&self, work: &mut Work<'_>, lane: &LaneDemand, payload: usize) -> Result<LaneFound> {
        let to = self.cursors.get(&lane.shard).copied().unwrap_or(0);
        let (shard, from, to) = (Value::from(lane.shard), Value::from(lane.from), Value::from(to));
        let destination = Value::from(lane.destination.as_str());
        let limit = Value::from(lane.limit + 1);
        let mut messages = match lane.key.as_deref().map(Value::from) {
            Some(key) => {
                let values = vec![shard, key.clone(), from, to, destination, key, limit];
                messages(work, include_str!("sql/read_lane.sql"), payload, values).await?
            }
            None => {
                let values = vec![shard, from, to, destination, limit];
                messages(work, include_str!("sql/read_unkeyed.sql"), payload, values).await?
            }
        };
        let complete = messages.len() <= lane.limit;
        messages.truncate(lane.limit);
        Ok(LaneFound {
            messages: messages.into_iter().map(|(message, _)| message).collect(),
            complete,
        })
    }

    async fn fresh(
        &self,
        work: &mut Work<'_>,
        limit: Limit,
        probed: &[Probed],
        now: Moment,
        of_lanes: &BTreeSet<i64>,
    ) -> Result<Fresh> {
        if limit.rows == 0 {
            return Ok(Fresh::default());
        }
        let late = self.late(work, limit, now, false, of_lanes).await?;
        if late.more {
            return self.unless_overtaking(work, late, limit, now, of_lanes).await;
        }
        let mut fresh = late;
        let empty = probed.iter().filter(|probed| !probed.fresh);
        fresh.caught_up = empty.map(|probed| probed.shard).collect();
        let room = Limit {
            rows: limit.rows - fresh.messages.len(),
            ..limit
        };
        let filled: Vec<u16> = probed
            .iter()
            .filter(|probed| probed.fresh)
            .map(|probed| probed.shard)
            .collect();
        fresh.more |= room.rows == 0 && !filled.is_empty();
        if room.rows > 0 && !filled.is_empty() {
            self.forward(work, room, &filled, &mut fresh).await?;
        }
        self.unless_overtaking(work, fresh, limit, now, of_lanes).await
    }

    /// Forward in each shard that has something, an equal share of the room for each.
    async fn forward(
        &self,
        work: &mut Work<'_>,
        limit: Limit,
        shards: &[u16],
        fresh: &mut Fresh,
    ) -> Result<()> {
        let mut room = limit.rows;
        // Another shard first each time, lest the last ones starve when there is less room than shards.
        let first = usize::try_from(entropy::draw() % (shards.len() as u64)).unwrap_or(0);
        let turns = shards.iter().cycle().skip(first).take(shards.len());
        for (turn, &shard) in turns.enumerate() {
            let share = room.div_ceil(shards.len() - turn);
            if share == 0 {
                fresh.more = true;
                break;
            }
            let above = self.cursors.get(&shard).copied().unwrap_or(0);
            let values: Vec<Value> = vec![shard.into(), above.into(), share.into()];
            let read = messages(work, include_str!("sql/read_fresh.sql"), limit.payload, values).await?;
            fresh.more |= read.len() == share;
            if read.len() < share {
                fresh.caught_up.push(shard);
            }
            room -= read.len();
            if let Some((last, _)) = read.last() {
                let to = last.number();
                fresh.passed.push(Range { shard, above, to });
            }
            fresh.messages.extend(read);
        }
        fresh
            .messages
            .sort_by_key(|(message, _)| (message.shard, message.number()));
        Ok(())
    }
}

/// The most rows that a read may bring: of what is due each shard brings its own.
fn rows_asked_for(demand: &Demand, probed: &[Probed]) -> usize {
    let shards = probed.iter().filter(|probed| probed.due).count();
    let lanes: usize = demand.lanes.iter().map(|lane| lane.limit + 1).sum();
    demand.fresh + (demand.due + 1) * shards + lanes
}

/// Messages, those with a longer payload only as far as they are to be known.
async fn messages(work: &mut Work<'_>, sql: &str, payload: usize, values: Vec<Value>) -> Result<Vec<Hashed>> {
    let most = payload.min(LONGEST_PAYLOAD);
    let sql = sql
        .replace("{columns}", include_str!("sql/columns.sql").trim_end())
        .replace("{most}", &most.to_string());
    let rows = work.rows(&sql, Params::Positional(values)).await?;
    rows.into_iter()
        .map(|mut row| Ok((message(&mut row)?, row.integer()?)))
        .collect()
}

/// What is due, the longest due first.
async fn due(
    work: &mut Work<'_>,
    limit: usize,
    payload: usize,
    probed: &[Probed],
) -> Result<(Vec<Message>, bool)> {
    let mut found: Vec<Message> = Vec::new();
    if limit == 0 {
        return Ok((found, false));
    }
    for shard in probed
        .iter()
        .filter(|probed| probed.due)
        .map(|probed| probed.shard)
    {
        let values: Vec<Value> = vec![shard.into(), (limit + 1).into()];
        let of_shard = messages(work, include_str!("sql/read_due.sql"), payload, values).await?;
        found.extend(of_shard.into_iter().map(|(message, _)| message));
    }
    found.sort_by_key(|message| (message.next_attempt_at, message.number()));
    let more = found.len() > limit;
    found.truncate(limit);
    Ok((found, more))
}

impl Reader for MySqlReader {
    fn own(&mut self, lease: Lease) {
        self.disown(lease.shard);
        self.cursors.insert(lease.shard, 0);
    }

    fn disown(&mut self, shard: u16) {
        self.cursors.remove(&shard);
        self.seen.remove(&shard);
        self.segments.forget(shard);
        self.told.forget(shard);
        self.behind.forget(shard);
    }

    fn read<'a>(&'a mut self, demand: &'a Demand) -> BoxFuture<'a, Result<Found>> {
        let store = self.store.clone();
        Box::pin(async move { store.limited(self.read_on(demand)).await })
    }
}
