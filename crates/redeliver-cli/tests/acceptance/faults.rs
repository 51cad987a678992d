//! Three of ten attempts fail, answers take their time, and the server says when to come again.

use std::{collections::BTreeMap, env, time::Duration};

use redeliver::clock;
use redeliver_lab::faulty::{FaultyConfig, RequestRecord};

use crate::{
    client::Client,
    database::{ALL, Database, Kind},
    endpoint::Endpoint,
    relay::Relay,
};

const RETRY_AFTER: u64 = 1;

/// How many messages; `REDELIVER_TEST_MESSAGES` says otherwise.
fn messages() -> usize {
    env::var("REDELIVER_TEST_MESSAGES").map_or(1_000, |count| count.parse().unwrap())
}

#[test]
fn everything_arrives_when_it_may_and_the_history_says_how() {
    for kind in ALL {
        let endpoint = Endpoint::start(FaultyConfig {
            fail_rate: 30,
            max_delay: Duration::from_millis(20),
            retry_after: RETRY_AFTER,
            ..FaultyConfig::default()
        });
        let database = Database::new(kind);
        endpoint.configure(&database, "/payment/authorize", "10s");
        let mut client = database.client();
        remember_schedule(&mut client, kind);
        assert_one_clock(&mut client, kind);
        insert(&mut client, messages());
        let begun = clock::now();
        let relay = Relay::start(&database);
        endpoint.await_arrived_within(messages(), Duration::from_secs(600));
        let took = clock::now().since(begun);
        relay.stop();
        let attempts = assert_history(&mut client, kind, &endpoint);
        println!(
            "{kind:?}: {} messages arrived in {took:.1?} with {attempts} attempts, 0 lost, 0 early",
            messages()
        );
    }
}

fn insert(client: &mut Client, count: usize) {
    for batch in (0..count).collect::<Vec<_>>().chunks(500) {
        let values: Vec<String> = batch
            .iter()
            .map(|n| format!("('api', '{{\"n\":{n}}}')"))
            .collect();
        let values = values.join(", ");
        client.run(&format!(
            "INSERT INTO redeliver_outbox (destination, payload) VALUES {values}"
        ));
    }
}

/// The outbox keeps only the next time of a message; the database itself notes each that was ever written.
fn remember_schedule(client: &mut Client, kind: Kind) {
    let time = match kind {
        Kind::Sqlite => "INTEGER",
        Kind::Postgres => "timestamptz",
        Kind::MariaDb | Kind::MySql => "DATETIME(3)",
    };
    client.run(&format!(
        "CREATE TABLE schedule (number BIGINT NOT NULL, attempts INT NOT NULL, next_attempt_at {time})"
    ));
    let note = "INSERT INTO schedule VALUES (NEW.number, NEW.attempts, NEW.next_attempt_at)";
    let trigger = "CREATE TRIGGER remember AFTER UPDATE ON redeliver_outbox FOR EACH ROW";
    match kind {
        Kind::Sqlite => client.run(&format!("{trigger} BEGIN {note}; END")),
        Kind::Postgres => client.run(&format!(
            "CREATE FUNCTION remember() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {note}; RETURN NULL; END $$; \
             {trigger} EXECUTE FUNCTION remember()"
        )),
        Kind::MariaDb | Kind::MySql => client.run(&format!("{trigger} {note}")),
    }
}

/// The database's times and the fault server's can be compared as they are.
fn assert_one_clock(client: &mut Client, kind: Kind) {
    let wall = || i64::try_from(clock::wall().as_millis()).unwrap();
    let before = wall();
    let there = client.number(&format!("SELECT {}", kind.now()));
    let after = wall();
    // The database may have rounded its milliseconds.
    assert!(
        (before - 1..=after + 1).contains(&there),
        "{before} {there} {after}"
    );
}

