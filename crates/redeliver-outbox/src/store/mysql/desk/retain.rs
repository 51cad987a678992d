//! Forgetting what is old.

use std::time::Duration;

use super::{MySqlStore, Work, audit, issues, row};
use crate::{
    desk::{Removed, Retention},
    limits,
    store::Result,
};

pub(super) async fn retain(store: &MySqlStore, retention: &Retention) -> Result<Removed> {
    let mut removed = Removed::default();
    let messages = [
        (
            retention.sent,
            include_str!("../sql/old_sent.sql"),
            include_str!("../sql/remove_sent.sql"),
        ),
        (
            retention.sent,
            include_str!("../sql/old_events.sql"),
            include_str!("../sql/remove_events.sql"),
        ),
        (
            retention.discarded,
            include_str!("../sql/old_discarded.sql"),
            include_str!("../sql/remove_discarded.sql"),
        ),
    ];
    for (age, old, remove) in messages {
        if let Some(age) = age {
            add(&mut removed, forget_messages(store, age, old, remove).await?);
        }
    }
    let plain = [
        (retention.inbox, include_str!("../sql/retain_inbox.sql")),
        (
            Some(limits::DEDUPLICATION_RETENTION),
            include_str!("../sql/retain_deduplication.sql"),
        ),
        (
            Some(limits::RESUMED_LANE_RETENTION),
            include_str!("../sql/retain_lanes.sql"),
        ),
        (
            Some(limits::JOB_RETENTION),
            include_str!("../sql/retain_job_messages.sql"),
        ),
        (
            Some(limits::JOB_RETENTION),
            include_str!("../sql/retain_jobs.sql"),
        ),
        (
            Some(limits::SILENT_WORKER_RETENTION),
            include_str!("../sql/forget_workers.sql"),
        ),
    ];
    for (age, sql) in plain {
        if let Some(age) = age {
            let mut connection = store.connection().await?;
            let mut work = Work::begin(store, &mut connection).await?;
            let rows = work.run(sql, (row::delay(age), limits::RETENTION_BATCH)).await?;
            work.commit().await?;
            add(&mut removed, rows);
        }
    }
    if let Some(age) = retention.audit {
        add(&mut removed, audit::retain(store, age).await?);
    }
    let mut connection = store.connection().await?;
    removed.more |= issues::group(store, &mut connection).await?;
    Ok(removed)
}

fn add(removed: &mut Removed, rows: u64) {
    removed.rows += rows;
    removed.more |= rows >= limits::RETENTION_BATCH as u64;
}

/// Messages go with the log of their attempts, events with what says which messages they became.
async fn forget_messages(store: &MySqlStore, age: Duration, old: &str, remove: &str) -> Result<u64> {
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    let mut numbers = Vec::new();
    for mut row in work.rows(old, (row::delay(age), limits::RETENTION_BATCH)).await? {
        numbers.push(row.take::<i64>()?);
    }
    if numbers.is_empty() {
        work.abandon().await?;
        return Ok(0);
    }
    let all = row::list(&numbers);
    let rows = work.run(remove, (all.clone(),)).await?;
    for statement in [
        include_str!("../sql/remove_attempts.sql"),
        include_str!("../sql/remove_fan_out.sql"),
    ] {
        work.run(statement, (all.clone(),)).await?;
    }
    work.commit().await?;
    Ok(rows)
}
