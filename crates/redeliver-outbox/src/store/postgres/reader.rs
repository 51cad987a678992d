//! The way through the rows of the shards that a worker owns.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::Arc,
};

use futures_core::future::BoxFuture;
use futures_util::future::{try_join_all, try_join4, try_join5};
use redeliver::clock;
use tokio_postgres::types::Type;

use super::{
    Inner, Result, Session,
    moment::Now,
    row::{self, get, messages},
    segments::{Pending, Segments, Span},
    session::{Begin, Parameter},
    value,
};
use crate::{
    Message,
    store::{
        Demand, Found, LaneDemand, LaneFound, Lease, Reader,
        acted::{Told, acted},
        behind::Behind,
        heads,
        weigh::{self, Key, Room},
    },
};

mod head;
mod look;

/// One read is one transaction with one snapshot. Within it the rows that late commits have put behind the cursors are found
/// together with the rows before them: a late row that waited for a snapshot of its own would come after its lane's next one.
///
/// A message is returned as fresh once by a reader, whatever becomes of it then: the numbers that were returned from a stretch that
/// has to be read again are remembered until they are gone from it. Lanes that are asked for come again as often as they are
/// asked for, and what they bring is not fresh any more.
pub(super) struct PostgresReader {
    inner: Arc<Inner>,
    cursors: BTreeMap<u16, i64>,
    segments: Segments,
    /// When everything up to the cursors had last been read to the end; none if it has not.
    seen: Option<Seen>,
    /// The run of the server and of the sequence that was read last.
    run: Option<String>,
    /// Whether the parked lanes are to be read again.
    reload: bool,
    told: Told,
    behind: Behind,
    /// Which shard comes first at the next read: none must wait behind the others for ever.
    turn: usize,
}

/// The idle check. Nothing is new while the sequence stands where it stood **before** the last whole read learned the next
/// transaction, and all that was running then still runs: any row that was not seen then has a number that was given before, by one of
/// those.
struct Seen {
    sequence: i64,
    beyond: u64,
    running: Pending,
}

/// What a read has got, before anything of it counts.
struct Got {
    late: Vec<(u16, i64)>,
    due: Vec<Message>,
    lanes: Vec<LaneFound>,
    forward: Vec<Message>,
    /// Whether there were more rows ahead, or more that are due, than there was room for their bytes.
    forward_cut: bool,
    due_cut: bool,
}

impl Got {
    fn messages(&self) -> impl Iterator<Item = &Message> {
        let lanes = self.lanes.iter().flat_map(|lane| &lane.messages);
        lanes.chain(&self.due).chain(&self.forward)
    }
}

impl PostgresReader {
    pub(super) fn new(inner: Arc<Inner>) -> Self {
        Self {
            inner,
            cursors: BTreeMap::new(),
            segments: Segments::default(),
            seen: None,
            run: None,
            reload: false,
            told: Told::default(),
            behind: Behind::default(),
            turn: 0,
        }
    }

