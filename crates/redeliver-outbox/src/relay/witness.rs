use std::{fmt, time::Duration};

use crate::{
    Message,
    destination::Outcome,
    store::{Lease, Settlement},
};

/// What happens in a relay, as it happens.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Happening<'a> {
    /// The relay owns one more shard.
    Owned(Lease),
    /// The relay has given a shard back.
    Released(Lease),
    /// The shard was somebody else's, or its lease could not be renewed in time.
    Lost(Lease),
    /// An attempt begins.
    Sending {
        /// The message.
        message: &'a Message,
        /// Which attempt.
        attempt: u32,
        /// Under which lease.
        lease: Lease,
    },
    /// An attempt has ended.
    Ended {
        /// The message.
        message: &'a Message,
        /// Which attempt.
        attempt: u32,
        /// Under which lease it began; another may hold by now.
        lease: Lease,
        /// What came of it.
        outcome: &'a Outcome,
        /// How long it took.
        took: Duration,
        /// Whether it is the message's: if not it told of the destination alone, and the message is as it was before.
        counts: bool,
    },
    /// What became of a message is in the database.
    Settled(&'a Settlement),
    /// The database made trouble.
    Trouble(&'a str),
}

/// Someone who is told.
pub trait Witness: Send + Sync + fmt::Debug {
    /// This happened.
    fn saw(&self, happening: Happening<'_>);
}

/// Nobody.
impl Witness for () {
    fn saw(&self, _: Happening<'_>) {}
}
