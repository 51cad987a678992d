//! The figures.

use super::{MySqlStore, Work, hold, look};
use crate::{
    desk::StatusReport,
    store::{Result, desk::status},
};

pub(super) async fn status(store: &MySqlStore) -> Result<StatusReport> {
    let mut connection = store.connection().await?;
    let mut work = Work::snapshot(store, &mut connection).await?;
    let mut report = status::begin(&look::shards(&mut work).await?);
    for mut row in work.rows(include_str!("../sql/figures_live.sql"), ()).await? {
        status::live(&mut report, &mut row)?;
    }
    for mut row in work.rows(include_str!("../sql/figures_ended.sql"), ()).await? {
        status::ended(&mut report, &mut row)?;
    }
    let workers = hold::workers(&mut work).await?;
    let holds = hold::all(&mut work).await?;
    Ok(status::finish(report, workers, holds))
}
