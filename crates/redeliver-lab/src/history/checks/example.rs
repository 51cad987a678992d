//! A history in which all is well, for the tests to spoil.

use super::check;
use crate::history::{Answer, Arrival, Fate, History, LoggedAttempt, Message, Micros, RelayRun, Row, Ticket};

pub(in crate::history) const LEASE: Micros = 1_000_000;

/// So many messages, each sent at once by the first relay.
pub(in crate::history) fn sent(messages: Ticket) -> History {
    let mut history = History {
        lease: LEASE,
        ..History::default()
    };
    for ticket in 1..=messages {
        history.messages.insert(
            ticket,
            Message {
                committed: true,
                ended_at: 0,
                shard: Some(0),
                destination: "steady".to_owned(),
                key: None,
                payload: b"{}".to_vec(),
                fate: Fate::Taken,
                max_attempts: 3,
            },
        );
        history.arrivals.push(Arrival {
            at: ticket * 1000,
            answered_at: ticket * 1000,
            ticket,
            id: format!("id-{ticket}"),
            attempt: 1,
            relay: 1,
            payload: b"{}".to_vec(),
            answer: Answer::Accepted,
        });
        history.rows.push(Row {
            ticket: Some(ticket),
            id: format!("id-{ticket}"),
            number: i64::try_from(ticket).unwrap(),
            status: "sent".to_owned(),
            attempts: 1,
            ..Row::default()
        });
    }
    history
}

/// The first message once more.
pub(in crate::history) fn again(history: &mut History, relay: RelayRun, at: Micros) {
    let again = Arrival {
        relay,
        at,
        answered_at: at,
        answer: Answer::Accepted,
        ..history.arrivals[0].clone()
    };
    history.arrivals.push(again);
}

/// An attempt of the first message in the log.
pub(super) fn logged(attempt: u32) -> LoggedAttempt {
    LoggedAttempt {
        number: 1,
        attempt,
        class: "transient".to_owned(),
    }
}

/// The checkers that object.
pub(super) fn caught(history: &History) -> Vec<&'static str> {
    check(history)
        .violations
        .iter()
        .map(|violation| violation.checker)
        .collect()
}
