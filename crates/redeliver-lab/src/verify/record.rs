//! What is known of each message and each process, gathered while the history runs.

use std::collections::{BTreeMap, BTreeSet};

use redeliver_outbox::MessageId;

use super::{
    checks::{holds::Known, parks},
    history::{Kind, LeaseSeen, ProcessId},
};

/// One attempt to deliver a message.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) process: ProcessId,
    pub(super) lease: LeaseSeen,
    pub(super) number: u32,
    pub(super) redrive: u32,
    pub(super) began: u64,
    pub(super) arrived: Option<u64>,
    /// Whether the destination has the message by it.
    pub(super) taken: bool,
    /// What the relay heard, and when.
    pub(super) heard: Option<(Kind, u64)>,
    /// The wait that the destination asked for.
    pub(super) asked_wait_ms: u64,
    /// Whether what came of it is in the database.
    pub(super) written: bool,
}

/// A message that was committed.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) destination: String,
    pub(super) key: Option<String>,
    /// As it was inserted, and as operators have changed it, the newest last.
    pub(super) payloads: Vec<String>,
    pub(super) committed: u64,
    /// Kills whoever sends it.
    pub(super) poison: bool,
    /// Is not what its destination expects.
    pub(super) broken: bool,
    pub(super) id: Option<MessageId>,
    pub(super) shard: u16,
    pub(super) attempts: Vec<Attempt>,
    /// An attempt that was counted before its send: in which life, and which.
    pub(super) counted: Option<(u32, u32)>,
    /// Whether it was ever a dead letter.
    pub(super) died: bool,
    /// The act that redrove it last, 0 if none did.
    pub(super) redriven_by: i64,
}

/// What befell a process that its leases may have ended by.
#[derive(Clone, Debug, Default)]
pub(super) struct Life {
    pub(super) started: u64,
    pub(super) crashed: Option<u64>,
    /// From when to when it was not scheduled.
    pub(super) pauses: Vec<(u64, u64)>,
    /// When the database failed it or kept it waiting.
    pub(super) troubles: Vec<u64>,
    pub(super) stopped_unclean: Option<u64>,
    /// What it holds that is being sent, or whose verdict is not written yet and was not refused.
    pub(super) busy: BTreeMap<i64, LeaseSeen>,
    /// How many attempts are under way, by destination.
    pub(super) flying: BTreeMap<String, usize>,
    /// What it knows of destinations that are held.
    pub(super) holds: Known,
    /// What it knows of lanes that are parked by hand.
    pub(super) parks: parks::Known,
}

/// When a shard was claimed, in each epoch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    pub(super) at: u64,
    pub(super) clean: bool,
}

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) messages: BTreeMap<i64, Sent>,
    /// Payloads of transactions that were rolled back.
    pub(super) never: BTreeSet<String>,
    pub(super) lives: BTreeMap<ProcessId, Life>,
    pub(super) claims: BTreeMap<LeaseSeen, Claim>,
    /// De-duplication keys, and the message that each stands for.
    pub(super) keys: BTreeMap<String, i64>,
    /// When the database's clock was set, and by how much.
    pub(super) steps: Vec<(u64, i64)>,
    /// Until when the database refuses the verdicts on a message, once it has met one.
    pub(super) refused: BTreeMap<i64, u64>,
}

impl Records {
    pub(super) fn life(&mut self, process: ProcessId) -> &mut Life {
        self.lives.entry(process).or_default()
    }

    /// Whether the database's clock was set between two times.
    pub(super) fn stepped_between(&self, from: u64, to: u64) -> bool {
        self.steps.iter().any(|&(at, _)| at >= from && at <= to)
    }
}
