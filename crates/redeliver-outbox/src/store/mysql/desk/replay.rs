//! Sending events of the history once more.

use std::collections::BTreeSet;

use super::{MySqlStore, Work, audit, row};
use crate::{
    Timestamp,
    desk::{Act, Replay, Replayed},
    limits::{LATEST_MILLIS, REPLAY_BATCH},
    store::{
        Result,
        desk::replay::{Candidate, candidate, check, choose, detail, oldest},
        mysql::fan_out::{Branch, insert, note},
    },
};

pub(super) async fn replay(
    store: &MySqlStore,
    replay: &Replay,
    after: i64,
    act: Option<&Act>,
) -> Result<Replayed> {
    check(replay)?;
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    let oldest = work
        .read(include_str!("../sql/oldest_event.sql"), (), oldest)
        .await?
        .pop();
    let latest = Timestamp::from_millis(LATEST_MILLIS);
    let values = (
        replay.to.as_str(),
        after,
        row::datetime(replay.since),
        row::datetime(replay.until.unwrap_or(latest)),
        REPLAY_BATCH,
    );
    let statement = include_str!("../sql/replay_candidates.sql");
    let candidates = work.read(statement, values, candidate).await?;
    let (chosen, mut replayed) = choose(replay, &candidates, oldest);
    if let Some(act) = act.filter(|_| !chosen.is_empty()) {
        let before = made_before(&mut work, replay, &chosen).await?;
        let branches: Vec<Branch> = candidates
            .iter()
            .map(Candidate::id)
            .filter(|id| chosen.binary_search(&id.number()).is_ok() && !before.contains(&id.number()))
            .map(|id| Branch::new(id, &replay.to))
            .collect();
        let made = insert(&mut work, include_str!("../sql/replay.sql"), &branches).await?;
        note(&mut work, &branches, &made).await?;
        replayed.there_before += before.len() as u64;
        replayed.messages = branches.len() as u64;
        let detail = detail(replay, &chosen, replayed.messages);
        audit::append(&mut work, act, "replay", None, &detail).await?;
    }
    work.commit().await?;
    Ok(replayed)
}

/// The events that another replay was quicker with.
async fn made_before(work: &mut Work<'_>, replay: &Replay, events: &[i64]) -> Result<BTreeSet<i64>> {
    let all = row::list(events);
    work.rows(include_str!("../sql/lock_events.sql"), (all.clone(),))
        .await?;
    let statement = include_str!("../sql/replayed_before.sql");
    let rows = work.rows(statement, (all, replay.to.as_str())).await?;
    rows.into_iter().map(|mut row| row.take()).collect()
}
