//! Columns to values. SQLite keeps whatever bytes a producer called text, and one odd row must not stop all others.

use rusqlite::{Result, Row, types::ValueRef};

use super::error::interpret;
use crate::{
    Payload, Timestamp,
    store::{self, columns::Columns},
};

/// A row that is being read, from left to right.
pub(super) struct SqliteColumns<'a, 'b> {
    row: &'a Row<'b>,
    next: usize,
}

impl<'a, 'b> SqliteColumns<'a, 'b> {
    pub(super) const fn of(row: &'a Row<'b>) -> Self {
        Self { row, next: 0 }
    }

    const fn step(&mut self, columns: usize) -> usize {
        let column = self.next;
        self.next += columns;
        column
    }
}

impl Columns for SqliteColumns<'_, '_> {
    fn integer(&mut self) -> store::Result<Option<i64>> {
        let column = self.step(1);
        integer(self.row, column).map_err(interpret)
    }

    fn text(&mut self) -> store::Result<Option<String>> {
        let column = self.step(1);
        text(self.row, column).map_err(interpret)
    }

    fn time(&mut self) -> store::Result<Option<Timestamp>> {
        Ok(self.integer()?.map(Timestamp::from_millis))
    }

    fn payload(&mut self) -> store::Result<Option<Payload>> {
        let column = self.step(2);
        payload(self.row, column).map_err(interpret)
    }
}

/// An integer; 0 where somebody has written what is none, as SQLite itself would count with it.
fn integer(row: &Row<'_>, column: usize) -> Result<Option<i64>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number),
        ValueRef::Real(_) | ValueRef::Text(_) | ValueRef::Blob(_) => Some(0),
    })
}

/// A text, with what is no UTF-8 replaced.
pub(super) fn text(row: &Row<'_>, column: usize) -> Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => None,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
    })
}

/// Byte for byte.
fn payload(row: &Row<'_>, column: usize) -> Result<Option<Payload>> {
    let bytes = match (row.get_ref(column)?, row.get_ref(column + 1)?) {
        (_, ValueRef::Blob(bytes) | ValueRef::Text(bytes)) => return Ok(Some(binary(bytes))),
        (ValueRef::Text(bytes) | ValueRef::Blob(bytes), _) => bytes,
        _ => return Ok(None),
    };
    Ok(Some(match std::str::from_utf8(bytes) {
        Ok(text) => Payload::Text(text.to_owned()),
        Err(_) => binary(bytes),
    }))
}

fn binary(bytes: &[u8]) -> Payload {
    Payload::Binary(bytes.to_vec().into())
}

/// How many, as SQLite counts.
pub(super) fn count(row: &Row<'_>, column: usize) -> Result<usize> {
    let count: i64 = row.get(column)?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// At most so many, as SQLite counts.
pub(super) fn limit(at_most: usize) -> i64 {
    i64::try_from(at_most).unwrap_or(i64::MAX)
}
