//! The figures.

use super::{MySqlStore, Work};
use crate::{
    desk::{Figures, StatusReport, WorkerRecord},
    store::Result,
};

pub(super) async fn status(store: &MySqlStore) -> Result<StatusReport> {
    let mut connection = store.connection().await?;
    let mut work = Work::snapshot(store, &mut connection).await?;
    let mut report = StatusReport::default();
    if let Some(mut row) = work.row(include_str!("../sql/shards.sql"), ()).await? {
        report.now = row.known_time()?;
        report.shards = row.take()?;
        report.shards_without_owner = row.take()?;
    }
    for mut row in work.rows(include_str!("../sql/figures_live.sql"), ()).await? {
        let figures = report.destinations.entry(row.take()?).or_default();
        figures.due_now = row.take()?;
        figures.waiting = row.take()?;
        figures.parked = row.take()?;
        figures.oldest_lag = row.time()?.map(|oldest| report.now.since(oldest));
    }
    for mut row in work.rows(include_str!("../sql/figures_ended.sql"), ()).await? {
        let figures = report.destinations.entry(row.take()?).or_default();
        figures.sent += row.take::<u64>()?;
        figures.dead += row.take::<u64>()?;
    }
    for mut row in work.rows(include_str!("../sql/figures_attempts.sql"), ()).await? {
        report.attempts.insert(row.take()?, row.take()?);
    }
    for mut row in work.rows(include_str!("../sql/workers.sql"), ()).await? {
        report.workers.push(WorkerRecord {
            id: row.take()?,
            started_at: row.known_time()?,
            seen_at: row.known_time()?,
            alive: row.take()?,
            shards: row.take()?,
            in_flight: row.take()?,
        });
    }
    let alive = report.workers.iter().filter(|worker| worker.alive);
    report.in_flight = alive.map(|worker| u64::from(worker.in_flight)).sum();
    report.total = total(report.destinations.values());
    Ok(report)
}

fn total<'a>(all: impl Iterator<Item = &'a Figures>) -> Figures {
    all.fold(Figures::default(), |sum, figures| Figures {
        due_now: sum.due_now + figures.due_now,
        waiting: sum.waiting + figures.waiting,
        parked: sum.parked + figures.parked,
        sent: sum.sent + figures.sent,
        dead: sum.dead + figures.dead,
        oldest_lag: sum.oldest_lag.max(figures.oldest_lag),
    })
}
