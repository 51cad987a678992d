//! Every honest message that was committed has one end at each of its destinations, in time, unchanged.

use super::{View, Violation};
use crate::hostile::case::{Answer, Commit, Fate, FaultKind, Honest, ONCE, Ticket};

/// The databases keep milliseconds.
const ROUNDING: u64 = 2_000;

pub(super) fn check(view: &View<'_>, violations: &mut Vec<Violation>) {
    for (&ticket, message) in &view.case.messages {
        if message.commit == Commit::Committed {
            for destination in &message.destinations {
                if let Some((checker, what)) = broken(view, ticket, message, destination) {
                    violations.push(Violation::new(checker, [ticket], what));
                }
            }
        }
        arrivals(view, ticket, message, violations);
    }
}

fn broken(
    view: &View<'_>,
    ticket: Ticket,
    message: &Honest,
    destination: &str,
) -> Option<(&'static str, String)> {
    let rows = view.rows(ticket);
    // An event is live, or a dead letter, under no destination at all.
    let here = || {
        rows.iter()
            .filter(|row| row.destination == destination || row.destination.is_empty())
    };
    if let Some(row) = here().find(|row| row.is_live()) {
        let stays = view.case.may_stay(row);
        return (!stays).then(|| {
            (
                "stalled",
                format!("it is still {} for {destination:?}", row.status),
            )
        });
    }
    let taken = view
        .arrivals(ticket, destination)
        .iter()
        .any(|arrival| arrival.answer.is_taken());
    let Some(dead) = here().find(|row| row.is_dead()) else {
        let called_sent = here().any(|row| row.status == "sent");
        return match (taken, called_sent) {
            (true, _) => None,
            (false, true) => Some((
                "lost",
                format!("it is called sent, and {destination:?} never took it"),
            )),
            (false, false) if view.may_be_restored_away(message.began_at, message.ended_at) => None,
            (false, false) => Some((
                "lost",
                format!("it is in no table, and {destination:?} never took it"),
            )),
        };
    };
    let reason = dead.reason.as_deref().unwrap_or("nothing");
    let accepted = view
        .arrivals(ticket, destination)
        .iter()
        .any(|arrival| arrival.answer == Answer::Accepted);
    if destination == ONCE && reason == "unknown_outcome" {
        return (!may_be_unknown(view, ticket, message)).then(|| {
            (
                "lost",
                "it is a dead letter because of unknown_outcome, and every outcome is known".to_owned(),
            )
        });
    }
    if accepted && view.arrivals(ticket, destination).len() == 1 {
        return Some((
            "endings",
            format!("{destination:?} accepted it, and it is a dead letter ({reason})"),
        ));
    }
    (message.fate != Fate::Dead(reason_of(reason))).then(|| {
        let fate = message.fate;
        (
            "lost",
            format!("it is a dead letter because of {reason}, and was to be {fate:?}"),
        )
    })
}

/// Whether an answer was lost, or a relay may have been cut off between a send and its verdict.
fn may_be_unknown(view: &View<'_>, ticket: Ticket, message: &Honest) -> bool {
    let mut arrivals = view.arrivals(ticket, ONCE).iter();
    let unheard = arrivals.any(|arrival| arrival.answer == Answer::TakenUnheard);
    let mut faults = view.case.faults.iter();
    unheard || faults.any(|fault| fault.kind != FaultKind::NumbersReset && fault.until >= message.began_at)
}

/// The reason as the plan spells it, so that it compares.
fn reason_of(reason: &str) -> &'static str {
    const KNOWN: [&str; 6] = [
        "permanent",
        "attempts_exhausted",
        "invalid_payload",
        "unknown_destination",
        "no_route",
        "expired",
    ];
    KNOWN
        .into_iter()
        .find(|known| *known == reason)
        .unwrap_or("another")
}

