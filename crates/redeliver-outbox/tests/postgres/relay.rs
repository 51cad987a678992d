//! A real relay on rows that no honest producer would insert.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use futures_core::future::BoxFuture;
use redeliver_outbox::{
    DeadReason,
    destination::{Delivery, Destination, LanePolicy, Outcome, Route, Routes},
    relay::{Finished, Relay, RelayConfig},
    store::PostgresStore,
};
use tokio::{sync::oneshot, task::JoinHandle};
use tokio_postgres::Client;

use crate::database::{Database, scalar, until};

/// Counts what arrives, by payload, and refuses what says so.
#[derive(Clone, Debug, Default)]
struct Counter(Arc<Mutex<BTreeMap<String, u32>>>);

impl Counter {
    fn arrived(&self) -> BTreeMap<String, u32> {
        self.0.lock().unwrap().clone()
    }
}

impl Destination for Counter {
    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Outcome> {
        let payload = delivery.message.payload.as_text().unwrap_or_default().to_owned();
        let outcome = if payload.starts_with("dies") {
            Outcome::Reject {
                kind: DeadReason::Permanent,
                reason: "no".to_owned(),
            }
        } else {
            Outcome::Delivered
        };
        *self.0.lock().unwrap().entry(payload).or_default() += 1;
        Box::pin(std::future::ready(outcome))
    }

    fn kind(&self) -> &'static str {
        "counter"
    }
}

struct Running {
    arrived: Counter,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<Finished>,
}

fn start(store: &PostgresStore) -> Running {
    let arrived = Counter::default();
    let parks = Route {
        lane: LanePolicy::Park,
        ..Route::to(arrived.clone())
    };
    let routes = Routes::new()
        .with("d", Route::to(arrived.clone()))
        .with("parks", parks);
    let relay = Relay::new(Arc::new(store.clone()), routes, RelayConfig::unique());
    let (stop, stopped) = oneshot::channel();
    let ended = tokio::spawn(relay.run(async move {
        let _ = stopped.await;
    }));
    Running { arrived, stop, ended }
}

impl Running {
    async fn stop(self) -> BTreeMap<String, u32> {
        let _ = self.stop.send(());
        self.ended.await.unwrap();
        self.arrived.arrived()
    }
}

