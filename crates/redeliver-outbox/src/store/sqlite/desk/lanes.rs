//! Lanes that stand or wait.

use serde_json::json;

use super::{Done, Session, row};
use crate::{
    desk::StandingLane,
    limits::BLOCKED_ROWS,
    store::desk::overview::{self, Lane},
};

pub(super) fn lanes(session: &Session<'_>, limit: usize) -> Done<Vec<StandingLane>> {
    let at_most = row::limit(limit);
    let mut lanes = session.read(
        include_str!("../sql/lanes_parked.sql"),
        [at_most],
        overview::parked,
    )?;
    let values = (session.now.as_millis(), row::limit(BLOCKED_ROWS), at_most);
    lanes.extend(session.read(
        include_str!("../sql/lanes_blocked.sql"),
        values,
        overview::blocked,
    )?);
    // One walk for all shards: here the number alone is the key.
    let Some(first) = overview::beginnings(&lanes).into_values().min() else {
        return Ok(Vec::new());
    };
    let rows = overview::rows_of_each(1);
    let listed: Vec<_> = lanes
        .iter()
        .map(Lane::named)
        .map(|(shard, lane)| json!([shard, lane.destination, lane.key]))
        .collect();
    let values = (first, row::limit(rows), json!(listed).to_string());
    let counted = session.read(include_str!("../sql/lane_depths.sql"), values, overview::counted)?;
    Ok(overview::with_depths(lanes, &counted, rows))
}
