//! Every message has one end, one id, and the payload that was inserted.

use std::collections::HashMap;

use super::{View, Violation, object};

pub(super) fn check(view: &View<'_>, violations: &mut Vec<Violation>) {
    for (&ticket, rows) in view.rows.iter().filter(|(_, rows)| rows.len() > 1) {
        let places: Vec<&str> = rows.iter().map(|row| row.status.as_str()).collect();
        object(
            violations,
            "endings",
            ticket,
            format!("it is in several places: {places:?}"),
        );
    }
    let mut owners = HashMap::new();
    for row in &view.history.rows {
        let Some(ticket) = row.ticket else {
            let what = format!("row {} is nobody's message", row.number);
            violations.push(Violation {
                checker: "endings",
                tickets: Vec::new(),
                what,
            });
            continue;
        };
        if let Some(other) = owners.insert(&row.id, ticket).filter(|&other| other != ticket) {
            object(
                violations,
                "endings",
                ticket,
                format!("it has the id of message {other}"),
            );
        }
    }
    for (&ticket, arrivals) in &view.arrivals {
        let (Some(message), Some(row)) = (view.history.messages.get(&ticket), view.rows(ticket).first())
        else {
            continue;
        };
        if let Some(other) = arrivals.iter().find(|arrival| arrival.id != row.id) {
            let what = format!("it arrived as {}, and its id is {}", other.id, row.id);
            object(violations, "endings", ticket, what);
        }
        if let Some(other) = arrivals.iter().find(|arrival| arrival.payload != message.payload) {
            let what = format!("attempt {} arrived with another payload", other.attempt);
            object(violations, "endings", ticket, what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::{caught, sent};

    #[test]
    fn a_message_is_in_one_place() {
        let mut history = sent(1);
        let mut row = history.rows[0].clone();
        row.status = "dead_lettered".to_owned();
        history.rows.push(row);
        assert_eq!(caught(&history), ["endings"]);
    }

    #[test]
    fn an_id_is_one_message_s_and_stays_it_s() {
        let mut history = sent(2);
        history.arrivals[0].id = "another".to_owned();
        assert_eq!(caught(&history), ["endings"]);
        let mut history = sent(2);
        for (row, arrival) in history.rows.iter_mut().zip(&mut history.arrivals) {
            row.id = "same".to_owned();
            arrival.id = "same".to_owned();
        }
        assert_eq!(caught(&history), ["endings"]);
    }

    #[test]
    fn every_row_is_somebody_s() {
        let mut history = sent(1);
        let mut row = history.rows[0].clone();
        row.ticket = None;
        history.rows.push(row);
        assert_eq!(caught(&history), ["endings"]);
    }

    #[test]
    fn the_payload_is_what_was_inserted() {
        let mut history = sent(1);
        history.arrivals[0].payload.push(b' ');
        assert_eq!(caught(&history), ["endings"]);
    }
}
