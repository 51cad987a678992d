use super::*;

const NOW: Timestamp = Timestamp::from_millis(60_000);

fn id(number: i64) -> MessageId {
    MessageId::new(number, number * 7)
}

fn row(number: i64, destination: &str, status: Status, event: Option<i64>) -> Row {
    Row {
        id: id(number),
        destination: destination.to_owned(),
        status,
        created_at: Timestamp::from_millis(50_000),
        sent_at: (status == Status::Sent).then_some(Timestamp::from_millis(51_000)),
        event,
    }
}

/// One order: the event 1, of which 4, 5 and 6 were made, and the messages 2 and 3. One that was rolled back: 7, 8 and 9.
fn world() -> (Vec<Row>, Written, Heard) {
    let rows = vec![
        row(1, "", Status::FannedOut, None),
        row(2, "warehouse", Status::Failed, None),
        row(3, "crm", Status::DeadLettered, None),
        row(4, "billing", Status::Sent, Some(1)),
        row(5, "email", Status::Sent, Some(1)),
        row(6, "search", Status::Sent, Some(1)),
    ];
    let written = Written {
        orders: 1,
        orders_rolled_back: 1,
        messages: vec![id(2), id(3)],
        events: vec![id(1)],
        rolled_back: vec![id(7), id(8), id(9)],
    };
    let heard = Heard {
        asked: (2..=6).map(id).collect(),
        taken: (4..=6).map(id).collect(),
        ..Heard::default()
    };
    (rows, written, heard)
}

fn account(change: impl FnOnce(&mut Vec<Row>, &mut Written, &mut Heard)) -> Account {
    let (mut rows, mut written, mut heard) = world();
    change(&mut rows, &mut written, &mut heard);
    Account::of(&rows, &written, &heard, 0, NOW)
}

#[test]
fn what_agrees_breaks_no_rule() {
    let account = account(|_, _, _| {});
    assert_eq!(account.broken(), None, "{account:?}");
    assert_eq!(
        (account.committed, account.sent, account.dead, account.live),
        (5, 3, 1, 1)
    );
    assert_eq!(account.tallies["billing"].worst_lag, Duration::from_secs(1));
    assert_eq!(account.tallies["warehouse"].worst_lag, Duration::from_secs(10));
    assert_eq!(account.tallies["crm"].worst_lag, Duration::ZERO);
}

#[test]
fn an_event_that_waits_is_not_lost_and_one_that_is_nowhere_is() {
    let waiting = account(|rows, _, _| {
        rows.retain(|row| row.event.is_none());
        rows[0].status = Status::Pending;
    });
    assert_eq!(
        (waiting.broken(), waiting.events_waiting),
        (None, 1),
        "{waiting:?}"
    );
    let lost = account(|rows, _, _| rows.retain(|row| row.event.is_none() && row.id != id(1)));
    assert_eq!(lost.broken(), Some("a message that was committed is missing"));
}

#[test]
fn each_rule_is_noticed_when_it_is_broken() {
    for number in 2..=6 {
        let lost = account(|rows, _, _| rows.retain(|row| row.id != id(number)));
        assert_eq!(
            lost.broken(),
            Some("a message that was committed is missing"),
            "{number}"
        );
    }
    let twice = account(|rows, _, _| rows.push(row(10, "billing", Status::Pending, Some(1))));
    assert_eq!(twice.broken(), Some("a message is there twice"));
    let ghost = account(|rows, _, _| rows.push(row(8, "crm", Status::Pending, None)));
    assert_eq!(
        ghost.broken(),
        Some("a message of a transaction that was rolled back is in the outbox")
    );
    let heard = account(|_, _, heard| heard.asked.extend([id(9)]));
    assert_eq!(
        heard.broken(),
        Some("a message of a transaction that was rolled back reached the API")
    );
    let pretended = account(|_, _, heard| heard.taken.retain(|taken| *taken != id(5)));
    assert_eq!(
        pretended.broken(),
        Some("a message counts as sent that the API never took")
    );
    let (rows, written, heard) = world();
    let early = Account::of(&rows, &written, &heard, 1, NOW);
    assert_eq!(early.broken(), Some("an attempt was made before it was due"));
}

#[test]
fn what_somebody_else_sends_or_replays_is_no_fault() {
    let account = account(|rows, _, heard| {
        rows.push(row(10, "billing", Status::Sent, None));
        rows.push(row(11, "crm", Status::Sent, Some(1)));
        heard.taken.extend([id(10), id(11)]);
    });
    assert_eq!((account.broken(), account.others), (None, 2), "{account:?}");
}

#[test]
fn what_was_not_followed_is_not_held_against_anybody() {
    let account = account(|_, _, heard| {
        heard.taken.clear();
        heard.missed = 1;
    });
    assert_eq!(account.broken(), None);
}
