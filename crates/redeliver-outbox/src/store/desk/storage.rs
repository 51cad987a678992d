//! The tables, and what a server tells of them.

/// The tables of the outbox, in the order in which they are shown, without their prefix.
pub(in crate::store) const TABLES: [&str; 13] = [
    "redeliver_outbox",
    "redeliver_dead",
    "redeliver_sent",
    "redeliver_events",
    "redeliver_attempts",
    "redeliver_fan_out",
    "redeliver_deduplication",
    "redeliver_inbox",
    "redeliver_audit",
    "redeliver_jobs",
    "redeliver_job_messages",
    "redeliver_lanes",
    "redeliver_workers",
];

#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(in crate::store) use server::{holder, table};

#[cfg(any(feature = "postgres", feature = "mysql"))]
mod server {
    use std::time::Duration;

    use crate::{
        desk::{Holder, Known as HowKnown, TableStorage},
        store::{
            Result,
            columns::{Columns, Known as _},
        },
    };

    /// A row of `storage.sql`.
    pub(in crate::store) fn table(row: &mut dyn Columns) -> Result<TableStorage> {
        let (name, rows) = (row.known_text()?, row.integer()?);
        Ok(TableStorage {
            name,
            rows: rows.map_or(0, |rows| u64::try_from(rows).unwrap_or(0)),
            known: HowKnown::Roughly,
            bytes: row.integer()?.and_then(|bytes| u64::try_from(bytes).ok()),
            dead_rows: row.integer()?.and_then(|rows| u64::try_from(rows).ok()),
            vacuumed_at: row.time()?,
            analyzed_at: row.time()?,
        })
    }

    /// A row of `storage_holders.sql`.
    pub(in crate::store) fn holder(row: &mut dyn Columns) -> Result<Holder> {
        Ok(Holder {
            kind: row.known_text()?,
            process: row.integer()?,
            state: row.text()?.unwrap_or_default(),
            application: row.text()?.unwrap_or_default(),
            age: row
                .integer()?
                .map(|seconds| Duration::from_secs(u64::try_from(seconds).unwrap_or(0))),
        })
    }
}
