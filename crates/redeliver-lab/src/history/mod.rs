//! What happened to messages between a transaction and a destination, as plain data, and checkers that know nothing of the relay.
//!
//! Whoever torments relays records here what was committed, what arrived and how it was answered, and every disturbance that was
//! caused; at the end, what the tables hold. The checkers then say what cannot be explained.

mod checks;
mod recovery;
mod story;

use std::{collections::BTreeMap, fmt};

pub use checks::{Findings, Violation, check};
pub use recovery::recoveries;

/// Microseconds since the beginning of the history.
pub type Micros = u64;

/// The number by which a producer knows its message, whatever becomes of its transaction. Within a lane tickets rise in commit order.
pub type Ticket = u64;

/// One run of one relay process, from its start to its end.
pub type RelayRun = u32;

/// Everything that is known of one database and the relays on it.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// How long a silent relay keeps its shards.
    pub lease: Micros,
    /// What producers inserted.
    pub messages: BTreeMap<Ticket, Message>,
    /// What reached the destination, in the order in which it did.
    pub arrivals: Vec<Arrival>,
    /// What was done to relays and databases on purpose, or befell the machine.
    pub disturbances: Vec<Disturbance>,
    /// What the tables hold at the end.
    pub rows: Vec<Row>,
    /// The tables' log of attempts at the end.
    pub log: Vec<LoggedAttempt>,
}

/// A message, as its producer knows it.
#[derive(Clone, Debug)]
pub struct Message {
    /// Whether its transaction was committed.
    pub committed: bool,
    /// When its producer knew how the transaction had ended.
    pub ended_at: Micros,
    /// The shard that the database put it in, as far as its producer heard of it.
    pub shard: Option<u16>,
    /// Where it is to go.
    pub destination: String,
    /// Its ordering key.
    pub key: Option<String>,
    /// What is to arrive.
    pub payload: Vec<u8>,
    /// What is to become of it.
    pub fate: Fate,
    /// How many attempts its destination's policy allows.
    pub max_attempts: u32,
}

/// How a message is meant to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is taken sooner or later.
    Taken,
    /// Its destination refuses it for good.
    Rejected,
    /// Its destination puts it off until its attempts are used up.
    PutOff,
    /// It is not what its destination expects, and is never sent.
    Broken,
    /// Nobody knows its destination.
    Unroutable,
}

/// One request of a relay.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// When it had arrived in full.
    pub at: Micros,
    /// When it was answered, or dropped.
    pub answered_at: Micros,
    /// Which message.
    pub ticket: Ticket,
    /// The id under which it came.
    pub id: String,
    /// The attempt that the relay said it was.
    pub attempt: u32,
    /// Which run of which relay sent it.
    pub relay: RelayRun,
    /// What came.
    pub payload: Vec<u8>,
    /// What the destination did about it.
    pub answer: Answer,
}

/// What a destination did with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Took the message and said so.
    Accepted,
    /// Took the message; the answer was lost, or came too late to be heard.
    TakenUnheard,
    /// Took nothing, and asked to come again.
    PutOff,
    /// Took nothing, and cut the connection.
    Cut,
    /// Took nothing, for good.
    Rejected,
}

impl Answer {
    /// Whether the destination has the message now.
    #[must_use]
    pub const fn is_taken(self) -> bool {
        matches!(self, Self::Accepted | Self::TakenUnheard)
    }
}

/// What was done to a relay, or to the database under all of them.
#[derive(Clone, Copy, Debug)]
pub struct Disturbance {
    /// What.
    pub kind: DisturbanceKind,
    /// To which run; to all of them if to none.
    pub relay: Option<RelayRun>,
    /// From when.
    pub from: Micros,
    /// Until when; for ever for a kill.
    pub until: Micros,
}

/// The kinds of disturbances, which are also the causes of duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DisturbanceKind {
    /// The relay was ended with SIGKILL.
    Kill,
    /// The relay was stopped with SIGSTOP, and went on later.
    Stop,
    /// The database was ended at once, and started again.
    Restart,
    /// The relay's connections to the database were cut, or carried nothing for a while.
    Cut,
    /// The machine did not run anything for so long that a lease was in danger.
    Stall,
}

impl DisturbanceKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Kill, Self::Stop, Self::Restart, Self::Cut, Self::Stall];

    /// The word in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Stop => "stop",
            Self::Restart => "restart",
            Self::Cut => "cut",
            Self::Stall => "stall",
        }
    }
}

impl fmt::Display for DisturbanceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A message in the tables at the end.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Whose it is.
    pub ticket: Option<Ticket>,
    /// Its id.
    pub id: String,
    /// Its number.
    pub number: i64,
    /// Its shard.
    pub shard: u16,
    /// The view's word for where it is.
    pub status: String,
    /// Attempts counted.
    pub attempts: u32,
    /// Why it is a dead letter, if it is one.
    pub reason: Option<String>,
}

/// An attempt in the tables' log.
#[derive(Clone, Debug)]
pub struct LoggedAttempt {
    /// The message's number.
    pub number: i64,
    /// Which attempt.
    pub attempt: u32,
    /// The kind of failure.
    pub class: String,
}
