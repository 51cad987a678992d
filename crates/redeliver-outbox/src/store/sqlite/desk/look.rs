//! Messages wherever they live.

use std::time::Duration;

use rusqlite::{OptionalExtension as _, Row, params_from_iter, types::Value as Column};

use super::{Done, Session, audit, edit, row, schema};
use crate::{
    MessageId, Timestamp,
    desk::{AttemptRecord, Detail, Filter, MessageRef, Page, Record},
    state::Status,
    store::{
        LaneId, StoreError, StoreErrorKind,
        filter::{Conditions, Dialect, Value, equal},
    },
};

/// The first parameter is the time; a filter's own come behind it.
const DIALECT: Dialect = Dialect {
    placeholder: |n| format!("?{}", n + 1),
    position: "instr",
    same: equal,
};
/// More terms than SQLite takes in one expression.
const MOST_MESSAGES: usize = 900;

const COLUMNS: &str = "number, salt, status, shard, destination, lane, attempts, redrives, created_at, next_attempt_at, \
                       last_attempt_at, last_error, locked_by, locked_at, dead_letter_reason, dead_lettered_at, sent_at, \
                       expires_at, content_type, headers, traceparent";

pub(super) fn list(session: &Session<'_>, filter: &Filter, page: Page, payloads: bool) -> Done<Vec<Record>> {
    let payload = if payloads {
        "payload, payload_binary"
    } else {
        "NULL, NULL"
    };
    let conditions = conditions(filter)?.page(page);
    select(session, &format!("{COLUMNS}, {payload}"), conditions, record)
}

pub(super) fn count(session: &Session<'_>, filter: &Filter) -> Done<u64> {
    let counted = select(session, "COUNT(*)", conditions(filter)?, |row| {
        row.get::<_, i64>(0)
    })?;
    Ok(counted
        .first()
        .and_then(|&count| u64::try_from(count).ok())
        .unwrap_or(0))
}

fn conditions(filter: &Filter) -> Done<Conditions> {
    let named = filter.messages.len();
    if named > MOST_MESSAGES {
        let what = format!("{named} messages were named, and SQLite takes {MOST_MESSAGES} at a time");
        let next = "name fewer at a time, or describe them by destination, reason or error";
        return Err(StoreError::new(StoreErrorKind::BadInput, what).next(next).into());
    }
    Ok(Conditions::of(filter, DIALECT))
}

/// What the view shows, by the store's clock instead of SQLite's.
fn select<T>(
    session: &Session<'_>,
    columns: &str,
    conditions: Conditions,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Done<Vec<T>> {
    let view = schema::messages_at("?1");
    let statement = format!(
        "WITH redeliver_messages AS ({view}) SELECT {columns} FROM redeliver_messages WHERE {}",
        conditions.sql
    );
    let values = conditions.values.into_iter().map(|value| match value {
        Value::Integer(number) => Column::Integer(number),
        Value::Text(text) => Column::Text(text),
        Value::Time(time) => Column::Integer(time.as_millis()),
    });
    let values = std::iter::once(Column::Integer(session.now.as_millis())).chain(values);
    Ok(session.rows(&statement, params_from_iter(values), read)?)
}

fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    Ok(Record {
        id: MessageId::new(row.get(0)?, row.get(1)?),
        // The view has no other words than these.
        status: row::text(row, 2)?.parse().unwrap_or(Status::Pending),
        shard: row.get(3)?,
        destination: row::text(row, 4)?,
        key: row::optional_text(row, 5)?,
        attempts: row.get(6)?,
        redrives: row.get(7)?,
        created_at: row::time(row, 8)?,
        next_attempt_at: row::optional_time(row, 9)?,
        last_attempt_at: row::optional_time(row, 10)?,
        last_error: row::optional_text(row, 11)?,
        locked_by: row::optional_text(row, 12)?,
        locked_at: row::optional_time(row, 13)?,
        dead_letter_reason: row::optional_text(row, 14)?.and_then(|reason| reason.parse().ok()),
        dead_lettered_at: row::optional_time(row, 15)?,
        sent_at: row::optional_time(row, 16)?,
        expires_at: row::optional_time(row, 17)?,
        content_type: row::optional_text(row, 18)?,
        headers: row::optional_text(row, 19)?,
        traceparent: row::optional_text(row, 20)?,
        payload: row::payload(row, 21)?,
    })
}

/// The message without the rest, if it is there.
pub(super) fn one(session: &Session<'_>, message: MessageRef) -> Done<Option<Record>> {
    let filter = Filter {
        messages: vec![message],
        ..Filter::default()
    };
    let page = Page {
        after: None,
        limit: 1,
        newest_first: false,
    };
    Ok(list(session, &filter, page, true)?.pop())
}

pub(super) fn find(session: &Session<'_>, message: MessageRef) -> Done<Option<Detail>> {
    let Some(record) = one(session, message)? else {
        return Ok(None);
    };
    let number = record.id.number();
    let audit = audit::of_message(session, record.id)?;
    let kept = session
        .row(include_str!("../sql/dead_letter.sql"), [number], |row| {
            Ok((row.get(0)?, row::payload(row, 1)?))
        })
        .optional()?;
    let (gap, kept) = kept.unwrap_or((false, None));
    let neighbour = |statement| {
        let id = |row: &Row<'_>| Ok(MessageId::new(row.get(0)?, row.get(1)?));
        session.row(statement, [number], id).optional()
    };
    Ok(Some(Detail {
        attempts: attempts(session, number)?,
        original_payload: edit::original(&audit).or(kept),
        gap,
        parked_behind: neighbour(include_str!("../sql/parked_behind.sql"))?,
        waits_behind: neighbour(include_str!("../sql/waits_behind.sql"))?,
        record,
        audit,
    }))
}

fn attempts(session: &Session<'_>, number: i64) -> rusqlite::Result<Vec<AttemptRecord>> {
    let statement = include_str!("../sql/attempts_of_message.sql");
    session.rows(statement, [number], |row| {
        let took: Option<i64> = row.get(3)?;
        Ok(AttemptRecord {
            redrive: row.get(0)?,
            attempt: row.get(1)?,
            at: row::time(row, 2)?,
            took: took.map(|millis| Duration::from_millis(u64::try_from(millis).unwrap_or(0))),
            class: row::text(row, 4)?,
            error: row::text(row, 5)?,
            worker: row::text(row, 6)?,
        })
    })
}

pub(super) fn parked_lanes(session: &Session<'_>) -> Done<Vec<(LaneId, MessageId, Timestamp)>> {
    let lanes = session.rows(include_str!("../sql/parked_lanes.sql"), [], |row| {
        let lane = LaneId {
            destination: row::text(row, 0)?,
            key: row::text(row, 1)?,
        };
        Ok((lane, MessageId::new(row.get(2)?, row.get(3)?), row::time(row, 4)?))
    })?;
    Ok(lanes)
}
