//! Putting dead letters back, or giving them up.

use super::{MySqlStore, Work, audit, look, row};
use crate::{
    MessageId,
    desk::{Act, Filter, Seen},
    job::JobKind,
    limits::MYSQL_NAMED_ROWS,
    store::{
        Result,
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
    lock(&mut work, &[id.number()]).await?;
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
    let statements = match way {
        JobKind::Discard => [
            include_str!("../sql/free_lane.sql"),
            include_str!("../sql/discard.sql"),
        ],
        _ => [
            include_str!("../sql/redrive.sql"),
            include_str!("../sql/remove_dead.sql"),
        ],
    };
    let mut changed = Vec::with_capacity(letters.len());
    for some in letters.chunks(MYSQL_NAMED_ROWS) {
        let numbers: Vec<i64> = some.iter().map(|id| id.number()).collect();
        let locked = lock(work, &numbers).await?;
        let free = still(work, filter, &locked).await?;
        if free.is_empty() {
            continue;
        }
        for statement in statements {
            work.run(statement, (row::list(&free),)).await?;
        }
        let free = |id: &&MessageId| free.binary_search(&id.number()).is_ok();
        changed.extend(some.iter().filter(free));
    }
    Ok(changed)
}

/// Those of the locked ones that the filter finds now: whoever had the lock before may have moved one elsewhere.
async fn still(work: &mut Work<'_>, filter: &Filter, locked: &[i64]) -> Result<Vec<i64>> {
    let Some(page) = desk::again(locked) else {
        return Ok(Vec::new());
    };
    let found = look::list(work, filter, page, false).await?;
    let numbers = found.iter().map(|letter| letter.id.number());
    Ok(numbers
        .filter(|number| locked.binary_search(number).is_ok())
        .collect())
}

/// Those that are still dead letters, in their order: somebody else may have been quicker since they were listed.
pub(super) async fn lock(work: &mut Work<'_>, numbers: &[i64]) -> Result<Vec<i64>> {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    let sql = include_str!("../sql/lock_dead.sql");
    let rows = work.rows(sql, (row::list(&numbers),)).await?;
    rows.into_iter().map(|mut row| row.take()).collect()
}
