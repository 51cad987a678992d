//! The case as it comes in: from producers, the destination and the trial. One lock gives it one order.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redeliver::{Moment, clock};

use super::{
    case::{
        Arrival, Case, Commit, Due, FIRST_HOSTILE, Fault, FaultKind, Honest, Hostile, Micros, RelayRun,
        Ticket,
    },
    checks::Violation,
};

#[derive(Debug)]
pub(super) struct Record {
    origin: Moment,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) case: Case,
    /// What no checker has to find out: processes that end, memory, statements that fail.
    pub(super) violations: Vec<Violation>,
    pub(super) notes: Vec<String>,
    last_ticket: Ticket,
    last_hostile: Ticket,
    last_run: RelayRun,
}

impl Record {
    pub(super) fn new(lease: Duration) -> Self {
        let state = State {
            case: Case {
                lease: micros(lease),
                ..Case::default()
            },
            last_hostile: FIRST_HOSTILE,
            ..State::default()
        };
        Self {
            origin: clock::now(),
            state: Mutex::new(state),
        }
    }

    pub(super) fn now(&self) -> Micros {
        micros(clock::now().since(self.origin))
    }

    /// Nothing that holds the lock panics; if it did, what it wrote is still true.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn next_run(&self) -> RelayRun {
        let mut state = self.state();
        state.last_run += 1;
        state.last_run
    }

    /// Notes a message before it is inserted.
    pub(super) fn insert(&self, make: impl FnOnce(Ticket, Micros) -> Honest) -> (Ticket, Honest) {
        let mut state = self.state();
        state.last_ticket += 1;
        let ticket = state.last_ticket;
        let message = make(ticket, self.now());
        state.case.messages.insert(ticket, message.clone());
        (ticket, message)
    }

    pub(super) fn next_hostile(&self) -> Ticket {
        let mut state = self.state();
        state.last_hostile += 1;
        state.last_hostile
    }

    pub(super) fn insert_hostile(&self, ticket: Ticket, what: String, due: Due) {
        let began_at = self.now();
        let hostile = Hostile {
            commit: Commit::Open,
            began_at,
            ended_at: began_at,
            what,
            due,
        };
        self.state().case.hostile.insert(ticket, hostile);
    }

    pub(super) fn ended(&self, tickets: &[Ticket], commit: Commit) {
        let mut state = self.state();
        let now = self.now();
        for ticket in tickets {
            if let Some(message) = state.case.messages.get_mut(ticket) {
                (message.commit, message.ended_at) = (commit, now);
            }
            if let Some(hostile) = state.case.hostile.get_mut(ticket) {
                (hostile.commit, hostile.ended_at) = (commit, now);
            }
        }
    }

    pub(super) fn message(&self, ticket: Ticket) -> Option<Honest> {
        self.state().case.messages.get(&ticket).cloned()
    }

    /// Notes a request, and returns its place, so that its answer can be noted too.
    pub(super) fn arrived(&self, mut arrival: Arrival) -> usize {
        let mut state = self.state();
        arrival.at = self.now();
        arrival.answered_at = arrival.at;
        state.case.arrivals.push(arrival);
        state.case.arrivals.len() - 1
    }

    pub(super) fn answered(&self, arrival: usize, answer: super::case::Answer) {
        let mut state = self.state();
        let now = self.now();
        let arrival = &mut state.case.arrivals[arrival];
        (arrival.answer, arrival.answered_at) = (answer, now);
    }

    /// Notes that something begins that is not over yet.
    pub(super) fn begin(&self, kind: FaultKind, relay: Option<RelayRun>) -> usize {
        let mut state = self.state();
        let from = self.now();
        state.case.faults.push(Fault {
            kind,
            relay,
            from,
            until: Micros::MAX,
        });
        state.case.faults.len() - 1
    }

    pub(super) fn end(&self, fault: usize) {
        let mut state = self.state();
        state.case.faults[fault].until = self.now();
    }

    pub(super) fn stalled(&self, from: Moment, until: Moment) {
        let fault = Fault {
            kind: FaultKind::Stall,
            relay: None,
            from: micros(from.since(self.origin)),
            until: micros(until.since(self.origin)),
        };
        self.state().case.faults.push(fault);
    }

    pub(super) fn object(&self, checker: &'static str, what: impl Into<String>) {
        self.state().violations.push(Violation::new(checker, [], what));
    }

    /// Notes what was done, for the story of a failure.
    pub(super) fn note(&self, what: impl std::fmt::Display) {
        let mut state = self.state();
        let note = format!("{:>9} µs  {what}", self.now());
        state.notes.push(note);
    }
}

pub(super) fn micros(duration: Duration) -> Micros {
    Micros::try_from(duration.as_micros()).unwrap_or(Micros::MAX)
}
