//! A relay's counters: written by the relay, read by whoever wants to know.

mod counter;
mod destination;

use std::sync::{Mutex, PoisonError};

pub use counter::{BOUNDS, Spread};
pub use destination::{CLASSES, DestinationFigures, ENDINGS};

use self::{
    counter::{Counter, Times},
    destination::Counted,
};
use super::trouble::Statement;
use crate::{destination::Routes, live::Live};

/// A relay's counters.
#[derive(Debug, Default)]
pub struct Figures {
    pub(super) attempts: Counter,
    pub(super) delivered: Counter,
    pub(super) retried: Counter,
    pub(super) dead: Counter,
    pub(super) fanned_out: Counter,
    pub(super) shards: Counter,
    pub(super) in_flight: Counter,
    pub(super) renewed: Counter,
    pub(super) renewed_late: Counter,
    pub(super) lost: Counter,
    pub(super) read: Counter,
    pub(super) highest: Counter,
    pub(super) reading: Times,
    pub(super) settled: Counter,
    pub(super) settling: Times,
    pub(super) stuck: Counter,
    troubles: [Counter; Statement::ALL.len()],
    names: Vec<String>,
    /// In the order of the routes, and one more for what is for none of them.
    counted: Vec<Counted>,
    live: Mutex<Live>,
}

impl Figures {
    /// For a relay with these destinations.
    pub(super) fn of(routes: &Routes) -> Self {
        let names: Vec<String> = routes.iter().map(|(name, _)| name.to_owned()).collect();
        Self {
            counted: (0..=names.len()).map(|_| Counted::default()).collect(),
            names,
            ..Self::default()
        }
    }

    /// The counters of a route; of what has none, if there is none.
    pub(super) fn route(&self, route: Option<usize>) -> &Counted {
        let elsewhere = self.names.len();
        &self.counted[route.map_or(elsewhere, |route| route.min(elsewhere))]
    }

    pub(super) fn failed(&self, statement: Statement) {
        self.troubles[statement as usize].add(1);
    }

    pub(super) fn live_now(&self, live: Live) {
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = live;
    }

    /// The relay has ended: what was on its way is not its any more.
    pub(super) fn at_rest(&self) {
        self.shards.set(0);
        self.in_flight.set(0);
        self.stuck.set(0);
        self.counted.iter().for_each(Counted::at_rest);
    }

    /// Attempts begun.
    pub fn attempts(&self) -> u64 {
        self.attempts.get()
    }

    /// Messages delivered, and that written down.
    pub fn delivered(&self) -> u64 {
        self.delivered.get()
    }

    /// Attempts that failed and were put off.
    pub fn retried(&self) -> u64 {
        self.retried.get()
    }

    /// Messages quarantined.
    pub fn dead(&self) -> u64 {
        self.dead.get()
    }

    /// Events that became messages.
    pub fn fanned_out(&self) -> u64 {
        self.fanned_out.get()
    }

    /// Shards owned now.
    pub fn shards(&self) -> u64 {
        self.shards.get()
    }

    /// Attempts on their way now.
    pub fn in_flight(&self) -> u64 {
        self.in_flight.get()
    }

    /// How often the lease was renewed in time.
    pub fn renewed(&self) -> u64 {
        self.renewed.get()
    }

    /// How often the lease was renewed only after the relay had to count on its end: nothing was sent meanwhile.
    pub fn renewed_late(&self) -> u64 {
        self.renewed_late.get()
    }

    /// Shards that were somebody else's before they were given back.
    pub fn lost(&self) -> u64 {
        self.lost.get()
    }

    /// Messages read, some of them more than once.
    pub fn read(&self) -> u64 {
        self.read.get()
    }

    /// The highest number of a message that was read.
    pub fn highest(&self) -> u64 {
        self.highest.get()
    }

    /// How long reads took.
    pub fn reading(&self) -> Spread {
        self.reading.spread()
    }

    /// Verdicts written.
    pub fn settled(&self) -> u64 {
        self.settled.get()
    }

    /// How long it took to write batches of verdicts.
    pub fn settling(&self) -> Spread {
        self.settling.spread()
    }

    /// Verdicts that the database refuses now.
    pub fn stuck(&self) -> u64 {
        self.stuck.get()
    }

    /// How often each kind of statement failed, by its name.
    pub fn troubles(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.troubles.iter().map(Counter::get);
        Statement::ALL
            .iter()
            .map(|statement| statement.as_str())
            .zip(counts)
    }

    /// The counts of each destination, by its name; events have none. What was for no destination that there is comes last, without one.
    pub fn destinations(&self) -> impl Iterator<Item = (Option<&str>, DestinationFigures)> {
        let names = self.names.iter().map(|name| Some(name.as_str())).chain([None]);
        names.zip(self.counted.iter().map(Counted::figures))
    }

    /// How the relay found its destinations at its last beat.
    pub fn live(&self) -> Live {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
