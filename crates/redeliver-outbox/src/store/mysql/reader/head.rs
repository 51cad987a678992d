//! Looking up the scheduled messages that lanes wait for.

use std::collections::BTreeSet;

use mysql_async::{Params, Value};

use super::Probed;
use crate::store::{
    Head, Result,
    heads::{self, Lane},
    mysql::Work,
};

/// The most lanes whose heads one statement looks up.
const LANES_A_STATEMENT: usize = 64;

/// The first scheduled messages of each lane.
pub(super) async fn heads(
    work: &mut Work<'_>,
    probed: &[Probed],
    lanes: BTreeSet<Lane<'_>>,
) -> Result<Vec<Head>> {
    let scheduled = probed.iter().filter(|probed| probed.scheduled);
    let scheduled: BTreeSet<u16> = scheduled.map(|probed| probed.shard).collect();
    let lanes = lanes.into_iter().filter(|(shard, ..)| scheduled.contains(shard));
    let lanes: Vec<Lane<'_>> = lanes.collect();
    let mut found = Vec::new();
    for some in lanes.chunks(LANES_A_STATEMENT) {
        // As many as a power of two, so that there are few statements for the server to keep.
        let count = some.len().next_power_of_two();
        let sql = vec![include_str!("../sql/read_heads.sql"); count].join("UNION ALL\n");
        // No lane is in this shard.
        let padding = std::iter::repeat_n(&(u16::MAX, "", ""), count - some.len());
        let values = some.iter().chain(padding).flat_map(|&(shard, destination, key)| {
            [Value::from(key), shard.into(), destination.into(), key.into()]
        });
        let values = Params::Positional(values.collect());
        found.extend(work.read(&sql, values, heads::head).await?);
    }
    Ok(found)
}
