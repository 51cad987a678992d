//! docs/states.md tells exactly what the state machine does.

#![expect(clippy::unwrap_used, reason = "what cannot be unwrapped here fails the test")]

use std::{collections::BTreeSet, time::Duration};

use redeliver_outbox::{
    DeadReason, Timestamp,
    state::{Event, Place, State, Status, apply},
};

const PAGE: &str = include_str!("../../../docs/states.md");
const NOW: Timestamp = Timestamp::from_millis(1_000);
const PLACES: [Place; 5] = [
    Place::Live,
    Place::Sent,
    Place::Dead,
    Place::Discarded,
    Place::FannedOut,
];

/// From where, by what, to where.
type Transitions = BTreeSet<(String, String, String)>;

const fn place_name(place: Place) -> &'static str {
    match place {
        Place::Live => "live",
        Place::Sent => "sent",
        Place::Dead => "dead",
        Place::Discarded => "discarded",
        Place::FannedOut => "fanned_out",
    }
}

/// No arm for the rest: an event that is new must come to this page.
const fn event_name(event: Event) -> &'static str {
    match event {
        Event::Counted { .. } => "counted",
        Event::Uncounted { .. } => "uncounted",
        Event::Delivered { .. } => "delivered",
        Event::Retry { .. } => "retry",
        Event::Dead { .. } => "dead",
        Event::Postponed { .. } => "postponed",
        Event::Redriven => "redriven",
        Event::Discarded => "discarded",
        Event::Edited => "edited",
        Event::FannedOut => "fanned_out",
    }
}

/// Every event, with every attempt that could matter to a message with two of them.
fn events() -> Vec<Event> {
    let reason = DeadReason::Permanent;
    let wait = Duration::from_secs(1);
    let mut events = vec![
        Event::Postponed { until: NOW },
        Event::Redriven,
        Event::Discarded,
        Event::Edited,
        Event::FannedOut,
        Event::Dead {
            attempt: None,
            reason,
        },
    ];
    for attempt in 0..5 {
        events.push(Event::Counted { attempt });
        events.push(Event::Uncounted { attempt });
        events.push(Event::Delivered { attempt });
        events.push(Event::Retry { attempt, wait });
        events.push(Event::Dead {
            attempt: Some(attempt),
            reason,
        });
    }
    events
}

fn state(place: Place) -> State {
    let dead = matches!(place, Place::Dead | Place::Discarded);
    State {
        place,
        attempts: 2,
        redrives: 1,
        next_attempt_at: (place == Place::Live).then_some(NOW),
        reason: dead.then_some(DeadReason::Expired),
    }
}

fn accepted() -> Transitions {
    let mut accepted = Transitions::new();
    for place in PLACES {
        for event in events() {
            if let Ok(next) = apply(state(place), event, NOW) {
                let names = [place_name(place), event_name(event), place_name(next.place)];
                let [from, by, to] = names.map(ToOwned::to_owned);
                accepted.insert((from, by, to));
            }
        }
    }
    accepted
}

/// The cells of the table under this heading, without its header.
fn table(heading: &str) -> Vec<Vec<&'static str>> {
    let section = PAGE.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

#[test]
fn the_table_holds_the_transitions_that_are_accepted() {
    let rows = table("The transitions");
    let told: Transitions = rows
        .iter()
        .map(|row| (row[0].to_owned(), row[1].to_owned(), row[2].to_owned()))
        .collect();
    assert_eq!(told.len(), rows.len(), "a transition is told twice");
    assert_eq!(told, accepted());
}

#[test]
fn the_diagram_holds_the_same() {
    let diagram = PAGE.split("```mermaid\n").nth(1).unwrap();
    let diagram = diagram.split("```").next().unwrap();
    let mut drawn = Transitions::new();
    let (mut begins, mut ends) = (Vec::new(), BTreeSet::new());
    for line in diagram.lines().skip(1) {
        let (from, rest) = line.trim().split_once(" --> ").unwrap();
        match (from, rest.split_once(": ")) {
            ("[*]", Some((to, _))) => begins.push(to),
            (from, Some((to, event))) => {
                drawn.insert((from.to_owned(), event.to_owned(), to.to_owned()));
            }
            (from, None) => {
                assert_eq!(rest, "[*]", "{line}");
                ends.insert(from.to_owned());
            }
        }
    }
    assert_eq!(drawn, accepted());
    assert_eq!(begins, [place_name(State::INSERTED.place)]);
    let stay = |place: &&Place| {
        events()
            .iter()
            .all(|&event| apply(state(**place), event, NOW).is_err())
    };
    let final_places: BTreeSet<String> = PLACES
        .iter()
        .filter(stay)
        .map(|place| place_name(*place).to_owned())
        .collect();
    assert_eq!(ends, final_places);
}

#[test]
fn an_attempt_is_the_last_one_or_the_next() {
    for event in events() {
        let attempt = match event {
            Event::Counted { attempt } | Event::Delivered { attempt } | Event::Retry { attempt, .. } => {
                attempt
            }
            Event::Dead {
                attempt: Some(attempt),
                ..
            } => attempt,
            _ => continue,
        };
        let live = state(Place::Live);
        assert_eq!(
            apply(live, event, NOW).is_ok(),
            attempt == live.attempts || attempt == live.attempts + 1,
            "{event:?}"
        );
    }
}

#[test]
fn every_status_has_its_line() {
    let rows = table("What it is called");
    let told: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(told, Status::ALL.map(Status::as_str));
    let places: BTreeSet<&str> = rows.iter().map(|row| row[1]).collect();
    assert_eq!(places, PLACES.map(place_name).into());
}
