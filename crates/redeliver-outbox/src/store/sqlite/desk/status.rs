//! The figures.

use super::{Done, Session, look};
use crate::{
    desk::StatusReport,
    store::desk::{records, status},
};

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
    let workers = session.read(include_str!("../sql/workers.sql"), now, records::worker)?;
    Ok(status::finish(report, workers))
}
