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

/// A key that was cut off names no lane.
fn lane<'a>(shard: u16, destination: &'a str, key: Option<&'a str>) -> Option<Lane<'a>> {
    let key = key.filter(|key| key.len() <= KEY_LIMIT)?;
    Some((shard, destination, key))
}

/// The lanes of messages and of rows behind the cursor, each once.
pub(super) fn lanes<'a>(
    messages: impl IntoIterator<Item = &'a Message>,
    behind: impl IntoIterator<Item = &'a Outline>,
) -> BTreeSet<Lane<'a>> {
    let of_messages = messages
        .into_iter()
        .filter_map(|message| lane(message.shard, &message.destination, message.key.as_deref()));
    let of_rows = behind
        .into_iter()
        .filter_map(|row| lane(row.shard, &row.destination, row.key.as_deref()));
    of_messages.chain(of_rows).collect()
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
