//! The outbox in figures.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    Hold, Timestamp,
    live::{self, Live},
};

/// The figures of the whole outbox.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusReport {
    /// The database's clock.
    pub now: Timestamp,
    /// The sum over all destinations, and of what waits or died as an event.
    pub total: Figures,
    /// Events: those that became messages count as sent.
    pub events: Figures,
    /// By destination.
    pub destinations: BTreeMap<String, Figures>,
    /// How many live messages have been attempted how often.
    pub attempts: BTreeMap<u32, u64>,
    /// Messages being sent at the workers' last beats.
    pub in_flight: u64,
    /// The workers.
    pub workers: Vec<WorkerRecord>,
    /// The destinations that are held, by name.
    pub holds: Vec<Hold>,
    /// How many shards there are.
    pub shards: u32,
    /// How many of them have no live owner.
    pub shards_without_owner: u32,
}

/// Figures of some messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Due, held back by nothing but the relay's pace.
    pub due_now: u64,
    /// Waiting for their time.
    pub waiting: u64,
    /// Put away until their destination takes something again.
    pub put_away: u64,
    /// In parked lanes.
    pub parked: u64,
    /// Sent, as far back as the history goes.
    pub sent: u64,
    /// Dead letters.
    pub dead: u64,
    /// How long the oldest due message has been due.
    pub oldest_lag: Option<Duration>,
}

impl StatusReport {
    /// How the workers that are alive find the destinations, as one.
    #[must_use]
    pub fn live(&self) -> Live {
        let alive = self.workers.iter().filter(|worker| worker.alive);
        live::sum(alive.map(|worker| &worker.destinations))
    }
}

/// A worker.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerRecord {
    /// Its id.
    pub id: String,
    /// When it started.
    pub started_at: Timestamp,
    /// When it was last heard of.
    pub seen_at: Timestamp,
    /// Whether its lease holds.
    pub alive: bool,
    /// How many shards it owns.
    pub shards: u32,
    /// What it was sending at its last beat.
    pub in_flight: u32,
    /// How it found its destinations at its last beat.
    pub destinations: Live,
}
