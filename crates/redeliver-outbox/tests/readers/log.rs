//! What the readers returned and what was settled, by ownership.

use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering},
};

use redeliver_outbox::{Message, store::Lease};

use crate::ledger::Row;

/// When something happened, in the order of all that happened in this process.
pub(crate) type Tick = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Fresh,
    /// Asked for by its lane.
    Lane,
    /// Its time had come, and it was its turn.
    Due,
}

#[derive(Clone, Debug)]
pub(crate) struct Returned {
    pub(crate) number: i64,
    pub(crate) how: How,
    pub(crate) row: Row,
    /// When the read had ended.
    pub(crate) at: Tick,
}

impl Returned {
    pub(crate) fn new(message: &Message, how: How, at: Tick) -> Self {
        Self {
            number: message.number(),
            how,
            row: Row::of(message),
            at,
        }
    }
}

/// A verdict that the store took.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) number: i64,
    pub(crate) row: Row,
    pub(crate) delivered: bool,
    /// When it was given to the store.
    pub(crate) at: Tick,
}

/// A shard in one epoch.
#[derive(Clone, Debug)]
pub(crate) struct Ownership {
    pub(crate) lease: Lease,
    pub(crate) owner: String,
    /// Before and after the claim.
    pub(crate) claimed: (Tick, Tick),
    /// What waited for its time at the claim.
    pub(crate) scheduled: Vec<i64>,
    pub(crate) returned: Vec<Returned>,
    pub(crate) written: Vec<Written>,
    /// What was committed and not read when the shard was to be released.
    pub(crate) unread: Vec<i64>,
    /// What was due though nobody waited for it.
    pub(crate) odd: Vec<Returned>,
}

#[derive(Debug, Default)]
pub(crate) struct Log {
    ticks: AtomicU64,
    returned: AtomicU64,
    delivered: AtomicU64,
    refused: AtomicU64,
    ownerships: Mutex<Vec<Ownership>>,
}

impl Log {
    pub(crate) fn tick(&self) -> Tick {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }

    pub(crate) fn file(&self, ownership: Ownership) {
        self.ownerships.lock().unwrap().push(ownership);
    }

    pub(crate) fn count(&self, returned: usize, delivered: usize) {
        self.returned.fetch_add(returned as u64, Ordering::Relaxed);
        self.delivered.fetch_add(delivered as u64, Ordering::Relaxed);
    }

    /// A settle was refused for shards that somebody else owned.
    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// How many rows were returned, and how many are delivered.
    pub(crate) fn so_far(&self) -> (u64, u64) {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (load(&self.returned), load(&self.delivered))
    }

    pub(crate) fn refusals(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    pub(crate) fn ownerships(&self) -> Vec<Ownership> {
        let mut ownerships = std::mem::take(&mut *self.ownerships.lock().unwrap());
        ownerships.sort_by_key(|ownership| ownership.lease);
        ownerships
    }
}
