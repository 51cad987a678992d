//! Messages wherever they live.

use std::time::Duration;

use futures_util::future::try_join4;
use tokio_postgres::{Row, types::Type};

use super::{Begin, Inner, Parameter, Result, Session, audit, edit, error, row, value};
use crate::{
    MessageId, Payload, Timestamp,
    desk::{AttemptRecord, Detail, Filter, MessageRef, Page, Record},
    store::{
        LaneId, StoreError, StoreErrorKind,
        filter::{Conditions, Dialect, Value, equal},
    },
};

const DIALECT: Dialect = Dialect {
    placeholder: |n| format!("${n}"),
    position: "strpos",
    same: equal,
};
/// A statement takes 65,535 parameters, and a message named by its id is two.
const MOST_MESSAGES: usize = 30_000;

const COLUMNS: &str = "number, salt, status, shard, destination, lane, attempts, redrives, created_at, next_attempt_at, \
                       last_attempt_at, last_error, locked_by, locked_at, dead_letter_reason, dead_lettered_at, sent_at, \
                       expires_at, content_type, headers, traceparent";

pub(super) async fn list(
    session: &Session<'_>,
    filter: &Filter,
    page: Page,
    payloads: bool,
) -> Result<Vec<Record>> {
    let payload = if payloads {
        "payload, payload_binary"
    } else {
        "NULL::text, NULL::bytea"
    };
    let rows = select(
        session,
        &format!("{COLUMNS}, {payload}"),
        conditions(filter)?.page(page),
    )
    .await?;
    rows.iter().map(record).collect()
}

pub(super) async fn count(session: &Session<'_>, filter: &Filter) -> Result<u64> {
    let rows = select(session, "count(*)", conditions(filter)?).await?;
    let count: i64 = row::get(rows.first().ok_or_else(error::no_row)?, 0)?;
    Ok(count.unsigned_abs())
}

fn conditions(filter: &Filter) -> Result<Conditions> {
    let named = filter.messages.len();
    if named > MOST_MESSAGES {
        let what = format!("{named} messages were named, and {MOST_MESSAGES} are possible at a time");
        let next = "name fewer at a time, or describe them by destination, reason or error";
        return Err(StoreError::new(StoreErrorKind::BadInput, what).next(next));
    }
    Ok(Conditions::of(filter, DIALECT))
}

async fn select(session: &Session<'_>, columns: &str, conditions: Conditions) -> Result<Vec<Row>> {
    let statement = format!(
        "SELECT {columns} FROM redeliver_messages WHERE {}",
        conditions.sql
    );
    let times: Vec<value::Time> = conditions
        .values
        .iter()
        .filter_map(|value| match value {
            Value::Time(time) => Some(value::Time(*time)),
            _ => None,
        })
        .collect();
    let mut times = times.iter();
    let parameters: Vec<Parameter<'_>> = conditions
        .values
        .iter()
        .filter_map(|value| {
            Some(match value {
                Value::Integer(number) => (number as &(dyn tokio_postgres::types::ToSql + Sync), Type::INT8),
                Value::Text(text) => (text as _, Type::TEXT),
                Value::Time(_) => (times.next()? as _, Type::TIMESTAMPTZ),
            })
        })
        .collect();
    session.query(&statement, &parameters).await
}

fn record(row: &Row) -> Result<Record> {
    let reason: Option<&str> = row::get(row, 14)?;
    let (text, binary): (Option<String>, Option<Vec<u8>>) = (row::get(row, 21)?, row::get(row, 22)?);
    let status: &str = row::get(row, 2)?;
    Ok(Record {
        id: MessageId::new(row::get(row, 0)?, row::get(row, 1)?),
        status: status
            .parse()
            .map_err(|error| StoreError::new(StoreErrorKind::Other, format!("the view says: {error}")))?,
        shard: row::shard(row, 3)?,
        destination: row::get(row, 4)?,
        key: row::get(row, 5)?,
        attempts: value::count(row::get(row, 6)?),
        redrives: value::count(row::get(row, 7)?),
        created_at: row::time(row, 8)?,
        next_attempt_at: row::maybe_time(row, 9)?,
        last_attempt_at: row::maybe_time(row, 10)?,
        last_error: row::get(row, 11)?,
        locked_by: row::get(row, 12)?,
        locked_at: row::maybe_time(row, 13)?,
        dead_letter_reason: reason.and_then(|reason| reason.parse().ok()),
        dead_lettered_at: row::maybe_time(row, 15)?,
        sent_at: row::maybe_time(row, 16)?,
        expires_at: row::maybe_time(row, 17)?,
        content_type: row::get(row, 18)?,
        headers: row::get(row, 19)?,
        traceparent: row::get(row, 20)?,
        payload: payload(text, binary),
    })
}

