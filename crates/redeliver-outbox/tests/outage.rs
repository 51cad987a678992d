//! A destination that is down for ten minutes, with a hundred thousand messages waiting in the end: the real relay on SQLite in memory,
//! in virtual time.
#![cfg(feature = "sqlite")]
#![expect(clippy::unwrap_used, reason = "a failing test may say so in its own words")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_core::future::BoxFuture;
use redeliver::{Class, Moment, clock};
use redeliver_outbox::{
    Timestamp,
    desk::{Layout, Schema as _},
    destination::{Delivery, Destination, Outcome, Route, Routes},
    relay::{Relay, RelayConfig},
    store::SqliteStore,
};
use tokio::sync::oneshot;

const SECOND: Duration = Duration::from_secs(1);
/// What is inserted each second while all is well.
const STEADY: u64 = 50;
/// All messages: most of them are inserted during the outage.
const MESSAGES: u64 = 100_000;
const WELL: u64 = 120;
const OUTAGE: u64 = 600;

#[derive(Clone, Debug, Default)]
struct Api(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    down: bool,
    /// Attempts and arrivals in each second.
    attempts: BTreeMap<u64, u64>,
    arrivals: BTreeMap<u64, u64>,
    retries: u64,
    arrived: u64,
}

impl Destination for Api {
    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            clock::sleep(Duration::from_millis(20)).await;
            let second = clock::now().since(Moment::ZERO).as_secs();
            let mut seen = self.0.lock().unwrap();
            *seen.attempts.entry(second).or_default() += 1;
            seen.retries += u64::from(delivery.attempt > 1);
            if seen.down {
                let (class, reason) = (Class::Transient, "connection refused".to_owned());
                return Outcome::Retry { class, reason };
            }
            *seen.arrivals.entry(second).or_default() += 1;
            seen.arrived += 1;
            Outcome::Delivered
        })
    }

    fn kind(&self) -> &'static str {
        "api"
    }
}

fn sum(counts: &BTreeMap<u64, u64>, from: u64, to: u64) -> u64 {
    counts.range(from..to).map(|(_, count)| count).sum()
}

fn insert(store: &SqliteStore, count: u64) {
    let sql = format!(
        "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < {count})
         INSERT INTO redeliver_outbox (destination, payload) SELECT 'api', '{{}}' FROM n"
    );
    store.with_connection(|connection| connection.execute(&sql, []).unwrap());
}

fn number(store: &SqliteStore, sql: &str) -> u64 {
    let number: i64 =
        store.with_connection(|connection| connection.query_row(sql, [], |row| row.get(0)).unwrap());
    u64::try_from(number).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_outage_burns_no_attempts_and_ends_on_a_ramp() {
    let started = clock::now();
    let store = SqliteStore::in_memory().unwrap().with_clock(move || {
        let millis = clock::now().since(started).as_millis();
        Timestamp::from_millis(1_767_225_600_000 + i64::try_from(millis).unwrap())
    });
    store.migrate(Layout { shards: 4 }, None).await.unwrap();
    // Every row that is written is counted by the database itself.
    store.with_connection(|connection| {
        connection
            .execute_batch(
                "CREATE TABLE writes (number INTEGER PRIMARY KEY, count INTEGER NOT NULL);
                 CREATE TRIGGER count_writes AFTER UPDATE ON redeliver_outbox BEGIN
                     INSERT INTO writes VALUES (NEW.number, 1) ON CONFLICT (number) DO UPDATE SET count = count + 1;
                 END",
            )
            .unwrap();
    });
    let api = Api::default();
    let relay = Relay::new(
        Arc::new(store.clone()),
        Routes::new().with("api", Route::to(api.clone())),
        RelayConfig::named("w"),
    );
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(relay.run(async move {
        let _ = stopped.await;
    }));

    for _ in 0..WELL {
        insert(&store, STEADY);
        clock::sleep(SECOND).await;
    }
    api.0.lock().unwrap().down = true;
    let down_at = clock::now().since(Moment::ZERO).as_secs();
    let waiting = MESSAGES - WELL * STEADY;
    for _ in 0..OUTAGE {
        insert(&store, waiting / OUTAGE);
        clock::sleep(SECOND).await;
    }
    insert(&store, waiting % OUTAGE);
    api.0.lock().unwrap().down = false;
    let well_at = clock::now().since(Moment::ZERO).as_secs();

    while number(&store, "SELECT count(*) FROM redeliver_outbox") > 0 {
        clock::sleep(SECOND).await;
    }
    let _ = stop.send(());
    running.await.unwrap();

    let seen = api.0.lock().unwrap();
    assert_eq!(seen.arrived, MESSAGES, "everything arrives, once");
    assert_eq!(number(&store, "SELECT count(*) FROM redeliver_dead"), 0);
    let before = sum(&seen.arrivals, down_at - 60, down_at);
    // The breaker has seen enough after its window; from then on there is a probe each time it may.
    let while_open = sum(&seen.attempts, down_at + 11, well_at);
    assert!(
        while_open <= OUTAGE / 30 + 2,
        "{while_open} attempts while it was down"
    );
    let first = seen
        .arrivals
        .range(well_at..)
        .next()
        .map(|(&second, _)| second)
        .unwrap();
    let first_minute = sum(&seen.arrivals, first, first + 60);
    assert!(
        first_minute <= 2 * before && first_minute >= before / 2,
        "{first_minute} in the first minute, {before} in the one before the outage"
    );
    // Put away and brought back, and its failed attempts: what is written of a message does not grow with the outage.
    let writes =
        "SELECT max(w.count - (s.attempts - 1)) FROM writes w JOIN redeliver_sent s ON s.number = w.number";
    let most_writes = number(&store, writes);
    assert!(
        most_writes <= 2,
        "{most_writes} writes of one message beside its attempts"
    );
    assert!(seen.retries * 2 <= MESSAGES, "{} retries", seen.retries);
}
