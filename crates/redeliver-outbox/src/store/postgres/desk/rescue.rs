//! Putting dead letters back, and giving them up.

use tokio_postgres::types::Type;

use super::{Begin, Inner, Parameter, Result, Session, audit, look, row};
use crate::{
    MessageId,
    desk::{Act, Filter, Record, Seen},
    job::JobKind,
    store::{
        columns::Known as _,
        desk::{
            self,
            chain::Said,
            edit::{taken, unchanged},
        },
    },
};

pub(super) async fn rescue(
    inner: &Inner,
    way: JobKind,
    filter: &Filter,
    at_most: usize,
    act: &Act,
) -> Result<Vec<MessageId>> {
    let Some((filter, page)) = desk::dead_letters(filter, at_most) else {
        return Ok(Vec::new());
    };
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Desk).await?;
    let matching = look::list(&session, &filter, page, false).await?;
    let changed = recorded(&session, way, &filter, &matching, act).await?;
    session.commit().await?;
    session.closed();
    Ok(changed)
}

/// One letter, if it is as it was seen.
pub(super) async fn one(inner: &Inner, way: JobKind, id: MessageId, seen: Seen, act: &Act) -> Result<()> {
    let (filter, page) = desk::letter(id);
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Desk).await?;
    // Locked before it is looked at, so that nothing happens to it in between.
    let numbers = [id.number()];
    let locking: [Parameter<'_>; 1] = [(&numbers.as_slice(), Type::INT8_ARRAY)];
    session
        .query(include_str!("../sql/lock_dead.sql"), &locking)
        .await?;
    let letters = look::list(&session, &filter, page, false).await?;
    let letter = letters.first().ok_or_else(|| taken(id))?;
    unchanged(
        Some(seen),
        letter.redrives,
        &audit::of_message(&session, id).await?,
    )?;
    recorded(&session, way, &filter, &letters, act).await?;
    session.commit().await?;
    session.closed();
    Ok(())
}

/// Changes them, and puts it on record.
pub(super) async fn recorded(
    session: &Session<'_>,
    way: JobKind,
    filter: &Filter,
    letters: &[Record],
    act: &Act,
) -> Result<Vec<MessageId>> {
    let changed = change(session, way, filter, letters).await?;
    audit::append_all(session, act, &Said::of_each(way.as_str(), &changed, "")).await?;
    Ok(changed)
}

/// Changes those that are still dead letters that match, and says which: somebody else may have been quicker since they were listed.
pub(super) async fn change(
    session: &Session<'_>,
    way: JobKind,
    filter: &Filter,
    letters: &[Record],
) -> Result<Vec<MessageId>> {
    let numbers: Vec<i64> = letters.iter().map(|letter| letter.id.number()).collect();
    let locked = session
        .query(
            include_str!("../sql/lock_dead.sql"),
            &[(&numbers, Type::INT8_ARRAY)],
        )
        .await?;
    let locked = locked
        .iter()
        .map(|row| row::get(row, 0))
        .collect::<Result<Vec<i64>>>()?;
    let mut wanted: Vec<MessageId> = letters.iter().map(|letter| letter.id).collect();
    wanted.sort_unstable();
    let mut still = still(session, filter, &locked).await?;
    still.retain(|id| wanted.binary_search(id).is_ok());
    let (numbers, salts): (Vec<i64>, Vec<i64>) = still.iter().map(|id| (id.number(), id.salt())).unzip();
    let parameters: [Parameter<'_>; 2] = [(&numbers, Type::INT8_ARRAY), (&salts, Type::INT8_ARRAY)];
    let statement = match way {
        JobKind::Discard => include_str!("../sql/discard.sql"),
        _ => include_str!("../sql/redrive.sql"),
    };
    let changed = session.read(statement, &parameters, |row| row.id()).await?;
    if way == JobKind::Discard {
        session
            .execute(include_str!("../sql/free_lane.sql"), &parameters[..1])
            .await?;
    }
    Ok(changed)
}

/// Those of the locked ones that the filter finds now: whoever had the lock before may have moved one elsewhere.
async fn still(session: &Session<'_>, filter: &Filter, locked: &[i64]) -> Result<Vec<MessageId>> {
    let Some(page) = desk::again(locked) else {
        return Ok(Vec::new());
    };
    let found = look::list(session, filter, page, false).await?;
    let ids = found.iter().map(|letter| letter.id);
    Ok(ids
        .filter(|id| locked.binary_search(&id.number()).is_ok())
        .collect())
}