    async fn read_on(&mut self, inner: &Inner, demand: &Demand) -> Result<Found> {
        let mut session = inner.session().await?;
        session.opens();
        let begun = clock::now();
        let shards: Vec<i16> = self.cursors.keys().map(|&shard| value::shard(shard)).collect();
        let parameters: [Parameter<'_>; 1] = [(&shards, Type::INT2_ARRAY)];
        // The sequence in a statement of its own, before the one that learns the next transaction.
        let (_, sequence, moment, acted) = try_join4(
            session.begin(Begin::Read),
            session.one(include_str!("sql/read_sequence.sql"), &[]),
            session.one(include_str!("sql/read_moment.sql"), &parameters),
            session.read(include_str!("sql/read_acted.sql"), &parameters, acted),
        )
        .await?;
        let now = Now::of(&sequence, &moment)?;
        let round_trip = clock::now().since(begun);
        self.begin_again_where_commits_may_be_lost(&now);
        let looked = self.look_behind(&session, demand.behind, round_trip).await?;

        let spans = self.segments.to_read(&now.snapshot);
        let fresh = demand.fresh > 0 && (!spans.is_empty() || !self.nothing_new(&now));
        let due = demand.due > 0 && (now.due || now.strange);
        let mut found = Found {
            now: now.clock,
            more: (now.due || now.strange) && demand.due == 0,
            next_due: now.next_due.map(|due| due.since(now.clock)),
            ..Found::default()
        };
        if demand.fresh > 0 && !fresh {
            found.caught_up = self.cursors.keys().copied().collect();
        }
        if self.reload {
            let rows = session.query(include_str!("sql/parked.sql"), &parameters).await?;
            found.reloaded = Some(rows.iter().map(row::parked).collect::<Result<_>>()?);
        }
        if fresh || due || !demand.lanes.is_empty() {
            let limits = Limits::of(demand, fresh, due, self.cursors.len());
            let mut got = self.get(&session, demand, limits, &spans, &now).await?;
            let mut late = self.late(&session, demand, limits, &got, &now).await?;
            self.weigh(&session, demand, &mut got, &mut late).await?;
            let lanes = heads::lanes(got.messages().chain(&late.messages), &looked.found);
            found.heads = head::heads(&session, &now, lanes).await?;
            session.commit().await?;
            self.take(&mut found, demand, limits, got, late, &now);
        } else {
            let lanes = heads::lanes([], &looked.found);
            found.heads = head::heads(&session, &now, lanes).await?;
            session.commit().await?;
        }
        session.closed();
        self.reload = false;
        self.told = self.told.tell(acted, &mut found);
        found.behind = self.have_looked(looked, demand.behind);
        Ok(found)
    }

    /// A server that ended at once without `synchronous_commit`, a failover, a restore: what was committed last is gone. Numbers are given
    /// a second time, behind the cursors, and what was settled is there again.
    fn begin_again_where_commits_may_be_lost(&mut self, now: &Now) {
        let older = |seen: &Seen| seen.sequence > now.sequence || seen.beyond > now.snapshot.beyond();
        let other = self.run.as_ref().is_some_and(|run| *run != now.run);
        self.run = Some(now.run.clone());
        // No cursor was ever above the sequence: one that is now has numbers before it that are given again.
        let passed = self.cursors.values().any(|&cursor| cursor > now.sequence);
        if other || passed || self.seen.as_ref().is_some_and(older) {
            tracing::info!(target: "redeliver", "the database server is another, or was started again, or gives numbers again: every message is read again");
            self.segments = Segments::default();
            self.seen = None;
            self.reload = true;
            self.cursors.values_mut().for_each(|cursor| *cursor = 0);
        }
    }

    fn nothing_new(&self, now: &Now) -> bool {
        self.seen
            .as_ref()
            .is_some_and(|seen| seen.sequence == now.sequence && !seen.running.has_ended(&now.snapshot))
    }

    async fn get(
        &self,
        session: &Session<'_>,
        demand: &Demand,
        limits: Limits,
        spans: &[Span],
        now: &Now,
    ) -> Result<Got> {
        let (late, mut due, strange, lanes, forward) = try_join5(
            late_numbers(session, spans, limits),
            self.due(session, limits),
            self.strange(session, limits, now),
            try_join_all(demand.lanes.iter().map(|lane| self.lane(session, lane, limits))),
            self.forward(session, limits, now),
        )
        .await?;
        due.extend(strange);
        due.truncate(limits.due);
        Ok(Got {
            late,
            due,
            lanes,
            forward,
            forward_cut: false,
            due_cut: false,
        })
    }

    async fn forward(&self, session: &Session<'_>, limits: Limits, now: &Now) -> Result<Vec<Message>> {
        if limits.fresh == 0 || self.cursors.is_empty() {
            return Ok(Vec::new());
        }
        let (shards, cursors): (Vec<i16>, Vec<i64>) = self
            .turns()
            .map(|(&shard, &cursor)| (value::shard(shard), cursor))
            .unzip();
        let (of_one, of_all) = (value::limit(limits.of_one), value::limit(limits.fresh));
        let rows = session
            .query(
                &within(include_str!("sql/read_fresh.sql"), limits.payload),
                &[
                    (&shards, Type::INT2_ARRAY),
                    (&cursors, Type::INT8_ARRAY),
                    (&of_one, Type::INT8),
                    (&of_all, Type::INT8),
                    (&now.sequence, Type::INT8),
                ],
            )
            .await?;
        messages(&rows)
    }

    async fn due(&self, session: &Session<'_>, limits: Limits) -> Result<Vec<Message>> {
        if limits.due == 0 {
            return Ok(Vec::new());
        }
        let shards: Vec<i16> = self.cursors.keys().map(|&shard| value::shard(shard)).collect();
        let limit = value::limit(limits.due);
        let rows = session
            .query(
                &within(include_str!("sql/read_due.sql"), limits.payload),
                &[(&shards, Type::INT2_ARRAY), (&limit, Type::INT8)],
            )
            .await?;
        messages(&rows)
    }

    /// Rows above the sequence: a forward read that passed them would pass every honest row that is still to come. They are returned as
    /// due, and so with every read until they are settled.
    async fn strange(&self, session: &Session<'_>, limits: Limits, now: &Now) -> Result<Vec<Message>> {
        if limits.due == 0 || !now.strange {
            return Ok(Vec::new());
        }
        let shards: Vec<i16> = self.cursors.keys().map(|&shard| value::shard(shard)).collect();
        let limit = value::limit(limits.due);
        let rows = session
            .query(
                &within(include_str!("sql/read_strange.sql"), limits.payload),
                &[
                    (&shards, Type::INT2_ARRAY),
                    (&now.sequence, Type::INT8),
                    (&limit, Type::INT8),
                ],
            )
            .await?;
        messages(&rows)
    }

    async fn lane(&self, session: &Session<'_>, demand: &LaneDemand, limits: Limits) -> Result<LaneFound> {
        let Some(cursor) = self.cursors.get(&demand.shard) else {
            return Ok(LaneFound::default());
        };
        let (shard, limit) = (
            value::shard(demand.shard),
            value::limit(demand.limit.saturating_add(1)),
        );
        let rows = session
            .query(
                &within(include_str!("sql/read_lane.sql"), limits.payload),
                &[
                    (&shard, Type::INT2),
                    (&demand.from, Type::INT8),
                    (cursor, Type::INT8),
                    (&demand.destination, Type::TEXT),
                    (&demand.key, Type::TEXT),
                    (&limit, Type::INT8),
                ],
            )
            .await?;
        let mut messages = messages(&rows)?;
        let complete = messages.len() <= demand.limit;
        messages.truncate(demand.limit);
        Ok(LaneFound { messages, complete })
    }

    /// The late rows that there is room for, and whether there were more. A lane that was asked for brings its own.
    async fn late(
        &self,
        session: &Session<'_>,
        demand: &Demand,
        limits: Limits,
        got: &Got,
        now: &Now,
    ) -> Result<Late> {
        let mut rows = self.segments.unknown(&got.late, &now.snapshot);
        let mut of_lanes = rows_of(got.lanes.iter().flat_map(|lane| &lane.messages));
        of_lanes.sort_unstable();
        rows.retain(|row| of_lanes.binary_search(row).is_err());
        let cut = rows.len() > demand.fresh;
        rows.truncate(demand.fresh);
        Ok(Late {
            messages: named(session, &rows, limits.payload).await?,
            of_lanes,
            cut,
        })
    }

    /// Reads the large messages that there is room for, and cuts off the others.
    async fn weigh(
        &self,
        session: &Session<'_>,
        demand: &Demand,
        got: &mut Got,
        late: &mut Late,
    ) -> Result<()> {
        if got
            .messages()
            .chain(&late.messages)
            .all(|message| message.withheld.is_none())
        {
            return Ok(());
        }
        let room = Room::of(demand.bytes);
        let mut chosen: Vec<Key> = Vec::new();
        let (mut fresh, mut due, mut lanes) = (room.part(2), room.part(4), room.part(4));
        let mut one = true;
        for lane in &mut got.lanes {
            let (some, cut) = lanes.choose(&mut lane.messages, one);
            lane.complete &= !cut;
            one &= lane.messages.is_empty();
            chosen.extend(some);
        }
        let (some, cut) = fresh.choose(&mut late.messages, true);
        late.cut |= cut;
        chosen.extend(some);
        if late.cut {
            // Nothing is taken of the rows ahead then.
            got.forward.clear();
        }
        let (some, cut) = fresh.choose(&mut got.forward, late.messages.is_empty());
        got.forward_cut = cut;
        chosen.extend(some);
        let (some, cut) = due.choose(&mut got.due, true);
        got.due_cut = cut;
        chosen.extend(some);
        let full = named(session, &chosen, demand.bytes.largest).await?;
        let places = got.lanes.iter_mut().flat_map(|lane| &mut lane.messages);
        let places = places.chain(&mut got.due).chain(&mut got.forward);
        weigh::fill(places.chain(&mut late.messages), full);
        Ok(())
    }

    /// The read has succeeded: now everything moves.
    fn take(&mut self, found: &mut Found, demand: &Demand, limits: Limits, got: Got, late: Late, now: &Now) {
        let mut more = late.cut;
        self.segments.remember(&late.of_lanes);
        let mut fresh = late.messages;
        if late.cut {
            // Nothing of the rows ahead either: a late row of the same lane may be among those that there was no room for.
            let mut rows = rows_of(&fresh);
            rows.sort_unstable();
            self.segments.remember(&rows);
        } else if limits.fresh > 0 {
            self.segments.have_read(&got.late, &now.snapshot);
            let room = demand.fresh - fresh.len();
            let mut forward = got.forward;
            let cut = got.forward_cut || forward.len() >= limits.fresh || forward.len() > room;
            more |= limits.met_by(&forward) || cut;
            forward.truncate(room);
            found.caught_up = self.caught_up(&forward, limits, cut);
            self.pass(&forward, now);
            fresh.append(&mut forward);
            self.seen = (!more).then(|| Seen {
                sequence: now.sequence,
                beyond: now.snapshot.beyond(),
                running: now.running.clone(),
            });
        }
        if more {
            self.turn = self.turn.wrapping_add(1);
        }
        fresh.sort_unstable_by_key(|message| (message.shard, message.number()));
        found.more |= more || got.due_cut || (limits.due > 0 && got.due.len() >= limits.due);
        found.fresh = fresh;
        found.due = got.due;
        found.lanes = got.lanes;
    }

    /// The shards that were read to their end: the rows come shard by shard, so a cut leaves the last one and those behind it open.
    fn caught_up(&self, forward: &[Message], limits: Limits, cut: bool) -> Vec<u16> {
        let last = forward.last().map(|message| message.shard);
        let known = self
            .turns()
            .map(|(&shard, _)| shard)
            .take_while(|&shard| !cut || last.is_some_and(|last| shard != last));
        let counts = count_by_shard(forward);
        let short = |shard: &u16| counts.get(shard).copied().unwrap_or(0) < limits.of_one;
        known.filter(short).collect()
    }

    /// The shards in the order in which they are read this time.
    fn turns(&self) -> impl Iterator<Item = (&u16, &i64)> {
        let first = self.turn % self.cursors.len().max(1);
        self.cursors.iter().cycle().skip(first).take(self.cursors.len())
    }

    fn pass(&mut self, forward: &[Message], now: &Now) {
        let mut passed: BTreeMap<u16, Vec<i64>> = BTreeMap::new();
        for message in forward {
            passed.entry(message.shard).or_default().push(message.number());
        }
        for (shard, numbers) in passed {
            if let (Some(cursor), Some(&last)) = (self.cursors.get_mut(&shard), numbers.last()) {
                let span = Span {
                    shard,
                    beyond: *cursor,
                    up_to: last,
                };
                debug_assert!(last <= now.sequence, "the forward read ends at the sequence");
                *cursor = last;
                self.segments.pass(&now.running, span, numbers);
            }
        }
    }
}

struct Late {
    messages: Vec<Message>,
    of_lanes: Vec<(u16, i64)>,
    cut: bool,
}

/// No value of PostgreSQL is longer.
const LONGEST_TEXT: usize = 1 << 30;

#[derive(Clone, Copy)]
struct Limits {
    fresh: usize,
    due: usize,
    /// Of one shard at a time, so that a long one does not fill every read.
    of_one: usize,
    /// The longest payload that comes at first.
    payload: usize,
}

impl Limits {
    fn of(demand: &Demand, fresh: bool, due: bool, shards: usize) -> Self {
        let fresh = if fresh { demand.fresh } else { 0 };
        let due = if due { demand.due } else { 0 };
        let lanes: usize = demand.lanes.iter().map(|lane| lane.limit + 1).sum();
        // What is late comes beside what is ahead.
        let rows = 2 * fresh + due + lanes;
        Self {
            fresh,
            due,
            payload: demand.bytes.at_first(rows),
            of_one: (fresh / 4).max(fresh.div_ceil(shards.max(1))),
        }
    }

