//! What events became, and sending them once more.

use super::Record;
use crate::{Timestamp, TopicPattern};

/// A message that was made of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Where to.
    pub destination: String,
    /// The number of the message.
    pub number: i64,
    /// The message, without its payload; none once it is forgotten.
    pub record: Option<Record>,
}

/// Which events of the history are delivered once more, and where to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The destination. An event that has a message to it already gets no other.
    pub to: String,
    /// The topics.
    pub topic: TopicPattern,
    /// Inserted at this time or later.
    pub since: Timestamp,
    /// Inserted before this time.
    pub until: Option<Timestamp>,
}

/// What one step of a replay did, or would do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// The messages made, one an event.
    pub messages: u64,
    /// Events that have a message to the destination already.
    pub there_before: u64,
    /// Events whose payload the history has not kept: no message can be made of them.
    pub without_payload: u64,
    /// When the oldest event of the history was inserted; none if it has none.
    pub oldest: Option<Timestamp>,
    /// Where the next step begins; none if this was the last one.
    pub next: Option<i64>,
}
