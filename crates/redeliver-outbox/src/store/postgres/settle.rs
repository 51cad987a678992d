//! Writing what became of messages.

use std::collections::BTreeMap;

use futures_util::{
    FutureExt as _,
    future::{try_join, try_join_all},
};
use tokio_postgres::types::Type;

use super::{
    Inner, Result, Session,
    fan_out::FannedOut,
    row::{get, shard},
    session::{Begin, Parameter},
    value::{self, Time, wait_millis},
};
use crate::{
    Fingerprint,
    limits::error_text,
    store::{AfterDeath, History, INTERRUPTED, Settled, Settlement, Until, Verdict, WorkerId},
};

pub(super) async fn settle(inner: &Inner, worker: &WorkerId, settlements: &[Settlement]) -> Result<Settled> {
    if settlements.is_empty() {
        return Ok(Settled::default());
    }
    let mut session = inner.session().await?;
    session.opens();
    let shards: Vec<i16> = shards_of(settlements).map(value::shard).collect();
    let fence: [Parameter<'_>; 2] = [(&shards, Type::INT2_ARRAY), (&worker.0, Type::TEXT)];
    let (_, held) = try_join(
        session.begin(Begin::Write),
        session.query(include_str!("sql/fence.sql"), &fence),
    )
    .await?;
    let held = held
        .iter()
        .map(|row| Ok((shard(row, 0)?, get::<i64>(row, 1)?)))
        .collect::<Result<BTreeMap<u16, i64>>>()?;
    let holds = |settlement: &Settlement| held.get(&settlement.lease.shard) == Some(&settlement.lease.epoch);
    let mut stale: Vec<u16> = settlements
        .iter()
        .filter(|settlement| !holds(settlement))
        .map(|settlement| settlement.lease.shard)
        .collect();
    stale.sort_unstable();
    stale.dedup();
    let mut batch = Batch::of(
        settlements
            .iter()
            .filter(|settlement| holds(settlement) && settlement.verdict.can_be()),
    );
    batch.dead.identify(&session).await?;
    if let Err(error) = batch.write(&session, worker, inner.history).await {
        // The batch comes again in parts. The connection is kept, or each part that is refused would need a new one.
        if error.kind().is_about_content() && session.batch("ROLLBACK").await.is_ok() {
            session.closed();
        }
        return Err(error);
    }
    session.closed();
    Ok(Settled { stale })
}

fn shards_of(settlements: &[Settlement]) -> impl Iterator<Item = u16> {
    let mut shards: Vec<u16> = settlements.iter().map(|of| of.lease.shard).collect();
    shards.sort_unstable();
    shards.dedup();
    shards.into_iter()
}

/// Which messages.
#[derive(Default)]
pub(super) struct Keys {
    pub(super) shards: Vec<i16>,
    pub(super) numbers: Vec<i64>,
    pub(super) salts: Vec<i64>,
    pub(super) redrives: Vec<i32>,
}

impl Keys {
    pub(super) fn push(&mut self, settlement: &Settlement) {
        self.shards.push(value::shard(settlement.lease.shard));
        self.numbers.push(settlement.number());
        self.salts.push(settlement.id.salt());
        self.redrives.push(value::attempt(settlement.redrives));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}

#[derive(Default)]
struct Delivered {
    keys: Keys,
    attempts: Vec<i32>,
    took: Vec<i64>,
}

#[derive(Default)]
struct Retry {
    keys: Keys,
    attempts: Vec<i32>,
    waits: Vec<i64>,
    took: Vec<i64>,
    classes: Vec<&'static str>,
    errors: Vec<String>,
}

#[derive(Default)]
struct Dead {
    keys: Keys,
    attempts: Vec<Option<i32>>,
    took: Vec<Option<i64>>,
    classes: Vec<Option<&'static str>>,
    attempt_errors: Vec<Option<String>>,
    reasons: Vec<&'static str>,
    errors: Vec<String>,
    gaps: Vec<bool>,
    parks: Vec<bool>,
    fingerprints: Vec<String>,
}

#[derive(Default)]
struct Postponed {
    keys: Keys,
    at: Vec<Option<Time>>,
    after: Vec<Option<i64>>,
}

#[derive(Default)]
struct Counted {
    keys: Keys,
    attempts: Vec<i32>,
}

/// The settlements by what is to be written, as columns.
#[derive(Default)]
struct Batch {
    delivered: Delivered,
    retry: Retry,
    dead: Dead,
    postponed: Postponed,
    counted: Counted,
    uncounted: Counted,
    fanned_out: FannedOut,
    /// Heads of parked lanes that have left.
    resumed: Keys,
}

impl Batch {
    fn of<'a>(settlements: impl Iterator<Item = &'a Settlement>) -> Self {
        let mut sorted: Vec<&Settlement> = settlements.collect();
        // Two settles that meet the same rows lock them in the same order.
        sorted.sort_by_key(|settlement| (settlement.lease.shard, settlement.number()));
        let mut batch = Self::default();
        for settlement in sorted {
            batch.push(settlement);
        }
        batch
    }

    fn push(&mut self, settlement: &Settlement) {
        match &settlement.verdict {
            Verdict::Delivered(attempted) => {
                self.delivered.keys.push(settlement);
                self.delivered.attempts.push(value::attempt(attempted.attempt));
                self.delivered.took.push(wait_millis(attempted.took));
                if attempted.resumes_lane {
                    self.resumed.push(settlement);
                }
            }
            Verdict::Retry { attempted, wait } => {
                self.retry.keys.push(settlement);
                self.retry.attempts.push(value::attempt(attempted.attempt));
                self.retry.waits.push(wait_millis(*wait));
                self.retry.took.push(wait_millis(attempted.took));
                self.retry.classes.push(attempted.class);
                self.retry.errors.push(error_text(&attempted.error));
            }
            Verdict::Dead {
                attempted,
                reason,
                error,
                lane,
            } => {
                let dead = &mut self.dead;
                dead.keys.push(settlement);
                dead.reasons.push(reason.as_str());
                dead.errors.push(error_text(error));
                dead.gaps.push(*lane == AfterDeath::Gap);
                dead.parks.push(*lane == AfterDeath::Park);
                let attempt = attempted.as_ref();
                dead.attempts.push(attempt.map(|of| value::attempt(of.attempt)));
                dead.took.push(attempt.map(|of| wait_millis(of.took)));
                dead.classes.push(attempt.map(|of| of.class));
                dead.attempt_errors.push(attempt.map(|of| error_text(&of.error)));
                // The lane goes on without this head, which it had stood still for before.
                if *lane == AfterDeath::Gap {
                    self.resumed.push(settlement);
                }
            }
            Verdict::FannedOut { destinations } => self.fanned_out.push(settlement, destinations),
            Verdict::Postponed(until) => {
                let (at, after) = match *until {
                    Until::At(time) => (Some(Time(time)), None),
                    Until::After(wait) => (None, Some(wait_millis(wait))),
                    Until::Recovered => (None, None),
                };
                self.postponed.keys.push(settlement);
                self.postponed.at.push(at);
                self.postponed.after.push(after);
            }
            Verdict::Counted { attempt } => {
                self.counted.keys.push(settlement);
                self.counted.attempts.push(value::attempt(*attempt));
            }
            Verdict::Uncounted { attempt } => {
                self.uncounted.keys.push(settlement);
                self.uncounted.attempts.push(value::attempt(*attempt));
            }
        }
    }

    /// All statements and the commit, sent one behind the other without waiting.
    async fn write(&self, session: &Session<'_>, worker: &WorkerId, history: History) -> Result<()> {
        // One after the other in this order, each only if there is something for it; the joined futures are first polled, and so sent,
        // in the order of the list.
        try_join_all([
            self.counted.write(session, worker).boxed(),
            self.uncounted.take_back(session).boxed(),
            self.postponed.write(session).boxed(),
            self.retry.write(session, worker).boxed(),
            self.dead.write(session, worker).boxed(),
            self.delivered.write(session, history).boxed(),
            self.fanned_out.write(session, history).boxed(),
            resume(session, &self.resumed).boxed(),
            session.commit().boxed(),
        ])
        .await?;
        Ok(())
    }
}

impl Delivered {
    async fn write(&self, session: &Session<'_>, history: History) -> Result<()> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let (kept, payloads) = (history != History::Off, history == History::Full);
        let parameters: [Parameter<'_>; 8] = [
            (&self.keys.shards, Type::INT2_ARRAY),
            (&self.keys.numbers, Type::INT8_ARRAY),
            (&self.attempts, Type::INT4_ARRAY),
            (&self.took, Type::INT8_ARRAY),
            (&self.keys.redrives, Type::INT4_ARRAY),
            (&kept, Type::BOOL),
            (&payloads, Type::BOOL),
            (&self.keys.salts, Type::INT8_ARRAY),
        ];
        session
            .execute(include_str!("sql/settle_delivered.sql"), &parameters)
            .await?;
        Ok(())
    }
}

impl Retry {
    async fn write(&self, session: &Session<'_>, worker: &WorkerId) -> Result<()> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let parameters: [Parameter<'_>; 10] = [
            (&self.keys.shards, Type::INT2_ARRAY),
            (&self.keys.numbers, Type::INT8_ARRAY),
            (&self.attempts, Type::INT4_ARRAY),
            (&self.waits, Type::INT8_ARRAY),
            (&self.took, Type::INT8_ARRAY),
            (&self.classes, Type::TEXT_ARRAY),
            (&self.errors, Type::TEXT_ARRAY),
            (&worker.0, Type::TEXT),
            (&self.keys.redrives, Type::INT4_ARRAY),
            (&self.keys.salts, Type::INT8_ARRAY),
        ];
        session
            .execute(include_str!("sql/settle_retry.sql"), &parameters)
            .await?;
        Ok(())
    }
}

