//! Forgetting what is old, one bounded batch a table.

use std::time::Duration;

use tokio_postgres::types::Type;

use super::{Inner, Parameter, Result, Session, audit, issues, row, value};
use crate::{
    desk::{Removed, Retention},
    limits::{
        DEDUPLICATION_RETENTION, JOB_RETENTION, RESUMED_LANE_RETENTION, RETENTION_BATCH, RETENTION_LOOK,
        SILENT_WORKER_RETENTION,
    },
    store::desk::sweep::Sweep,
};

pub(super) async fn retain(inner: &Inner, retention: &Retention) -> Result<Removed> {
    let mut session = inner.session().await?;
    let limit = value::limit(RETENTION_BATCH);
    let steps = [
        (include_str!("../sql/retain_discarded.sql"), retention.discarded),
        (include_str!("../sql/retain_inbox.sql"), retention.inbox),
        (
            include_str!("../sql/retain_deduplication.sql"),
            Some(DEDUPLICATION_RETENTION),
        ),
        (
            include_str!("../sql/retain_lanes.sql"),
            Some(RESUMED_LANE_RETENTION),
        ),
        (
            include_str!("../sql/retain_job_messages.sql"),
            Some(JOB_RETENTION),
        ),
        (include_str!("../sql/retain_jobs.sql"), Some(JOB_RETENTION)),
        (
            include_str!("../sql/forget_workers.sql"),
            Some(SILENT_WORKER_RETENTION),
        ),
    ];
    let mut removed = Removed::default();
    if let Some(age) = retention.sent {
        for (table, sweep) in [(SENT, &inner.sweeps.sent), (EVENTS, &inner.sweeps.events)] {
            sweep_on(&session, age, table, sweep, &mut removed).await?;
        }
    }
    for (statement, older_than) in steps {
        let Some(older_than) = older_than else {
            continue;
        };
        let millis = value::wait_millis(older_than);
        let parameters: [Parameter<'_>; 2] = [(&millis, Type::INT8), (&limit, Type::INT8)];
        let rows = session.execute(statement, &parameters).await?;
        removed.rows += rows;
        removed.more |= rows >= limit.unsigned_abs();
    }
    if let Some(age) = retention.audit {
        let rows = audit::retain(&mut session, age).await?;
        removed.rows += rows;
        removed.more |= rows >= limit.unsigned_abs();
    }
    removed.more |= issues::group(&session).await?;
    Ok(removed)
}

/// A table that has no index by time.
#[derive(Clone, Copy)]
struct Table {
    retain: &'static str,
    end: &'static str,
}

const SENT: Table = Table {
    retain: include_str!("../sql/retain_sent.sql"),
    end: include_str!("../sql/end_of_sent.sql"),
};
const EVENTS: Table = Table {
    retain: include_str!("../sql/retain_events.sql"),
    end: include_str!("../sql/end_of_events.sql"),
};

/// Forgets what is old in the next window of the table.
async fn sweep_on(
    session: &Session<'_>,
    age: Duration,
    table: Table,
    sweep: &Sweep,
    removed: &mut Removed,
) -> Result<()> {
    let (millis, after) = (value::wait_millis(age), sweep.after());
    let (limit, look) = (value::limit(RETENTION_BATCH), value::limit(RETENTION_LOOK));
    let window: [Parameter<'_>; 3] = [(&millis, Type::INT8), (&after, Type::INT8), (&look, Type::INT8)];
    let end = session.query(table.end, &window).await?;
    let end = end.first().map(|last| row::get(last, 0)).transpose()?;
    let parameters: [Parameter<'_>; 4] = [
        (&millis, Type::INT8),
        (&limit, Type::INT8),
        (&after, Type::INT8),
        (&look, Type::INT8),
    ];
    let rows = session.execute(table.retain, &parameters).await?;
    removed.rows += rows;
    removed.more |= sweep.looked(usize::try_from(rows).unwrap_or(usize::MAX), end);
    Ok(())
}
