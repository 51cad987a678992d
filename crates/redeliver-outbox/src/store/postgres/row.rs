//! A row of the hot table.

use tokio_postgres::{Row, types::FromSql};

use super::{Result, error, value};
use crate::{Message, MessageId, Payload, Timestamp};

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

/// In the order in which every `read_….sql` names the columns.
pub(super) fn message(row: &Row) -> Result<Message> {
    Ok(Message {
        id: MessageId::new(get(row, 0)?, get(row, 1)?),
        shard: shard(row, 2)?,
        destination: get(row, 3)?,
        key: get(row, 4)?,
        payload: Payload::from_columns(get(row, 5)?, get(row, 6)?),
        content_type: get(row, 7)?,
        headers: get(row, 8)?,
        traceparent: get(row, 9)?,
        not_before: maybe_time(row, 10)?,
        expires_at: maybe_time(row, 11)?,
        created_at: time(row, 12)?,
        attempts: value::count(get(row, 13)?),
        redrives: value::count(get(row, 14)?),
        next_attempt_at: maybe_time(row, 15)?,
        last_attempt_at: maybe_time(row, 16)?,
        last_error: get(row, 17)?,
        last_wait_ms: u64::try_from(get::<i64>(row, 18)?).unwrap_or(0),
    })
}

pub(super) fn messages(rows: &[Row]) -> Result<Vec<Message>> {
    rows.iter().map(message).collect()
}
