//! Every hostile row is refused, delivered or dead-lettered, unless it is scheduled for a time that has not come.

use super::{View, Violation};
use crate::hostile::case::{Commit, Due};

pub(super) fn check(view: &View<'_>, violations: &mut Vec<Violation>) {
    for (&ticket, hostile) in &view.case.hostile {
        let arrived = view.arrivals.contains_key(&ticket);
        let mut object = |checker, what: String| violations.push(Violation::new(checker, [ticket], what));
        if arrived && matches!(hostile.commit, Commit::RolledBack | Commit::Open) {
            object(
                "rolled back",
                format!("it was refused, and arrived ({})", hostile.what),
            );
        }
        if hostile.commit != Commit::Committed {
            continue;
        }
        if arrived && hostile.due == Due::Never {
            object(
                "early",
                format!("it is not due yet, and arrived ({})", hostile.what),
            );
        }
        let rows = view.rows(ticket);
        if let Some(row) = rows.iter().find(|row| row.is_live() && !view.case.may_stay(row)) {
            object(
                "stalled",
                format!("the row is still {} ({})", row.status, hostile.what),
            );
        }
        let nowhere = rows.is_empty() && !arrived;
        if nowhere && !view.may_be_restored_away(hostile.began_at, hostile.ended_at) {
            object(
                "lost",
                format!("the row is in no table, and never arrived ({})", hostile.what),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::{accepted, caught, row};
    use crate::hostile::case::{Case, Commit, Due, FIRST_HOSTILE, Hostile};

    fn case(due: Due) -> Case {
        let mut case = Case {
            lease: 1_000_000,
            ..Case::default()
        };
        let hostile = Hostile {
            commit: Commit::Committed,
            began_at: 90,
            ended_at: 100,
            what: "lane of 10 kB".to_owned(),
            due,
        };
        case.hostile.insert(FIRST_HOSTILE, hostile);
        case
    }

    #[test]
    fn a_hostile_row_has_an_end() {
        let mut hostile = case(Due::Now);
        assert_eq!(caught(&hostile), ["lost"]);
        hostile.rows.push(row(FIRST_HOSTILE, "steady", "processing"));
        assert_eq!(caught(&hostile), ["stalled"]);
        hostile.rows[0].status = "dead_lettered".to_owned();
        assert!(caught(&hostile).is_empty());
        hostile.rows.clear();
        hostile.arrivals.push(accepted(FIRST_HOSTILE, "steady", 500));
        assert!(caught(&hostile).is_empty());
    }

    #[test]
    fn a_row_of_the_far_future_waits() {
        let mut hostile = case(Due::Never);
        hostile.rows.push(row(FIRST_HOSTILE, "steady", "pending"));
        assert!(caught(&hostile).is_empty());
        hostile.rows.clear();
        hostile.arrivals.push(accepted(FIRST_HOSTILE, "steady", 500));
        assert_eq!(caught(&hostile), ["early"]);
    }

    #[test]
    fn a_refused_row_does_not_arrive() {
        let mut hostile = case(Due::Now);
        hostile.hostile.get_mut(&FIRST_HOSTILE).unwrap().commit = Commit::RolledBack;
        assert!(caught(&hostile).is_empty());
        hostile.arrivals.push(accepted(FIRST_HOSTILE, "steady", 500));
        assert_eq!(caught(&hostile), ["rolled back"]);
    }
}
