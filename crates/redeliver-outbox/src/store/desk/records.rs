//! Rows as an operator sees them.

use std::{collections::HashMap, time::Duration};

use super::edit;
use crate::{
    Fingerprint, Hold, MessageId, NoHold, Payload, Timestamp,
    desk::{AttemptRecord, AuditRecord, Branch, Detail, LaneHold, Record, WorkerRecord},
    live,
    store::{
        LaneId, Result, StoreError, StoreErrorKind,
        columns::{Columns, Known as _},
    },
};

/// The columns of the view `redeliver_messages` that make a [`Record`], but for the payload.
pub(in crate::store) const RECORD: &str = "number, salt, status, shard, destination, topic, lane, attempts, redrives, created_at, \
     next_attempt_at, last_attempt_at, last_error, locked_by, locked_at, dead_letter_reason, dead_lettered_at, sent_at, \
     fanned_out_at, expires_at, content_type, headers, traceparent, put_away, \
     CASE WHEN place = 'dead' THEN fingerprint END";

/// The same for a list. No producer that keeps the rules has longer texts than these, and a list may have many rows.
pub(in crate::store) fn outline() -> String {
    const LONGEST: usize = 64 << 10;
    let cut = |column: &str| match column {
        "destination" | "topic" | "lane" | "last_error" | "content_type" | "headers" | "traceparent" => {
            format!(
                "CASE WHEN OCTET_LENGTH({column}) > {LONGEST} THEN SUBSTR({column}, 1, 2000) ELSE {column} END"
            )
        }
        other => other.to_owned(),
    };
    let columns = RECORD.split(',').map(|column| cut(column.trim()));
    columns.collect::<Vec<_>>().join(", ")
}

pub(in crate::store) fn record(row: &mut dyn Columns) -> Result<Record> {
    Ok(Record {
        id: row.id()?,
        status: row.known_text()?.parse().map_err(|error| {
            StoreError::new(StoreErrorKind::Other, "the view shows an unknown status").caused_by(error)
        })?,
        shard: row.count()?,
        destination: row.known_text()?,
        topic: row.text()?,
        key: row.text()?,
        attempts: row.times()?,
        redrives: row.times()?,
        created_at: row.known_time()?,
        next_attempt_at: row.time()?,
        last_attempt_at: row.time()?,
        last_error: row.text()?,
        locked_by: row.text()?,
        locked_at: row.time()?,
        // A word of a later version is no reason to hide the message.
        dead_letter_reason: row.text()?.and_then(|reason| reason.parse().ok()),
        dead_lettered_at: row.time()?,
        sent_at: row.time()?,
        fanned_out_at: row.time()?,
        expires_at: row.time()?,
        content_type: row.text()?,
        headers: row.text()?,
        traceparent: row.text()?,
        put_away: row.flag()?,
        issue: row.text()?.map(|issue| Fingerprint::from_column(&issue)),
        payload: row.payload()?,
        hidden: None,
    })
}

/// What only the row of a dead letter tells: `dead_letter.sql`.
#[derive(Default)]
pub(in crate::store) struct Kept {
    pub(super) gap: bool,
    pub(super) original: Option<Payload>,
    pub(super) payload: Option<Payload>,
    pub(super) destination: String,
    pub(super) reason: String,
    pub(super) error: String,
}

pub(in crate::store) fn kept(row: &mut dyn Columns) -> Result<Kept> {
    Ok(Kept {
        gap: row.flag()?,
        original: row.payload()?,
        payload: row.payload()?,
        destination: row.known_text()?,
        reason: row.known_text()?,
        error: row.known_text()?,
    })
}

/// What a message waits for, the event that it was made of, and how long it took to arrive.
#[derive(Clone, Default)]
pub(in crate::store) struct Neighbours {
    pub(in crate::store) parked_behind: Option<MessageId>,
    pub(in crate::store) waits_behind: Option<MessageId>,
    pub(in crate::store) event: Option<MessageId>,
    pub(in crate::store) lane_hold: Option<LaneHold>,
    pub(in crate::store) took: Option<Duration>,
}

/// A row of `took.sql`.
pub(in crate::store) fn took(row: &mut dyn Columns) -> Result<Duration> {
    Ok(Duration::from_millis(row.number()?.unsigned_abs()))
}

