//! The history as it comes in: from producers, from the destination, from the tormentor. One lock gives it one order.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redeliver::{Moment, clock};
use tokio::sync::watch;

use crate::history::{
    Answer, Arrival, Disturbance, DisturbanceKind, Fate, History, Message, Micros, RelayRun, Ticket,
    Violation,
};

/// How a transaction ended, as far as its producer heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Committed,
    RolledBack,
    /// The answer to the commit was lost.
    Unknown,
}

impl Ended {
    pub(super) const fn of_commit(answered: bool) -> Self {
        if answered { Self::Committed } else { Self::Unknown }
    }
}

#[derive(Debug)]
pub(super) struct Record {
    origin: Moment,
    state: Mutex<State>,
    arrivals: watch::Sender<usize>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) history: History,
    pub(super) unknown: Vec<Ticket>,
    pub(super) violations: Vec<Violation>,
    last_ticket: Ticket,
    last_run: RelayRun,
    /// Who sent the last message of each shard.
    senders: HashMap<u16, RelayRun>,
    waiting: HashSet<Ticket>,
}

impl Record {
    pub(super) fn new(lease: Duration) -> Self {
        let state = State {
            history: History {
                lease: micros(lease),
                ..History::default()
            },
            ..State::default()
        };
        Self {
            origin: clock::now(),
            state: Mutex::new(state),
            arrivals: watch::Sender::new(0),
        }
    }

    pub(super) fn now(&self) -> Micros {
        micros(clock::now().since(self.origin))
    }

    /// Nothing that holds the lock panics, and if it did, what it wrote is still what happened.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn next_run(&self) -> RelayRun {
        let mut state = self.state();
        state.last_run += 1;
        state.last_run
    }

    /// Notes a message before it is inserted: whatever becomes of its transaction, it is known.
    pub(super) fn inserting(&self, make: impl FnOnce(Ticket) -> Message) -> (Ticket, Message) {
        let mut state = self.state();
        state.last_ticket += 1;
        let ticket = state.last_ticket;
        let message = make(ticket);
        state.history.messages.insert(ticket, message.clone());
        (ticket, message)
    }

    pub(super) fn in_shard(&self, ticket: Ticket, shard: u16) {
        if let Some(message) = self.state().history.messages.get_mut(&ticket) {
            message.shard = Some(shard);
        }
    }

    pub(super) fn ended(&self, tickets: &[Ticket], ended: Ended) {
        let mut guard = self.state();
        let now = self.now();
        let state = &mut *guard;
        for ticket in tickets {
            let Some(message) = state.history.messages.get_mut(ticket) else {
                continue;
            };
            message.ended_at = now;
            match ended {
                Ended::Committed => {
                    message.committed = true;
                    if message.fate == Fate::Taken {
                        state.waiting.insert(*ticket);
                    }
                }
                Ended::RolledBack => {}
                Ended::Unknown => state.unknown.push(*ticket),
            }
        }
    }

    /// Notes a request, and says where, so that its answer can be noted too. Unless one is, its relay hears the end of it after `wait`.
    pub(super) fn arrived(&self, mut arrival: Arrival, wait: Duration) -> usize {
        let mut state = self.state();
        arrival.at = self.now();
        arrival.answered_at = arrival.at.saturating_add(micros(wait));
        let shard = state
            .history
            .messages
            .get(&arrival.ticket)
            .and_then(|message| message.shard);
        if let Some(shard) = shard {
            state.senders.insert(shard, arrival.relay);
        }
        state.history.arrivals.push(arrival);
        let count = state.history.arrivals.len();
        drop(state);
        self.arrivals.send_replace(count);
        count - 1
    }

    pub(super) fn answered(&self, index: usize, answer: Answer) {
        let mut state = self.state();
        let now = self.now();
        let arrival = &mut state.history.arrivals[index];
        (arrival.answer, arrival.answered_at) = (answer, now);
        let ticket = arrival.ticket;
        if answer == Answer::Accepted {
            state.waiting.remove(&ticket);
        }
    }

    pub(super) fn fate(&self, ticket: Ticket) -> Option<Fate> {
        Some(self.state().history.messages.get(&ticket)?.fate)
    }

    /// How many messages are committed and not yet accepted.
    pub(super) fn backlog(&self) -> usize {
        self.state().waiting.len()
    }

    /// Notes that something begins that is not over yet.
    pub(super) fn disturb(&self, kind: DisturbanceKind, relay: Option<RelayRun>) -> usize {
        let mut state = self.state();
        let from = self.now();
        state.history.disturbances.push(Disturbance {
            kind,
            relay,
            from,
            until: Micros::MAX,
        });
        state.history.disturbances.len() - 1
    }

    pub(super) fn over(&self, disturbance: usize) {
        let mut state = self.state();
        state.history.disturbances[disturbance].until = self.now();
    }

    pub(super) fn stalled(&self, from: Moment, until: Moment) {
        let disturbance = Disturbance {
            kind: DisturbanceKind::Stall,
            relay: None,
            from: micros(from.since(self.origin)),
            until: micros(until.since(self.origin)),
        };
        self.state().history.disturbances.push(disturbance);
    }

    pub(super) fn object(&self, checker: &'static str, what: String) {
        self.state().violations.push(Violation {
            checker,
            tickets: Vec::new(),
            what,
        });
    }

    /// The shards whose last message this run sent.
    pub(super) fn shards_of(&self, run: RelayRun) -> Vec<u16> {
        let state = self.state();
        let owned = state.senders.iter().filter(|(_, sender)| **sender == run);
        owned.map(|(shard, _)| *shard).collect()
    }

    /// Waits until another run has sent a message of one of these shards.
    pub(super) async fn taken_over(&self, shards: &[u16], from: RelayRun) {
        let mut arrivals = self.arrivals.subscribe();
        // The sender lives as long as this record.
        let _ = arrivals
            .wait_for(|_| {
                let state = self.state();
                let changed = |shard| state.senders.get(shard).is_some_and(|&sender| sender != from);
                shards.is_empty() || shards.iter().any(changed)
            })
            .await;
    }
}

fn micros(duration: Duration) -> Micros {
    Micros::try_from(duration.as_micros()).unwrap_or(Micros::MAX)
}
