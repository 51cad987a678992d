//! What was committed has arrived, or is a dead letter for a reason that is true.

use super::{View, Violation, object};
use crate::history::{Answer, Fate, Message, Row, Ticket};

pub(super) fn check(view: &View<'_>, violations: &mut Vec<Violation>) {
    for (&ticket, message) in &view.history.messages {
        if message.committed
            && let Some(what) = lost(view, ticket, message)
        {
            object(violations, "lost", ticket, what);
        }
    }
}

fn lost(view: &View<'_>, ticket: Ticket, message: &Message) -> Option<String> {
    let Some(row) = view.rows(ticket).first() else {
        return Some("it was committed, and is in no table".to_owned());
    };
    match row.status.as_str() {
        "sent" => {
            let taken = view
                .arrivals(ticket)
                .iter()
                .any(|arrival| arrival.answer.is_taken());
            (!taken).then(|| "it is called sent, and was never taken".to_owned())
        }
        "dead_lettered" => unfounded(view, ticket, message, row),
        status => Some(format!("it was committed, and is still {status} at the end")),
    }
}

fn unfounded(view: &View<'_>, ticket: Ticket, message: &Message, row: &Row) -> Option<String> {
    let reason = row.reason.as_deref().unwrap_or("nothing");
    let used_up = row.attempts == message.max_attempts;
    let rejected = || {
        let mut arrivals = view.arrivals(ticket).iter();
        arrivals.any(|arrival| arrival.answer == Answer::Rejected)
    };
    let fits = match (reason, message.fate) {
        ("attempts_exhausted", Fate::Taken | Fate::PutOff | Fate::Rejected) => used_up,
        ("permanent", Fate::Rejected) => rejected(),
        ("invalid_payload", Fate::Broken) | ("unknown_destination", Fate::Unroutable) => true,
        _ => false,
    };
    let (attempts, most) = (row.attempts, message.max_attempts);
    (!fits).then(|| {
        format!(
            "it is a dead letter because of {reason} after {attempts} of {most} attempts; it was to be {:?}",
            message.fate
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::example::{caught, logged, sent};
    use crate::history::{Answer, Fate};

    #[test]
    fn what_is_in_no_table_is_lost() {
        let mut history = sent(1);
        history.rows.clear();
        assert_eq!(caught(&history), ["lost"]);
    }

    #[test]
    fn what_is_called_sent_and_was_not_taken_is_lost() {
        let mut history = sent(1);
        history.arrivals[0].answer = Answer::PutOff;
        assert!(caught(&history).contains(&"lost"));
    }

    #[test]
    fn what_waits_at_the_end_is_lost() {
        let mut history = sent(1);
        history.rows[0].status = "failed".to_owned();
        assert!(caught(&history).contains(&"lost"));
    }

    #[test]
    fn a_dead_letter_needs_a_reason_that_is_true() {
        let mut history = sent(1);
        history.arrivals[0].answer = Answer::Rejected;
        history.rows[0].status = "dead_lettered".to_owned();
        history.rows[0].reason = Some("permanent".to_owned());
        history.log.push(logged(1));
        assert_eq!(caught(&history), ["lost"]);
        history.messages.get_mut(&1).unwrap().fate = Fate::Rejected;
        assert!(caught(&history).is_empty());
        history.rows[0].reason = Some("attempts_exhausted".to_owned());
        assert_eq!(caught(&history), ["lost"]);
    }
}
