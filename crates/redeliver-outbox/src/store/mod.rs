//! What the relay asks of a database, and what an operator does there.
//!
//! Three narrow traits instead of one wide one: [`Store`] is what the engine drives, [`Reader`] the way through the rows of the shards
//! that it owns, [`Desk`](crate::desk::Desk) the operator's side. Every store passes the same conformance suite.

use std::{fmt, time::Duration};

use futures_core::future::BoxFuture;

use crate::{DeadReason, Held, Hold, Message, MessageId, NewHold, Timestamp, live::Live};

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod acted;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod behind;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod columns;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod desk;
mod error;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod filter;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod heads;
mod history;
#[cfg(feature = "mysql")]
pub(crate) mod mysql;
mod names;
mod open;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod patient;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod schema;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod weigh;

pub use error::{StoreError, StoreErrorKind};
pub use history::History;
#[cfg(feature = "mysql")]
pub use mysql::MySqlStore;
pub use names::Names;
pub use open::{Opened, missing_file, open};
#[cfg(feature = "postgres")]
pub use postgres::{PostgresOptions, PostgresStore};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;

/// The result of asking a store.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Who asks: one relay, in one process, since one start. Never used twice.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId(pub String);

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A sign of life, and what the worker wants to be known of it.
#[derive(Clone, Debug)]
pub struct Beat {
    /// Who.
    pub worker: WorkerId,
    /// How long the worker counts as alive after this beat, on the database's clock.
    pub lease: Duration,
    /// How many messages it is sending just now.
    pub in_flight: u32,
    /// How it finds its destinations.
    pub destinations: Live,
}

/// The answer to a beat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The database's clock.
    pub now: Timestamp,
    /// How many workers are alive, this one among them.
    pub workers: usize,
    /// How many shards there are.
    pub shards: usize,
    /// The shards that are this worker's, with their epochs.
    pub owned: Vec<Lease>,
    /// How many shards are free for this worker to claim now.
    pub claimable: usize,
    /// In how much time the next other worker's lease ends, if it does not beat again.
    pub next_expiry: Option<Duration>,
    /// The destinations that are held, by name. A hold that was written, or ended, before the beat was issued is told as it is then.
    pub holds: Vec<Hold>,
}

/// A shard and the epoch in which it is owned. Each change of owner begins another epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lease {
    /// Which shard.
    pub shard: u16,
    /// Which epoch.
    pub epoch: i64,
}

/// A shard that has just become this worker's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The shard, in its new epoch.
    pub lease: Lease,
    /// What the owner before left behind.
    pub left: Left,
    /// The highest number in the shard: what may have been in flight under the owner before is not above it.
    pub highest: i64,
    /// Lanes that stand still until an operator acts.
    pub parked: Vec<ParkedLane>,
}

/// How the owner before ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Nobody owned the shard before, or its owner settled everything that it had begun.
    Clean,
    /// Its owner went silent, or stopped in the middle: up to `window` messages of the shard may have been on their way.
    Crashed {
        /// The most messages that it held at a time.
        window: u32,
    },
}

/// The lane of a message: its destination and its key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaneId {
    /// The destination.
    pub destination: String,
    /// The key.
    pub key: String,
}

/// A scheduled message at the beginning of a lane: what comes after it in the lane waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The shard of the lane.
    pub shard: u16,
    /// The lane.
    pub lane: LaneId,
    /// The message.
    pub id: MessageId,
    /// When it is due.
    pub until: Until,
}

/// A lane that stands still, or stood still until now.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ParkedLane {
    /// Which lane.
    pub lane: LaneId,
    /// The message that became a dead letter; 0 if there is none, because an operator parked the lane.
    pub head: i64,
}

/// What a relay has room for.
#[derive(Clone, Debug, Default)]
pub struct Demand {
    /// At most so many messages that were never scheduled, over all shards.
    pub fresh: usize,
    /// At most so many messages whose time has come, over all shards. What is held already may be among them.
    pub due: usize,
    /// Lanes, and destinations, whose next messages were let go for want of room and are wanted again.
    pub lanes: Vec<LaneDemand>,
    /// How many bytes all of it may have.
    pub bytes: Bytes,
    /// At most this many rows behind the cursors are looked at; 0 if none are.
    pub behind: usize,
}

/// How many bytes a read may bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// About so many in all. Where they are not enough for all messages that are asked for, fewer come, at least the first of each kind.
    pub all: usize,
    /// Of a message with a longer payload, or with anything else of more than an eighth of this, only what identifies it is read: it
    /// is [`withheld`](Message::withheld).
    pub largest: usize,
}

impl Default for Bytes {
    fn default() -> Self {
        Self {
            all: usize::MAX,
            largest: usize::MAX,
        }
    }
}

/// A lane to read on, or the messages of a destination that have no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneDemand {
    /// The shard.
    pub shard: u16,
    /// The destination.
    pub destination: String,
    /// The key; none for the messages without one.
    pub key: Option<String>,
    /// From this number on, up to where the reader has been.
    pub from: i64,
    /// At most so many.
    pub limit: usize,
}

