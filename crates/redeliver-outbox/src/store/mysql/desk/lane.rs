//! Parking a lane by hand, and letting it go on.

use super::{MySqlStore, Work, audit};
use crate::{
    desk::{Act, LaneHold, Parked, Record, ResumedLane, SeenLane},
    limits::{STANDING_LANE_LOOK, error_text},
    millis_up,
    store::{
        LaneId, Result,
        columns::Known as _,
        desk::lane::{self, Stands},
    },
};

pub(super) async fn park(store: &MySqlStore, id: &LaneId, act: &Act) -> Result<Parked> {
    lane::check(id)?;
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    let shard = match stands(&mut work, id).await? {
        Some(standing) => standing.shard,
        None => shard(&mut work, id)
            .await?
            .ok_or_else(|| lane::nothing_live(id))?,
    };
    let (destination, key) = (id.destination.as_str(), id.key.as_str());
    let values = (
        shard,
        destination,
        key,
        destination,
        key,
        act.who.as_str(),
        error_text(&act.why),
    );
    work.run(include_str!("../sql/hold_lane.sql"), values).await?;
    let new = work.transaction.last_insert_id().is_none();
    let hold = stands(&mut work, id)
        .await?
        .and_then(|standing| standing.hold(id));
    if new {
        audit::append(&mut work, act, "park_lane", None, &lane::audited(id, None)).await?;
    }
    work.commit().await?;
    Ok(Parked {
        hold: hold.ok_or_else(lane::moved)?,
        new,
    })
}

/// The dead letter is locked before the lane, as it is where one is given up.
pub(super) async fn resume(
    store: &MySqlStore,
    id: &LaneId,
    seen: Option<SeenLane>,
    act: &Act,
) -> Result<Option<ResumedLane>> {
    lane::check(id)?;
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    let Some(standing) = stands(&mut work, id).await? else {
        return Ok(None);
    };
    standing.check(id, seen)?;
    let skipped = (standing.died, id.destination.as_str(), id.key.as_str());
    work.run(include_str!("../sql/mark_gap.sql"), skipped).await?;
    let values = (
        standing.died,
        standing.died,
        standing.shard,
        id.destination.as_str(),
        id.key.as_str(),
        standing.head,
    );
    if work.run(include_str!("../sql/let_lane_go.sql"), values).await? == 0 {
        return Err(lane::moved());
    }
    let put_off = (
        standing.shard,
        millis_up(STANDING_LANE_LOOK),
        id.key.as_str(),
        id.destination.as_str(),
        id.key.as_str(),
    );
    work.run(include_str!("../sql/hasten_lane.sql"), put_off).await?;
    let resumed = standing.resumed(id);
    let detail = lane::audited(id, resumed.without);
    audit::append(&mut work, act, "resume_lane", None, &detail).await?;
    work.commit().await?;
    Ok(Some(resumed))
}

/// The hold of a message's lane, if there is one.
pub(super) async fn hold_of(work: &mut Work<'_>, record: &Record) -> Result<Option<LaneHold>> {
    let Some(id) = lane::of(record) else {
        return Ok(None);
    };
    Ok(stands(work, &id).await?.and_then(|standing| standing.hold(&id)))
}

async fn stands(work: &mut Work<'_>, id: &LaneId) -> Result<Option<Stands>> {
    let values = (id.destination.as_str(), id.key.as_str());
    let statement = include_str!("../sql/lane_standing.sql");
    Ok(work.read(statement, values, lane::stands).await?.pop())
}

async fn shard(work: &mut Work<'_>, id: &LaneId) -> Result<Option<u16>> {
    let (destination, key) = (id.destination.as_str(), id.key.as_str());
    let statement = include_str!("../sql/lane_shard.sql");
    let found = work.read(statement, (key, destination, key), |row| row.count());
    Ok(found.await?.pop())
}
