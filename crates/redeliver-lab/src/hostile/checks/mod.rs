//! Holds a case against what is promised. Nothing here knows the relay.

mod duplicates;
mod endings;
#[cfg(test)]
mod example;
mod hostile;
mod order;
mod unknown;

use std::collections::BTreeMap;

use super::case::{Arrival, Case, Row, Ticket};

/// A promise that was broken.
#[derive(Clone, Debug)]
pub(super) struct Violation {
    pub(super) checker: &'static str,
    pub(super) tickets: Vec<Ticket>,
    pub(super) what: String,
}

impl Violation {
    pub(super) fn new(
        checker: &'static str,
        tickets: impl Into<Vec<Ticket>>,
        what: impl Into<String>,
    ) -> Self {
        Self {
            checker,
            tickets: tickets.into(),
            what: what.into(),
        }
    }
}

/// The broken promises, and how many repeated sends each kind of fault explains.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    pub(super) violations: Vec<Violation>,
    pub(super) repeats: BTreeMap<&'static str, usize>,
}

pub(super) fn check(case: &Case) -> Findings {
    let view = View::of(case);
    let mut findings = Findings::default();
    endings::check(&view, &mut findings.violations);
    hostile::check(&view, &mut findings.violations);
    unknown::check(&view, &mut findings.violations);
    order::check(&view, &mut findings.violations);
    duplicates::check(&view, &mut findings);
    findings
}

/// The case, sorted by message and destination.
struct View<'a> {
    case: &'a Case,
    arrivals: BTreeMap<Ticket, BTreeMap<&'a str, Vec<&'a Arrival>>>,
    rows: BTreeMap<Ticket, Vec<&'a Row>>,
}

impl<'a> View<'a> {
    fn of(case: &'a Case) -> Self {
        let mut view = Self {
            case,
            arrivals: BTreeMap::new(),
            rows: BTreeMap::new(),
        };
        for arrival in &case.arrivals {
            if let Some(ticket) = arrival.ticket {
                let places = view.arrivals.entry(ticket).or_default();
                places.entry(&arrival.destination).or_default().push(arrival);
            }
        }
        for row in &case.rows {
            if let Some(ticket) = row.ticket {
                view.rows.entry(ticket).or_default().push(row);
            }
        }
        view
    }

    fn arrivals(&self, ticket: Ticket, destination: &str) -> &[&'a Arrival] {
        let places = self.arrivals.get(&ticket);
        let arrivals = places.and_then(|places| places.get(destination));
        arrivals.map_or(&[], Vec::as_slice)
    }

    fn rows(&self, ticket: Ticket) -> &[&'a Row] {
        self.rows.get(&ticket).map_or(&[], Vec::as_slice)
    }

    /// Whether a restore may have taken away what was written in this span.
    fn may_be_restored_away(&self, began_at: u64, ended_at: u64) -> bool {
        self.case.faults.iter().any(|fault| match fault.kind {
            super::case::FaultKind::Restore { copied } => ended_at >= copied && began_at <= fault.until,
            _ => false,
        })
    }
}
