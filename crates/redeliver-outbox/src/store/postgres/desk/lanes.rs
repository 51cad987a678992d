//! Lanes that stand or wait.

use tokio_postgres::types::Type;

use super::{Begin, Inner, Parameter, Result, Session, value};
use crate::{
    desk::StandingLane,
    limits::{BLOCKED_ROWS, DEPTH_ROWS},
    store::desk::overview::{self, Lane},
};

pub(super) async fn lanes(inner: &Inner, limit: usize) -> Result<Vec<StandingLane>> {
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Glance).await?;
    let (rows, limit) = (value::limit(BLOCKED_ROWS), value::limit(limit));
    let bounds: [Parameter<'_>; 2] = [(&rows, Type::INT8), (&limit, Type::INT8)];
    let statement = include_str!("../sql/lanes_parked.sql");
    let parked = session.read(statement, &bounds[1..], overview::parked).await?;
    let statement = include_str!("../sql/lanes_blocked.sql");
    let blocked = session.read(statement, &bounds, overview::blocked).await?;
    // Each kind by itself: what is behind a parked head may be long before the others.
    let mut lanes = Vec::new();
    for lanes_of_a_cause in overview::by_cause(parked) {
        lanes.extend(with_depths(&session, lanes_of_a_cause).await?);
    }
    lanes.extend(with_depths(&session, blocked).await?);
    session.commit().await?;
    session.closed();
    Ok(lanes)
}

async fn with_depths(session: &Session<'_>, lanes: Vec<Lane>) -> Result<Vec<StandingLane>> {
    let Some(beginning) = overview::beginning(&lanes) else {
        return Ok(Vec::new());
    };
    let named: Vec<_> = lanes.iter().map(Lane::named).collect();
    let listed: Vec<i16> = named.iter().map(|(shard, _)| value::shard(*shard)).collect();
    let destinations: Vec<&str> = named.iter().map(|(_, lane)| lane.destination.as_str()).collect();
    let keys: Vec<&str> = named.iter().map(|(_, lane)| lane.key.as_str()).collect();
    let mut shards = listed.clone();
    shards.sort_unstable();
    shards.dedup();
    let rows = value::limit(DEPTH_ROWS);
    let parameters: [Parameter<'_>; 6] = [
        (&listed, Type::INT2_ARRAY),
        (&destinations, Type::TEXT_ARRAY),
        (&keys, Type::TEXT_ARRAY),
        (&shards, Type::INT2_ARRAY),
        (&beginning, Type::INT8),
        (&rows, Type::INT8),
    ];
    let statement = include_str!("../sql/lane_depths.sql");
    let counted = session.read(statement, &parameters, overview::counted).await?;
    Ok(overview::with_depths(lanes, &counted))
}
