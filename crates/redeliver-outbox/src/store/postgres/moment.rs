//! What a read learns first: the clock, the transactions that run, and whether anything is due.

use tokio_postgres::Row;

use super::{
    Result, StoreError, StoreErrorKind,
    row::{self, get},
    segments::{Pending, Snapshot},
};
use crate::Timestamp;

/// The database at the time of a read.
pub(super) struct Now {
    /// The last number that was given. It is read after the snapshot was taken: no row that the snapshot shows and that took its number
    /// from the sequence is above it.
    pub(super) sequence: i64,
    pub(super) snapshot: Snapshot,
    pub(super) running: Pending,
    pub(super) clock: Timestamp,
    pub(super) due: bool,
    pub(super) next_due: Option<Timestamp>,
    /// Which run of which server it is, and which run of the sequence.
    pub(super) run: String,
    /// Whether there are rows above the sequence.
    pub(super) strange: bool,
}

impl Now {
    pub(super) fn of(sequence: &Row, moment: &Row) -> Result<Self> {
        let text: &str = get(moment, 0)?;
        let snapshot = Snapshot::parse(text).ok_or_else(|| {
            let what = format!("the server's snapshot {text:?} is not as expected");
            StoreError::new(StoreErrorKind::Unsupported, what).next("use PostgreSQL 13 or newer")
        })?;
        let next = snapshot.next(get::<i32>(moment, 1)?.cast_unsigned().wrapping_add(3));
        Ok(Self {
            sequence: get(sequence, 0)?,
            running: Pending::at(&snapshot, next),
            snapshot,
            clock: row::time(moment, 2)?,
            due: get(moment, 3)?,
            next_due: row::maybe_time(moment, 4)?,
            run: get(moment, 5)?,
            strange: get(moment, 6)?,
        })
    }
}
