//! Nothing begins to be sent to a destination that the relay knows to be held: by the last beat that it has heard of, or because the
//! destination itself has just said that it is gone.

use std::collections::{BTreeMap, BTreeSet};

use redeliver_outbox::{Message, store::Membership};

use crate::verify::{history::ProcessId, world::World};

/// What one process has to know of holds.
#[derive(Clone, Debug, Default)]
pub(in crate::verify) struct Known {
    held: BTreeSet<String>,
    /// Destinations that said that they are gone, and when that was written: a look at the table from before does not know of it.
    gone: BTreeMap<String, Option<u64>>,
    /// Counts looks and writes, to tell which came first.
    clock: u64,
}

impl Known {
    const fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }
}

fn known<T>(world: &World, process: ProcessId, change: impl FnOnce(&mut Known) -> T) -> T {
    change(&mut world.state().records.life(process).holds)
}

/// The table is looked at for a beat, now.
pub(in crate::verify) fn looked(world: &World, process: ProcessId) -> u64 {
    known(world, process, Known::tick)
}

/// The process hears what that look has found.
pub(in crate::verify) fn heard(world: &World, process: ProcessId, look: u64, membership: &Membership) {
    let found: BTreeSet<String> = membership
        .holds
        .iter()
        .map(|hold| hold.destination.clone())
        .collect();
    known(world, process, |known| {
        let gone = std::mem::take(&mut known.gone);
        // What is in the table is the table's to end.
        known.gone = gone
            .into_iter()
            .filter(|(name, written)| !found.contains(name) && written.is_none_or(|written| written > look))
            .collect();
        known.held = found.into_iter().chain(known.gone.keys().cloned()).collect();
    });
}

/// A destination has told the process that it is gone.
pub(in crate::verify) fn gone(world: &World, process: ProcessId, destination: &str) {
    known(world, process, |known| {
        if known.held.insert(destination.to_owned()) {
            known.gone.insert(destination.to_owned(), None);
        }
    });
}

/// The process has written that.
pub(in crate::verify) fn written(world: &World, process: ProcessId, destination: &str) {
    known(world, process, |known| {
        let now = known.tick();
        if let Some(written) = known.gone.get_mut(destination) {
            written.get_or_insert(now);
        }
    });
}

/// A send begins.
pub(in crate::verify) fn check(world: &World, process: ProcessId, message: &Message) {
    let held = known(world, process, |known| known.held.contains(&message.destination));
    if held {
        let what = format!(
            "{process} sent it to {}, which it knew to be held",
            message.destination
        );
        world.object("holds", Some(message.number()), what);
    }
}
