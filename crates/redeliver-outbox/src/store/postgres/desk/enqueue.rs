//! New rows: messages, and dead letters from elsewhere.

use tokio_postgres::types::Type;

use super::{Begin, Inner, Parameter, Result, Session, audit, value};
use crate::{
    MessageId, NewMessage, Outbox,
    desk::{Act, DeadLetter, Enqueued},
    limits::error_text,
    store::desk::{chain::Said, check, unkeyed},
};

pub(super) async fn enqueue(inner: &Inner, messages: &[NewMessage]) -> Result<Vec<Enqueued>> {
    check(messages.iter())?;
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Desk).await?;
    let enqueued = insert(&session, messages).await?;
    session.commit().await?;
    session.closed();
    Ok(enqueued)
}

async fn insert(session: &Session<'_>, messages: &[NewMessage]) -> Result<Vec<Enqueued>> {
    let outbox = Outbox::new(session.names().clone());
    Ok(outbox.enqueue_all(session.client()?, messages).await?)
}

/// A dead letter's number comes from the same place as a live one's: it is inserted there and moved at once.
pub(super) async fn import(inner: &Inner, letters: &[DeadLetter], act: &Act) -> Result<Vec<MessageId>> {
    let messages = unkeyed(letters);
    check(messages.iter())?;
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Desk).await?;
    let inserted = insert(&session, &messages).await?;
    let imported: Vec<MessageId> = inserted.into_iter().filter_map(Enqueued::id).collect();
    let numbers: Vec<i64> = imported.iter().map(|id| id.number()).collect();
    let attempts: Vec<i32> = letters
        .iter()
        .map(|letter| value::attempt(letter.attempts))
        .collect();
    let reasons: Vec<&str> = letters.iter().map(|letter| letter.reason.as_str()).collect();
    let errors: Vec<String> = letters.iter().map(|letter| error_text(&letter.error)).collect();
    let fingerprints: Vec<String> = letters
        .iter()
        .map(|letter| letter.fingerprint().column())
        .collect();
    let parameters: [Parameter<'_>; 5] = [
        (&numbers, Type::INT8_ARRAY),
        (&attempts, Type::INT4_ARRAY),
        (&errors, Type::TEXT_ARRAY),
        (&reasons, Type::TEXT_ARRAY),
        (&fingerprints, Type::TEXT_ARRAY),
    ];
    session
        .execute(include_str!("../sql/import.sql"), &parameters)
        .await?;
    audit::append_all(&session, act, &Said::of_each("import", &imported, "")).await?;
    session.commit().await?;
    session.closed();
    Ok(imported)
}