fn arrivals(view: &View<'_>, ticket: Ticket, message: &Honest, violations: &mut Vec<Violation>) {
    for (&destination, arrivals) in view.arrivals.get(&ticket).into_iter().flatten() {
        let mut object = |checker, what: String| violations.push(Violation::new(checker, [ticket], what));
        let Some(first) = arrivals.first() else { continue };
        if matches!(message.commit, Commit::RolledBack | Commit::Open) {
            object(
                "rolled back",
                format!("it was never committed, and arrived at {destination}"),
            );
        }
        if !message.destinations.contains(&destination) {
            object(
                "unknown",
                format!("it arrived at {destination}, where it does not belong"),
            );
        }
        if first.at.saturating_add(ROUNDING) < message.due_at {
            let early = message.due_at - first.at;
            object("early", format!("it arrived {early} µs before its not_before"));
        }
        if arrivals.iter().any(|arrival| !arrival.intact) {
            object(
                "endings",
                format!("it arrived at {destination} with another payload"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::{accepted, caught, fault, message, row};
    use crate::hostile::case::{Case, Commit, Fate, FaultKind};

    fn delivered() -> Case {
        let mut case = Case {
            lease: 1_000_000,
            ..Case::default()
        };
        case.messages.insert(1, message("steady"));
        case.arrivals.push(accepted(1, "steady", 500));
        case.rows.push(row(1, "steady", "sent"));
        case
    }

    #[test]
    fn a_delivered_message_is_fine_with_and_without_its_history() {
        let mut case = delivered();
        assert!(caught(&case).is_empty());
        case.rows.clear();
        assert!(caught(&case).is_empty());
    }

    #[test]
    fn a_message_that_is_nowhere_is_lost_unless_a_restore_may_have_taken_it() {
        let mut case = delivered();
        case.arrivals.clear();
        assert_eq!(caught(&case), ["lost"], "it is called sent");
        case.rows.clear();
        assert_eq!(caught(&case), ["lost"]);
        case.faults
            .push(fault(FaultKind::Restore { copied: 50 }, 900, 950));
        assert!(caught(&case).is_empty());
        case.faults[0].kind = FaultKind::Restore { copied: 150 };
        assert_eq!(caught(&case), ["lost"], "it was in the copy");
    }

    #[test]
    fn a_live_row_has_stalled_unless_its_lane_is_parked() {
        let mut case = delivered();
        case.arrivals.clear();
        case.rows[0].status = "pending".to_owned();
        assert_eq!(caught(&case), ["stalled"]);
        case.messages.insert(2, message("parking"));
        case.rows = vec![row(1, "steady", "sent"), row(2, "parking", "parked")];
        case.arrivals.push(accepted(1, "steady", 500));
        assert_eq!(caught(&case), ["stalled"], "nothing in its lane failed");
        let mut first = message("parking");
        first.fate = Fate::Dead("permanent");
        first.key = Some("a".to_owned());
        case.messages.get_mut(&2).unwrap().key = Some("a".to_owned());
        case.messages.insert(1, first);
        case.rows[0] = row(1, "parking", "dead_lettered");
        case.rows[0].reason = Some("permanent".to_owned());
        case.arrivals.clear();
        assert!(caught(&case).is_empty());
    }

    #[test]
    fn an_event_needs_every_destination() {
        let mut case = delivered();
        case.messages.get_mut(&1).unwrap().destinations.push("limited");
        assert_eq!(caught(&case), ["lost"]);
        case.arrivals.push(accepted(1, "limited", 600));
        assert!(caught(&case).is_empty());
        case.arrivals.push(accepted(1, "parking", 700));
        assert_eq!(caught(&case), ["unknown"], "it does not belong there");
    }

    #[test]
    fn a_dead_letter_needs_the_reason_of_the_plan() {
        let mut case = delivered();
        case.arrivals.clear();
        case.rows[0] = row(1, "steady", "dead_lettered");
        case.rows[0].reason = Some("too_large".to_owned());
        assert_eq!(caught(&case), ["lost"]);
        case.messages.get_mut(&1).unwrap().fate = Fate::Dead("expired");
        case.rows[0].reason = Some("expired".to_owned());
        assert!(caught(&case).is_empty());
        case.arrivals.push(accepted(1, "steady", 500));
        assert_eq!(caught(&case), ["endings"], "delivered and dead");
    }

    #[test]
    fn an_unknown_outcome_needs_a_lost_answer_or_a_fault() {
        let mut case = delivered();
        case.messages.insert(1, message("once"));
        case.arrivals = vec![accepted(1, "once", 500)];
        case.rows[0] = row(1, "once", "dead_lettered");
        case.rows[0].reason = Some("unknown_outcome".to_owned());
        assert_eq!(caught(&case), ["lost"]);
        case.faults.push(fault(FaultKind::Kill, 600, u64::MAX));
        assert!(caught(&case).is_empty());
    }

    #[test]
    fn nothing_arrives_early_changed_or_after_a_rollback() {
        let mut case = delivered();
        case.messages.get_mut(&1).unwrap().due_at = 10_000;
        assert_eq!(caught(&case), ["early"]);
        let mut case = delivered();
        case.arrivals[0].intact = false;
        assert_eq!(caught(&case), ["endings"]);
        let mut case = delivered();
        case.messages.get_mut(&1).unwrap().commit = Commit::RolledBack;
        assert_eq!(caught(&case), ["rolled back"]);
        case.messages.get_mut(&1).unwrap().commit = Commit::Unknown;
        assert!(caught(&case).is_empty());
    }
}
