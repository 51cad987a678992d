//! What an operator looks at: quick also where there are millions of rows.

use std::{fmt, time::Duration};

use futures_core::future::BoxFuture;

use super::{AuditRecord, Filter, WorkerRecord};
use crate::{
    DeadReason, Fingerprint, Hold, MessageId, Timestamp,
    store::{LaneId, Result},
};

/// Dead letters that failed in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// What it is called; [`Fingerprint::UNGROUPED`] for those that have not been looked at yet, which need have nothing in common.
    pub fingerprint: Fingerprint,
    /// Where they were to go; empty if they are events.
    pub destination: String,
    /// Why they were quarantined; none if a later version has another word for it.
    pub reason: Option<DeadReason>,
    /// What the newest of them met.
    pub error: String,
    /// How many there are that nobody has given up.
    pub count: u64,
    /// When the oldest of them was quarantined.
    pub first_seen: Timestamp,
    /// When the newest was.
    pub last_seen: Timestamp,
    /// The newest.
    pub sample: MessageId,
    /// How many lanes stand still for one of them.
    pub parked_lanes: u64,
}

/// An issue, and how it went on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueDetail {
    /// The issue.
    pub issue: Issue,
    /// How many were quarantined in each of the last 24 hours, the oldest hour first.
    pub hours: [u64; 24],
}

/// What can be told at any time, however many messages there are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pulse {
    /// The database's clock.
    pub now: Timestamp,
    /// The workers.
    pub workers: Vec<WorkerRecord>,
    /// The destinations that are held, by name.
    pub holds: Vec<Hold>,
    /// How many shards there are.
    pub shards: u32,
    /// How many of them have no live owner.
    pub shards_without_owner: u32,
    /// Messages being sent at the live workers' last beats.
    pub in_flight: u64,
    /// The highest number that was given to a message so far.
    pub sequence: i64,
}

/// What comes due: scheduled messages by time. Messages that no relay has looked at yet are not scheduled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outlook {
    /// The database's clock.
    pub now: Timestamp,
    /// Due already, and still there.
    pub overdue: u64,
    /// How many come due in each of the next [`Outlook::BUCKETS`] quarters of an hour.
    pub buckets: Vec<u64>,
    /// Due later than that.
    pub beyond: u64,
    /// Put away until their destination takes something again.
    pub put_away: u64,
}

impl Outlook {
    /// How many buckets there are: a day's.
    pub const BUCKETS: usize = 96;
    /// How long each of them is.
    pub const BUCKET: Duration = Duration::from_secs(15 * 60);
}

/// A lane that does not go on by itself, or not now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingLane {
    /// Which lane.
    pub lane: LaneId,
    /// The message that it waits for; none if an operator parked it and nothing died in it.
    pub head: Option<MessageId>,
    /// What it waits for.
    pub standing: Standing,
    /// How many live messages are in it, as far as was counted.
    pub depth: Depth,
}

/// Why a lane stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its head is a dead letter, and somebody has to act.
    Parked {
        /// Why the head was quarantined; none if it is being tried again, or a later version has another word for it.
        reason: Option<DeadReason>,
        /// Since when.
        since: Timestamp,
    },
    /// An operator parked it, and somebody has to let it go on.
    Held {
        /// Who parked it.
        who: String,
        /// Why.
        why: String,
        /// Since when.
        since: Timestamp,
    },
    /// Its head has failed and waits for its next attempt.
    Blocked {
        /// How often the head was attempted.
        attempts: u32,
        /// When it is attempted next.
        next_attempt_at: Timestamp,
        /// What the last attempt met.
        error: String,
        /// When the head was inserted: how long the lane may have been waiting.
        oldest: Timestamp,
    },
}

/// How many, if not too many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// At least so many.
    pub messages: u64,
    /// Whether there may be more: counting ended before the rows did.
    pub or_more: bool,
}

/// The rows and bytes of the outbox, as cheaply as the database tells them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Storage {
    /// The tables, by name.
    pub tables: Vec<TableStorage>,
    /// The size of the whole database, whatever else is in it.
    pub database_bytes: Option<u64>,
    /// The size of the write-ahead log; SQLite only.
    pub wal_bytes: Option<u64>,
    /// What is free for new rows within the files.
    pub free_bytes: Option<u64>,
    /// Changes that are not yet purged (the history list length); MariaDB and MySQL only, if they let us see it.
    pub unpurged: Option<u64>,
    /// What keeps dead rows from being removed, the oldest first.
    pub held_back_by: Vec<Holder>,
}

/// One table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableStorage {
    /// Its name, as the database knows it.
    pub name: String,
    /// How many rows it has.
    pub rows: u64,
    /// How well that is known.
    pub known: Known,
    /// Its size with its indexes.
    pub bytes: Option<u64>,
    /// Rows that are gone and still take room.
    pub dead_rows: Option<u64>,
    /// When it was last vacuumed.
    pub vacuumed_at: Option<Timestamp>,
    /// When its statistics were last made.
    pub analyzed_at: Option<Timestamp>,
}

/// How well a number of rows is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Known {
    /// Counted.
    Exactly,
    /// As the database guesses.
    #[default]
    Roughly,
    /// Not more than that.
    AtMost,
    /// Not fewer than that.
    AtLeast,
}

/// A transaction, or something like it, that keeps dead rows from being removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// What it is: `transaction`, `prepared transaction`, `replication slot`, `standby`.
    pub kind: String,
    /// The process or the connection in the database; none if there is none.
    pub process: Option<i64>,
    /// What it does just now, in the database's word; never its statement, which may hold secrets.
    pub state: String,
    /// What it calls itself, if it does.
    pub application: String,
    /// For how long it has been there, where that is known.
    pub age: Option<Duration>,
}

/// The half of the desk that changes nothing.
pub trait Look: Send + Sync + fmt::Debug {
    /// The issues that the dead letters are of, those with the most letters first.
    fn issues(&self, limit: usize) -> BoxFuture<'_, Result<Vec<Issue>>>;

    /// One of them; none if no dead letter is of it.
    fn issue(&self, fingerprint: Fingerprint) -> BoxFuture<'_, Result<Option<IssueDetail>>>;

    /// The number behind this one (before it, if the newest come first) that a message has, in the tables in which the filter can find
    /// something at all. It need not match.
    fn nearest<'a>(
        &'a self,
        filter: &'a Filter,
        behind: Option<i64>,
        newest_first: bool,
    ) -> BoxFuture<'a, Result<Option<i64>>>;

    /// Who is at work, and on how much: the cheap half of the figures.
    fn pulse(&self) -> BoxFuture<'_, Result<Pulse>>;

    /// The highest number that was given so far, by which what is inserted can be counted. Transactions that were rolled back have used
    /// some.
    fn sequence(&self) -> BoxFuture<'_, Result<i64>>;

    /// What comes due within a day.
    fn outlook(&self) -> BoxFuture<'_, Result<Outlook>>;

    /// Lanes that stand or wait, those that need somebody first, and of each kind the longest standing first. At most so many of each kind.
    fn lanes(&self, limit: usize) -> BoxFuture<'_, Result<Vec<StandingLane>>>;

    /// How much room everything takes. Counts are never made for it.
    fn storage(&self) -> BoxFuture<'_, Result<Storage>>;

    /// Acts of operators, the newest first, before the record of this number.
    fn audit_page(&self, before: Option<i64>, limit: usize) -> BoxFuture<'_, Result<Vec<AuditRecord>>>;
}
