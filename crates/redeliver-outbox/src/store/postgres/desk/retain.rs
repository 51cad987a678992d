//! Forgetting what is old, one bounded batch a table.

use tokio_postgres::types::Type;

use super::{Inner, Parameter, Result, audit, issues, value};
use crate::{
    desk::{Removed, Retention},
    limits::{
        DEDUPLICATION_RETENTION, JOB_RETENTION, RESUMED_LANE_RETENTION, RETENTION_BATCH,
        SILENT_WORKER_RETENTION,
    },
};

pub(super) async fn retain(inner: &Inner, retention: &Retention) -> Result<Removed> {
    let mut session = inner.session().await?;
    let limit = value::limit(RETENTION_BATCH);
    let steps = [
        (include_str!("../sql/retain_sent.sql"), retention.sent),
        (include_str!("../sql/retain_events.sql"), retention.sent),
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
