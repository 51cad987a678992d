//! The look behind the cursors.

use std::time::Duration;

use mysql_async::{Params, Value};
use redeliver::clock;

use super::{MySqlReader, strays};
use crate::store::{
    Outline, Result,
    behind::{Plan, outline},
    mysql::Work,
};

/// What a look has found, before it counts.
#[derive(Default)]
pub(super) struct Looked {
    plan: Plan,
    pub(super) found: Vec<Outline>,
    took: Duration,
    strays: bool,
}

impl MySqlReader {
    /// Looks at the next part of the rows behind the cursors. A range that may yet get late rows is left to the read that finds them in
    /// their order.
    pub(super) async fn look_behind(
        &self,
        work: &mut Work<'_>,
        at_most: usize,
        round_trip: Duration,
    ) -> Result<Looked> {
        if at_most == 0 {
            return Ok(Looked::default());
        }
        let strays = strays::are_there(work).await?;
        let end = |shard: u16, cursor: i64| self.segments.lowest(shard).unwrap_or(cursor).min(cursor);
        let ends: Vec<(u16, i64)> = self
            .cursors
            .iter()
            .map(|(&shard, &cursor)| (shard, end(shard, cursor)))
            .collect();
        let plan = self.behind.plan(&ends);
        let stretches = &plan.stretches;
        // A server of a cluster may show a row for a while after another one has removed it.
        if stretches.is_empty() || self.cluster.is_some() {
            return Ok(Looked {
                strays,
                ..Looked::default()
            });
        }
        let begun = clock::now();
        let one = include_str!("../sql/read_behind.sql");
        let sql = format!("{}LIMIT ?", vec![one; stretches.len()].join("UNION ALL\n"));
        let values = stretches.iter().flat_map(|stretch| {
            [
                Value::from(stretch.shard),
                stretch.above.into(),
                stretch.to.into(),
                at_most.into(),
            ]
        });
        let values = values.chain([at_most.into()]).collect();
        let mut found = work.read(&sql, Params::Positional(values), outline).await?;
        found.sort_by_key(|outline| (outline.shard, outline.id.number()));
        Ok(Looked {
            plan,
            found,
            took: clock::now().since(begun).saturating_sub(round_trip),
            strays,
        })
    }

    /// The read has succeeded: the next look goes on from here.
    pub(super) fn have_looked(&mut self, looked: Looked, at_most: usize) -> Vec<Outline> {
        if at_most > 0 {
            self.strays = looked.strays;
            self.behind
                .looked(&looked.plan, &looked.found, at_most, looked.took);
        }
        looked.found
    }
}