pub(in crate::store) fn detail(
    record: Record,
    attempts: Vec<AttemptRecord>,
    audit: Vec<AuditRecord>,
    kept: Option<Kept>,
    neighbours: Neighbours,
    fan_out: Vec<Branch>,
) -> Detail {
    let kept = kept.unwrap_or_default();
    Detail {
        original_payload: edit::original(&audit).or(kept.original),
        record,
        attempts,
        took: neighbours.took,
        audit,
        gap: kept.gap,
        parked_behind: neighbours.parked_behind,
        lane_hold: neighbours.lane_hold,
        waits_behind: neighbours.waits_behind,
        event: neighbours.event,
        fan_out,
    }
}

/// A row of `fan_out_of_event.sql`: a destination, and the number of the message to it.
pub(in crate::store) fn branch(row: &mut dyn Columns) -> Result<Branch> {
    Ok(Branch {
        destination: row.known_text()?,
        number: row.number()?,
        record: None,
    })
}

/// The same with the messages, as far as they are still known.
pub(in crate::store) fn branches(mut fan_out: Vec<Branch>, found: Vec<Record>) -> Vec<Branch> {
    for record in found {
        let is_it = |branch: &&mut Branch| branch.number == record.id.number();
        if let Some(branch) = fan_out.iter_mut().find(is_it) {
            branch.record = Some(record);
        }
    }
    fan_out
}

pub(in crate::store) fn attempt(row: &mut dyn Columns) -> Result<AttemptRecord> {
    Ok(AttemptRecord {
        redrive: row.count()?,
        attempt: row.count()?,
        at: row.known_time()?,
        took: row
            .integer()?
            .map(|millis| Duration::from_millis(millis.unsigned_abs())),
        class: row.known_text()?,
        error: row.known_text()?,
        worker: row.known_text()?,
    })
}

pub(in crate::store) fn audit(row: &mut dyn Columns) -> Result<AuditRecord> {
    Ok(AuditRecord {
        number: row.number()?,
        at: row.known_time()?,
        who: row.known_text()?,
        action: row.known_text()?,
        message: match (row.integer()?, row.integer()?) {
            (Some(number), salt) => Some(MessageId::new(number, salt.unwrap_or(0))),
            _ => None,
        },
        why: row.known_text()?,
        detail: row.known_text()?,
        hash: row.text()?,
    })
}

/// Those of the message itself: a number that was given again after a restore is another one's.
pub(in crate::store) fn audit_of(message: MessageId, mut records: Vec<AuditRecord>) -> Vec<AuditRecord> {
    records.retain(|record| record.message == Some(message));
    records
}

/// A row of `newest_acts.sql`.
pub(in crate::store) fn newest_act(row: &mut dyn Columns) -> Result<(MessageId, u64)> {
    let (number, salt) = (row.number()?, row.integer()?);
    Ok((MessageId::new(number, salt.unwrap_or(0)), row.count()?))
}

/// The newest act on each of these messages, in their order; what is not among them has none.
pub(in crate::store) fn newest_acts(messages: &[MessageId], found: &[(MessageId, u64)]) -> Vec<u64> {
    let found: HashMap<MessageId, u64> = found.iter().copied().collect();
    let newest = |message| found.get(message).copied().unwrap_or(0);
    messages.iter().map(newest).collect()
}

pub(in crate::store) fn worker(row: &mut dyn Columns) -> Result<WorkerRecord> {
    Ok(WorkerRecord {
        id: row.known_text()?,
        started_at: row.known_time()?,
        seen_at: row.known_time()?,
        alive: row.flag()?,
        in_flight: row.count()?,
        shards: row.count()?,
        destinations: live::read(&row.known_text()?),
    })
}

/// A row of `holds.sql`.
pub(in crate::store) fn hold(row: &mut dyn Columns) -> Result<Hold> {
    let strange = |error: NoHold| {
        StoreError::new(
            StoreErrorKind::Other,
            "the table of held destinations holds an unknown word",
        )
        .caused_by(error)
    };
    Ok(Hold {
        destination: row.known_text()?,
        kind: row.known_text()?.parse().map_err(strange)?,
        cause: row.known_text()?.parse().map_err(strange)?,
        detail: row.known_text()?,
        who: row.known_text()?,
        since: row.known_time()?,
    })
}

pub(in crate::store) fn parked_lane(row: &mut dyn Columns) -> Result<(LaneId, MessageId, Timestamp)> {
    Ok((row.lane()?, row.id()?, row.known_time()?))
}