impl Dead {
    /// Says which issue each is of. Where it was to go is known to the database alone.
    async fn identify(&mut self, session: &Session<'_>) -> Result<()> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let named: [Parameter<'_>; 2] = [
            (&self.keys.shards, Type::INT2_ARRAY),
            (&self.keys.numbers, Type::INT8_ARRAY),
        ];
        let rows = session
            .query(include_str!("sql/destinations_of.sql"), &named)
            .await?;
        let destinations = rows
            .iter()
            .map(|row| Ok((get(row, 0)?, get(row, 1)?)))
            .collect::<Result<BTreeMap<i64, &str>>>()?;
        let letters = self.keys.numbers.iter().zip(&self.reasons).zip(&self.errors);
        self.fingerprints = letters
            .map(|((number, reason), error)| {
                let destination = destinations.get(number).copied().unwrap_or_default();
                Fingerprint::of(destination, reason, error).column()
            })
            .collect();
        Ok(())
    }

    async fn write(&self, session: &Session<'_>, worker: &WorkerId) -> Result<()> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let parameters: [Parameter<'_>; 14] = [
            (&self.keys.shards, Type::INT2_ARRAY),
            (&self.keys.numbers, Type::INT8_ARRAY),
            (&self.attempts, Type::INT4_ARRAY),
            (&self.took, Type::INT8_ARRAY),
            (&self.classes, Type::TEXT_ARRAY),
            (&self.attempt_errors, Type::TEXT_ARRAY),
            (&self.reasons, Type::TEXT_ARRAY),
            (&self.errors, Type::TEXT_ARRAY),
            (&self.gaps, Type::BOOL_ARRAY),
            (&self.parks, Type::BOOL_ARRAY),
            (&worker.0, Type::TEXT),
            (&self.keys.redrives, Type::INT4_ARRAY),
            (&self.keys.salts, Type::INT8_ARRAY),
            (&self.fingerprints, Type::TEXT_ARRAY),
        ];
        session
            .execute(include_str!("sql/settle_dead.sql"), &parameters)
            .await?;
        Ok(())
    }
}