/// What one read found, in one snapshot of the database.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The database's clock.
    pub now: Timestamp,
    /// For each [`LaneDemand`], in its order, what the lane has in the asked range, by number, never-scheduled messages only.
    pub lanes: Vec<LaneFound>,
    /// Messages that were never scheduled and that this reader has not returned before, by shard and number.
    pub fresh: Vec<Message>,
    /// Messages whose time has come, the longest due first.
    pub due: Vec<Message>,
    /// The first two scheduled messages of each lane that this read has a message of, as far as there are any: by the time the read
    /// ends, the first of them may have been delivered.
    pub heads: Vec<Head>,
    /// Shards whose never-scheduled messages were read to the end: a limit has cut nothing off. Until a shard has been here once, a
    /// due message may have predecessors in its lane that the reader has not come to.
    pub caught_up: Vec<u16>,
    /// Lanes that an operator has parked: nothing of them goes out until they are among the resumed.
    pub parked: Vec<(u16, LaneId)>,
    /// Parked lanes that an operator has let go on, each with the dead letter that it goes on without. For another one that has died
    /// since, it stands still.
    pub resumed: Vec<(u16, ParkedLane)>,
    /// The lanes of the owned shards that are parked for a dead letter, if the reader has begun again: what was known of them may be of
    /// other tables.
    pub reloaded: Option<Vec<(u16, ParkedLane)>>,
    /// Whether a limit was met: there is more to read at once.
    pub more: bool,
    /// In how much time the next scheduled message is due, if one is.
    pub next_due: Option<Duration>,
    /// Never-scheduled messages behind the cursors, known to the relay or not: the next part of them, then the first part again.
    /// None of them can be a late commit that is still to be read as fresh.
    pub behind: Vec<Outline>,
}

impl Found {
    /// Whether there is no message in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let lanes = self.lanes.iter().all(|lane| lane.messages.is_empty());
        lanes && self.fresh.is_empty() && self.due.is_empty()
    }
}

/// A row as far as it tells which message it is. Texts that are too long for their columns are cut off, and stay too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// The message.
    pub id: MessageId,
    /// Its shard.
    pub shard: u16,
    /// How often it was redriven.
    pub redrives: u32,
    /// Its destination.
    pub destination: String,
    /// Its topic, if it is an event.
    pub topic: Option<String>,
    /// Its key, if it has one.
    pub key: Option<String>,
    /// Whether the key is no Unicode text, and was read with other characters in its place.
    pub unreadable_key: bool,
}

/// The answer to a [`LaneDemand`].
#[derive(Clone, Debug, Default)]
pub struct LaneFound {
    /// The messages, by number.
    pub messages: Vec<Message>,
    /// Whether there are no more up to where the reader had been.
    pub complete: bool,
}

/// The verdict on one message, to be written if the shard is still owned in that epoch, and dropped if it is not.
#[derive(Clone, Debug, PartialEq)]
pub struct Settlement {
    /// The shard and the epoch in which the message was read.
    pub lease: Lease,
    /// The message. Its whole id: a server that has lost its last commits gives their numbers to others.
    pub id: MessageId,
    /// How often the message had been redriven: a verdict on its life before says nothing of this one.
    pub redrives: u32,
    /// What to write.
    pub verdict: Verdict,
}

impl Settlement {
    /// The verdict on a message that was read under this lease.
    #[must_use]
    pub const fn of(message: &Message, lease: Lease, verdict: Verdict) -> Self {
        Self {
            lease,
            id: message.id,
            redrives: message.redrives,
            verdict,
        }
    }

    /// The number of the message's row.
    #[must_use]
    pub const fn number(&self) -> i64 {
        self.id.number()
    }
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It arrived. It leaves the hot table; the [`History`] gets it.
    Delivered(Attempted),
    /// It failed and is tried again.
    Retry {
        /// The attempt.
        attempted: Attempted,
        /// How long from now on the database's clock, and how long the policy said it should wait.
        wait: Duration,
    },
    /// It is quarantined.
    Dead {
        /// The last attempt, if it was ever attempted.
        attempted: Option<Attempted>,
        /// Why.
        reason: DeadReason,
        /// What is told to the operator.
        error: String,
        /// What becomes of its lane, if it has one.
        lane: AfterDeath,
    },
    /// It was an event: a message for each of these destinations takes its place, in their order, and the [`History`] gets it. No
    /// destination is named twice.
    FannedOut {
        /// The names of the destinations; none if it is for nobody.
        destinations: Vec<String>,
    },
    /// It waits for a time without having been attempted: it is not due yet, or its destination takes nothing now.
    Postponed(Until),
    /// An attempt that is about to begin, counted before the send: the one before may have ended the process.
    Counted {
        /// The number of this attempt.
        attempt: u32,
    },
    /// An attempt that was counted before the send and did not begin after all: the count is taken back.
    Uncounted {
        /// The number of that attempt.
        attempt: u32,
    },
}

/// What the log says of an attempt that was counted before the send, until it is known how it ended.
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
const INTERRUPTED: &str = "the attempt was begun, and its end is not known";

