//! Parking a lane by hand, and letting it go on.

use super::{Done, Session, audit};
use crate::{
    desk::{Act, LaneHold, Parked, Record, ResumedLane, SeenLane},
    limits::{STANDING_LANE_LOOK, error_text},
    millis_up,
    plants::{Plant, planted},
    store::{
        LaneId,
        columns::Known as _,
        desk::lane::{self, Stands},
    },
};

pub(super) fn park(session: &Session<'_>, id: &LaneId, act: &Act) -> Done<Parked> {
    lane::check(id)?;
    let standing = stands(session, id)?;
    let shard = match &standing {
        Some(standing) => standing.shard,
        None => shard(session, id)?.ok_or_else(|| lane::nothing_live(id))?,
    };
    let values = (
        shard,
        &id.destination,
        &id.key,
        session.now.as_millis(),
        &act.who,
        error_text(&act.why),
    );
    let new = session.execute(include_str!("../sql/hold_lane.sql"), values)? > 0;
    if new {
        audit::append(session, act, "park_lane", None, &lane::audited(id, None))?;
    }
    let hold = stands(session, id)?.and_then(|standing| standing.hold(id));
    Ok(Parked {
        hold: hold.ok_or_else(lane::moved)?,
        new,
    })
}

pub(super) fn resume(
    session: &Session<'_>,
    id: &LaneId,
    seen: Option<SeenLane>,
    act: &Act,
) -> Done<Option<ResumedLane>> {
    lane::check(id)?;
    let Some(standing) = stands(session, id)? else {
        return Ok(None);
    };
    standing.check(id, seen)?;
    if !planted(Plant::GapNotRecorded) {
        let skipped = (standing.died, &id.destination, &id.key);
        session.execute(include_str!("../sql/mark_gap.sql"), skipped)?;
    }
    let values = (
        standing.shard,
        &id.destination,
        &id.key,
        standing.head,
        standing.died,
        session.now.as_millis(),
    );
    session.execute(include_str!("../sql/let_lane_go.sql"), values)?;
    let put_off = (
        standing.shard,
        &id.destination,
        &id.key,
        session.now.as_millis(),
        millis_up(STANDING_LANE_LOOK),
    );
    session.execute(include_str!("../sql/hasten_lane.sql"), put_off)?;
    let resumed = standing.resumed(id);
    let detail = lane::audited(id, resumed.without);
    audit::append(session, act, "resume_lane", None, &detail)?;
    Ok(Some(resumed))
}

/// The hold of a message's lane, if there is one.
pub(super) fn hold_of(session: &Session<'_>, record: &Record) -> Done<Option<LaneHold>> {
    let Some(id) = lane::of(record) else {
        return Ok(None);
    };
    Ok(stands(session, &id)?.and_then(|standing| standing.hold(&id)))
}

fn stands(session: &Session<'_>, id: &LaneId) -> Done<Option<Stands>> {
    let statement = include_str!("../sql/lane_standing.sql");
    Ok(session
        .read(statement, (&id.destination, &id.key), lane::stands)?
        .pop())
}

fn shard(session: &Session<'_>, id: &LaneId) -> Done<Option<u16>> {
    let statement = include_str!("../sql/lane_shard.sql");
    Ok(session
        .read(statement, (&id.destination, &id.key), |row| row.count())?
        .pop())
}
