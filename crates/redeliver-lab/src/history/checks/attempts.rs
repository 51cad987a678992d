//! Attempts stay within the maximum, and the tables tell the same of them as the destination does.

use super::{View, Violation, object};
use crate::history::{Answer, Arrival, Message, Row, Ticket};

pub(super) fn check(view: &View<'_>, violations: &mut Vec<Violation>) {
    for (&ticket, message) in view
        .history
        .messages
        .iter()
        .filter(|(_, message)| message.committed)
    {
        let Some(row) = view.rows(ticket).first() else {
            continue;
        };
        for what in [
            beyond(view, ticket, message, row),
            unsent(view, ticket, row),
            unlogged(view, ticket, row),
        ]
        .into_iter()
        .flatten()
        {
            object(violations, "attempts", ticket, what);
        }
    }
}

fn beyond(view: &View<'_>, ticket: Ticket, message: &Message, row: &Row) -> Option<String> {
    let (counted, most) = (row.attempts, message.max_attempts);
    if counted > most {
        return Some(format!("{counted} attempts are counted, and {most} are allowed"));
    }
    let highest = view
        .arrivals(ticket)
        .iter()
        .map(|arrival| arrival.attempt)
        .max()?;
    (highest > counted)
        .then(|| format!("attempt {highest} arrived, and the tables know of {counted} attempts"))
}

/// The attempt that the tables call the last one is the one that was accepted or rejected.
fn unsent(view: &View<'_>, ticket: Ticket, row: &Row) -> Option<String> {
    let ended = match (row.status.as_str(), row.reason.as_deref()) {
        ("sent", _) => Answer::Accepted,
        ("dead_lettered", Some("permanent")) => Answer::Rejected,
        ("dead_lettered", Some("invalid_payload" | "unknown_destination")) => {
            let arrivals = view.arrivals(ticket).len();
            let sent = arrivals > 0 || row.attempts > 0;
            return sent.then(|| {
                format!(
                    "it was never to be sent, and arrived {arrivals} times in {} attempts",
                    row.attempts
                )
            });
        }
        _ => return None,
    };
    let last = |arrival: &&&Arrival| arrival.attempt == row.attempts && arrival.answer == ended;
    let arrived = view.arrivals(ticket).iter().find(last).is_some();
    (!arrived).then(|| {
        format!(
            "it is {} after attempt {}, and no such attempt was {ended:?}",
            row.status, row.attempts
        )
    })
}

/// Every attempt but a last, successful one is in the log, once.
fn unlogged(view: &View<'_>, ticket: Ticket, row: &Row) -> Option<String> {
    let mut logged: Vec<u32> = view
        .log(row.number)
        .iter()
        .map(|attempt| attempt.attempt)
        .collect();
    logged.sort_unstable();
    let failed = match row.status.as_str() {
        "sent" => row.attempts.saturating_sub(1),
        "dead_lettered" => row.attempts,
        _ => return None,
    };
    // The last attempt may have been counted before it was sent, and is in the log for that.
    let right: Vec<u32> = (1..=failed).collect();
    logged.retain(|&attempt| attempt <= failed || attempt > row.attempts);
    if logged == right {
        return None;
    }
    let arrived: Vec<u32> = view
        .arrivals(ticket)
        .iter()
        .map(|arrival| arrival.attempt)
        .collect();
    Some(format!(
        "it is {} after {} attempts; the log has {logged:?}, and arrived have {arrived:?}",
        row.status, row.attempts
    ))
}

#[cfg(test)]
mod tests {
    use super::super::example::{caught, logged, sent};
    use crate::history::Answer;

    #[test]
    fn attempts_stay_within_the_maximum() {
        let mut history = sent(1);
        history.rows[0].attempts = 4;
        history.arrivals[0].attempt = 4;
        history.log.extend([1, 2, 3].map(logged));
        assert_eq!(caught(&history), ["attempts"]);
        history.messages.get_mut(&1).unwrap().max_attempts = 4;
        assert!(caught(&history).is_empty());
    }

    #[test]
    fn an_attempt_that_arrived_is_counted() {
        let mut history = sent(1);
        history.arrivals[0].attempt = 2;
        assert!(caught(&history).contains(&"attempts"));
    }

    #[test]
    fn the_last_attempt_is_the_one_that_was_accepted() {
        let mut history = sent(1);
        history.rows[0].attempts = 2;
        history.log.push(logged(1));
        assert_eq!(caught(&history), ["attempts"]);
    }

    #[test]
    fn failed_attempts_are_in_the_log_once() {
        let mut history = sent(1);
        history.arrivals[0].attempt = 2;
        history.rows[0].attempts = 2;
        assert_eq!(caught(&history), ["attempts"]);
        history.log.push(logged(1));
        assert!(caught(&history).is_empty());
        history.log.push(logged(1));
        assert_eq!(caught(&history), ["attempts"]);
        history.log[1] = logged(3);
        assert_eq!(caught(&history), ["attempts"]);
    }

    #[test]
    fn what_is_broken_is_never_sent() {
        let mut history = sent(1);
        history.messages.get_mut(&1).unwrap().fate = crate::history::Fate::Broken;
        history.arrivals[0].answer = Answer::PutOff;
        history.rows[0].status = "dead_lettered".to_owned();
        history.rows[0].reason = Some("invalid_payload".to_owned());
        history.rows[0].attempts = 0;
        assert!(caught(&history).contains(&"attempts"));
        history.arrivals.clear();
        assert!(caught(&history).is_empty());
    }
}