impl Verdict {
    /// Whether it can fit any state at all: attempts are counted from 1.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    const fn can_be(&self) -> bool {
        !matches!(
            self,
            Self::Delivered(Attempted { attempt: 0, .. })
                | Self::Retry {
                    attempted: Attempted { attempt: 0, .. },
                    ..
                }
                | Self::Dead {
                    attempted: Some(Attempted { attempt: 0, .. }),
                    ..
                }
                | Self::Counted { attempt: 0 }
                | Self::Uncounted { attempt: 0 }
        )
    }
}

/// When a postponed message is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// At a time that the message itself named.
    At(Timestamp),
    /// After so long.
    After(Duration),
    /// When its destination takes messages again: [`Store::unpark`] makes it due.
    Recovered,
}

/// What becomes of a lane whose head is quarantined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterDeath {
    /// The message has no lane.
    None,
    /// The lane goes on; the gap is recorded with the dead letter.
    Gap,
    /// The lane is parked until an operator redrives or discards the message.
    Park,
}

/// One attempt, as the log of attempts keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempted {
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// How long it took.
    pub took: Duration,
    /// What kind of failure it was: `transient`, `throttled`, `permanent`, `unknown`; empty if it was none.
    pub class: &'static str,
    /// What it met; empty if it was delivered. Never longer than [`ERROR_LIMIT`](crate::limits::ERROR_LIMIT).
    pub error: String,
    /// The parked lane that its delivery sets free, if it was the head of one.
    pub resumes_lane: bool,
}

/// What a settle did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// The shards whose epoch had passed. None of their settlements was written; all others were.
    pub stale: Vec<u16>,
}

/// What the engine drives.
///
/// Every method is one transaction or one statement, holds no connection when it is done, and may be called again after any error:
/// doing it twice is the same as doing it once.
pub trait Store: Send + Sync + fmt::Debug {
    /// Says that the worker lives, and asks who else does.
    fn beat<'a>(&'a self, beat: &'a Beat) -> BoxFuture<'a, Result<Membership>>;

    /// Takes at most so many shards that nobody owns, or whose owner's lease has ended.
    fn claim<'a>(
        &'a self,
        worker: &'a WorkerId,
        at_most: usize,
        window: u32,
    ) -> BoxFuture<'a, Result<Vec<Claimed>>>;

    /// Gives shards back. `clean` says that nothing of them is on its way any more.
    fn release<'a>(
        &'a self,
        worker: &'a WorkerId,
        leases: &'a [Lease],
        clean: bool,
    ) -> BoxFuture<'a, Result<()>>;

    /// The worker's end: its sign of life is removed.
    fn leave<'a>(&'a self, worker: &'a WorkerId) -> BoxFuture<'a, Result<()>>;

    /// A reader that owns nothing yet.
    fn reader(&self) -> Box<dyn Reader>;

    /// Makes at most so many deferred messages of a destination due, the first ones first, and says how many. Doing it for a shard of somebody else does no harm.
    fn unpark<'a>(
        &'a self,
        shards: &'a [u16],
        destination: &'a str,
        at_most: usize,
    ) -> BoxFuture<'a, Result<usize>>;

    /// Makes at most so many messages due that are deferred for any destination but these, or that a relay of an earlier version put
    /// away, which has no column to say so in. In no order, so that it need not look at all of them to find the first. Says how many. Doing it for a shard of somebody else does no harm.
    fn unpark_others<'a>(
        &'a self,
        shards: &'a [u16],
        known: &'a [String],
        at_most: usize,
    ) -> BoxFuture<'a, Result<usize>>;

    /// Holds a destination until an operator lets it go on, unless it is held already, and says by which hold it is.
    fn hold<'a>(&'a self, worker: &'a WorkerId, hold: &'a NewHold) -> BoxFuture<'a, Result<Held>>;

    /// Writes what became of messages: all of it in one transaction, or nothing; what belongs to a shard that has another owner by
    /// now is left out and named. A message that is not there any more was settled before.
    fn settle<'a>(
        &'a self,
        worker: &'a WorkerId,
        settlements: &'a [Settlement],
    ) -> BoxFuture<'a, Result<Settled>>;
}

/// A way through the rows of the shards that a worker owns: forward, each message once, late commits included.
pub trait Reader: Send + fmt::Debug {
    /// Begins with a shard, at its first message.
    fn own(&mut self, lease: Lease);

    /// Has done with a shard.
    fn disown(&mut self, shard: u16);

    /// Reads on, in one snapshot. After an error the next read returns what this one would have.
    ///
    /// A message is fresh once in the life of a reader, whether it is held, was let go or was settled since, and its lane's earlier
    /// messages are never fresh after it if their transactions ended before its own began. What a [`LaneDemand`] brings comes as often
    /// as it is asked for, and is not fresh any more. What is due comes again with every read until it is settled. That a lane is
    /// parked by hand, or goes on, is told once.
    fn read<'a>(&'a mut self, demand: &'a Demand) -> BoxFuture<'a, Result<Found>>;
}
