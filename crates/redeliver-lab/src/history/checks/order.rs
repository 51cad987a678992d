//! Within a lane nothing arrives before everything earlier was accepted or is a dead letter.

use std::collections::BTreeMap;

use super::{View, Violation};
use crate::history::{Answer, Micros, Ticket};

pub(super) fn check(view: &View<'_>, violations: &mut Vec<Violation>) {
    let mut lanes: BTreeMap<(&str, &str), Vec<Ticket>> = BTreeMap::new();
    for (&ticket, message) in view
        .history
        .messages
        .iter()
        .filter(|(_, message)| message.committed)
    {
        if let Some(key) = &message.key {
            lanes.entry((&message.destination, key)).or_default().push(ticket);
        }
    }
    for ((_, key), lane) in &lanes {
        // The latest of the first acceptances so far: only what comes after it is in order.
        let mut last: Option<(Micros, Ticket)> = None;
        for &ticket in lane {
            let arrivals = view.arrivals(ticket);
            if let (Some((accepted, before)), Some(first)) = (last, arrivals.first())
                && first.at < accepted
            {
                let what = format!(
                    "it arrived {} µs before message {before}, earlier in lane {key}, was accepted for the first time",
                    accepted - first.at
                );
                violations.push(Violation {
                    checker: "order",
                    tickets: vec![ticket, before],
                    what,
                });
            }
            let accepted = arrivals
                .iter()
                .filter(|arrival| arrival.answer == Answer::Accepted);
            if let Some(first) = accepted.map(|arrival| arrival.answered_at).min() {
                last = last.max(Some((first, ticket)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::{caught, sent};
    use crate::history::{Answer, Arrival, Fate, History, Micros};

    fn lane(tickets: u64) -> History {
        let mut history = sent(tickets);
        for message in history.messages.values_mut() {
            message.key = Some("a".to_owned());
        }
        history
    }

    fn arrives_at(arrival: &mut Arrival, at: Micros) {
        (arrival.at, arrival.answered_at) = (at, at);
    }

    #[test]
    fn a_lane_is_delivered_in_its_order() {
        let mut history = lane(3);
        assert!(caught(&history).is_empty());
        let (second, third) = (history.arrivals[1].at, history.arrivals[2].at);
        history.arrivals.swap(1, 2);
        arrives_at(&mut history.arrivals[1], second);
        arrives_at(&mut history.arrivals[2], third);
        assert_eq!(caught(&history), ["order"]);
        history.messages.get_mut(&2).unwrap().key = Some("b".to_owned());
        assert!(caught(&history).is_empty(), "lanes do not wait for each other");
    }

    #[test]
    fn nothing_overtakes_what_was_not_accepted_yet() {
        let mut history = lane(2);
        let mut first = history.arrivals[0].clone();
        history.arrivals[0].answer = Answer::PutOff;
        arrives_at(&mut first, history.arrivals[1].at + 10);
        first.attempt = 2;
        history.arrivals.push(first);
        history.rows[0].attempts = 2;
        history.log.push(super::super::example::logged(1));
        assert_eq!(caught(&history), ["order"]);
    }

    #[test]
    fn nothing_follows_before_the_answer() {
        let mut history = lane(2);
        history.arrivals[0].answered_at = history.arrivals[1].at + 1;
        assert_eq!(caught(&history), ["order"]);
    }

    #[test]
    fn a_lane_goes_on_without_a_dead_letter() {
        let mut history = lane(2);
        history.arrivals[0].answer = Answer::Rejected;
        history.messages.get_mut(&1).unwrap().fate = Fate::Rejected;
        history.rows[0].status = "dead_lettered".to_owned();
        history.rows[0].reason = Some("permanent".to_owned());
        history.log.push(super::super::example::logged(1));
        assert!(caught(&history).is_empty());
    }
}
