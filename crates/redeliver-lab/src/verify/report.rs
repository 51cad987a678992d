use std::{collections::BTreeMap, fmt};

use serde::Serialize;

/// Why a message arrived twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Its process crashed before it could write down that it had arrived.
    Crash,
    /// Its process was not scheduled for longer than its lease.
    Pause,
    /// The destination took it, and the relay never heard so.
    LostAnswer,
    /// The database kept its process from renewing its lease.
    LeaseExpiry,
    /// The database's clock was set forward, which ended leases.
    ClockStep,
    /// Its process was told to stop, and ran out of time.
    Shutdown,
    /// An operator put it back.
    Redrive,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Crash => "crash",
            Self::Pause => "pause",
            Self::LostAnswer => "lost answer",
            Self::LeaseExpiry => "lease expiry",
            Self::ClockStep => "clock step",
            Self::Shutdown => "shutdown",
            Self::Redrive => "redrive",
        })
    }
}

/// What happened in one history, or in many.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Histories.
    pub seeds: u64,
    /// Virtual time, in milliseconds.
    pub simulated_ms: u64,
    /// Messages committed.
    pub messages: u64,
    /// Transactions rolled back.
    pub rolled_back: u64,
    /// Attempts begun.
    pub attempts: u64,
    /// Messages that a destination took for the first time.
    pub delivered: u64,
    /// Messages that ended as dead letters, or were given up.
    pub dead: u64,
    /// Processes that crashed.
    pub crashes: u64,
    /// Processes that were not scheduled for a while.
    pub pauses: u64,
    /// Processes that were told to stop in the middle.
    pub stops: u64,
    /// Calls to the database that failed before they did anything.
    pub refused_calls: u64,
    /// Calls to the database that did something, and whose answer was lost.
    pub lost_commits: u64,
    /// Times that the database's clock was set.
    pub clock_steps: u64,
    /// Shards that changed their owner.
    pub takeovers: u64,
    /// Writes of a passed epoch, refused.
    pub fenced: u64,
    /// Dead letters put back.
    pub redriven: u64,
    /// Dead letters given up.
    pub discarded: u64,
    /// Destinations that operators paused.
    pub holds: u64,
    /// Lanes that operators parked.
    pub parks: u64,
    /// Duplicates by their cause.
    pub duplicates: BTreeMap<Cause, u64>,
}

impl Counts {
    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in [
            (&mut self.seeds, other.seeds),
            (&mut self.simulated_ms, other.simulated_ms),
            (&mut self.messages, other.messages),
            (&mut self.rolled_back, other.rolled_back),
            (&mut self.attempts, other.attempts),
            (&mut self.delivered, other.delivered),
            (&mut self.dead, other.dead),
            (&mut self.crashes, other.crashes),
            (&mut self.pauses, other.pauses),
            (&mut self.stops, other.stops),
            (&mut self.refused_calls, other.refused_calls),
            (&mut self.lost_commits, other.lost_commits),
            (&mut self.clock_steps, other.clock_steps),
            (&mut self.takeovers, other.takeovers),
            (&mut self.fenced, other.fenced),
            (&mut self.redriven, other.redriven),
            (&mut self.discarded, other.discarded),
            (&mut self.holds, other.holds),
            (&mut self.parks, other.parks),
        ] {
            *mine += theirs;
        }
        for (&cause, &count) in &other.duplicates {
            *self.duplicates.entry(cause).or_default() += count;
        }
    }
}

/// A checker's objection, with all that is needed to see why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The seed that shows it.
    pub seed: u64,
    /// The checker.
    pub checker: &'static str,
    /// What it objects to.
    pub what: String,
    /// The number of the message that it is about, if it is about one.
    pub message: Option<i64>,
    /// What happened, line by line.
    pub history: Vec<String>,
}

/// How one history ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What happened in it.
    pub counts: Counts,
    /// The same for the same seed, always.
    pub fingerprint: u64,
    /// The first objection, if there is one.
    pub violation: Option<Violation>,
}
