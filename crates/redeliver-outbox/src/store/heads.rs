//! The first scheduled messages of a lane, which a read looks up for every lane that it has a message of.
//!
//! What is scheduled stays in the database: neither memory nor the time to take over a shard grows with it.

use std::collections::BTreeSet;

use super::{
    Head, Outline, Result, Until,
    columns::{Columns, Known as _},
};
use crate::{Message, Timestamp, limits::KEY_LIMIT};

/// The lane of a message, by its shard, destination and key.
pub(super) type Lane<'a> = (u16, &'a str, &'a str);

/// The lanes of messages and of rows behind the cursor, each once. A key that was cut off or cannot be read exactly names no lane.
pub(super) fn lanes<'a>(
    messages: impl IntoIterator<Item = &'a Message>,
    behind: impl IntoIterator<Item = &'a Outline>,
) -> BTreeSet<Lane<'a>> {
    let of_messages = messages.into_iter().filter_map(|message| {
        let key = message.key.as_deref().filter(|_| !message.unreadable_key)?;
        Some((message.shard, message.destination.as_str(), key))
    });
    let of_rows = behind.into_iter().filter_map(|row| {
        let key = row.key.as_deref().filter(|_| !row.unreadable_key)?;
        Some((row.shard, row.destination.as_str(), key))
    });
    let whole = |(_, _, key): &Lane<'_>| key.len() <= KEY_LIMIT;
    of_messages.chain(of_rows).filter(whole).collect()
}

/// A row of `read_heads.sql`.
pub(super) fn head(row: &mut dyn Columns) -> Result<Head> {
    Ok(Head {
        shard: row.count()?,
        lane: row.lane()?,
        id: row.id()?,
        until: match (row.known_time()?, row.flag()?) {
            (Timestamp::PARKED, true) => Until::Recovered,
            (at, _) => Until::At(at),
        },
    })
}