/// A failed attempt, as the outbox tells it.
struct Failed {
    attempt: u64,
    ended_at: u64,
    took_ms: u64,
    class: String,
    error: String,
    next_attempt_at: u64,
}

/// Compares what the outbox says of every message with what the server saw of it; says how many attempts there were.
fn assert_history(client: &mut Client, kind: Kind, endpoint: &Endpoint) -> usize {
    let mut seen = endpoint.by_message();
    let mut failed = failed_attempts(client, kind);
    let sent_at = kind.millis("sent_at");
    let sent = format!("SELECT id, status, number, attempts, {sent_at} FROM redeliver_messages");
    let sent = client.rows(&sent);
    assert_eq!(sent.len(), messages(), "every message is still there");
    let mut attempts = 0;
    for row in sent {
        let row: Vec<String> = row.into_iter().flatten().collect();
        let [id, status, number, count, sent_at] = &row[..] else {
            panic!("{row:?} has no end")
        };
        let told = failed.remove(number).unwrap_or_default();
        let requests = seen.remove(id).unwrap();
        assert_eq!(status, "sent", "{id}");
        assert_eq!(count.parse::<usize>().unwrap(), requests.len(), "{id}");
        assert_message(id, &told, &requests, sent_at.parse().unwrap());
        attempts += requests.len();
    }
    assert!(
        seen.is_empty() && failed.is_empty(),
        "nothing that was never enqueued"
    );
    attempts
}

fn assert_message(id: &str, told: &[Failed], requests: &[RequestRecord], sent_at: u64) {
    let (last, before) = requests.split_last().unwrap();
    assert_eq!(last.status, Some(200), "{id}");
    assert!(
        sent_at >= last.at_unix_ms + last.delay_ms,
        "{id} was written down before it arrived"
    );
    assert_eq!(told.len(), before.len(), "{id}: a line for each failure");
    for ((index, failed), pair) in told.iter().enumerate().zip(requests.windows(2)) {
        let (request, next) = (&pair[0], &pair[1]);
        assert_eq!(failed.attempt, index as u64 + 1, "{id}");
        assert_eq!(request.status, Some(503), "{id}");
        assert_eq!(failed.class, "throttled", "{id}");
        assert!(failed.error.contains("503"), "{id}: {}", failed.error);
        assert!(failed.took_ms >= request.delay_ms, "{id}");
        let answered_at = request.at_unix_ms + request.delay_ms;
        assert!(failed.ended_at >= answered_at, "{id}");
        assert!(
            next.at_unix_ms >= answered_at + RETRY_AFTER * 1000,
            "{id} came before Retry-After"
        );
        assert!(
            next.at_unix_ms >= failed.next_attempt_at,
            "{id} came before its time"
        );
    }
}

/// By the message's number, in order.
fn failed_attempts(client: &mut Client, kind: Kind) -> BTreeMap<String, Vec<Failed>> {
    let (at, next) = (kind.millis("a.at"), kind.millis("s.next_attempt_at"));
    let rows = client.rows(&format!(
        "SELECT a.number, a.attempt, {at}, a.took_ms, a.class, a.error, {next} FROM redeliver_attempts a \
         JOIN schedule s ON s.number = a.number AND s.attempts = a.attempt ORDER BY a.number, a.attempt"
    ));
    let all = client.number("SELECT count(*) FROM redeliver_attempts");
    assert_eq!(
        usize::try_from(all).unwrap(),
        rows.len(),
        "each was scheduled once"
    );
    let mut failed = BTreeMap::<String, Vec<_>>::new();
    for row in rows {
        let row: Vec<String> = row.into_iter().map(Option::unwrap).collect();
        let number = |column: usize| row[column].parse::<u64>().unwrap();
        failed.entry(row[0].clone()).or_default().push(Failed {
            attempt: number(1),
            ended_at: number(2),
            took_ms: number(3),
            class: row[4].clone(),
            error: row[5].clone(),
            next_attempt_at: number(6),
        });
    }
    failed
}
