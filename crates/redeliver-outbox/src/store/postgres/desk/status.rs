//! The figures of the whole outbox.

use super::{Begin, Inner, Result, hold, look, row::PostgresColumns};
use crate::{desk::StatusReport, store::desk::status};

pub(super) async fn status(inner: &Inner) -> Result<StatusReport> {
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Look).await?;
    let mut report = status::begin(&look::shards(&session).await?);
    for row in session
        .query(include_str!("../sql/figures_live.sql"), &[])
        .await?
    {
        status::live(&mut report, &mut PostgresColumns::of(&row))?;
    }
    for row in session
        .query(include_str!("../sql/figures_ended.sql"), &[])
        .await?
    {
        status::ended(&mut report, &mut PostgresColumns::of(&row))?;
    }
    let (workers, holds) = (hold::workers(&session).await?, hold::all(&session).await?);
    session.commit().await?;
    session.closed();
    Ok(status::finish(report, workers, holds))
}
