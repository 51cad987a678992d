//! Messages wherever they live.

use rusqlite::{params_from_iter, types::Value as Column};

use super::{Done, Session, audit, lane, schema};
use crate::{
    MessageId, Timestamp,
    desk::{Branch, Detail, Filter, MessageRef, Page, Record},
    limits::SQLITE_NAMED_MESSAGES,
    store::{
        LaneId, Result,
        columns::{Columns, Known as _},
        desk::{
            self,
            examine::Shards,
            records::{self, Kept, Neighbours},
        },
        filter::{self, Conditions, Dialect, LIVE_BY_NUMBER, PLACES, Value, equal},
        schema::not_migrated,
    },
};

/// The first parameter is the time; a filter's own come behind it.
const DIALECT: Dialect = Dialect {
    placeholder: |n| format!("?{}", n + 1),
    position: "instr",
    same: equal,
    live: LIVE_BY_NUMBER,
};

pub(super) fn list(session: &Session<'_>, filter: &Filter, page: Page, payloads: bool) -> Done<Vec<Record>> {
    let columns = if payloads {
        format!("{}, payload, payload_binary", records::RECORD)
    } else {
        format!("{}, NULL, NULL", records::outline())
    };
    let conditions = conditions(filter)?.page(page);
    select(session, &columns, filter, conditions, records::record)
}

pub(super) fn count(session: &Session<'_>, filter: &Filter) -> Done<u64> {
    let conditions = conditions(filter)?;
    let counted = select(session, "COUNT(*)", filter, conditions, |row| row.count())?;
    Ok(counted.first().copied().unwrap_or(0))
}

fn conditions(filter: &Filter) -> Done<Conditions> {
    desk::check_named(filter, SQLITE_NAMED_MESSAGES)?;
    Ok(Conditions::of(filter, DIALECT))
}

/// What the view shows, by the store's clock instead of SQLite's.
fn select<T>(
    session: &Session<'_>,
    columns: &str,
    filter: &Filter,
    conditions: Conditions,
    read: impl FnMut(&mut dyn Columns) -> Result<T>,
) -> Done<Vec<T>> {
    let mut places = filter::places(filter);
    if places.is_empty() {
        places = PLACES.to_vec();
    }
    let statement = format!(
        "WITH {} SELECT {columns} FROM redeliver_messages WHERE {}",
        schema::messages_at("?1", &places),
        conditions.sql
    );
    let values = conditions.values.into_iter().map(|value| match value {
        Value::Integer(number) => Column::Integer(number),
        Value::Text(text) => Column::Text(text),
        Value::Time(time) => Column::Integer(time.as_millis()),
    });
    let values = std::iter::once(Column::Integer(session.now.as_millis())).chain(values);
    session.read(&statement, params_from_iter(values), read)
}

/// The next number that there is, where the filter can find something.
pub(super) fn nearest(
    session: &Session<'_>,
    filter: &Filter,
    behind: Option<i64>,
    newest_first: bool,
) -> Done<Option<i64>> {
    let dialect = Dialect {
        placeholder: |n| format!("?{n}"),
        ..DIALECT
    };
    let Some(statement) = filter::nearest(filter, newest_first, dialect) else {
        return Ok(None);
    };
    let behind = [filter::behind(behind, newest_first)];
    let found = session.read(&statement, behind, |row| row.integer())?;
    Ok(found.into_iter().next().flatten())
}

/// The message without the rest, if it is there.
pub(super) fn one(session: &Session<'_>, message: MessageRef) -> Done<Option<Record>> {
    let (filter, page) = desk::only(message);
    Ok(list(session, &filter, page, true)?.pop())
}

/// What only the row of a dead letter tells.
pub(super) fn kept(session: &Session<'_>, id: MessageId) -> Done<Option<Kept>> {
    let whole = (id.number(), id.salt());
    Ok(session
        .read(include_str!("../sql/dead_letter.sql"), whole, records::kept)?
        .pop())
}

pub(super) fn find(session: &Session<'_>, message: MessageRef) -> Done<Option<Detail>> {
    let Some(record) = one(session, message)? else {
        return Ok(None);
    };
    let number = record.id.number();
    let neighbour = |statement| -> Done<_> { Ok(session.read(statement, [number], |row| row.id())?.pop()) };
    let neighbours = Neighbours {
        parked_behind: neighbour(include_str!("../sql/parked_behind.sql"))?,
        waits_behind: neighbour(include_str!("../sql/waits_behind.sql"))?,
        event: neighbour(include_str!("../sql/event_of_message.sql"))?,
        lane_hold: lane::hold_of(session, &record)?,
        took: session
            .read(include_str!("../sql/took.sql"), [number], records::took)?
            .pop(),
    };
    let attempts = session.read(
        include_str!("../sql/attempts_of_message.sql"),
        (number, record.id.salt()),
        records::attempt,
    )?;
    let audit = audit::of_message(session, record.id)?;
    let kept = kept(session, record.id)?;
    let fan_out = fan_out(session, number)?;
    let detail = records::detail(record, attempts, audit, kept, neighbours, fan_out);
    Ok(Some(detail))
}

/// The messages that were made of an event.
fn fan_out(session: &Session<'_>, event: i64) -> Done<Vec<Branch>> {
    let statement = include_str!("../sql/fan_out_of_event.sql");
    let fan_out = session.read(statement, [event], records::branch)?;
    if fan_out.is_empty() {
        return Ok(fan_out);
    }
    let (filter, page) = desk::branches(&fan_out);
    Ok(records::branches(fan_out, list(session, &filter, page, false)?))
}

pub(super) fn parked_lanes(session: &Session<'_>) -> Done<Vec<(LaneId, MessageId, Timestamp)>> {
    session.read(include_str!("../sql/parked_lanes.sql"), [], records::parked_lane)
}

pub(super) fn shards(session: &Session<'_>) -> Done<Shards> {
    let now = [session.now.as_millis()];
    let found = session.read(include_str!("../sql/shards.sql"), now, Shards::of)?;
    Ok(found.into_iter().next().ok_or_else(not_migrated)?)
}
