//! Lanes that stand or wait.

use serde_json::json;

use super::{MySqlStore, Work, overview::of_all_shards, row};
use crate::{
    desk::StandingLane,
    limits::{BLOCKED_ROWS, DEPTH_ROWS},
    store::{
        Result,
        desk::overview::{self, Lane},
    },
};

pub(super) async fn lanes(store: &MySqlStore, limit: usize) -> Result<Vec<StandingLane>> {
    let mut connection = store.connection().await?;
    let mut work = Work::snapshot(store, &mut connection).await?;
    let statement = include_str!("../sql/lanes_parked.sql");
    let parked = work.read(statement, (limit,), overview::parked).await?;
    let statement = of_all_shards(&mut work, include_str!("../sql/lanes_blocked.sql")).await?;
    let bounds = (BLOCKED_ROWS, limit);
    let blocked = work.read(&statement, bounds, overview::blocked).await?;
    // Each kind by itself: what is behind a parked head may be long before the others.
    let mut lanes = Vec::new();
    for lanes_of_a_cause in overview::by_cause(parked) {
        lanes.extend(with_depths(&mut work, lanes_of_a_cause).await?);
    }
    lanes.extend(with_depths(&mut work, blocked).await?);
    Ok(lanes)
}

async fn with_depths(work: &mut Work<'_>, lanes: Vec<Lane>) -> Result<Vec<StandingLane>> {
    let Some(beginning) = overview::beginning(&lanes) else {
        return Ok(Vec::new());
    };
    let listed = lanes
        .iter()
        .map(Lane::named)
        .map(|(shard, lane)| json!([shard, lane.destination, lane.key]));
    let values = (beginning, DEPTH_ROWS, DEPTH_ROWS, row::table(listed));
    let statement = include_str!("../sql/lane_depths.sql");
    let counted = work.read(statement, values, overview::counted).await?;
    Ok(overview::with_depths(lanes, &counted))
}