impl Postponed {
    async fn write(&self, session: &Session<'_>) -> Result<()> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let parameters: [Parameter<'_>; 6] = [
            (&self.keys.shards, Type::INT2_ARRAY),
            (&self.keys.numbers, Type::INT8_ARRAY),
            (&self.at, Type::TIMESTAMPTZ_ARRAY),
            (&self.after, Type::INT8_ARRAY),
            (&self.keys.redrives, Type::INT4_ARRAY),
            (&self.keys.salts, Type::INT8_ARRAY),
        ];
        session
            .execute(include_str!("sql/settle_postponed.sql"), &parameters)
            .await?;
        Ok(())
    }
}

impl Counted {
    async fn write(&self, session: &Session<'_>, worker: &WorkerId) -> Result<()> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let parameters: [Parameter<'_>; 7] = [
            (&self.keys.shards, Type::INT2_ARRAY),
            (&self.keys.numbers, Type::INT8_ARRAY),
            (&self.attempts, Type::INT4_ARRAY),
            (&worker.0, Type::TEXT),
            (&INTERRUPTED, Type::TEXT),
            (&self.keys.redrives, Type::INT4_ARRAY),
            (&self.keys.salts, Type::INT8_ARRAY),
        ];
        session
            .execute(include_str!("sql/settle_counted.sql"), &parameters)
            .await?;
        Ok(())
    }
}

impl Counted {
    /// The same attempts did not begin.
    async fn take_back(&self, session: &Session<'_>) -> Result<()> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let parameters: [Parameter<'_>; 5] = [
            (&self.keys.shards, Type::INT2_ARRAY),
            (&self.keys.numbers, Type::INT8_ARRAY),
            (&self.attempts, Type::INT4_ARRAY),
            (&self.keys.redrives, Type::INT4_ARRAY),
            (&self.keys.salts, Type::INT8_ARRAY),
        ];
        session
            .execute(include_str!("sql/settle_uncounted.sql"), &parameters)
            .await?;
        Ok(())
    }
}

async fn resume(session: &Session<'_>, heads: &Keys) -> Result<()> {
    if heads.is_empty() {
        return Ok(());
    }
    let parameters: [Parameter<'_>; 2] = [
        (&heads.shards, Type::INT2_ARRAY),
        (&heads.numbers, Type::INT8_ARRAY),
    ];
    session
        .execute(include_str!("sql/resume_lane.sql"), &parameters)
        .await?;
    Ok(())
}
