//! Messages wherever they live.

use futures_util::future::try_join4;
use tokio_postgres::{Row, types::Type};

use super::{
    Begin, Inner, Parameter, Result, Session, audit, error, lane,
    row::{self, PostgresColumns},
    value,
};
use crate::{
    MessageId, Timestamp,
    desk::{Branch, Detail, Filter, MessageRef, Page, Record},
    limits::POSTGRES_NAMED_MESSAGES,
    store::{
        LaneId,
        columns::Known as _,
        desk::{
            self,
            examine::Shards,
            records::{self, Kept, Neighbours},
        },
        filter::{self, Conditions, Dialect, Value, equal},
    },
};

const DIALECT: Dialect = Dialect {
    placeholder: |n| format!("${n}"),
    position: "strpos",
    same: equal,
    // By way of the shards: the key of the hot table begins with them. What a relay has sent stays in the index until it is vacuumed, so a
    // shard that has just been emptied would be walked through from its end to its beginning.
    live: "SELECT {nearest}(o.number) AS number FROM redeliver_shards s CROSS JOIN LATERAL (\
           SELECT number FROM redeliver_outbox WHERE shard = s.shard AND number {beyond} {place}{nearer} ORDER BY number {order} LIMIT 1) o",
};

pub(super) async fn list(
    session: &Session<'_>,
    filter: &Filter,
    page: Page,
    payloads: bool,
) -> Result<Vec<Record>> {
    let columns = if payloads {
        format!("{}, payload, payload_binary", records::RECORD)
    } else {
        format!("{}, NULL::text, NULL::bytea", records::outline())
    };
    let rows = select(session, &columns, conditions(filter)?.page(page)).await?;
    rows.iter()
        .map(|row| records::record(&mut PostgresColumns::of(row)))
        .collect()
}

pub(super) async fn count(session: &Session<'_>, filter: &Filter) -> Result<u64> {
    let rows = select(session, "count(*)", conditions(filter)?).await?;
    let count: i64 = row::get(rows.first().ok_or_else(error::no_row)?, 0)?;
    Ok(count.unsigned_abs())
}

fn conditions(filter: &Filter) -> Result<Conditions> {
    desk::check_named(filter, POSTGRES_NAMED_MESSAGES)?;
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

/// The next number that there is, where the filter can find something.
pub(super) async fn nearest(
    session: &Session<'_>,
    filter: &Filter,
    behind: Option<i64>,
    newest_first: bool,
) -> Result<Option<i64>> {
    let Some(statement) = filter::nearest(filter, newest_first, DIALECT) else {
        return Ok(None);
    };
    let behind = filter::behind(behind, newest_first);
    let row = session.one(&statement, &[(&behind, Type::INT8)]).await?;
    row::get(&row, 0)
}

/// The message without the rest, if it is there.
pub(super) async fn one(session: &Session<'_>, message: MessageRef) -> Result<Option<Record>> {
    let (filter, page) = desk::only(message);
    Ok(list(session, &filter, page, true).await?.pop())
}

/// What only the row of a dead letter tells.
pub(super) async fn kept(session: &Session<'_>, id: MessageId) -> Result<Option<Kept>> {
    let statement = include_str!("../sql/dead_letter.sql");
    let (number, salt) = (id.number(), id.salt());
    let whole: [Parameter<'_>; 2] = [(&number, Type::INT8), (&salt, Type::INT8)];
    Ok(session.read(statement, &whole, records::kept).await?.pop())
}

pub(super) async fn find(inner: &Inner, message: MessageRef) -> Result<Option<Detail>> {
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::GlanceByShard).await?;
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
    let salt = record.id.salt();
    let whole: [Parameter<'_>; 2] = [(&number, Type::INT8), (&salt, Type::INT8)];
    let (attempts, kept, mut parked, mut waits) = try_join4(
        session.read(
            include_str!("../sql/attempts_of_message.sql"),
            &whole,
            records::attempt,
        ),
        kept(session, record.id),
        session.read(include_str!("../sql/parked_behind.sql"), &place, |row| row.id()),
        session.read(include_str!("../sql/waits_behind.sql"), &place, |row| row.id()),
    )
    .await?;
    let statement = include_str!("../sql/event_of_message.sql");
    let mut event = session.read(statement, &place[1..], |row| row.id()).await?;
    let statement = include_str!("../sql/took.sql");
    let mut took = session.read(statement, &place[1..], records::took).await?;
    let neighbours = Neighbours {
        took: took.pop(),
        parked_behind: parked.pop(),
        waits_behind: waits.pop(),
        event: event.pop(),
        lane_hold: lane::hold_of(session, &record).await?,
    };
    let fan_out = fan_out(session, number).await?;
    Ok(records::detail(
        record, attempts, audit, kept, neighbours, fan_out,
    ))
}

/// The messages that were made of an event.
async fn fan_out(session: &Session<'_>, event: i64) -> Result<Vec<Branch>> {
    let statement = include_str!("../sql/fan_out_of_event.sql");
    let fan_out = session
        .read(statement, &[(&event, Type::INT8)], records::branch)
        .await?;
    if fan_out.is_empty() {
        return Ok(fan_out);
    }
    let (filter, page) = desk::branches(&fan_out);
    let found = list(session, &filter, page, false).await?;
    Ok(records::branches(fan_out, found))
}

pub(super) async fn parked_lanes(inner: &Inner) -> Result<Vec<(LaneId, MessageId, Timestamp)>> {
    let session = inner.session().await?;
    let statement = include_str!("../sql/parked_lanes.sql");
    session.read(statement, &[], records::parked_lane).await
}

pub(super) async fn shards(session: &Session<'_>) -> Result<Shards> {
    let row = session.one(include_str!("../sql/shards.sql"), &[]).await?;
    Shards::of(&mut PostgresColumns::of(&row))
}
