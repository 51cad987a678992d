use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

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

/// A relay's counters.
#[derive(Debug, Default)]
pub struct Figures {
    pub(super) attempts: AtomicU64,
    pub(super) delivered: AtomicU64,
    pub(super) retried: AtomicU64,
    pub(super) dead: AtomicU64,
    pub(super) fanned_out: AtomicU64,
    pub(super) shards: AtomicU64,
    pub(super) in_flight: AtomicU64,
}

impl Figures {
    /// Attempts begun.
    pub fn attempts(&self) -> u64 {
        self.attempts.load(Ordering::Relaxed)
    }

    /// Messages delivered, and that written down.
    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// Attempts that failed and were put off.
    pub fn retried(&self) -> u64 {
        self.retried.load(Ordering::Relaxed)
    }

    /// Messages quarantined.
    pub fn dead(&self) -> u64 {
        self.dead.load(Ordering::Relaxed)
    }

    /// Events that became messages.
    pub fn fanned_out(&self) -> u64 {
        self.fanned_out.load(Ordering::Relaxed)
    }

    /// Shards owned now.
    pub fn shards(&self) -> u64 {
        self.shards.load(Ordering::Relaxed)
    }

    /// Attempts on their way now.
    pub fn in_flight(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed)
    }
}
