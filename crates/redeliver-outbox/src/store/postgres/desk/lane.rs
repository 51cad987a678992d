//! Parking a lane by hand, and letting it go on.

use tokio_postgres::types::Type;

use super::{Begin, Inner, Parameter, Result, Session, audit, value};
use crate::{
    desk::{Act, LaneHold, Parked, Record, ResumedLane, SeenLane},
    limits::{STANDING_LANE_LOOK, error_text},
    millis_up,
    store::{
        LaneId,
        columns::Known as _,
        desk::lane::{self, Stands},
    },
};

pub(super) async fn park(inner: &Inner, id: &LaneId, act: &Act) -> Result<Parked> {
    lane::check(id)?;
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Desk).await?;
    let shard = match stands(&session, id).await? {
        Some(standing) => standing.shard,
        None => shard(&session, id).await?.ok_or_else(|| lane::nothing_live(id))?,
    };
    let (shard, why) = (value::shard(shard), error_text(&act.why));
    let parameters: [Parameter<'_>; 5] = [
        (&shard, Type::INT2),
        (&id.destination, Type::TEXT),
        (&id.key, Type::TEXT),
        (&act.who, Type::TEXT),
        (&why, Type::TEXT),
    ];
    let statement = include_str!("../sql/hold_lane.sql");
    let new = session.execute(statement, &parameters).await? > 0;
    let hold = stands(&session, id).await?.and_then(|standing| standing.hold(id));
    if new {
        audit::append(&session, act, "park_lane", None, &lane::audited(id, None)).await?;
    }
    session.commit().await?;
    session.closed();
    Ok(Parked {
        hold: hold.ok_or_else(lane::moved)?,
        new,
    })
}

/// The dead letter is locked before the lane, as it is where one is given up.
pub(super) async fn resume(
    inner: &Inner,
    id: &LaneId,
    seen: Option<SeenLane>,
    act: &Act,
) -> Result<Option<ResumedLane>> {
    lane::check(id)?;
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Desk).await?;
    let Some(standing) = stands(&session, id).await? else {
        session.commit().await?;
        session.closed();
        return Ok(None);
    };
    standing.check(id, seen)?;
    session
        .execute(
            include_str!("../sql/mark_gap.sql"),
            &[
                (&standing.died, Type::INT8),
                (&id.destination, Type::TEXT),
                (&id.key, Type::TEXT),
            ],
        )
        .await?;
    let shard = value::shard(standing.shard);
    let parameters: [Parameter<'_>; 5] = [
        (&shard, Type::INT2),
        (&id.destination, Type::TEXT),
        (&id.key, Type::TEXT),
        (&standing.head, Type::INT8),
        (&standing.died, Type::INT8),
    ];
    let statement = include_str!("../sql/let_lane_go.sql");
    if session.execute(statement, &parameters).await? == 0 {
        return Err(lane::moved());
    }
    let put_off = millis_up(STANDING_LANE_LOOK);
    let parameters: [Parameter<'_>; 4] = [
        (&shard, Type::INT2),
        (&id.destination, Type::TEXT),
        (&id.key, Type::TEXT),
        (&put_off, Type::INT8),
    ];
    let statement = include_str!("../sql/hasten_lane.sql");
    session.execute(statement, &parameters).await?;
    let resumed = standing.resumed(id);
    let detail = lane::audited(id, resumed.without);
    audit::append(&session, act, "resume_lane", None, &detail).await?;
    session.commit().await?;
    session.closed();
    Ok(Some(resumed))
}

/// The hold of a message's lane, if there is one.
pub(super) async fn hold_of(session: &Session<'_>, record: &Record) -> Result<Option<LaneHold>> {
    let Some(id) = lane::of(record) else {
        return Ok(None);
    };
    Ok(stands(session, &id)
        .await?
        .and_then(|standing| standing.hold(&id)))
}

async fn stands(session: &Session<'_>, id: &LaneId) -> Result<Option<Stands>> {
    let statement = include_str!("../sql/lane_standing.sql");
    Ok(session.read(statement, &named(id), lane::stands).await?.pop())
}

async fn shard(session: &Session<'_>, id: &LaneId) -> Result<Option<u16>> {
    let statement = include_str!("../sql/lane_shard.sql");
    Ok(session
        .read(statement, &named(id), |row| row.count())
        .await?
        .pop())
}

fn named(id: &LaneId) -> [Parameter<'_>; 2] {
    [(&id.destination, Type::TEXT), (&id.key, Type::TEXT)]
}
