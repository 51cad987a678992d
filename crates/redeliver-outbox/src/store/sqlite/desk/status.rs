//! The figures.

use super::{Done, Session, hold, look};
use crate::{desk::StatusReport, store::desk::status};

pub(super) fn status(session: &Session<'_>) -> Done<StatusReport> {
    let now = [session.now.as_millis()];
    let mut report = status::begin(&look::shards(session)?);
    session.read(include_str!("../sql/figures_live.sql"), now, |row| {
        status::live(&mut report, row)
    })?;
    session.read(include_str!("../sql/figures_ended.sql"), [], |row| {
        status::ended(&mut report, row)
    })?;
    session.read(include_str!("../sql/figures_attempts.sql"), [], |row| {
        status::attempts(&mut report, row)
    })?;
    let (workers, holds) = (hold::workers(session)?, hold::all(session)?);
    Ok(status::finish(report, workers, holds))
}
