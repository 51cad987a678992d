//! Putting dead letters back, or giving them up.

use std::collections::BTreeSet;

use super::{MySqlStore, Work, audit, look, row};
use crate::store::mysql::writers::server_time;
use crate::{
    MessageId,
    desk::{Act, Filter, Seen},
    job::JobKind,
    limits::MYSQL_NAMED_ROWS,
    store::{
        Result,
        columns::Known as _,
        desk::{
            self,
            chain::Said,
            edit::{taken, unchanged},
        },
    },
};

/// All in one transaction: the statements, and a record for each.
pub(super) async fn rescue(
    store: &MySqlStore,
    way: JobKind,
    filter: &Filter,
    at_most: usize,
    act: &Act,
) -> Result<Vec<MessageId>> {
    let Some((filter, page)) = desk::dead_letters(filter, at_most) else {
        return Ok(Vec::new());
    };
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    let letters = look::list(&mut work, &filter, page, false).await?;
    let letters: Vec<MessageId> = letters.into_iter().map(|letter| letter.id).collect();
    let changed = recorded(&mut work, way, &filter, &letters, act).await?;
    work.commit().await?;
    Ok(changed)
}

/// One letter, if it is as it was seen.
pub(super) async fn one(
    store: &MySqlStore,
    way: JobKind,
    id: MessageId,
    seen: Seen,
    act: &Act,
) -> Result<()> {
    let (filter, page) = desk::letter(id);
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    // Locked before it is looked at, so that nothing happens to it in between.
    lock(&mut work, &[id]).await?;
    let letters = look::list(&mut work, &filter, page, false).await?;
    let letter = letters.first().ok_or_else(|| taken(id))?;
    unchanged(
        Some(seen),
        letter.redrives,
        &audit::of_message(&mut work, id).await?,
    )?;
    recorded(&mut work, way, &filter, &[id], act).await?;
    work.commit().await
}

/// Changes them, and puts it on record.
pub(super) async fn recorded(
    work: &mut Work<'_>,
    way: JobKind,
    filter: &Filter,
    letters: &[MessageId],
    act: &Act,
) -> Result<Vec<MessageId>> {
    let changed = change(work, way, filter, letters).await?;
    audit::append_all(work, act, &Said::of_each(way.as_str(), &changed, "")).await?;
    Ok(changed)
}

/// Changes those that are still dead letters that match, and says which.
pub(super) async fn change(
    work: &mut Work<'_>,
    way: JobKind,
    filter: &Filter,
    letters: &[MessageId],
) -> Result<Vec<MessageId>> {
    let now = row::datetime(server_time(work).await?);
    let mut changed = Vec::with_capacity(letters.len());
    for some in letters.chunks(MYSQL_NAMED_ROWS) {
        let locked = lock(work, some).await?;
        let mut free = still(work, filter, &locked).await?;
        if way != JobKind::Discard {
            free = redrivable(work, free).await?;
        }
        if free.is_empty() {
            continue;
        }
        let ids = row::ids(&free);
        if way == JobKind::Discard {
            work.run(include_str!("../sql/free_lane.sql"), (ids.clone(),))
                .await?;
            work.run(include_str!("../sql/discard.sql"), (ids, &now)).await?;
        } else {
            work.run(include_str!("../sql/redrive.sql"), (&now, ids.clone()))
                .await?;
            work.run(include_str!("../sql/remove_dead.sql"), (ids,)).await?;
        }
        changed.extend(some.iter().filter(|id| free.binary_search(id).is_ok()));
    }
    Ok(changed)
}

/// Those of the locked ones that the filter finds now: whoever had the lock before may have moved one elsewhere.
async fn still(work: &mut Work<'_>, filter: &Filter, locked: &[MessageId]) -> Result<Vec<MessageId>> {
    let numbers: Vec<i64> = locked.iter().map(|id| id.number()).collect();
    let Some(page) = desk::again(&numbers) else {
        return Ok(Vec::new());
    };
    let found = look::list(work, filter, page, false).await?;
    let ids = found.iter().map(|letter| letter.id);
    let mut ids: Vec<MessageId> = ids.filter(|id| locked.binary_search(id).is_ok()).collect();
    ids.sort_unstable();
    Ok(ids)
}

/// Those whose number no live message has. Of a number that was given twice, one message is live at a time; the others stay dead letters.
async fn redrivable(work: &mut Work<'_>, mut ids: Vec<MessageId>) -> Result<Vec<MessageId>> {
    ids.dedup_by_key(|id| id.number());
    let numbers: Vec<i64> = ids.iter().map(|id| id.number()).collect();
    let mut live = BTreeSet::new();
    let statement = include_str!("../sql/destinations_of.sql");
    for mut row in work.rows(statement, (row::list(&numbers),)).await? {
        live.insert(row.take::<i64>()?);
    }
    ids.retain(|id| !live.contains(&id.number()));
    Ok(ids)
}

/// Those that are still dead letters, in their order: somebody else may have been quicker since they were listed.
pub(super) async fn lock(work: &mut Work<'_>, ids: &[MessageId]) -> Result<Vec<MessageId>> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    let sql = include_str!("../sql/lock_dead.sql");
    let mut locked = work.read(sql, (row::ids(&ids),), |row| row.id()).await?;
    locked.sort_unstable();
    Ok(locked)
}
