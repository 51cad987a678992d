//! Looks at the tables beside the store, with statements of our own.

use redeliver_outbox::{
    MessageId, Timestamp,
    state::{Place, State},
};
use rusqlite::{Connection, OptionalExtension as _, Result, Row};

/// A message as some table holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) state: State,
    pub(super) not_before: Option<Timestamp>,
    pub(super) expires_at: Option<Timestamp>,
}

fn time(row: &Row<'_>, column: usize) -> Result<Option<Timestamp>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_millis))
}

/// Everywhere that a message is: one place, if all is well.
pub(super) fn places(connection: &Connection, number: i64) -> Result<Vec<Seen>> {
    let mut statement = connection.prepare_cached(
        "SELECT 0, attempts, redrives, next_attempt_at, NULL, not_before, expires_at FROM redeliver_outbox WHERE number = ?1
         UNION ALL
         SELECT iif(discarded_at IS NULL, 1, 2), attempts, redrives, NULL, reason, not_before, expires_at
         FROM redeliver_dead WHERE number = ?1
         UNION ALL
         SELECT 3, attempts, redrives, NULL, NULL, NULL, NULL FROM redeliver_sent WHERE number = ?1
         UNION ALL
         SELECT 4, 0, 0, NULL, NULL, NULL, NULL FROM redeliver_events WHERE number = ?1",
    )?;
    let rows = statement.query_map([number], |row| {
        let reason: Option<String> = row.get(4)?;
        Ok(Seen {
            state: State {
                place: match row.get::<_, i64>(0)? {
                    0 => Place::Live,
                    1 => Place::Dead,
                    2 => Place::Discarded,
                    3 => Place::Sent,
                    _ => Place::FannedOut,
                },
                attempts: row.get(1)?,
                redrives: row.get(2)?,
                next_attempt_at: time(row, 3)?,
                reason: reason.and_then(|reason| reason.parse().ok()),
            },
            not_before: time(row, 5)?,
            expires_at: time(row, 6)?,
        })
    })?;
    rows.collect()
}

/// A shard's row, and the end of its owner's lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShardSeen {
    pub(super) owner: Option<String>,
    pub(super) epoch: i64,
    pub(super) clean: bool,
    pub(super) lease_until: Option<i64>,
}

pub(super) fn shard(connection: &Connection, shard: u16) -> Result<ShardSeen> {
    let mut statement = connection.prepare_cached(
        "SELECT shard.owner, shard.epoch, shard.clean, worker.lease_until
         FROM redeliver_shards AS shard LEFT JOIN redeliver_workers AS worker ON worker.worker = shard.owner
         WHERE shard.shard = ?1",
    )?;
    statement.query_row([shard], |row| {
        Ok(ShardSeen {
            owner: row.get(0)?,
            epoch: row.get(1)?,
            clean: row.get(2)?,
            lease_until: row.get(3)?,
        })
    })
}

/// How many rows there are: live, dead, sent, and lines in the log of attempts.
pub(super) fn totals(connection: &Connection) -> Result<[i64; 4]> {
    let mut statement = connection.prepare_cached(
        "SELECT (SELECT COUNT(*) FROM redeliver_outbox), (SELECT COUNT(*) FROM redeliver_dead),
                (SELECT COUNT(*) FROM redeliver_sent), (SELECT COUNT(*) FROM redeliver_attempts)",
    )?;
    statement.query_row([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]))
}

/// A line of the log of attempts: its class, and whether it tells how long it took.
pub(super) fn logged(
    connection: &Connection,
    message: MessageId,
    redrive: u32,
    attempt: u32,
) -> Result<Option<(String, bool)>> {
    let mut statement = connection.prepare_cached(
        "SELECT class, took_ms IS NOT NULL FROM redeliver_attempts
          WHERE number = ?1 AND salt & 4611686018427387903 = ?2 AND redrive = ?3 AND attempt = ?4",
    )?;
    statement
        .query_row((message.number(), message.salt(), redrive, attempt), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()
}

/// An earlier message of the lane that is live and has never been a dead letter.
pub(super) fn predecessor(
    connection: &Connection,
    destination: &str,
    key: &str,
    number: i64,
) -> Result<Option<i64>> {
    let mut statement = connection.prepare_cached(
        "SELECT number FROM redeliver_outbox
         WHERE destination = ?1 AND lane = ?2 AND number < ?3 AND redrives = 0 ORDER BY number LIMIT 1",
    )?;
    statement
        .query_row((destination, key, number), |row| row.get(0))
        .optional()
}

/// The earlier messages of the lane that are live.
pub(super) fn predecessors(
    connection: &Connection,
    destination: &str,
    key: &str,
    number: i64,
) -> Result<Vec<i64>> {
    connection
        .prepare_cached(
            "SELECT number FROM redeliver_outbox WHERE destination = ?1 AND lane = ?2 AND number < ?3 ORDER BY number",
        )?
        .query_map((destination, key, number), |row| row.get(0))?
        .collect()
}

/// The messages that were made of an event, by number: the number, the destination and the shard, if it is live.
pub(super) fn made_of(connection: &Connection, event: i64) -> Result<Vec<(i64, String, Option<u16>)>> {
    connection
        .prepare_cached(
            "SELECT made.number, made.destination, live.shard
             FROM redeliver_fan_out AS made LEFT JOIN redeliver_outbox AS live ON live.number = made.number
             WHERE made.event_number = ?1 ORDER BY made.number",
        )?
        .query_map([event], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect()
}

/// The head that a lane stands still for, and whether it is live again.
pub(super) fn parked(connection: &Connection, destination: &str, key: &str) -> Result<Option<(i64, bool)>> {
    let mut statement = connection.prepare_cached(
        "SELECT head, EXISTS (SELECT 1 FROM redeliver_outbox AS live WHERE live.number = head)
         FROM redeliver_lanes WHERE destination = ?1 AND lane = ?2 AND resumed_at IS NULL AND head <> 0",
    )?;
    statement
        .query_row((destination, key), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

/// Numbers that a statement of one column and one integer parameter finds.
pub(super) fn numbers(connection: &Connection, sql: &str, values: impl rusqlite::Params) -> Result<Vec<i64>> {
    connection
        .prepare_cached(sql)?
        .query_map(values, |row| row.get(0))?
        .collect()
}

/// Pairs that a statement finds.
pub(super) fn pairs(connection: &Connection, sql: &str) -> Result<Vec<(i64, String)>> {
    connection
        .prepare_cached(sql)?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}
