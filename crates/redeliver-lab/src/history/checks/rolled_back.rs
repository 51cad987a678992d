//! What was rolled back is nowhere: not at the destination, not in the tables.

use super::{View, Violation, object};

pub(super) fn check(view: &View<'_>, violations: &mut Vec<Violation>) {
    let committed = |ticket| {
        let message = view.history.messages.get(ticket);
        message.is_some_and(|message| message.committed)
    };
    for (&ticket, arrivals) in view.arrivals.iter().filter(|(ticket, _)| !committed(ticket)) {
        let what = format!(
            "it was never committed, and arrived {} times from run {} on",
            arrivals.len(),
            arrivals[0].relay
        );
        object(violations, "rolled back", ticket, what);
    }
    for (&ticket, rows) in view.rows.iter().filter(|(ticket, _)| !committed(ticket)) {
        let what = format!("it was never committed, and is {} in the tables", rows[0].status);
        object(violations, "rolled back", ticket, what);
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::{caught, sent};

    #[test]
    fn what_was_rolled_back_may_not_arrive() {
        let mut history = sent(1);
        history.messages.get_mut(&1).unwrap().committed = false;
        assert_eq!(caught(&history), ["rolled back", "rolled back"]);
        history.rows.clear();
        assert_eq!(caught(&history), ["rolled back"]);
        history.arrivals.clear();
        assert!(caught(&history).is_empty());
    }

    #[test]
    fn what_nobody_inserted_may_not_arrive() {
        let mut history = sent(1);
        history.messages.clear();
        assert_eq!(caught(&history), ["rolled back", "rolled back"]);
    }
}
