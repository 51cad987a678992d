//! Forgetting what is old, a bounded batch at a time, so that no writer waits long.

use std::time::Duration;

use super::{Done, Session, audit, issues, row};
use crate::{
    desk::{Removed, Retention},
    limits::{
        DEDUPLICATION_RETENTION, JOB_RETENTION, RESUMED_LANE_RETENTION, RETENTION_BATCH,
        SILENT_WORKER_RETENTION,
    },
    millis_up,
};

pub(super) fn retain(session: &Session<'_>, retention: &Retention) -> Done<Removed> {
    let mut removed = Removed::default();
    let messages = [
        (
            retention.sent,
            include_str!("../sql/old_sent.sql"),
            include_str!("../sql/remove_sent.sql"),
        ),
        (
            retention.discarded,
            include_str!("../sql/old_discarded.sql"),
            include_str!("../sql/remove_dead.sql"),
        ),
    ];
    for (age, find, remove) in messages {
        if let Some(age) = age {
            forget_messages(session, age, find, remove, &mut removed)?;
        }
    }
    if let Some(age) = retention.sent {
        forget_events(session, age, &mut removed)?;
    }
    let rows = [
        (retention.inbox, include_str!("../sql/retain_inbox.sql")),
        (
            Some(DEDUPLICATION_RETENTION),
            include_str!("../sql/retain_deduplication.sql"),
        ),
        (
            Some(RESUMED_LANE_RETENTION),
            include_str!("../sql/retain_lanes.sql"),
        ),
        (
            Some(JOB_RETENTION),
            include_str!("../sql/retain_job_messages.sql"),
        ),
        (Some(JOB_RETENTION), include_str!("../sql/retain_jobs.sql")),
        (
            Some(SILENT_WORKER_RETENTION),
            include_str!("../sql/forget_workers.sql"),
        ),
    ];
    for (age, statement) in rows {
        if let Some(age) = age {
            let values = (before(session, age), row::limit(RETENTION_BATCH));
            let rows = session.execute(statement, values)?;
            note(&mut removed, rows, rows);
        }
    }
    if let Some(age) = retention.audit {
        let rows = audit::retain(session, age)?;
        note(&mut removed, rows, rows);
    }
    removed.more |= issues::group(session)?;
    Ok(removed)
}

/// With a message goes the log of its attempts.
fn forget_messages(
    session: &Session<'_>,
    age: Duration,
    find: &str,
    remove: &str,
    removed: &mut Removed,
) -> rusqlite::Result<()> {
    let values = (before(session, age), row::limit(RETENTION_BATCH));
    let numbers: Vec<i64> = session.rows(find, values, |row| row.get(0))?;
    let mut rows = 0;
    for number in &numbers {
        rows += session.execute(remove, [number])?;
        rows += session.execute(include_str!("../sql/remove_attempts.sql"), [number])?;
    }
    note(removed, rows, numbers.len());
    Ok(())
}

/// With an event goes what says which messages it became.
fn forget_events(session: &Session<'_>, age: Duration, removed: &mut Removed) -> rusqlite::Result<()> {
    let values = (before(session, age), row::limit(RETENTION_BATCH));
    let numbers: Vec<i64> = session.rows(include_str!("../sql/old_events.sql"), values, |row| row.get(0))?;
    let mut rows = 0;
    for number in &numbers {
        rows += session.execute(include_str!("../sql/remove_events.sql"), [number])?;
        rows += session.execute(include_str!("../sql/remove_fan_out.sql"), [number])?;
    }
    note(removed, rows, numbers.len());
    Ok(())
}

fn before(session: &Session<'_>, age: Duration) -> i64 {
    session.now.as_millis().saturating_sub(millis_up(age))
}

fn note(removed: &mut Removed, rows: usize, of_the_batch: usize) {
    removed.rows += rows as u64;
    removed.more |= of_the_batch >= RETENTION_BATCH;
}
