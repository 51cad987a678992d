//! Columns to values.

use tokio_postgres::{
    Row,
    types::{FromSql, Type},
};

use super::{Result, error, value};
use crate::{
    Message, Payload, Timestamp,
    store::{
        LaneId, ParkedLane,
        columns::{Columns, message},
    },
};

/// The column, or an error that says that the tables are not what they should be.
pub(super) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T> {
    row.try_get(column).map_err(error::unreadable)
}

pub(super) fn time(row: &Row, column: usize) -> Result<Timestamp> {
    get::<value::Time>(row, column).map(|time| time.0)
}

pub(super) fn maybe_time(row: &Row, column: usize) -> Result<Option<Timestamp>> {
    get::<Option<value::Time>>(row, column).map(|time| time.map(|time| time.0))
}

pub(super) fn shard(row: &Row, column: usize) -> Result<u16> {
    get::<i16>(row, column).map(i16::cast_unsigned)
}

/// A row of `parked.sql`, with its shard.
pub(super) fn parked(row: &Row) -> Result<(u16, ParkedLane)> {
    let lane = LaneId {
        destination: get(row, 1)?,
        key: get(row, 2)?,
    };
    let head = get(row, 3)?;
    Ok((shard(row, 0)?, ParkedLane { lane, head }))
}

/// A row that is being read, from left to right.
pub(super) struct PostgresColumns<'a> {
    row: &'a Row,
    next: usize,
}

impl<'a> PostgresColumns<'a> {
    pub(super) const fn of(row: &'a Row) -> Self {
        Self { row, next: 0 }
    }

    const fn step(&mut self) -> usize {
        let column = self.next;
        self.next += 1;
        column
    }
}

impl Columns for PostgresColumns<'_> {
    fn integer(&mut self) -> Result<Option<i64>> {
        let (row, column) = (self.row, self.step());
        Ok(match row.columns().get(column).map(|column| column.type_()) {
            Some(&Type::BOOL) => get::<Option<bool>>(row, column)?.map(i64::from),
            Some(&Type::INT2) => get::<Option<i16>>(row, column)?.map(i64::from),
            Some(&Type::INT4) => get::<Option<i32>>(row, column)?.map(i64::from),
            _ => get(row, column)?,
        })
    }

    fn text(&mut self) -> Result<Option<String>> {
        get(self.row, self.step())
    }

    fn time(&mut self) -> Result<Option<Timestamp>> {
        maybe_time(self.row, self.step())
    }

    fn payload(&mut self) -> Result<Option<Payload>> {
        let row = self.row;
        Ok(match (get(row, self.step())?, get(row, self.step())?) {
            (None, None) => None,
            (text, binary) => Some(Payload::from_columns(text, binary)),
        })
    }
}

pub(super) fn messages(rows: &[Row]) -> Result<Vec<Message>> {
    rows.iter()
        .map(|row| message(&mut PostgresColumns::of(row)))
        .collect()
}
