//! Forgetting what is old, a bounded batch at a time, so that no writer waits long.

use std::time::Duration;

use super::{Done, Session, audit, issues, row};
use crate::{
    desk::{Removed, Retention},
    limits::{
        DEDUPLICATION_RETENTION, JOB_RETENTION, RESUMED_LANE_RETENTION, RETENTION_BATCH, RETENTION_LOOK,
        SILENT_WORKER_RETENTION,
    },
    millis_up,
    store::desk::sweep::{Sweep, Sweeps},
};

pub(super) fn retain(session: &Session<'_>, sweeps: &Sweeps, retention: &Retention) -> Done<Removed> {
    let mut removed = Removed::default();
    if let Some(age) = retention.sent {
        for (table, sweep) in [(SENT, &sweeps.sent), (EVENTS, &sweeps.events)] {
            sweep_on(session, age, table, sweep, &mut removed)?;
        }
    }
    if let Some(age) = retention.discarded {
        let values = (before(session, age), row::limit(RETENTION_BATCH));
        let statement = include_str!("../sql/old_discarded.sql");
        let numbers: Vec<i64> = session.rows(statement, values, |row| row.get(0))?;
        let rows = forget(session, &numbers, DISCARDED)?;
        note(&mut removed, rows, numbers.len());
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

/// With a row goes what is kept beside it.
type Forget = [&'static str; 2];

/// With a message goes the log of its attempts.
const DISCARDED: Forget = [
    include_str!("../sql/remove_discarded.sql"),
    include_str!("../sql/remove_attempts.sql"),
];

/// A table that has no index by time.
#[derive(Clone, Copy)]
struct Table {
    old: &'static str,
    end: &'static str,
    forget: Forget,
}

const SENT: Table = Table {
    old: include_str!("../sql/old_sent.sql"),
    end: include_str!("../sql/end_of_sent.sql"),
    forget: [
        include_str!("../sql/remove_sent.sql"),
        include_str!("../sql/remove_attempts.sql"),
    ],
};

/// With an event goes what says which messages it became.
const EVENTS: Table = Table {
    old: include_str!("../sql/old_events.sql"),
    end: include_str!("../sql/end_of_events.sql"),
    forget: [
        include_str!("../sql/remove_events.sql"),
        include_str!("../sql/remove_fan_out.sql"),
    ],
};

/// Forgets what is old in the next window of the table.
fn sweep_on(
    session: &Session<'_>,
    age: Duration,
    table: Table,
    sweep: &Sweep,
    removed: &mut Removed,
) -> rusqlite::Result<()> {
    let (past, after, look) = (before(session, age), sweep.after(), row::limit(RETENTION_LOOK));
    let values = (past, row::limit(RETENTION_BATCH), after, look);
    let numbers: Vec<i64> = session.rows(table.old, values, |row| row.get(0))?;
    let end: Vec<i64> = session.rows(table.end, (past, after, look), |row| row.get(0))?;
    removed.rows += forget(session, &numbers, table.forget)? as u64;
    removed.more |= sweep.looked(numbers.len(), end.first().copied());
    Ok(())
}

fn forget(session: &Session<'_>, numbers: &[i64], statements: Forget) -> rusqlite::Result<usize> {
    let mut rows = 0;
    for number in numbers {
        for statement in statements {
            rows += session.execute(statement, [number])?;
        }
    }
    Ok(rows)
}

fn before(session: &Session<'_>, age: Duration) -> i64 {
    session.now.as_millis().saturating_sub(millis_up(age))
}

fn note(removed: &mut Removed, rows: usize, of_the_batch: usize) {
    removed.rows += rows as u64;
    removed.more |= of_the_batch >= RETENTION_BATCH;
}