    fn met_by(self, forward: &[Message]) -> bool {
        let counts = count_by_shard(forward);
        forward.len() >= self.fresh || counts.values().any(|&count| count >= self.of_one)
    }
}

fn count_by_shard(messages: &[Message]) -> HashMap<u16, usize> {
    let mut counts = HashMap::new();
    for message in messages {
        *counts.entry(message.shard).or_default() += 1;
    }
    counts
}

/// A statement that reads messages, large ones only as far as they are to be known.
fn within(statement: &str, payload: usize) -> String {
    let most = payload.min(LONGEST_TEXT).to_string();
    statement
        .replace("{columns}", include_str!("sql/columns.sql").trim_end())
        .replace("{large}", include_str!("sql/large.sql").trim_end())
        .replace("{most}", &most)
}

/// These rows, large ones only as far as they are to be known.
async fn named(session: &Session<'_>, rows: &[Key], payload: usize) -> Result<Vec<Message>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let (shards, numbers): (Vec<i16>, Vec<i64>) = rows
        .iter()
        .map(|&(shard, number)| (value::shard(shard), number))
        .unzip();
    let rows = session
        .query(
            &within(include_str!("sql/read_late.sql"), payload),
            &[(&shards, Type::INT2_ARRAY), (&numbers, Type::INT8_ARRAY)],
        )
        .await?;
    messages(&rows)
}

async fn late_numbers(session: &Session<'_>, spans: &[Span], limits: Limits) -> Result<Vec<(u16, i64)>> {
    if spans.is_empty() || limits.fresh == 0 {
        return Ok(Vec::new());
    }
    let shards: Vec<i16> = spans.iter().map(|span| value::shard(span.shard)).collect();
    let (beyond, up_to): (Vec<i64>, Vec<i64>) = spans.iter().map(|span| (span.beyond, span.up_to)).unzip();
    let rows = session
        .query(
            include_str!("sql/read_late_numbers.sql"),
            &[
                (&shards, Type::INT2_ARRAY),
                (&beyond, Type::INT8_ARRAY),
                (&up_to, Type::INT8_ARRAY),
            ],
        )
        .await?;
    rows.iter()
        .map(|row| Ok((row::shard(row, 0)?, get(row, 1)?)))
        .collect()
}

fn rows_of<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<(u16, i64)> {
    let rows = messages.into_iter();
    rows.map(|message| (message.shard, message.number())).collect()
}

impl Reader for PostgresReader {
    fn own(&mut self, lease: Lease) {
        self.disown(lease.shard);
        self.cursors.insert(lease.shard, 0);
        self.seen = None;
    }

    fn disown(&mut self, shard: u16) {
        self.cursors.remove(&shard);
        self.segments.forget(shard);
        self.told.forget(shard);
        self.behind.forget(shard);
    }

    fn read<'a>(&'a mut self, demand: &'a Demand) -> BoxFuture<'a, Result<Found>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move { inner.limited(self.read_on(&inner, demand)).await })
    }
}

impl fmt::Debug for PostgresReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresReader")
            .field("cursors", &self.cursors)
            .finish_non_exhaustive()
    }
}
