//! The figures.

use super::{Done, Session, row};
use crate::{
    Timestamp,
    desk::{Figures, StatusReport, WorkerRecord},
};

pub(super) fn status(session: &Session<'_>) -> Done<StatusReport> {
    let now = session.now;
    let mut report = StatusReport {
        now,
        ..StatusReport::default()
    };
    let live = session.rows(
        include_str!("../sql/figures_live.sql"),
        [now.as_millis()],
        |row| {
            let oldest: Option<Timestamp> = row::optional_time(row, 4)?;
            let figures = Figures {
                due_now: large(row.get(1)?),
                waiting: large(row.get(2)?),
                parked: large(row.get(3)?),
                oldest_lag: oldest.map(|due| now.since(due)),
                ..Figures::default()
            };
            Ok((row::text(row, 0)?, figures))
        },
    )?;
    report.destinations.extend(live);
    let ended = session.rows(include_str!("../sql/figures_ended.sql"), [], |row| {
        Ok((row::text(row, 0)?, large(row.get(1)?), large(row.get(2)?)))
    })?;
    for (destination, sent, dead) in ended {
        let figures = report.destinations.entry(destination).or_default();
        (figures.sent, figures.dead) = (sent, dead);
    }
    for figures in report.destinations.values() {
        let total = &mut report.total;
        total.due_now += figures.due_now;
        total.waiting += figures.waiting;
        total.parked += figures.parked;
        total.sent += figures.sent;
        total.dead += figures.dead;
        total.oldest_lag = total.oldest_lag.max(figures.oldest_lag);
    }
    report.attempts = session
        .rows(include_str!("../sql/figures_attempts.sql"), [], |row| {
            Ok((row.get(0)?, large(row.get(1)?)))
        })?
        .into_iter()
        .collect();
    report.workers = session.rows(include_str!("../sql/workers.sql"), [now.as_millis()], |row| {
        Ok(WorkerRecord {
            id: row::text(row, 0)?,
            started_at: row::time(row, 1)?,
            seen_at: row::time(row, 2)?,
            alive: row.get(3)?,
            in_flight: row.get(4)?,
            shards: row.get(5)?,
        })
    })?;
    let alive = report.workers.iter().filter(|worker| worker.alive);
    report.in_flight = alive.map(|worker| u64::from(worker.in_flight)).sum();
    (report.shards, report.shards_without_owner) = shards(session)?;
    Ok(report)
}

/// How many there are, and how many of them have no live owner.
pub(super) fn shards(session: &Session<'_>) -> rusqlite::Result<(u32, u32)> {
    let now = session.now.as_millis();
    session.row(include_str!("../sql/shards.sql"), [now], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })
}

fn large(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}