/// Numbers that a producer wrote: above the sequence, the same in several shards, scheduled, in lanes, with counted attempts.
#[tokio::test(flavor = "multi_thread")]
async fn forged_rows_come_to_their_end_and_stop_no_other() {
    let (database, store) = Database::migrated(8).await;
    let client = database.client().await;
    let running = start(&store);
    client
        .batch_execute(
            "INSERT INTO redeliver_outbox (number, destination, lane, payload)
             SELECT 5000000 + n, 'd', CASE WHEN n % 3 = 0 THEN 'k' || n / 7 END, 'far ' || n FROM generate_series(1, 400) AS n;
             INSERT INTO redeliver_outbox (number, salt, destination, lane, payload)
             SELECT 7000000, n, CASE WHEN n % 2 = 0 THEN 'd' ELSE 'parks' END, 'twin' || n, 'twin ' || n
               FROM generate_series(1, 40) AS n ON CONFLICT DO NOTHING;
             INSERT INTO redeliver_outbox (number, destination, payload, attempts, last_attempt_at, redrives, last_wait_ms, salt)
             SELECT 9000000 + n, 'd', 'tried ' || n, 3, now(), 2000000000, 9223372036854775807, -n FROM generate_series(1, 9) AS n;
             INSERT INTO redeliver_outbox (destination, payload) SELECT 'd', 'near ' || n FROM generate_series(1, 20) AS n;
             INSERT INTO redeliver_outbox (number, destination, lane, payload, not_before)
             VALUES (8000000, 'd', NULL, 'later', now() + interval '1 hour'), (8000001, 'd', 'k', 'later', now() + interval '1 hour')",
        )
        .await
        .unwrap();
    let twins: u32 = scalar(
        &client,
        "SELECT count(*) FROM redeliver_outbox WHERE number = 7000000",
    )
    .await
    .parse()
    .unwrap();
    assert!(twins > 4, "{twins}");
    until(
        &client,
        "SELECT count(*) = 2 FROM redeliver_outbox WHERE next_attempt_at > now() + interval '50 minutes'",
    )
    .await;
    until(&client, "SELECT count(*) = 2 FROM redeliver_outbox").await;
    client
        .batch_execute(
            "INSERT INTO redeliver_outbox (destination, lane, payload)
             SELECT 'd', CASE WHEN n % 3 = 0 THEN 'k' || n / 7 END, 'new ' || n FROM generate_series(1, 200) AS n",
        )
        .await
        .unwrap();
    until(&client, "SELECT count(*) = 2 FROM redeliver_outbox").await;
    let arrived = running.stop().await;
    let count = |start: &str| {
        arrived
            .keys()
            .filter(|payload| payload.starts_with(start))
            .count()
    };
    assert_eq!(
        [
            count("far"),
            count("near"),
            count("new"),
            count("tried"),
            count("later")
        ],
        [400, 20, 200, 9, 0]
    );
    assert_eq!(count("twin"), twins as usize);
    let twice: Vec<_> = arrived.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

/// Rows that the table takes and that no producer should insert: times without an end, counts at the end of their range.
const HOSTILE: &[&str] = &[
    "(destination, payload, not_before) VALUES ('d', 'n', '-infinity')",
    "(destination, payload, expires_at) VALUES ('d', 'e', '-infinity')",
    "(destination, payload, expires_at) VALUES ('d', 'e', 'infinity')",
    "(destination, payload, created_at) VALUES ('d', 'c', '-infinity')",
    "(destination, payload, created_at) VALUES ('d', 'c', 'infinity')",
    "(destination, payload, created_at) VALUES ('d', 'c', '4713-01-01 BC')",
    "(destination, payload, created_at) VALUES ('d', 'c', '294276-12-31')",
    "(destination, payload, attempts, last_attempt_at) VALUES ('d', 'a', 2147483647, 'infinity')",
    "(destination, payload, redrives) VALUES ('d', 'r', 2147483647)",
    "(destination, payload, last_wait_ms) VALUES ('d', 'w', 9223372036854775807)",
    "(destination, payload, last_wait_ms) VALUES ('d', 'w', -9223372036854775808)",
    "(destination, payload, next_attempt_at) VALUES ('d', 'x', '-infinity')",
    "(destination, payload, salt) VALUES ('d', 's', -9223372036854775808)",
    "(destination, payload, salt) VALUES ('d', 's', 9223372036854775807)",
    "(destination, lane, payload) VALUES ('d', '', 'an empty lane')",
    "(destination, payload, headers) VALUES ('d', 'h', 'null')",
    "(number, destination, payload) VALUES (1152921504606846975, 'd', 'the last number')",
];

#[tokio::test(flavor = "multi_thread")]
async fn hostile_rows_come_to_their_end() {
    let (database, store) = Database::migrated(4).await;
    let client = database.client().await;
    for row in HOSTILE {
        let statement = format!("INSERT INTO redeliver_outbox {row}");
        client.batch_execute(&statement).await.unwrap();
    }
    let running = start(&store);
    until(&client, "SELECT count(*) = 0 FROM redeliver_outbox").await;
    insert_some(&client, "honest", 20).await;
    until(&client, "SELECT count(*) = 0 FROM redeliver_outbox").await;
    running.stop().await;
}

async fn insert_some(client: &Client, name: &str, count: u32) {
    let statement = format!(
        "INSERT INTO redeliver_outbox (destination, lane, payload)
         SELECT CASE WHEN n % 2 = 0 THEN 'd' ELSE 'parks' END, CASE WHEN n % 3 = 0 THEN '{name}' || n END, '{name} ' || n
           FROM generate_series(1, {count}) AS n"
    );
    client.batch_execute(&statement).await.unwrap();
}

/// Numbers are given again, below what was read and dead-lettered and sent before: each message comes to its end, and once.
#[tokio::test(flavor = "multi_thread")]
async fn numbers_that_are_given_again_are_read_and_settled() {
    let (database, store) = Database::migrated(4).await;
    let client = database.client().await;
    let running = start(&store);
    insert_some(&client, "first", 60).await;
    insert_some(&client, "dies first", 60).await;
    until(&client, "SELECT count(*) = 0 FROM redeliver_outbox").await;
    let resets = [
        ("TRUNCATE redeliver_outbox RESTART IDENTITY", 20),
        ("SELECT setval('redeliver_outbox_number', 1, false)", 10),
        ("ALTER SEQUENCE redeliver_outbox_number RESTART", 20),
    ];
    for (turn, (reset, count)) in resets.into_iter().enumerate() {
        client.batch_execute(reset).await.unwrap();
        insert_some(&client, &format!("low {turn}"), count).await;
        insert_some(&client, &format!("dies low {turn}"), count).await;
        until(&client, "SELECT count(*) = 0 FROM redeliver_outbox").await;
    }
    // Down and up again before anybody looks.
    client
        .batch_execute("BEGIN; ALTER SEQUENCE redeliver_outbox_number RESTART")
        .await
        .unwrap();
    insert_some(&client, "swift", 300).await;
    insert_some(&client, "dies swift", 60).await;
    client.batch_execute("COMMIT").await.unwrap();
    until(&client, "SELECT count(*) = 0 FROM redeliver_outbox").await;
    let letters = scalar(
        &client,
        "SELECT count(*), count(DISTINCT (number, salt)) FROM redeliver_dead",
    )
    .await;
    assert_eq!(letters, "170", "no dead letter is lost");
    let arrived = running.stop().await;
    assert_eq!(arrived.len(), 60 + 60 + 40 + 20 + 40 + 360);
    let twice: Vec<_> = arrived.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
}
