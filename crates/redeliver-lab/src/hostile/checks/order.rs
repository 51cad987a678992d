//! Within a lane nothing arrives before everything earlier was accepted or is a dead letter, and nothing follows a dead letter where
//! lanes park.

use std::collections::BTreeMap;

use super::{View, Violation};
use crate::hostile::case::{Answer, Case, Commit, FaultKind, Micros, PARKING, Ticket};

pub(super) fn check(view: &View<'_>, violations: &mut Vec<Violation>) {
    let mut lanes: BTreeMap<(&str, &str), Vec<Ticket>> = BTreeMap::new();
    for (&ticket, message) in &view.case.messages {
        if let (Commit::Committed, Some(key)) = (message.commit, &message.key) {
            for destination in &message.destinations {
                lanes.entry((destination, key)).or_default().push(ticket);
            }
        }
    }
    for ((destination, key), lane) in lanes {
        let mut accepted: Vec<(Ticket, Micros)> = Vec::new();
        for ticket in lane {
            let arrivals = view.arrivals(ticket, destination);
            if let Some(first) = arrivals.first() {
                let overtaken = accepted
                    .iter()
                    .find(|&&(before, at)| first.at < at && !may_overtake(view.case, before, ticket));
                if let Some(&(before, at)) = overtaken {
                    let what = format!(
                        "it arrived {} µs before message {before}, earlier in lane {key} of {destination}, was accepted",
                        at - first.at
                    );
                    violations.push(Violation::new("order", [ticket, before], what));
                }
                if destination == PARKING && view.case.is_behind_a_dead_letter(ticket) {
                    after_a_dead_letter(view, ticket, key, first.at, violations);
                }
            }
            let first = arrivals
                .iter()
                .filter(|arrival| arrival.answer == Answer::Accepted);
            if let Some(at) = first.map(|arrival| arrival.answered_at).min() {
                accepted.push((ticket, at));
            }
        }
    }
}

fn after_a_dead_letter(
    view: &View<'_>,
    ticket: Ticket,
    key: &str,
    at: Micros,
    violations: &mut Vec<Violation>,
) {
    let rejected = view.case.messages.range(..ticket).find_map(|(&before, message)| {
        let same = message.key.as_deref() == Some(key) && message.commit == Commit::Committed;
        let mut arrivals = view.arrivals(before, PARKING).iter();
        let rejected = arrivals.any(|arrival| arrival.answer == Answer::Rejected && arrival.at < at);
        (same && rejected && !may_overtake(view.case, before, ticket)).then_some(before)
    });
    if let Some(before) = rejected {
        let what = format!("it arrived although message {before} parked lane {key}");
        violations.push(Violation::new("order", [ticket, before], what));
    }
}

/// Numbers that were set back, or tables that were replaced, may put a later message before an earlier one.
fn may_overtake(case: &Case, earlier: Ticket, later: Ticket) -> bool {
    let (Some(before), Some(after)) = (case.messages.get(&earlier), case.messages.get(&later)) else {
        return false;
    };
    case.faults.iter().any(|fault| match fault.kind {
        FaultKind::NumbersReset => {
            let meanwhile = before.began_at <= fault.until && after.ended_at >= fault.from;
            meanwhile || has_number_again(case, earlier, fault.from)
        }
        FaultKind::Restore { copied } => before.ended_at >= copied && before.began_at <= fault.until,
        _ => false,
    })
}

/// Whether a message has a number that was given before the numbers were set back. Where they pass their old value before the relay
/// reads again, it finds such a message only by its look behind the cursors, and others of its lane may be first (docs/tables.md).
fn has_number_again(case: &Case, ticket: Ticket, reset_at: Micros) -> bool {
    let number_of = |ticket: Ticket| {
        let mut rows = case.rows.iter();
        rows.find(|row| row.ticket == Some(ticket)).map(|row| row.number)
    };
    let before = case
        .messages
        .iter()
        .filter(|(_, message)| message.began_at < reset_at);
    let highest = before.filter_map(|(&ticket, _)| number_of(ticket)).max();
    number_of(ticket).is_some_and(|number| highest.is_some_and(|highest| number <= highest))
}

#[cfg(test)]
mod tests {
    use super::super::example::{accepted, caught, fault, message, row};
    use crate::hostile::case::{Answer, Case, Fate, FaultKind};

    fn lane(destination: &'static str) -> Case {
        let mut case = Case {
            lease: 1_000_000,
            ..Case::default()
        };
        for ticket in 1..=2 {
            let mut each = message(destination);
            each.key = Some("a".to_owned());
            (each.began_at, each.ended_at) = (ticket * 100, ticket * 100 + 10);
            case.messages.insert(ticket, each);
            case.arrivals.push(accepted(ticket, destination, ticket * 1000));
        }
        case
    }

    #[test]
    fn a_later_message_does_not_overtake() {
        let mut case = lane("steady");
        assert!(caught(&case).is_empty());
        case.arrivals[0].answered_at = 2_500;
        assert_eq!(caught(&case), ["order"]);
        case.faults.push(fault(FaultKind::NumbersReset, 150, 160));
        assert!(caught(&case).is_empty());
        case.faults[0] = fault(FaultKind::NumbersReset, 300, 310);
        assert_eq!(caught(&case), ["order"], "both were there before");
    }

    #[test]
    fn a_number_that_is_given_again_may_be_found_late() {
        let mut case = lane("steady");
        case.arrivals[0].answered_at = 2_500;
        let mut first = message("steady");
        (first.began_at, first.ended_at) = (10, 20);
        case.messages.insert(0, first);
        case.arrivals.push(accepted(0, "steady", 30));
        case.faults.push(fault(FaultKind::NumbersReset, 50, 60));
        for (ticket, number) in [(0, 7), (1, 6), (2, 8)] {
            case.rows.push(row(ticket, "steady", "sent"));
            case.rows.last_mut().unwrap().number = number;
        }
        assert!(caught(&case).is_empty());
        case.rows[1].number = 8;
        case.rows[2].number = 9;
        assert_eq!(caught(&case), ["order"], "both numbers are new");
    }

    #[test]
    fn a_parked_lane_stays_parked() {
        let mut case = lane("parking");
        case.messages.get_mut(&1).unwrap().fate = Fate::Dead("permanent");
        case.arrivals[0].answer = Answer::Rejected;
        case.rows.push(row(1, "parking", "dead_lettered"));
        case.rows[0].reason = Some("permanent".to_owned());
        assert_eq!(caught(&case), ["order"]);
        case.arrivals.pop();
        case.rows.push(row(2, "parking", "parked"));
        assert!(caught(&case).is_empty());
    }
}
