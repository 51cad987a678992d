//! New rows: messages, and dead letters from elsewhere.

use std::collections::HashMap;

use tokio_postgres::types::Type;

use super::{Begin, Inner, Parameter, Result, Session, row, value};
use crate::{
    InvalidMessage, MessageId, NewMessage,
    desk::{Act, DeadLetter, Enqueued},
    enqueue::Due,
    limits::error_text,
    store::{StoreError, StoreErrorKind},
};

/// The most rows, and bytes of payload, that go into one statement.
const ROWS: usize = 500;
const BYTES: usize = 16 << 20;

pub(super) async fn enqueue(inner: &Inner, messages: &[NewMessage]) -> Result<Vec<Enqueued>> {
    check(messages.iter(), messages.len())?;
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Desk).await?;
    let mut enqueued = Vec::with_capacity(messages.len());
    for part in parts(messages, |message| message.payload.len()) {
        enqueued.extend(insert(&session, part).await?);
    }
    session.commit().await?;
    session.closed();
    Ok(enqueued)
}

fn check<'a>(messages: impl Iterator<Item = &'a NewMessage>, count: usize) -> Result<()> {
    for (at, message) in messages.enumerate() {
        message
            .validate()
            .map_err(|invalid| refused(&invalid, at, count))?;
    }
    Ok(())
}

/// What is wrong, and with which of several.
pub(super) fn refused(invalid: &InvalidMessage, at: usize, of: usize) -> StoreError {
    let what = if of > 1 {
        format!("{invalid} (it is number {} of {of})", at + 1)
    } else {
        invalid.to_string()
    };
    StoreError::new(StoreErrorKind::BadInput, what)
}

fn parts<T>(rows: &[T], weight: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let mut parts = Vec::new();
    let (mut from, mut bytes) = (0, 0);
    for (at, row) in rows.iter().enumerate() {
        bytes += weight(row);
        if at - from + 1 >= ROWS || bytes >= BYTES {
            parts.extend(rows.get(from..=at));
            (from, bytes) = (at + 1, 0);
        }
    }
    parts.extend(rows.get(from..).filter(|rest| !rest.is_empty()));
    parts
}

async fn insert(session: &Session<'_>, messages: &[NewMessage]) -> Result<Vec<Enqueued>> {
    let columns = Columns::of(messages.iter());
    let keys: Vec<Option<&str>> = messages
        .iter()
        .map(|message| message.deduplication_key.as_deref())
        .collect();
    let mut parameters = columns.parameters();
    parameters.push((&keys, Type::TEXT_ARRAY));
    let rows = session
        .query(include_str!("../sql/enqueue.sql"), &parameters)
        .await?;
    let mut enqueued = Vec::with_capacity(rows.len());
    let mut duplicates = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let id = MessageId::new(row::get(row, 1)?, row::get(row, 2)?);
        let new: bool = row::get(row, 3)?;
        enqueued.push(if new {
            Enqueued::New(id)
        } else {
            duplicates.push(at);
            Enqueued::again(id)
        });
    }
    if !duplicates.is_empty() {
        // Seen only now that whoever remembered the key first has committed: the insert has waited for that.
        let remembered = remembered(session, &keys).await?;
        for at in duplicates {
            if let Some(&id) = keys[at].and_then(|key| remembered.get(key)) {
                enqueued[at] = Enqueued::again(id);
            }
        }
    }
    Ok(enqueued)
}

async fn remembered(session: &Session<'_>, keys: &[Option<&str>]) -> Result<HashMap<String, MessageId>> {
    let rows = session
        .query(
            include_str!("../sql/find_duplicate.sql"),
            &[(&keys, Type::TEXT_ARRAY)],
        )
        .await?;
    rows.iter()
        .map(|row| {
            Ok((
                row::get(row, 0)?,
                MessageId::new(row::get(row, 1)?, row::get(row, 2)?),
            ))
        })
        .collect()
}

