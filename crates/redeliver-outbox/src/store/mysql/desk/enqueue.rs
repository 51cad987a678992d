//! Putting messages in: live ones, and dead letters from elsewhere.

use super::{MySqlStore, Work, audit, row};
use crate::{
    MessageId, NewMessage, Outbox,
    desk::{Act, DeadLetter, Enqueued},
    limits::error_text,
    store::{
        Result,
        desk::{chain::Said, check, unkeyed},
    },
};

pub(super) async fn enqueue(store: &MySqlStore, messages: &[NewMessage]) -> Result<Vec<Enqueued>> {
    check(messages.iter())?;
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    let enqueued = insert(&mut work, messages).await?;
    work.commit().await?;
    Ok(enqueued)
}

async fn insert(work: &mut Work<'_>, messages: &[NewMessage]) -> Result<Vec<Enqueued>> {
    let outbox = Outbox::new(work.store.names.as_ref().clone());
    let inserted = outbox.enqueue_all(&mut work.transaction, messages).await;
    inserted.map_err(|error| work.store.noted(error.into()))
}

/// A dead letter's number comes from the same place as a live one's: it is inserted there and moved at once.
pub(super) async fn import(store: &MySqlStore, letters: &[DeadLetter], act: &Act) -> Result<Vec<MessageId>> {
    let messages = unkeyed(letters);
    check(messages.iter())?;
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    let inserted = insert(&mut work, &messages).await?;
    let imported: Vec<MessageId> = inserted.into_iter().filter_map(Enqueued::id).collect();
    for (letter, &id) in letters.iter().zip(&imported) {
        let values = (
            letter.attempts,
            letter.attempts,
            error_text(&letter.error),
            letter.reason.as_str(),
            letter.fingerprint().column(),
            id.number(),
        );
        work.run(include_str!("../sql/import.sql"), values).await?;
        let moved = (row::list(&[id.number()]),);
        work.run(include_str!("../sql/remove.sql"), moved).await?;
    }
    audit::append_all(&mut work, act, &Said::of_each("import", &imported, "")).await?;
    work.commit().await?;
    Ok(imported)
}
