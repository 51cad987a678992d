//! A message that was taken twice, or attempted again without a new number, has a cause that befell its relay at the time.

use super::{Findings, View, object};
use crate::history::{Answer, Arrival};

pub(super) fn check(view: &View<'_>, findings: &mut Findings) {
    for (&ticket, arrivals) in &view.arrivals {
        for pair in arrivals.windows(2) {
            let (first, second) = (pair[0], pair[1]);
            let cause = view.interrupted(first, second);
            if cause.is_none()
                && let Some(what) = unexplained(first, second)
            {
                object(&mut findings.violations, "duplicates", ticket, what);
            }
        }
        let taken: Vec<&&Arrival> = arrivals
            .iter()
            .filter(|arrival| arrival.answer.is_taken())
            .collect();
        for pair in taken.windows(2) {
            let cause = match pair[0].answer {
                Answer::TakenUnheard => None,
                _ => view.interrupted(pair[0], pair[1]),
            };
            *findings.duplicates.entry(cause).or_default() += 1;
        }
    }
}

/// A new attempt follows one that failed, under a new number; nothing follows one that succeeded.
fn unexplained(first: &Arrival, second: &Arrival) -> Option<String> {
    let (once, again) = (first.attempt, second.attempt);
    if first.answer == Answer::Accepted {
        return Some(format!(
            "attempt {once} was accepted, attempt {again} followed, and nothing explains it"
        ));
    }
    if first.answer == Answer::Rejected {
        return Some(format!(
            "attempt {once} was rejected, attempt {again} followed, and nothing explains it"
        ));
    }
    (again <= once).then(|| format!("attempt {again} followed attempt {once}, and nothing explains it"))
}

#[cfg(test)]
mod tests {
    use super::super::{
        check,
        example::{LEASE, again, caught, sent},
    };
    use crate::history::{Answer, Disturbance, DisturbanceKind};

    const KILL: Disturbance = Disturbance {
        kind: DisturbanceKind::Kill,
        relay: Some(1),
        from: LEASE / 10,
        until: u64::MAX,
    };

    #[test]
    fn a_second_arrival_needs_a_cause() {
        let mut history = sent(1);
        again(&mut history, 2, LEASE * 2);
        assert_eq!(caught(&history), ["duplicates"]);
        history.disturbances.push(KILL);
        assert!(caught(&history).is_empty());
        assert_eq!(check(&history).duplicates[&Some(DisturbanceKind::Kill)], 1);
    }

    #[test]
    fn a_cause_must_befall_the_relay_in_question() {
        let mut history = sent(1);
        again(&mut history, 2, LEASE * 2);
        history.disturbances.push(Disturbance {
            relay: Some(7),
            ..KILL
        });
        assert_eq!(caught(&history), ["duplicates"]);
        history.disturbances[0].relay = None;
        assert!(caught(&history).is_empty());
    }

    #[test]
    fn a_cause_must_come_before_the_verdict_had_time_to_be_written() {
        let mut history = sent(1);
        again(&mut history, 2, LEASE * 5);
        history.disturbances.push(Disturbance {
            from: LEASE * 3,
            ..KILL
        });
        assert_eq!(caught(&history), ["duplicates"]);
    }

    #[test]
    fn a_cause_must_come_before_its_effect() {
        let mut history = sent(1);
        again(&mut history, 2, LEASE / 2);
        history.disturbances.push(Disturbance {
            from: LEASE * 3 / 4,
            ..KILL
        });
        assert_eq!(caught(&history), ["duplicates"]);
    }

    #[test]
    fn a_relay_that_was_stopped_may_send_what_it_had_begun() {
        let mut history = sent(1);
        again(&mut history, 2, LEASE * 2);
        history.disturbances.push(Disturbance {
            kind: DisturbanceKind::Stop,
            relay: Some(2),
            from: 500,
            until: LEASE * 2 - 5,
        });
        assert!(caught(&history).is_empty());
        history.disturbances[0].until = LEASE / 2;
        assert_eq!(caught(&history), ["duplicates"], "it had run for long");
        history.disturbances[0].until = LEASE * 2 - 5;
        history.disturbances[0].from = LEASE * 3 / 2;
        assert_eq!(
            caught(&history),
            ["duplicates"],
            "it was stopped after the other had sent"
        );
    }

    #[test]
    fn a_relay_that_goes_on_may_finish_what_it_had_begun_just_before_the_new_owner() {
        let mut history = sent(1);
        let first = history.arrivals[0].at;
        again(&mut history, 2, first + 5);
        assert_eq!(caught(&history), ["duplicates"]);
        history.disturbances.push(Disturbance {
            kind: DisturbanceKind::Stop,
            relay: Some(1),
            from: 0,
            until: first - 1,
        });
        assert!(caught(&history).is_empty());
        history.disturbances[0].relay = Some(2);
        history.disturbances[0].from = first + 1;
        history.disturbances[0].until = first + 2;
        assert_eq!(
            caught(&history),
            ["duplicates"],
            "it was the other that was stopped, and later"
        );
    }

    #[test]
    fn a_relay_that_was_stopped_past_its_lease_may_send_again_once_it_owns_the_shard_again() {
        let mut history = sent(1);
        history.arrivals[0].at = LEASE * 3;
        history.arrivals[0].answered_at = LEASE * 3;
        again(&mut history, 1, LEASE * 4);
        assert_eq!(caught(&history), ["duplicates"]);
        history.disturbances.push(Disturbance {
            kind: DisturbanceKind::Stop,
            relay: Some(1),
            from: LEASE,
            until: LEASE * 3 - 400,
        });
        assert!(caught(&history).is_empty());
        history.disturbances[0].from = LEASE * 3 - 1000;
        assert_eq!(
            caught(&history),
            ["duplicates"],
            "its lease did not end: the verdict was written"
        );
    }

    #[test]
    fn a_restart_does_not_bring_back_what_was_written_before() {
        let mut history = sent(1);
        again(&mut history, 2, LEASE * 5);
        history.disturbances.push(Disturbance {
            kind: DisturbanceKind::Restart,
            relay: None,
            from: LEASE * 4,
            until: LEASE * 5 - 5,
        });
        assert_eq!(caught(&history), ["duplicates"]);
    }

    #[test]
    fn a_lost_answer_explains_itself_but_not_a_number_used_twice() {
        let mut history = sent(1);
        history.arrivals[0].answer = Answer::TakenUnheard;
        again(&mut history, 1, LEASE / 2);
        assert_eq!(caught(&history), ["duplicates"]);
        history.arrivals[1].attempt = 2;
        history.rows[0].attempts = 2;
        assert_eq!(caught(&history), ["attempts"], "the first is not in the log");
        history.log.push(super::super::example::logged(1));
        assert!(caught(&history).is_empty());
        assert_eq!(check(&history).duplicates[&None], 1);
    }
}
