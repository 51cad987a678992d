//! Lanes that stand or wait.

use serde_json::json;

use super::{MySqlStore, Work, overview::of_all_shards, row};
use crate::{
    desk::StandingLane,
    limits::BLOCKED_ROWS,
    store::{
        Result,
        desk::overview::{self, Lane},
    },
};

pub(super) async fn lanes(store: &MySqlStore, limit: usize) -> Result<Vec<StandingLane>> {
    let mut connection = store.connection().await?;
    let mut work = Work::snapshot(store, &mut connection).await?;
    let statement = include_str!("../sql/lanes_parked.sql");
    let mut lanes = work.read(statement, (limit,), overview::parked).await?;
    let statement = of_all_shards(&mut work, include_str!("../sql/lanes_blocked.sql")).await?;
    lanes.extend(
        work.read(&statement, (BLOCKED_ROWS, limit), overview::blocked)
            .await?,
    );
    // One walk for all shards: here the number alone is the key.
    let Some(first) = overview::beginnings(&lanes).into_values().min() else {
        return Ok(Vec::new());
    };
    let rows = overview::rows_of_each(1);
    let listed = lanes
        .iter()
        .map(Lane::named)
        .map(|(shard, lane)| json!([shard, lane.destination, lane.key]));
    let values = (first, rows, row::table(listed));
    let statement = include_str!("../sql/lane_depths.sql");
    let counted = work.read(statement, values, overview::counted).await?;
    Ok(overview::with_depths(lanes, &counted, rows))
}
