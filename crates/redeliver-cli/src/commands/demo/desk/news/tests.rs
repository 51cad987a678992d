use std::time::Duration;

use redeliver_outbox::{
    MessageId, Timestamp,
    desk::{Figures, WorkerRecord},
    live::{Live, LiveFigures},
};

use super::*;
use LiveState::{Open, Paused, Probing, Ramping, Well};

fn report(state: LiveState, due_now: u64, put_away: u64) -> StatusReport {
    let live = LiveFigures {
        state,
        until: (state == Open).then_some(Timestamp::from_millis(101_500)),
        detail: "connection reset: while waiting".to_owned(),
        ..LiveFigures::default()
    };
    let worker = WorkerRecord {
        id: "w".to_owned(),
        started_at: Timestamp::default(),
        seen_at: Timestamp::default(),
        alive: true,
        shards: 1,
        in_flight: 0,
        destinations: Live::from([("warehouse".to_owned(), live)]),
    };
    let figures = Figures {
        due_now,
        put_away,
        ..Figures::default()
    };
    StatusReport {
        now: Timestamp::from_millis(100_000),
        workers: vec![worker],
        destinations: BTreeMap::from([("warehouse".to_owned(), figures)]),
        ..StatusReport::default()
    }
}

#[test]
fn an_outage_is_told_from_its_beginning_to_its_end_and_each_thing_once() {
    let mut news = News::default();
    let mut told = Vec::new();
    for (state, due_now, put_away) in [
        (Well, 1, 0),
        (Open, 0, 4),
        (Open, 0, 9),
        (Probing, 0, 12),
        (Open, 0, 14),
        (Ramping, 3, 15),
        (Ramping, 2, 0),
        (Well, 6, 0),
        (Well, 1, 0),
        (Well, 0, 0),
    ] {
        told.extend(news.looked(&report(state, due_now, put_away)));
    }
    let names: Vec<&str> = told.iter().map(|event| event.name).collect();
    assert_eq!(names, ["breaker_opened", "recovered", "caught_up"]);
    assert_eq!(
        told[0].words,
        "breaker open (connection reset): its messages are put away, no attempt counted; in 1.5s one is sent to see"
    );
    assert_eq!(told[1].figures["backlog"], 18);
    assert_eq!(news.course("warehouse").states, [Well, Open, Probing, Ramping]);
}

#[test]
fn a_hold_is_no_recovery() {
    let mut news = News::default();
    let mut names = Vec::new();
    for state in [Open, Paused, Paused, Well] {
        names.extend(news.looked(&report(state, 0, 0)).iter().map(|event| event.name));
    }
    assert_eq!(names, ["breaker_opened", "held", "resumed"]);
    assert_eq!(news.unwell().count(), 0);
}

fn retry(millis: u64, throttled: bool) -> Sighting {
    Sighting::Retry {
        destination: "email".to_owned(),
        attempt: 1,
        error: "500 Internal Server Error: {\"ok\":false}".to_owned(),
        wait: Duration::from_millis(millis),
        throttled,
    }
}

#[test]
fn retries_are_told_with_their_waits_and_the_tenth_with_all() {
    let mut news = News::default();
    let told: Vec<Event> = (1..=11)
        .filter_map(|n| news.saw(&retry(n * 100, false)))
        .collect();
    assert_eq!(
        told[0].words,
        "attempt 1 met 500 Internal Server Error: made again in 100ms"
    );
    assert_eq!(
        (told[8].name, told[9].name, told[10].name),
        ("retry", "retries_spread", "retry")
    );
    assert!(told[9].words.contains("100ms to 1s"), "{}", told[9].words);
    assert_eq!(news.saw(&retry(1, true)).unwrap().name, "throttled");
}

#[test]
fn dead_letters_are_told_once_an_issue_whatever_their_numbers() {
    let mut news = News::default();
    let mut dead = |reason, error: &str| {
        let sighting = Sighting::Dead {
            id: MessageId::new(1, 1),
            destination: Some("crm".to_owned()),
            reason,
            error: error.to_owned(),
        };
        news.saw(&sighting).is_some()
    };
    assert!(dead(DeadReason::Permanent, "422: order 7 has no email"));
    assert!(!dead(DeadReason::Permanent, "422: order 12 has no email"));
    assert!(dead(DeadReason::Permanent, "422: order 13 has no customer"));
    assert!(dead(DeadReason::InvalidPayload, "422: order 7 has no email"));
    assert_eq!(news.issues.values().map(|issue| issue.count).sum::<u64>(), 4);
}

#[test]
fn attempts_are_counted_and_so_is_what_is_early() {
    let mut news = News::default();
    for (attempt, early) in [(1, false), (2, false), (3, true)] {
        let sighting = Sighting::Sending {
            destination: "email".to_owned(),
            attempt,
            early,
        };
        assert_eq!(news.saw(&sighting), None);
    }
    let course = news.course("email");
    assert_eq!((course.attempts, course.again, news.early), (3, 2, 1));
}
