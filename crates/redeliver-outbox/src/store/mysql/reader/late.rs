//! Looking again where the reader has been.

use std::collections::{BTreeMap, BTreeSet};

use mysql_async::{Params, Value};
use redeliver::Moment;

use super::{Fresh, Limit, MySqlReader, messages};
use crate::store::{
    Result,
    mysql::{Work, row},
};

impl MySqlReader {
    /// What has appeared in the ranges that are due, or in all. With `more` there is yet more of it than there is room: only the first
    /// numbers are returned, the ranges stay due, and nobody goes forward.
    pub(super) async fn late(
        &self,
        work: &mut Work<'_>,
        limit: Limit,
        now: Moment,
        all: bool,
        of_lanes: &BTreeSet<i64>,
    ) -> Result<Fresh> {
        let mut fresh = Fresh {
            looked: true,
            all,
            ..Fresh::default()
        };
        let mut unseen = Vec::new();
        for ranges in self.segments.due(now, all).chunks(64) {
            let count = ranges.len().next_power_of_two();
            let sql = include_str!("../sql/read_late_numbers.sql").replace(
                "{ranges}",
                &vec!["(shard = ? AND number > ? AND number <= ?)"; count].join(" OR "),
            );
            let padding = std::iter::repeat_n(ranges.last(), count - ranges.len()).flatten();
            let values = ranges.iter().chain(padding).flat_map(|range| {
                [
                    range.shard.into(),
                    Value::from(range.above),
                    Value::from(range.to),
                ]
            });
            for mut row in work.rows(&sql, Params::Positional(values.collect())).await? {
                let (shard, number) = (row.take()?, row.take()?);
                if !self.was_seen(shard, number) && !of_lanes.contains(&number) {
                    unseen.push((shard, number));
                }
            }
        }
        unseen.sort_unstable();
        if unseen.len() > limit.rows {
            unseen.truncate(limit.rows);
            fresh.more = true;
            fresh.looked = false;
        }
        for some in unseen.chunks(256) {
            let numbers: Vec<i64> = some.iter().map(|&(_, number)| number).collect();
            let sql = include_str!("../sql/read_late.sql").replace("{numbers}", &row::places(numbers.len()));
            fresh
                .messages
                .extend(messages(work, &sql, limit.payload, row::padded(&numbers)).await?);
        }
        fresh
            .messages
            .sort_by_key(|(message, _)| (message.shard, message.number()));
        Ok(fresh)
    }

    /// The same, unless one of the lanes has an earlier message in an open range that nobody has seen: then those ranges first.
    pub(super) async fn unless_overtaking(
        &self,
        work: &mut Work<'_>,
        fresh: Fresh,
        limit: Limit,
        now: Moment,
        of_lanes: &BTreeSet<i64>,
    ) -> Result<Fresh> {
        let mut lanes: BTreeMap<u16, BTreeSet<i64>> = BTreeMap::new();
        let mut returned = of_lanes.clone();
        for (message, hash) in &fresh.messages {
            returned.insert(message.number());
            if let Some(hash) = hash {
                lanes.entry(message.shard).or_default().insert(*hash);
            }
        }
        for (shard, hashes) in lanes {
            let (Some(lowest), Some(&cursor)) = (self.segments.lowest(shard), self.cursors.get(&shard))
            else {
                continue;
            };
            let hashes: Vec<i64> = hashes.into_iter().collect();
            let sql = include_str!("../sql/late_lanes.sql").replace("{lanes}", &row::places(hashes.len()));
            let mut values: Vec<Value> = vec![shard.into(), lowest.into(), cursor.into()];
            values.extend(row::padded(&hashes));
            for mut row in work.rows(&sql, Params::Positional(values)).await? {
                let number = row.take()?;
                let late = self.segments.covers(shard, number) && !self.was_seen(shard, number);
                if late && !returned.contains(&number) {
                    let mut late = self.late(work, limit, now, true, of_lanes).await?;
                    late.more = true;
                    return Ok(late);
                }
            }
        }
        Ok(fresh)
    }
}
