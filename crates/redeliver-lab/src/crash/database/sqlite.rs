use std::{path::Path, time::Duration};

use redeliver::clock;
use rusqlite::{Connection, TransactionBehavior, params};

use super::{Contents, LIVE, ORDERED, ORDERS, Transaction, headers, number, text, ticket_in};
use crate::{
    crash::{
        error::{Result, While as _},
        record::Ended,
    },
    history::{LoggedAttempt, Row},
};

const BUSY: Duration = Duration::from_secs(10);
/// One writer at a time: an application that keeps its transaction open keeps everybody waiting.
const LONGEST_HELD: Duration = Duration::from_millis(30);

pub(super) fn connect(file: &Path) -> Result<Connection> {
    let connection = Connection::open(file).during("open the SQLite file")?;
    connection.busy_timeout(BUSY).during("open the SQLite file")?;
    Ok(connection)
}

pub(super) fn make_orders(connection: &Connection) -> Result<()> {
    connection
        .execute_batch(ORDERS)
        .during("make the application's table")
}

pub(super) fn carry_out(connection: &mut Connection, transaction: &Transaction<'_>) -> Option<Ended> {
    tokio::task::block_in_place(|| {
        let open = inserted(connection, transaction).ok()?;
        clock::block(transaction.held.min(LONGEST_HELD));
        if !transaction.commit {
            return Some(Ended::RolledBack);
        }
        Some(Ended::of_commit(open.commit().is_ok()))
    })
}

fn inserted<'a>(
    connection: &'a mut Connection,
    transaction: &Transaction<'_>,
) -> rusqlite::Result<rusqlite::Transaction<'a>> {
    let open = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (ticket, message) in transaction.messages {
        open.execute("INSERT INTO shop_orders (ticket) VALUES (?1)", [number(*ticket)])?;
        let shard = open.query_row(
            "INSERT INTO redeliver_outbox (destination, lane, payload, headers) VALUES (?1, ?2, ?3, ?4) RETURNING shard",
            params![message.destination, message.key, text(message), headers(*ticket)],
            |row| row.get(0),
        )?;
        transaction.record.in_shard(*ticket, shard);
    }
    Ok(open)
}

pub(super) fn live(connection: &Connection) -> Result<u64> {
    let count: i64 = connection
        .query_row(LIVE, [], |row| row.get(0))
        .during("count live messages")?;
    Ok(count.unsigned_abs())
}

pub(super) fn contents(connection: &Connection) -> Result<Contents> {
    read(connection).during("read the tables")
}

fn read(connection: &Connection) -> rusqlite::Result<Contents> {
    let mut rows = connection.prepare(
        "SELECT id, number, shard, status, attempts, dead_letter_reason, headers FROM redeliver_messages",
    )?;
    let rows = rows.query_map([], |row| {
        Ok(Row {
            id: row.get(0)?,
            number: row.get(1)?,
            shard: row.get(2)?,
            status: row.get(3)?,
            attempts: row.get(4)?,
            reason: row.get(5)?,
            ticket: ticket_in(row.get(6)?),
        })
    })?;
    let rows = rows.collect::<rusqlite::Result<_>>()?;
    let mut log = connection.prepare("SELECT number, attempt, class FROM redeliver_attempts")?;
    let log = log.query_map([], |row| {
        Ok(LoggedAttempt {
            number: row.get(0)?,
            attempt: row.get(1)?,
            class: row.get(2)?,
        })
    })?;
    let log = log.collect::<rusqlite::Result<_>>()?;
    let mut orders = connection.prepare(ORDERED)?;
    let orders = orders.query_map([], |row| Ok(row.get::<_, i64>(0)?.unsigned_abs()))?;
    let orders = orders.collect::<rusqlite::Result<_>>()?;
    Ok(Contents { rows, log, orders })
}
