//! Lanes that stand or wait.

use serde_json::json;

use super::{Done, Session, row};
use crate::{
    desk::StandingLane,
    limits::{BLOCKED_ROWS, DEPTH_ROWS},
    store::desk::overview::{self, Lane},
};

pub(super) fn lanes(session: &Session<'_>, limit: usize) -> Done<Vec<StandingLane>> {
    let limit = row::limit(limit);
    let statement = include_str!("../sql/lanes_parked.sql");
    let parked = session.read(statement, [limit], overview::parked)?;
    let statement = include_str!("../sql/lanes_blocked.sql");
    let values = (session.now.as_millis(), row::limit(BLOCKED_ROWS), limit);
    let blocked = session.read(statement, values, overview::blocked)?;
    // Each kind by itself: what is behind a parked head may be long before the others.
    let mut lanes = Vec::new();
    for lanes_of_a_cause in overview::by_cause(parked) {
        lanes.extend(with_depths(session, lanes_of_a_cause)?);
    }
    lanes.extend(with_depths(session, blocked)?);
    Ok(lanes)
}

fn with_depths(session: &Session<'_>, lanes: Vec<Lane>) -> Done<Vec<StandingLane>> {
    let Some(beginning) = overview::beginning(&lanes) else {
        return Ok(Vec::new());
    };
    let listed: Vec<_> = lanes
        .iter()
        .map(Lane::named)
        .map(|(shard, lane)| json!([shard, lane.destination, lane.key]))
        .collect();
    let values = (beginning, row::limit(DEPTH_ROWS), json!(listed).to_string());
    let counted = session.read(include_str!("../sql/lane_depths.sql"), values, overview::counted)?;
    Ok(overview::with_depths(lanes, &counted))
}
