//! The look behind the cursors.

use std::time::Duration;

use redeliver::clock;
use tokio_postgres::types::Type;

use super::PostgresReader;
use crate::store::{
    Outline, Result,
    behind::{Plan, outline},
    postgres::{Session, value},
};

/// What a look has found, before it counts.
#[derive(Default)]
pub(super) struct Looked {
    plan: Plan,
    pub(super) found: Vec<Outline>,
    took: Duration,
}

impl PostgresReader {
    /// Looks at the next part of the rows behind the cursors. A stretch that may yet get late rows is left to the read that finds them in
    /// their order.
    pub(super) async fn look_behind(
        &self,
        session: &Session<'_>,
        at_most: usize,
        round_trip: Duration,
    ) -> Result<Looked> {
        let lowest = self.segments.lowest();
        let end = |shard: &u16, cursor: i64| lowest.get(shard).map_or(cursor, |&lowest| lowest.min(cursor));
        let ends: Vec<(u16, i64)> = self
            .cursors
            .iter()
            .map(|(shard, &cursor)| (*shard, end(shard, cursor)))
            .collect();
        let plan = self.behind.plan(&ends);
        let stretches = &plan.stretches;
        if at_most == 0 || stretches.is_empty() {
            return Ok(Looked::default());
        }
        let shards: Vec<i16> = stretches
            .iter()
            .map(|stretch| value::shard(stretch.shard))
            .collect();
        let (above, to): (Vec<i64>, Vec<i64>) = stretches
            .iter()
            .map(|stretch| (stretch.above, stretch.to))
            .unzip();
        let limit = value::limit(at_most);
        let begun = clock::now();
        let found = session
            .read(
                include_str!("../sql/read_behind.sql"),
                &[
                    (&shards, Type::INT2_ARRAY),
                    (&above, Type::INT8_ARRAY),
                    (&to, Type::INT8_ARRAY),
                    (&limit, Type::INT8),
                ],
                outline,
            )
            .await?;
        Ok(Looked {
            plan,
            found,
            took: clock::now().since(begun).saturating_sub(round_trip),
        })
    }

    /// The read has succeeded: the next look goes on from here.
    pub(super) fn have_looked(&mut self, looked: Looked, at_most: usize) -> Vec<Outline> {
        if at_most > 0 {
            self.behind
                .looked(&looked.plan, &looked.found, at_most, looked.took);
        }
        looked.found
    }
}
