//! A message that was accepted or rejected is not sent again, unless something kept the verdict from being written.

use super::{Findings, View, Violation};
use crate::hostile::case::{Answer, Arrival, Case, FaultKind, ONCE};

pub(super) fn check(view: &View<'_>, findings: &mut Findings) {
    let places = view.arrivals.iter().flat_map(|(ticket, places)| {
        places
            .iter()
            .map(move |(destination, arrivals)| (*ticket, *destination, arrivals))
    });
    for (ticket, destination, arrivals) in places {
        for pair in arrivals.windows(2) {
            let (first, second) = (pair[0], pair[1]);
            let once = destination == ONCE && first.answer.is_taken();
            if !once && !matches!(first.answer, Answer::Accepted | Answer::Rejected) {
                continue;
            }
            let cause = cause(view.case, first, second, once);
            match cause {
                Some(kind) => *findings.repeats.entry(kind.as_str()).or_default() += 1,
                None => {
                    let what = format!(
                        "{destination} answered {:?} to attempt {}, and attempt {} followed after {} µs",
                        first.answer,
                        first.attempt,
                        second.attempt,
                        second.at.saturating_sub(first.answered_at)
                    );
                    findings
                        .violations
                        .push(Violation::new("duplicates", [ticket], what));
                }
            }
        }
    }
}

/// What explains that a verdict was not written before the message was sent again.
fn cause(case: &Case, first: &Arrival, second: &Arrival, once: bool) -> Option<FaultKind> {
    let written_by = first.answered_at.saturating_add(case.lease);
    let writing = written_by.min(second.at);
    let another = first.relay != second.relay;
    let explains = case.faults.iter().filter(|fault| {
        let overlaps = |from, until| fault.from <= until && fault.until >= from;
        // Where nothing may come twice, only tables of an earlier time explain it.
        if once && !matches!(fault.kind, FaultKind::Restore { .. } | FaultKind::Switch) {
            return false;
        }
        match fault.kind {
            FaultKind::Kill => fault.relay == Some(first.relay) && overlaps(first.at, writing),
            FaultKind::Recovery | FaultKind::Eviction => overlaps(first.at, writing),
            // As long as it has its lease, a relay remembers a verdict that it cannot write.
            FaultKind::Refusal => another && overlaps(first.at, writing),
            FaultKind::Locked => {
                let expired = fault.until.saturating_sub(fault.from) >= case.lease / 2;
                (another || expired) && overlaps(first.at, writing)
            }
            FaultKind::Stall => {
                overlaps(first.at, writing)
                    || another && overlaps(first.at.saturating_sub(case.lease), second.at)
            }
            FaultKind::Restore { copied } => {
                written_by >= copied && fault.from <= second.at && fault.until >= first.at
            }
            FaultKind::Switch => overlaps(first.at, writing),
            FaultKind::NumbersReset => false,
        }
    });
    explains.map(|fault| fault.kind).min()
}

#[cfg(test)]
mod tests {
    use super::super::example::{accepted, caught, fault};
    use crate::hostile::{
        case::{Answer, Case, Fault, FaultKind, Micros},
        checks::example::message,
    };

    const LEASE: Micros = 1_000_000;

    fn twice(after: Micros) -> Case {
        let mut case = Case {
            lease: LEASE,
            ..Case::default()
        };
        case.messages.insert(1, message("steady"));
        case.arrivals.push(accepted(1, "steady", 500));
        case.arrivals.push(accepted(1, "steady", 500 + after));
        case
    }

    #[test]
    fn a_second_send_needs_a_cause() {
        let mut case = twice(10_000);
        assert_eq!(caught(&case), ["duplicates"]);
        case.arrivals[0].answer = Answer::PutOff;
        assert!(caught(&case).is_empty());
    }

    #[test]
    fn a_kill_explains_what_its_own_relay_could_not_write() {
        let mut case = twice(2 * LEASE);
        let kill = Fault {
            relay: Some(1),
            ..fault(FaultKind::Kill, 600, Micros::MAX)
        };
        case.faults.push(kill);
        assert!(caught(&case).is_empty());
        case.faults[0].relay = Some(2);
        assert_eq!(caught(&case), ["duplicates"], "another relay's");
        case.faults[0] = Fault {
            from: 3 * LEASE / 2,
            ..kill
        };
        assert_eq!(caught(&case), ["duplicates"], "too late");
    }

    #[test]
    fn a_refusal_explains_what_another_relay_sends() {
        let mut case = twice(2 * LEASE);
        case.faults.push(fault(FaultKind::Refusal, 0, LEASE));
        assert_eq!(caught(&case), ["duplicates"], "the relay knows what it sent");
        case.arrivals[1].relay = 2;
        assert!(caught(&case).is_empty());
    }

    #[test]
    fn a_lock_explains_what_comes_after_a_lost_lease() {
        let mut case = twice(2 * LEASE);
        case.faults.push(fault(FaultKind::Locked, 400, 400 + LEASE / 10));
        assert_eq!(caught(&case), ["duplicates"], "too short for a lease");
        case.faults[0].until = LEASE;
        assert!(caught(&case).is_empty());
    }

    #[test]
    fn what_must_not_come_twice_does_not_after_a_kill_or_a_lost_answer() {
        let mut case = twice(2 * LEASE);
        case.messages.insert(1, message("once"));
        for arrival in &mut case.arrivals {
            arrival.destination = "once".to_owned();
        }
        let kill = fault(FaultKind::Kill, 600, Micros::MAX);
        case.faults.push(Fault {
            relay: Some(1),
            ..kill
        });
        assert_eq!(caught(&case), ["duplicates"]);
        case.arrivals[0].answer = Answer::TakenUnheard;
        assert_eq!(caught(&case), ["duplicates"]);
        case.faults
            .push(fault(FaultKind::Restore { copied: 600 }, LEASE, 3 * LEASE / 2));
        assert!(caught(&case).is_empty());
        case.faults.pop();
        case.arrivals[0].answer = Answer::PutOff;
        assert!(caught(&case).is_empty());
    }

    #[test]
    fn a_restore_explains_what_its_copy_still_held() {
        let mut case = twice(5 * LEASE);
        case.faults
            .push(fault(FaultKind::Restore { copied: 600 }, 2 * LEASE, 3 * LEASE));
        assert!(caught(&case).is_empty());
        case.faults[0].kind = FaultKind::Restore { copied: 2 * LEASE };
        assert_eq!(caught(&case), ["duplicates"], "it was settled before the copy");
        case.faults[0] = fault(FaultKind::NumbersReset, 600, 700);
        assert_eq!(caught(&case), ["duplicates"], "a number is not a message");
    }
}
