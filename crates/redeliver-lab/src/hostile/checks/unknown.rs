//! Every arrival and every row belongs to a producer.

use super::{View, Violation};

pub(super) fn check(view: &View<'_>, violations: &mut Vec<Violation>) {
    let known =
        |ticket: &u64| view.case.messages.contains_key(ticket) || view.case.hostile.contains_key(ticket);
    for arrival in &view.case.arrivals {
        if !arrival.ticket.as_ref().is_some_and(known) {
            let (id, destination) = (&arrival.id, &arrival.destination);
            let what = format!("{destination} got {id}, which no producer wrote");
            violations.push(Violation::new("unknown", [], what));
        }
    }
    for row in &view.case.rows {
        if !row.ticket.as_ref().is_some_and(known) {
            let what = format!(
                "number {} ({}) was written by no producer",
                row.number, row.status
            );
            violations.push(Violation::new("unknown", [], what));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::{accepted, caught, message, row};
    use crate::hostile::case::Case;

    #[test]
    fn every_arrival_and_every_row_is_somebody_s() {
        let mut case = Case::default();
        case.arrivals.push(accepted(7, "steady", 5));
        assert_eq!(caught(&case), ["unknown"]);
        case.arrivals[0].ticket = None;
        assert_eq!(caught(&case), ["unknown"]);
        case.arrivals.clear();
        case.rows.push(row(7, "steady", "sent"));
        assert_eq!(caught(&case), ["unknown"]);
        case.messages.insert(7, message("steady"));
        case.arrivals.push(accepted(7, "steady", 5));
        assert!(caught(&case).is_empty());
    }
}
