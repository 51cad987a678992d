//! Putting messages in: live ones, and dead letters from elsewhere.

use mysql_async::{Value, prelude::Queryable};
use redeliver::entropy;

use super::{MySqlStore, Work, audit, row};
use crate::{
    MessageId, NewMessage,
    desk::{Act, DeadLetter, Enqueued},
    enqueue::Due,
    limits::error_text,
    store::{Result, StoreError, StoreErrorKind},
};

pub(super) async fn enqueue(store: &MySqlStore, messages: &[NewMessage]) -> Result<Vec<Enqueued>> {
    check(messages.iter())?;
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    let mut enqueued = Vec::with_capacity(messages.len());
    for message in messages {
        enqueued.push(one(&mut work, message).await?);
    }
    work.commit().await?;
    Ok(enqueued)
}

/// A dead letter's number comes from the same place as a live one's: it is inserted there and moved at once.
pub(super) async fn import(store: &MySqlStore, letters: &[DeadLetter], act: &Act) -> Result<Vec<MessageId>> {
    check(letters.iter().map(|letter| &letter.message))?;
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    let mut imported = Vec::with_capacity(letters.len());
    for letter in letters {
        let id = insert(&mut work, &letter.message, salt()).await?;
        let values = (
            letter.attempts,
            letter.attempts,
            error_text(&letter.error),
            letter.reason.as_str(),
            id.number(),
        );
        work.run(include_str!("../sql/import.sql"), values).await?;
        let moved = (row::list(&[id.number()]),);
        work.run(include_str!("../sql/remove.sql"), moved).await?;
        audit::append(&mut work, act, "import", id, "").await?;
        imported.push(id);
    }
    work.commit().await?;
    Ok(imported)
}

/// Nothing is inserted unless everything can be.
pub(super) fn check<'a>(messages: impl Iterator<Item = &'a NewMessage>) -> Result<()> {
    for (place, message) in messages.enumerate() {
        if let Err(invalid) = message.validate() {
            let what = format!("message {} of those given cannot be taken: {invalid}", place + 1);
            return Err(StoreError::new(StoreErrorKind::BadInput, what).next("correct it; none was inserted"));
        }
    }
    Ok(())
}

async fn one(work: &mut Work<'_>, message: &NewMessage) -> Result<Enqueued> {
    let salt = salt();
    let Some(key) = message.deduplication_key.as_deref() else {
        return Ok(Enqueued::New(insert(work, message, salt).await?));
    };
    // Whoever has the key first holds it until the commit; another one waits here, and then finds it taken.
    let sql = work
        .store
        .sql(include_str!("../sql/remember_key.sql"))
        .into_owned();
    match work.transaction.exec_drop(sql, (key, salt)).await {
        Ok(()) => {}
        Err(mysql_async::Error::Server(server)) if server.code == 1062 => {
            let found = work
                .row(include_str!("../sql/find_duplicate.sql"), (key,))
                .await?;
            let mut row = found.ok_or_else(|| {
                StoreError::new(
                    StoreErrorKind::Busy,
                    "a de-duplication key was forgotten just now",
                )
            })?;
            return Ok(Enqueued::again(MessageId::new(row.take()?, row.take()?)));
        }
        Err(error) => return Err(work.store.failed(error)),
    }
    let id = insert(work, message, salt).await?;
    work.run(include_str!("../sql/number_key.sql"), (id.number(), key))
        .await?;
    Ok(Enqueued::New(id))
}

async fn insert(work: &mut Work<'_>, message: &NewMessage, salt: i64) -> Result<MessageId> {
    let (text, binary) = message.payload.columns();
    let mut values: Vec<Value> = vec![
        salt.into(),
        message.destination.as_str().into(),
        message.key.as_deref().into(),
        text.into(),
        binary.into(),
        message.content_type.as_deref().into(),
        message.headers_json().into(),
        message.traceparent.as_deref().into(),
    ];
    values.extend(due(message.due));
    values.extend(due(message.expiry));
    work.run(
        include_str!("../sql/enqueue.sql"),
        mysql_async::Params::Positional(values),
    )
    .await?;
    Ok(MessageId::new(work.given(), salt))
}

/// A time, or else a delay from the server's now.
fn due(due: Due) -> [Value; 2] {
    match due {
        Due::Unset => [Value::NULL, Value::NULL],
        Due::At(time) => [row::datetime(time).into(), Value::NULL],
        Due::After(wait) => [Value::NULL, row::delay(wait).into()],
    }
}

/// The random part of an id.
fn salt() -> i64 {
    MessageId::new(0, entropy::draw().cast_signed()).salt()
}
