//! Looking at messages.

use std::time::Duration;

use mysql_async::{Params, Value};

use super::{MySqlStore, Work, audit, edit, row};
use crate::{
    MessageId, Payload, Timestamp,
    desk::{AttemptRecord, Detail, Filter, MessageRef, Page, Record},
    state::Status,
    store::{
        LaneId, Result, StoreError, StoreErrorKind,
        filter::{Conditions, Dialect, Value as Condition},
    },
};

const DIALECT: Dialect = Dialect {
    placeholder: |_| "?".to_owned(),
    position: "INSTR",
    same: |left, right| format!("CAST({left} AS BINARY) = CAST({right} AS BINARY)"),
};

/// The view's three parts, each cut to a page by itself: the server would make the whole union before it cuts it.
const PARTS: [&str; 3] = [
    "redeliver_messages_live",
    "redeliver_messages_dead",
    "redeliver_messages_sent",
];

pub(super) async fn list(
    work: &mut Work<'_>,
    filter: &Filter,
    page: Page,
    payloads: bool,
) -> Result<Vec<Record>> {
    let conditions = Conditions::of(filter, DIALECT).page(page);
    let payload = if payloads {
        "payload, payload_binary"
    } else {
        "NULL, NULL"
    };
    let one = include_str!("../sql/list.sql")
        .replace("{payload}", payload)
        .replace("{conditions}", &conditions.sql);
    let sql = PARTS
        .map(|part| format!("({})", one.replace("{part}", part)))
        .join(" UNION ALL ");
    let rows = work.rows(&sql, three_times(&conditions)).await?;
    let mut records = rows.into_iter().map(record).collect::<Result<Vec<_>>>()?;
    records.sort_by_key(|record| record.id.number());
    if page.newest_first {
        records.reverse();
    }
    records.truncate(page.limit);
    Ok(records)
}

pub(super) async fn count(store: &MySqlStore, filter: &Filter) -> Result<u64> {
    let mut connection = store.connection().await?;
    let mut work = Work::snapshot(store, &mut connection).await?;
    let conditions = Conditions::of(filter, DIALECT);
    let one = include_str!("../sql/count.sql").replace("{conditions}", &conditions.sql);
    let sql = PARTS
        .map(|part| format!("({})", one.replace("{part}", part)))
        .join(" + ");
    let row = work
        .row(&format!("SELECT {sql}"), three_times(&conditions))
        .await?;
    row.map_or(Ok(0), |mut row| row.take())
}

pub(super) async fn one(work: &mut Work<'_>, message: MessageRef) -> Result<Option<Record>> {
    let filter = Filter {
        messages: vec![message],
        ..Filter::default()
    };
    let page = Page {
        after: None,
        limit: 1,
        newest_first: false,
    };
    Ok(list(work, &filter, page, true).await?.into_iter().next())
}

pub(super) async fn find(store: &MySqlStore, message: MessageRef) -> Result<Option<Detail>> {
    let mut connection = store.connection().await?;
    let mut work = Work::snapshot(store, &mut connection).await?;
    let Some(record) = one(&mut work, message).await? else {
        return Ok(None);
    };
    let number = record.id.number();
    let audit = audit::of_message(&mut work, record.id).await?;
    let attempts = work
        .rows(include_str!("../sql/attempts_of_message.sql"), (number,))
        .await?;
    let mut gap = false;
    let mut original_payload = edit::original(&audit);
    if let Some(mut row) = work
        .row(include_str!("../sql/dead_letter.sql"), (number,))
        .await?
    {
        gap = row.take()?;
        let kept = (row.take()?, row.take()?);
        if kept != (None, None) {
            original_payload = Some(Payload::from_columns(kept.0, kept.1));
        }
    }
    let parked_behind = id(&mut work, include_str!("../sql/parked_behind.sql"), number).await?;
    let waits_behind = id(&mut work, include_str!("../sql/waits_behind.sql"), number).await?;
    Ok(Some(Detail {
        record,
        attempts: attempts.into_iter().map(attempt).collect::<Result<_>>()?,
        audit,
        original_payload,
        gap,
        parked_behind,
        waits_behind,
    }))
}

pub(super) async fn parked_lanes(store: &MySqlStore) -> Result<Vec<(LaneId, MessageId, Timestamp)>> {
    let mut connection = store.connection().await?;
    let mut work = Work::snapshot(store, &mut connection).await?;
    let lane = |mut row: row::Columns| {
        let lane = LaneId {
            destination: row.take()?,
            key: row.take()?,
        };
        Ok((lane, MessageId::new(row.take()?, row.take()?), row.known_time()?))
    };
    let rows = work.rows(include_str!("../sql/parked_lanes.sql"), ()).await?;
    rows.into_iter().map(lane).collect()
}

async fn id(work: &mut Work<'_>, sql: &str, number: i64) -> Result<Option<MessageId>> {
    let row = work.row(sql, (number,)).await?;
    row.map(|mut row| Ok(MessageId::new(row.take()?, row.take()?)))
        .transpose()
}

fn three_times(conditions: &Conditions) -> Params {
    let values = conditions.values.iter().map(|value| match value {
        Condition::Integer(number) => Value::from(*number),
        Condition::Text(text) => Value::from(text.as_str()),
        Condition::Time(time) => Value::from(row::datetime(*time)),
    });
    let values: Vec<Value> = values.collect();
    Params::Positional([&values[..]; PARTS.len()].concat())
}

fn record(mut row: row::Columns) -> Result<Record> {
    Ok(Record {
        id: MessageId::new(row.take()?, row.take()?),
        status: status(&row.take::<String>()?)?,
        shard: row.take()?,
        destination: row.take()?,
        key: row.take()?,
        attempts: row.take()?,
        redrives: row.take()?,
        created_at: row.known_time()?,
        next_attempt_at: row.time()?,
        last_attempt_at: row.time()?,
        last_error: row.take()?,
        locked_by: row.take()?,
        locked_at: row.time()?,
        // A word of a later version is no reason to hide the message.
        dead_letter_reason: row
            .take::<Option<String>>()?
            .and_then(|reason| reason.parse().ok()),
        dead_lettered_at: row.time()?,
        sent_at: row.time()?,
        expires_at: row.time()?,
        content_type: row.take()?,
        headers: row.take()?,
        traceparent: row.take()?,
        payload: match (row.take()?, row.take()?) {
            (None, None) => None,
            (text, binary) => Some(Payload::from_columns(text, binary)),
        },
    })
}

fn status(word: &str) -> Result<Status> {
    word.parse().map_err(|error| {
        StoreError::new(StoreErrorKind::Other, "the view shows an unknown status").caused_by(error)
    })
}

fn attempt(mut row: row::Columns) -> Result<AttemptRecord> {
    Ok(AttemptRecord {
        redrive: row.take()?,
        attempt: row.take()?,
        at: row.known_time()?,
        took: row.take::<Option<u64>>()?.map(Duration::from_millis),
        class: row.take()?,
        error: row.take()?,
        worker: row.take()?,
    })
}
