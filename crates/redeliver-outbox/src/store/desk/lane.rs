//! Parking a lane by hand, and letting it go on: all of it that is no statement.

use serde_json::json;

use super::hold;
use crate::{
    MessageId, Timestamp,
    desk::{LaneHold, Record, ResumedLane, SeenLane},
    limits::KEY_LIMIT,
    state::Status,
    store::{
        LaneId, Result, StoreError, StoreErrorKind,
        columns::{Columns, Known as _},
    },
};

/// A row of `lane_standing.sql`: a lane that stands still.
#[derive(Clone, Debug)]
pub(in crate::store) struct Stands {
    pub(in crate::store) shard: u16,
    /// As it is in the row: 0 if an operator parked it.
    pub(in crate::store) head: i64,
    since: Timestamp,
    who: String,
    why: String,
    /// The number of what died last in it; 0 if nothing did.
    pub(in crate::store) died: i64,
    dead: Option<MessageId>,
}

pub(in crate::store) fn stands(row: &mut dyn Columns) -> Result<Stands> {
    let (shard, head, since) = (row.count()?, row.number()?, row.known_time()?);
    let (who, why, died) = (row.known_text()?, row.known_text()?, row.number()?);
    Ok(Stands {
        shard,
        head,
        since,
        who,
        why,
        died,
        dead: row.integer()?.map(|salt| MessageId::new(died, salt)),
    })
}

impl Stands {
    /// The hold, if an operator parked it.
    pub(in crate::store) fn hold(&self, lane: &LaneId) -> Option<LaneHold> {
        (self.head == 0).then(|| LaneHold {
            lane: lane.clone(),
            who: self.who.clone(),
            why: self.why.clone(),
            since: self.since,
        })
    }

    /// Refuses to let it go on without another message than was seen.
    pub(in crate::store) fn check(&self, lane: &LaneId, seen: Option<SeenLane>) -> Result<()> {
        if seen.is_none_or(|seen| seen.without == self.dead) {
            return Ok(());
        }
        let LaneId { destination, key } = lane;
        let by_now = match self.dead {
            Some(dead) => format!("it would go on without message {}", dead.number()),
            None => "it would go on whole".to_owned(),
        };
        let what = format!(
            "the lane '{key}' to '{destination}' has changed since it was looked at: {by_now} by now"
        );
        Err(StoreError::new(StoreErrorKind::Conflict, what).next("nothing was done; look at it again"))
    }

    /// What is told when it goes on.
    pub(in crate::store) fn resumed(&self, lane: &LaneId) -> ResumedLane {
        ResumedLane {
            lane: lane.clone(),
            since: self.since,
            hold: self.hold(lane),
            without: self.dead,
        }
    }
}

/// The lane of a message that stands still.
pub(in crate::store) fn of(record: &Record) -> Option<LaneId> {
    (record.status == Status::Parked).then_some(())?;
    Some(LaneId {
        destination: record.destination.clone(),
        key: record.key.clone()?,
    })
}

/// A name that no lane can have is a mistake.
pub(in crate::store) fn check(lane: &LaneId) -> Result<()> {
    hold::check(&lane.destination)?;
    if (1..=KEY_LIMIT).contains(&lane.key.len()) && !lane.key.contains('\0') {
        return Ok(());
    }
    let next = format!("use the key of a message: 1 to {KEY_LIMIT} bytes");
    Err(StoreError::new(StoreErrorKind::BadInput, "that is no key of a lane").next(next))
}

/// Nobody knows the lane.
pub(in crate::store) fn nothing_live(lane: &LaneId) -> StoreError {
    let LaneId { destination, key } = lane;
    let what = format!("there is no live message with the key '{key}' to '{destination}'");
    let next = "a lane can be parked as long as something of it waits; look at the destination and the key";
    StoreError::new(StoreErrorKind::NotFound, what).next(next)
}

/// It was as it was read, and now it is not.
pub(in crate::store) fn moved() -> StoreError {
    let what = "the lane was parked or let go on at the same moment";
    StoreError::new(StoreErrorKind::Busy, what).next("look at it, and try again")
}

/// What the audit says of it.
pub(in crate::store) fn audited(lane: &LaneId, without: Option<MessageId>) -> String {
    let mut said = json!({ "destination": lane.destination, "key": lane.key });
    if let Some(without) = without {
        said["without"] = json!(without.to_string());
    }
    said.to_string()
}
