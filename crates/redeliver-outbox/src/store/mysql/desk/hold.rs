//! Holding a destination, and letting it go on.

use super::{MySqlStore, Work, audit};
use crate::{
    Held, Hold, NewHold, Timestamp,
    desk::{Act, WorkerRecord},
    store::{
        Result,
        desk::{hold, records},
    },
};

pub(in crate::store::mysql) async fn begin(store: &MySqlStore, new: &NewHold, act: &Act) -> Result<Held> {
    hold::check(&new.destination)?;
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    let values = (
        new.destination.as_str(),
        new.cause.kind().as_str(),
        new.cause.as_str(),
        new.detail.as_str(),
        act.who.as_str(),
    );
    work.run(include_str!("../sql/hold.sql"), values).await?;
    let begun = work.transaction.last_insert_id().is_none();
    if begun {
        let detail = hold::audited(&new.destination, new.cause);
        audit::append(&mut work, act, hold::action(new.cause), None, &detail).await?;
    }
    let hold = hold::of(all(&mut work).await?, &new.destination);
    work.commit().await?;
    let hold = hold.ok_or_else(hold::gone)?;
    Ok(Held { hold, new: begun })
}

pub(super) async fn end(
    store: &MySqlStore,
    destination: &str,
    seen: Option<Timestamp>,
    act: &Act,
) -> Result<Option<Hold>> {
    hold::check(destination)?;
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    // Locked, so that it is not another one that ends.
    work.rows(include_str!("../sql/lock_hold.sql"), (destination,))
        .await?;
    let Some(held) = hold::of(all(&mut work).await?, destination) else {
        work.abandon().await?;
        return Ok(None);
    };
    hold::unchanged(&held, seen)?;
    let ended = work.run(include_str!("../sql/resume.sql"), (destination,));
    if ended.await? == 0 {
        // None was there to lock, and somebody else has ended the one that came.
        work.abandon().await?;
        return Ok(None);
    }
    let detail = hold::audited(destination, held.cause);
    audit::append(&mut work, act, "resume", None, &detail).await?;
    work.commit().await?;
    Ok(Some(held))
}

pub(in crate::store::mysql) async fn all(work: &mut Work<'_>) -> Result<Vec<Hold>> {
    work.read(include_str!("../sql/holds.sql"), (), records::hold)
        .await
}

pub(super) async fn workers(work: &mut Work<'_>) -> Result<Vec<WorkerRecord>> {
    work.read(include_str!("../sql/workers.sql"), (), records::worker)
        .await
}