pub(super) async fn import(inner: &Inner, letters: &[DeadLetter], act: &Act) -> Result<Vec<MessageId>> {
    check(letters.iter().map(|letter| &letter.message), letters.len())?;
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Desk).await?;
    let mut imported = Vec::with_capacity(letters.len());
    for part in parts(letters, |letter| letter.message.payload.len()) {
        let columns = Columns::of(part.iter().map(|letter| &letter.message));
        let attempts: Vec<i32> = part
            .iter()
            .map(|letter| value::attempt(letter.attempts))
            .collect();
        let reasons: Vec<&str> = part.iter().map(|letter| letter.reason.as_str()).collect();
        let errors: Vec<String> = part.iter().map(|letter| error_text(&letter.error)).collect();
        let mut parameters = columns.parameters();
        parameters.push((&attempts, Type::INT4_ARRAY));
        parameters.push((&reasons, Type::TEXT_ARRAY));
        parameters.push((&errors, Type::TEXT_ARRAY));
        parameters.push((&act.who, Type::TEXT));
        parameters.push((&act.why, Type::TEXT));
        let rows = session
            .query(include_str!("../sql/import.sql"), &parameters)
            .await?;
        for row in &rows {
            imported.push(MessageId::new(row::get(row, 0)?, row::get(row, 1)?));
        }
    }
    session.commit().await?;
    session.closed();
    Ok(imported)
}

/// Messages as the columns of a table.
#[derive(Default)]
struct Columns<'a> {
    destinations: Vec<&'a str>,
    lanes: Vec<Option<&'a str>>,
    texts: Vec<Option<&'a str>>,
    binaries: Vec<Option<&'a [u8]>>,
    content_types: Vec<Option<&'a str>>,
    headers: Vec<Option<String>>,
    traceparents: Vec<Option<&'a str>>,
    due_at: Vec<Option<value::Time>>,
    due_after: Vec<Option<i64>>,
    expires_at: Vec<Option<value::Time>>,
    expires_after: Vec<Option<i64>>,
}

impl<'a> Columns<'a> {
    fn of(messages: impl Iterator<Item = &'a NewMessage>) -> Self {
        let mut columns = Self::default();
        for message in messages {
            let (text, binary) = message.payload.columns();
            columns.destinations.push(&message.destination);
            columns.lanes.push(message.key.as_deref());
            columns.texts.push(text);
            columns.binaries.push(binary);
            columns.content_types.push(message.content_type.as_deref());
            columns.headers.push(message.headers_json());
            columns.traceparents.push(message.traceparent.as_deref());
            let (at, after) = time(message.due);
            columns.due_at.push(at);
            columns.due_after.push(after);
            let (at, after) = time(message.expiry);
            columns.expires_at.push(at);
            columns.expires_after.push(after);
        }
        columns
    }

    /// The first eleven parameters of `enqueue.sql` and of `import.sql`.
    fn parameters(&self) -> Vec<Parameter<'_>> {
        vec![
            (&self.destinations, Type::TEXT_ARRAY),
            (&self.lanes, Type::TEXT_ARRAY),
            (&self.texts, Type::TEXT_ARRAY),
            (&self.binaries, Type::BYTEA_ARRAY),
            (&self.content_types, Type::TEXT_ARRAY),
            (&self.headers, Type::TEXT_ARRAY),
            (&self.traceparents, Type::TEXT_ARRAY),
            (&self.due_at, Type::TIMESTAMPTZ_ARRAY),
            (&self.due_after, Type::INT8_ARRAY),
            (&self.expires_at, Type::TIMESTAMPTZ_ARRAY),
            (&self.expires_after, Type::INT8_ARRAY),
        ]
    }
}

fn time(due: Due) -> (Option<value::Time>, Option<i64>) {
    match due {
        Due::Unset => (None, None),
        Due::After(wait) => (None, Some(value::wait_millis(wait))),
        Due::At(time) => (Some(value::Time(time)), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_bounded_and_lose_nothing() {
        let light = vec![1; 1201];
        let sizes: Vec<usize> = parts(&light, |&weight| weight)
            .into_iter()
            .map(<[_]>::len)
            .collect();
        assert_eq!(sizes, [500, 500, 201]);
        let heavy = vec![BYTES / 2; 5];
        let sizes: Vec<usize> = parts(&heavy, |&weight| weight)
            .into_iter()
            .map(<[_]>::len)
            .collect();
        assert_eq!(sizes, [2, 2, 1]);
        assert!(parts(&[0; 0], |&weight| weight).is_empty());
    }
}
