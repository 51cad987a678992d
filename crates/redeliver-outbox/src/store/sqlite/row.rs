//! Columns to values. SQLite keeps whatever bytes a producer called text, and one odd row must not stop all others.

use rusqlite::{Result, Row, types::ValueRef};

use crate::{Message, MessageId, Payload, Timestamp};

/// A text, with what is no UTF-8 replaced.
pub(super) fn text(row: &Row<'_>, column: usize) -> Result<String> {
    Ok(optional_text(row, column)?.unwrap_or_default())
}

pub(super) fn optional_text(row: &Row<'_>, column: usize) -> Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => None,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
    })
}

pub(super) fn time(row: &Row<'_>, column: usize) -> Result<Timestamp> {
    row.get(column).map(Timestamp::from_millis)
}

pub(super) fn optional_time(row: &Row<'_>, column: usize) -> Result<Option<Timestamp>> {
    let millis: Option<i64> = row.get(column)?;
    Ok(millis.map(Timestamp::from_millis))
}

/// The payload in two neighbouring columns, byte for byte; none if both are empty.
pub(super) fn payload(row: &Row<'_>, column: usize) -> Result<Option<Payload>> {
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

/// A live message, in the order of the columns of the `read_….sql` statements.
pub(super) fn message(row: &Row<'_>) -> Result<Message> {
    Ok(Message {
        id: MessageId::new(row.get(0)?, row.get(1)?),
        shard: row.get(2)?,
        destination: text(row, 3)?,
        key: optional_text(row, 4)?,
        payload: payload(row, 5)?.unwrap_or_else(|| Payload::from("")),
        content_type: optional_text(row, 7)?,
        headers: optional_text(row, 8)?,
        traceparent: optional_text(row, 9)?,
        not_before: optional_time(row, 10)?,
        expires_at: optional_time(row, 11)?,
        created_at: time(row, 12)?,
        attempts: row.get(13)?,
        redrives: row.get(14)?,
        next_attempt_at: optional_time(row, 15)?,
        last_attempt_at: optional_time(row, 16)?,
        last_error: optional_text(row, 17)?,
        last_wait_ms: row.get::<_, i64>(18)?.try_into().unwrap_or(0),
    })
}
