//! Made-up cases to try the checkers on.

use super::{
    super::case::{Answer, Arrival, Case, Commit, Fate, Fault, FaultKind, Honest, Micros, Row, Ticket},
    check,
};

pub(super) fn message(destination: &'static str) -> Honest {
    Honest {
        commit: Commit::Committed,
        began_at: 90,
        ended_at: 100,
        destinations: vec![destination],
        key: None,
        payload: Vec::new(),
        due_at: 0,
        fate: Fate::Delivered,
    }
}

pub(super) fn accepted(ticket: Ticket, destination: &str, at: Micros) -> Arrival {
    Arrival {
        at,
        answered_at: at,
        ticket: Some(ticket),
        destination: destination.to_owned(),
        id: String::new(),
        attempt: 1,
        relay: 1,
        answer: Answer::Accepted,
        intact: true,
    }
}

pub(super) fn row(ticket: Ticket, destination: &str, status: &str) -> Row {
    Row {
        ticket: Some(ticket),
        number: 1,
        destination: destination.to_owned(),
        status: status.to_owned(),
        reason: None,
    }
}

pub(super) const fn fault(kind: FaultKind, from: Micros, until: Micros) -> Fault {
    Fault {
        kind,
        relay: None,
        from,
        until,
    }
}

pub(super) fn caught(case: &Case) -> Vec<&'static str> {
    check(case)
        .violations
        .iter()
        .map(|violation| violation.checker)
        .collect()
}
