mod attempts;
mod duplicates;
mod endings;
#[cfg(test)]
pub(super) mod example;
mod lost;
mod order;
mod rolled_back;

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
};

use super::{Arrival, DisturbanceKind, History, LoggedAttempt, Micros, RelayRun, Row, Ticket};

/// Something that must not be.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Which checker found it: `lost`, `rolled back`, `duplicates`, `order`, `attempts`, `endings`.
    pub checker: &'static str,
    /// The messages concerned, the one that it is about first.
    pub tickets: Vec<Ticket>,
    /// What.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tickets.first() {
            Some(ticket) => write!(f, "{}: message {ticket}: {}", self.checker, self.what),
            None => write!(f, "{}: {}", self.checker, self.what),
        }
    }
}

/// What the checkers found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// What must not be.
    pub violations: Vec<Violation>,
    /// Messages that were taken twice, by what explains it; lost answers are under none of the disturbances.
    pub duplicates: BTreeMap<Option<DisturbanceKind>, usize>,
}

/// Holds the history against everything that is promised.
#[must_use]
pub fn check(history: &History) -> Findings {
    let view = View::of(history);
    let mut findings = Findings::default();
    lost::check(&view, &mut findings.violations);
    rolled_back::check(&view, &mut findings.violations);
    duplicates::check(&view, &mut findings);
    order::check(&view, &mut findings.violations);
    attempts::check(&view, &mut findings.violations);
    endings::check(&view, &mut findings.violations);
    findings
}

/// The history, sorted by message.
struct View<'a> {
    history: &'a History,
    arrivals: HashMap<Ticket, Vec<&'a Arrival>>,
    rows: HashMap<Ticket, Vec<&'a Row>>,
    log: HashMap<i64, Vec<&'a LoggedAttempt>>,
}

impl<'a> View<'a> {
    fn of(history: &'a History) -> Self {
        let mut view = Self {
            history,
            arrivals: HashMap::new(),
            rows: HashMap::new(),
            log: HashMap::new(),
        };
        for arrival in &history.arrivals {
            view.arrivals.entry(arrival.ticket).or_default().push(arrival);
        }
        for row in &history.rows {
            if let Some(ticket) = row.ticket {
                view.rows.entry(ticket).or_default().push(row);
            }
        }
        for attempt in &history.log {
            view.log.entry(attempt.number).or_default().push(attempt);
        }
        view
    }

    fn arrivals(&self, ticket: Ticket) -> &[&'a Arrival] {
        self.arrivals.get(&ticket).map_or(&[], Vec::as_slice)
    }

    fn rows(&self, ticket: Ticket) -> &[&'a Row] {
        self.rows.get(&ticket).map_or(&[], Vec::as_slice)
    }

    fn log(&self, number: i64) -> &[&'a LoggedAttempt] {
        self.log.get(&number).map_or(&[], Vec::as_slice)
    }

    /// What befell this run, or the database under it, within the span.
    fn disturbed(&self, relay: RelayRun, from: Micros, until: Micros) -> Option<DisturbanceKind> {
        let befell = self.history.disturbances.iter().filter(|disturbance| {
            disturbance.relay.is_none_or(|run| run == relay)
                && disturbance.from <= until
                && disturbance.until >= from
        });
        befell.map(|disturbance| disturbance.kind).min()
    }

    /// Why the verdict on one request may not have been written before another followed: its relay was disturbed before it had time
    /// to, or the other was sent by a relay that had been held up since before, and did not know that it was no longer its turn.
    fn interrupted(&self, first: &Arrival, second: &Arrival) -> Option<DisturbanceKind> {
        let promptly = self.history.lease;
        let writing = first.answered_at.saturating_add(promptly).min(second.at);
        self.disturbed(first.relay, first.at, writing)
            .or_else(|| self.outdated(first, second))
            .or_else(|| self.begun_before_a_stop(first, second))
    }

    /// The first came from a relay that had only just been let go on, and finished what it had begun before it was stopped. The other
    /// is the new owner's; or its own, if it lost its shards while it was stopped, so that its verdict was refused, and got them back.
    fn begun_before_a_stop(&self, first: &Arrival, second: &Arrival) -> Option<DisturbanceKind> {
        let lease = self.history.lease;
        let just_now = first.at.saturating_sub(lease / 10);
        let stopped = self.history.disturbances.iter().find(|disturbance| {
            let held_up = match disturbance.kind {
                DisturbanceKind::Stop => disturbance.relay == Some(first.relay),
                DisturbanceKind::Stall => true,
                DisturbanceKind::Kill | DisturbanceKind::Restart | DisturbanceKind::Cut => false,
            };
            let lease_ended = disturbance.until.saturating_sub(disturbance.from) >= lease - lease / 8;
            held_up
                && (just_now..=first.at).contains(&disturbance.until)
                && (first.relay != second.relay || lease_ended)
        });
        stopped.map(|disturbance| disturbance.kind)
    }

    fn outdated(&self, first: &Arrival, second: &Arrival) -> Option<DisturbanceKind> {
        let recently = second.at.saturating_sub(self.history.lease);
        let held_up = self.history.disturbances.iter().find(|disturbance| {
            let holds_up = match disturbance.kind {
                DisturbanceKind::Stop | DisturbanceKind::Cut => disturbance.relay == Some(second.relay),
                DisturbanceKind::Stall => true,
                DisturbanceKind::Kill | DisturbanceKind::Restart => false,
            };
            holds_up && disturbance.from <= first.at && disturbance.until >= recently
        });
        held_up
            .filter(|_| first.relay != second.relay)
            .map(|disturbance| disturbance.kind)
    }
}

fn object(violations: &mut Vec<Violation>, checker: &'static str, ticket: Ticket, what: String) {
    violations.push(Violation {
        checker,
        tickets: vec![ticket],
        what,
    });
}
