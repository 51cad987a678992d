//! Looking at messages.

use mysql_async::{Params, Value};

use super::{MySqlStore, Work, audit, lane, row};
use crate::{
    MessageId, Timestamp,
    desk::{Branch, Detail, Filter, MessageRef, Page, Record},
    store::{
        LaneId, Result,
        columns::{Columns as _, Known as _},
        desk::{
            self,
            examine::Shards,
            records::{self, Kept, Neighbours},
        },
        filter::{self, Conditions, Dialect, LIVE_BY_NUMBER, PLACES, Value as Condition, places},
        schema::not_migrated,
    },
};

const DIALECT: Dialect = Dialect {
    placeholder: |_| "?".to_owned(),
    position: "INSTR",
    same: |left, right| format!("CAST({left} AS BINARY) = CAST({right} AS BINARY)"),
    live: LIVE_BY_NUMBER,
};

/// The view's parts that can hold what is asked for, each cut to a page by itself: the server would make the whole union before it cuts it.
fn parts(filter: &Filter) -> Vec<&'static str> {
    let all = [
        "redeliver_messages_live",
        "redeliver_messages_dead",
        "redeliver_messages_sent",
        "redeliver_messages_events",
    ];
    let asked = places(filter);
    let parts = PLACES.into_iter().zip(all);
    parts
        .filter(|(place, _)| asked.contains(place))
        .map(|(_, part)| part)
        .collect()
}

pub(super) async fn list(
    work: &mut Work<'_>,
    filter: &Filter,
    page: Page,
    payloads: bool,
) -> Result<Vec<Record>> {
    let conditions = Conditions::of(filter, DIALECT).page(page);
    let columns = if payloads {
        format!("{}, payload, payload_binary", records::RECORD)
    } else {
        format!("{}, NULL, NULL", records::outline())
    };
    let parts = parts(filter);
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let sql = each_part(&parts, &columns, &conditions, " UNION ALL ");
    let mut found = work
        .read(&sql, for_each(parts.len(), &conditions), records::record)
        .await?;
    found.sort_by_key(|record| record.id.number());
    if page.newest_first {
        found.reverse();
    }
    found.truncate(page.limit);
    Ok(found)
}

pub(super) async fn count(store: &MySqlStore, filter: &Filter) -> Result<u64> {
    let mut connection = store.connection().await?;
    let mut work = Work::snapshot(store, &mut connection).await?;
    let conditions = Conditions::of(filter, DIALECT);
    let parts = parts(filter);
    if parts.is_empty() {
        return Ok(0);
    }
    let sql = format!("SELECT {}", each_part(&parts, "COUNT(*)", &conditions, " + "));
    let row = work.row(&sql, for_each(parts.len(), &conditions)).await?;
    row.map_or(Ok(0), |mut row| row.count())
}

fn each_part(parts: &[&str], columns: &str, conditions: &Conditions, between: &str) -> String {
    let part = |part: &&str| format!("(SELECT {columns} FROM {part} WHERE {})", conditions.sql);
    parts.iter().map(part).collect::<Vec<_>>().join(between)
}

fn for_each(parts: usize, conditions: &Conditions) -> Params {
    let values = conditions.values.iter().map(|value| match value {
        Condition::Integer(number) => Value::from(*number),
        Condition::Text(text) => Value::from(text.as_str()),
        Condition::Time(time) => Value::from(row::datetime(*time)),
    });
    let values: Vec<Value> = values.collect();
    Params::Positional(vec![&values[..]; parts].concat())
}

/// The next number that there is, where the filter can find something.
pub(super) async fn nearest(
    work: &mut Work<'_>,
    filter: &Filter,
    behind: Option<i64>,
    newest_first: bool,
) -> Result<Option<i64>> {
    let Some(statement) = filter::nearest(filter, newest_first, DIALECT) else {
        return Ok(None);
    };
    let behind = Value::from(filter::behind(behind, newest_first));
    let values = vec![behind; places(filter).len()];
    let values = if values.is_empty() {
        Params::Empty
    } else {
        Params::Positional(values)
    };
    let row = work.row(&statement, values).await?;
    row.map_or(Ok(None), |mut row| row.integer())
}

/// The message without the rest, if it is there.
pub(super) async fn one(work: &mut Work<'_>, message: MessageRef) -> Result<Option<Record>> {
    let (filter, page) = desk::only(message);
    Ok(list(work, &filter, page, true).await?.pop())
}

/// What only the row of a dead letter tells.
pub(super) async fn kept(work: &mut Work<'_>, id: MessageId) -> Result<Option<Kept>> {
    let statement = include_str!("../sql/dead_letter.sql");
    let values = (id.number(), id.salt());
    Ok(work.read(statement, values, records::kept).await?.pop())
}

pub(super) async fn find(store: &MySqlStore, message: MessageRef) -> Result<Option<Detail>> {
    let mut connection = store.connection().await?;
    let mut work = Work::snapshot(store, &mut connection).await?;
    let Some(record) = one(&mut work, message).await? else {
        return Ok(None);
    };
    let number = record.id.number();
    let neighbours = Neighbours {
        parked_behind: neighbour(&mut work, include_str!("../sql/parked_behind.sql"), number).await?,
        waits_behind: neighbour(&mut work, include_str!("../sql/waits_behind.sql"), number).await?,
        event: neighbour(&mut work, include_str!("../sql/event_of_message.sql"), number).await?,
        lane_hold: lane::hold_of(&mut work, &record).await?,
        took: work
            .read(include_str!("../sql/took.sql"), (number,), records::took)
            .await?
            .pop(),
    };
    let statement = include_str!("../sql/attempts_of_message.sql");
    let whole = (number, record.id.salt());
    let attempts = work.read(statement, whole, records::attempt).await?;
    let audit = audit::of_message(&mut work, record.id).await?;
    let kept = kept(&mut work, record.id).await?;
    let fan_out = fan_out(&mut work, number).await?;
    let detail = records::detail(record, attempts, audit, kept, neighbours, fan_out);
    Ok(Some(detail))
}

/// The messages that were made of an event.
async fn fan_out(work: &mut Work<'_>, event: i64) -> Result<Vec<Branch>> {
    let statement = include_str!("../sql/fan_out_of_event.sql");
    let fan_out = work.read(statement, (event,), records::branch).await?;
    if fan_out.is_empty() {
        return Ok(fan_out);
    }
    let (filter, page) = desk::branches(&fan_out);
    let found = list(work, &filter, page, false).await?;
    Ok(records::branches(fan_out, found))
}

async fn neighbour(work: &mut Work<'_>, sql: &str, number: i64) -> Result<Option<MessageId>> {
    Ok(work.read(sql, (number,), |row| row.id()).await?.pop())
}

pub(super) async fn parked_lanes(store: &MySqlStore) -> Result<Vec<(LaneId, MessageId, Timestamp)>> {
    let mut connection = store.connection().await?;
    let mut work = Work::snapshot(store, &mut connection).await?;
    work.read(include_str!("../sql/parked_lanes.sql"), (), records::parked_lane)
        .await
}

pub(super) async fn shards(work: &mut Work<'_>) -> Result<Shards> {
    let row = work.row(include_str!("../sql/shards.sql"), ()).await?;
    Shards::of(&mut row.ok_or_else(not_migrated)?)
}
