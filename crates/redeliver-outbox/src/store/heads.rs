//! The first scheduled messages of a lane, which a read looks up for every lane that it has a message of.
//!
//! What is scheduled stays in the database: neither memory nor the time to take over a shard grows with it.

use std::collections::BTreeSet;

use super::{
    Head, Result, Until,
    columns::{Columns, Known as _},
};
use crate::{Message, Timestamp, limits::KEY_LIMIT};

/// The lane of a message, by its shard, destination and key.
pub(super) type Lane<'a> = (u16, &'a str, &'a str);

/// The lanes of messages, each once. A key that was cut off or is no Unicode text names no lane.
pub(super) fn lanes<'a>(messages: impl IntoIterator<Item = &'a Message>) -> BTreeSet<Lane<'a>> {
    let lane = |message: &'a Message| -> Option<Lane<'a>> {
        let key = message.key.as_deref()?;
        let whole = (message.withheld.is_none() || key.len() <= KEY_LIMIT) && !message.unreadable_key;
        whole.then_some((message.shard, message.destination.as_str(), key))
    };
    messages.into_iter().filter_map(lane).collect()
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
