//! The figures of the whole outbox.

use std::collections::BTreeMap;

use tokio_postgres::Row;

use super::{Begin, Inner, Result, Session, row, value};
use crate::{
    Timestamp,
    desk::{Figures, StatusReport, WorkerRecord},
};

pub(super) async fn status(inner: &Inner) -> Result<StatusReport> {
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Look).await?;
    let (now, shards, shards_without_owner) = shards(&session).await?;
    let live = session
        .query(include_str!("../sql/figures_live.sql"), &[])
        .await?;
    let ended = session
        .query(include_str!("../sql/figures_ended.sql"), &[])
        .await?;
    let attempts = session
        .query(include_str!("../sql/figures_attempts.sql"), &[])
        .await?;
    let workers = session.query(include_str!("../sql/workers.sql"), &[]).await?;
    session.commit().await?;
    session.closed();

    let workers = workers.iter().map(worker).collect::<Result<Vec<_>>>()?;
    let destinations = destinations(&live, &ended, now)?;
    let living = workers.iter().filter(|worker| worker.alive);
    Ok(StatusReport {
        now,
        total: destinations.values().fold(Figures::default(), sum),
        destinations,
        attempts: attempts
            .iter()
            .map(|row| Ok((value::count(row::get(row, 0)?), count(row, 1)?)))
            .collect::<Result<_>>()?,
        in_flight: living.map(|worker| u64::from(worker.in_flight)).sum(),
        workers,
        shards,
        shards_without_owner,
    })
}

/// The database's clock, how many shards there are, and how many of them have no live owner.
pub(super) async fn shards(session: &Session<'_>) -> Result<(Timestamp, u32, u32)> {
    let row = session.one(include_str!("../sql/shards.sql"), &[]).await?;
    let number = |column| count(&row, column).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    Ok((row::time(&row, 0)?, number(1)?, number(2)?))
}

fn count(row: &Row, column: usize) -> Result<u64> {
    row::get::<i64>(row, column).map(i64::unsigned_abs)
}

fn destinations(live: &[Row], ended: &[Row], now: Timestamp) -> Result<BTreeMap<String, Figures>> {
    let mut destinations: BTreeMap<String, Figures> = BTreeMap::new();
    for row in live {
        let figures = destinations.entry(row::get(row, 0)?).or_default();
        figures.due_now = count(row, 1)?;
        figures.waiting = count(row, 2)?;
        figures.parked = count(row, 3)?;
        figures.oldest_lag = row::maybe_time(row, 4)?.map(|due| now.since(due));
    }
    for row in ended {
        let figures = destinations.entry(row::get(row, 0)?).or_default();
        figures.sent = count(row, 1)?;
        figures.dead = count(row, 2)?;
    }
    Ok(destinations)
}

fn sum(total: Figures, one: &Figures) -> Figures {
    Figures {
        due_now: total.due_now + one.due_now,
        waiting: total.waiting + one.waiting,
        parked: total.parked + one.parked,
        sent: total.sent + one.sent,
        dead: total.dead + one.dead,
        oldest_lag: total.oldest_lag.max(one.oldest_lag),
    }
}

fn worker(row: &Row) -> Result<WorkerRecord> {
    Ok(WorkerRecord {
        id: row::get(row, 0)?,
        started_at: row::time(row, 1)?,
        seen_at: row::time(row, 2)?,
        alive: row::get(row, 3)?,
        in_flight: value::count(row::get(row, 4)?),
        shards: u32::try_from(row::get::<i64>(row, 5)?).unwrap_or(0),
    })
}