pub(super) fn payload(text: Option<String>, binary: Option<Vec<u8>>) -> Option<Payload> {
    (text.is_some() || binary.is_some()).then(|| Payload::from_columns(text, binary))
}

/// The message without the rest, if it is there.
pub(super) async fn one(session: &Session<'_>, message: MessageRef) -> Result<Option<Record>> {
    let filter = Filter {
        messages: vec![message],
        ..Filter::default()
    };
    let page = Page {
        after: None,
        limit: 1,
        newest_first: false,
    };
    Ok(list(session, &filter, page, true).await?.pop())
}

pub(super) async fn find(inner: &Inner, message: MessageRef) -> Result<Option<Detail>> {
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Look).await?;
    let found = match one(&session, message).await? {
        Some(record) => Some(detail(&session, record).await?),
        None => None,
    };
    session.commit().await?;
    session.closed();
    Ok(found)
}

async fn detail(session: &Session<'_>, record: Record) -> Result<Detail> {
    let (number, shard) = (record.id.number(), value::shard(record.shard));
    let audit = audit::of_message(session, record.id).await?;
    let place: [Parameter<'_>; 2] = [(&shard, Type::INT2), (&number, Type::INT8)];
    let (attempts, kept, parked, waits) = try_join4(
        session.query(include_str!("../sql/attempts_of_message.sql"), &place[1..]),
        session.query(include_str!("../sql/dead_letter.sql"), &place[1..]),
        session.query(include_str!("../sql/parked_behind.sql"), &place),
        session.query(include_str!("../sql/waits_behind.sql"), &place),
    )
    .await?;
    let (gap, kept) = match kept.first() {
        Some(row) => (row::get(row, 0)?, payload(row::get(row, 1)?, row::get(row, 2)?)),
        None => (false, None),
    };
    Ok(Detail {
        attempts: attempts.iter().map(attempt).collect::<Result<_>>()?,
        original_payload: edit::original(&audit).or(kept),
        gap,
        parked_behind: neighbour(&parked)?,
        waits_behind: neighbour(&waits)?,
        record,
        audit,
    })
}

fn neighbour(rows: &[Row]) -> Result<Option<MessageId>> {
    rows.first()
        .map(|row| Ok(MessageId::new(row::get(row, 0)?, row::get(row, 1)?)))
        .transpose()
}

fn attempt(row: &Row) -> Result<AttemptRecord> {
    let took: Option<i64> = row::get(row, 3)?;
    Ok(AttemptRecord {
        redrive: value::count(row::get(row, 0)?),
        attempt: value::count(row::get(row, 1)?),
        at: row::time(row, 2)?,
        took: took.map(|millis| Duration::from_millis(millis.unsigned_abs())),
        class: row::get(row, 4)?,
        error: row::get(row, 5)?,
        worker: row::get(row, 6)?,
    })
}

pub(super) async fn parked_lanes(inner: &Inner) -> Result<Vec<(LaneId, MessageId, Timestamp)>> {
    let session = inner.session().await?;
    let rows = session
        .query(include_str!("../sql/parked_lanes.sql"), &[])
        .await?;
    rows.iter()
        .map(|row| {
            let lane = LaneId {
                destination: row::get(row, 0)?,
                key: row::get(row, 1)?,
            };
            let head = MessageId::new(row::get(row, 2)?, row::get(row, 3)?);
            Ok((lane, head, row::time(row, 4)?))
        })
        .collect()
}
