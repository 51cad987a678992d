//! New rows: messages, and dead letters from elsewhere. Not by the statements of `crate::enqueue`, which go by SQLite's clock: the store
//! may have been given another.

use rusqlite::OptionalExtension as _;

use super::{Done, Session, audit};
use crate::{
    MessageId, NewMessage, Timestamp,
    desk::{Act, DeadLetter, Enqueued},
    enqueue::Due,
    limits::error_text,
    plants::{Plant, planted},
    store::desk::{chain::Said, check},
};

pub(super) fn enqueue(session: &Session<'_>, messages: &[NewMessage]) -> Done<Vec<Enqueued>> {
    check(messages.iter())?;
    let mut enqueued = Vec::with_capacity(messages.len());
    for message in messages {
        enqueued.push(match &message.deduplication_key {
            Some(key) => insert_once(session, message, key)?,
            None => Enqueued::New(insert(session, message)?),
        });
    }
    Ok(enqueued)
}

fn insert_once(session: &Session<'_>, message: &NewMessage, key: &str) -> rusqlite::Result<Enqueued> {
    let there = session
        .row(include_str!("../sql/find_duplicate.sql"), [key], |row| {
            Ok(MessageId::new(row.get(0)?, row.get(1)?))
        })
        .optional()?;
    if planted(Plant::DeduplicationIgnored) {
        return Ok(Enqueued::New(insert(session, message)?));
    }
    if let Some(id) = there {
        return Ok(Enqueued::again(id));
    }
    let id = insert(session, message)?;
    let values = (key, id.number(), id.salt(), session.now.as_millis());
    session.execute(include_str!("../sql/remember_key.sql"), values)?;
    Ok(Enqueued::New(id))
}

fn insert(session: &Session<'_>, message: &NewMessage) -> rusqlite::Result<MessageId> {
    let salt = MessageId::draw_salt();
    let (text, binary) = message.payload.columns();
    let time = |due: Due| -> Option<i64> {
        let time: Option<Timestamp> = match due {
            Due::Unset => None,
            Due::After(wait) => Some(session.now.plus(wait)),
            Due::At(time) => Some(time),
        };
        time.map(Timestamp::as_millis)
    };
    let values = rusqlite::params![
        salt,
        message.destination,
        message.topic,
        message.key,
        text,
        binary,
        message.content_type,
        message.headers_json(),
        message.traceparent,
        time(message.due),
        time(message.expiry),
        session.now.as_millis(),
    ];
    session.execute(include_str!("../sql/enqueue.sql"), values)?;
    Ok(MessageId::new(session.transaction.last_insert_rowid(), salt))
}

/// By way of the hot table: it alone gives numbers, so that none is ever given twice.
pub(super) fn import(session: &Session<'_>, letters: &[DeadLetter], act: &Act) -> Done<Vec<MessageId>> {
    check(letters.iter().map(|letter| &letter.message))?;
    let mut imported = Vec::with_capacity(letters.len());
    for letter in letters {
        let id = insert(session, &letter.message)?;
        let values = (
            id.number(),
            letter.attempts,
            error_text(&letter.error),
            letter.reason.as_str(),
            session.now.as_millis(),
            letter.fingerprint().column(),
        );
        session.execute(include_str!("../sql/import.sql"), values)?;
        session.execute(include_str!("../sql/remove.sql"), [id.number()])?;
        imported.push(id);
    }
    audit::append_all(session, act, &Said::of_each("import", &imported, ""))?;
    Ok(imported)
}
