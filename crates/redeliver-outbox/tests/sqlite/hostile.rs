//! Rows that SQLite takes and that no producer should insert: each comes to its end, and stops no other.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_core::future::BoxFuture;
use redeliver_outbox::{
    desk::{Layout, Schema as _},
    destination::{Delivery, Destination, Outcome, Route, Routes},
    relay::{Relay, RelayConfig},
    store::{Demand, LaneDemand, SqliteStore, Store as _},
};
use tokio::sync::oneshot;

use crate::bench::{Bench, open_in_memory};

#[derive(Clone, Debug, Default)]
struct Counter(Arc<Mutex<BTreeMap<Vec<u8>, u32>>>);

impl Destination for Counter {
    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Outcome> {
        let payload = delivery.message.payload.as_bytes().to_vec();
        *self.0.lock().unwrap().entry(payload).or_default() += 1;
        Box::pin(std::future::ready(Outcome::Delivered))
    }

    fn kind(&self) -> &'static str {
        "counter"
    }
}

fn live(store: &SqliteStore) -> i64 {
    store
        .with_connection(|connection| {
            connection.query_row("SELECT count(*) FROM redeliver_outbox", [], |row| row.get(0))
        })
        .unwrap()
}

async fn until_live(store: &SqliteStore, count: i64) {
    for _ in 0..2_000 {
        if live(store) == count {
            return;
        }
        redeliver::clock::sleep(Duration::from_millis(5)).await;
    }
    let left: Vec<String> = store.with_connection(|connection| {
        let mut left = connection
            .prepare("SELECT concat_ws(' ', number, destination, hex(lane), hex(payload), next_attempt_at) FROM redeliver_outbox")
            .unwrap();
        let left = left.query_map([], |row| row.get(0)).unwrap();
        left.map(Result::unwrap).take(20).collect()
    });
    panic!("never came to their end: {left:?}");
}

/// Rows that the table takes: what is no UTF-8, what is at the ends of a range, what is very long.
const ROWS: &[&str] = &[
    "(destination, lane, payload) VALUES ('d', CAST(x'ff00fe' AS TEXT), 'no lane')",
    "(destination, lane, payload) VALUES ('d', CAST(x'6b00' AS TEXT), 'a NUL in the lane')",
    "(destination, lane, payload) VALUES (CAST(x'64ff' AS TEXT), 'k', 'no destination')",
    "(destination, lane, payload) VALUES ('d', '', 'an empty lane')",
    "(destination, topic, payload) VALUES ('', CAST(x'ff' AS TEXT), 'no topic')",
    "(destination, payload) VALUES ('d', CAST(x'ff' AS TEXT))",
    "(destination, payload) VALUES ('d', '')",
    "(destination, payload_binary) VALUES ('d', x'')",
    "(destination, payload, headers) VALUES ('d', 'h', CAST(x'7bff' AS TEXT))",
    "(destination, payload, headers) VALUES ('d', 'h', 'null')",
    "(destination, payload, content_type) VALUES ('d', 'c', CAST(x'ff0a' AS TEXT))",
    "(destination, payload, traceparent) VALUES ('d', 't', CAST(x'ff' AS TEXT))",
    "(destination, payload, not_before) VALUES ('d', 'n', -9223372036854775808)",
    "(destination, payload, expires_at) VALUES ('d', 'e', -9223372036854775808)",
    "(destination, payload, expires_at) VALUES ('d', 'e', 9223372036854775807)",
    "(destination, payload, created_at) VALUES ('d', 'c', -9223372036854775808)",
    "(destination, payload, created_at) VALUES ('d', 'c', 9223372036854775807)",
    "(destination, payload, attempts, last_attempt_at) VALUES ('d', 'a', 9223372036854775807, 9223372036854775807)",
    "(destination, payload, redrives) VALUES ('d', 'r', 9223372036854775807)",
    "(destination, payload, last_wait_ms) VALUES ('d', 'w', 9223372036854775807)",
    "(destination, payload, last_wait_ms) VALUES ('d', 'w', -9223372036854775808)",
    "(destination, payload, next_attempt_at) VALUES ('d', 'x', -9223372036854775808)",
    "(destination, payload, salt) VALUES ('d', 's', -9223372036854775808)",
    "(destination, payload, salt) VALUES ('d', 's', 9223372036854775807)",
];

/// Leaves no number for anybody else, but for the reset after it.
const LAST: &str = "(number, destination, lane, payload) VALUES (1152921504606846975, 'd', CAST(x'ff00fe' AS TEXT), 'the last')";

#[tokio::test]
async fn hostile_rows_come_to_their_end() {
    for shards in [1, 4] {
        let store = open_in_memory();
        store.migrate(Layout { shards }, None).await.unwrap();
        store.with_connection(|connection| {
            for row in ROWS.iter().chain(ROWS).chain([&LAST]) {
                let insert = format!("INSERT INTO redeliver_outbox {row}");
                connection.execute(&insert, []).unwrap();
            }
            connection
                .execute_batch("DELETE FROM sqlite_sequence WHERE name = 'redeliver_outbox'")
                .unwrap();
        });
        let arrived = Counter::default();
        let routes = Routes::new().with("d", Route::to(arrived.clone()));
        let relay = Relay::new(Arc::new(store.clone()), routes, RelayConfig::unique());
        let (stop, stopped) = oneshot::channel::<()>();
        let ended = tokio::spawn(relay.run(async move {
            let _ = stopped.await;
        }));
        until_live(&store, 0).await;
        store.with_connection(|connection| {
            connection
                .execute_batch("INSERT INTO redeliver_outbox (destination, payload) VALUES ('d', 'honest')")
                .unwrap();
        });
        until_live(&store, 0).await;
        stop.send(()).unwrap();
        ended.await.unwrap();
        let arrived = arrived.0.lock().unwrap();
        assert_eq!(arrived.get(&b"honest"[..]), Some(&1));
        assert_eq!(arrived.get(&b"no lane"[..]), Some(&2), "delivered, once each");
    }
}

/// The trap: a lane that is let go is read again by its name, which the table has in other bytes.
#[tokio::test]
async fn a_lane_that_is_no_text_is_found_again() {
    let bench = Bench::new().await;
    let (_, lease) = bench.owner("one").await;
    for bytes in ["ff00fe", "ff01", "6b", "ff00fe"] {
        bench.sql(&format!(
            "INSERT INTO redeliver_outbox (destination, lane, payload) VALUES ('d', CAST(x'{bytes}' AS TEXT), '{{}}')"
        ));
    }
    let mut reader = bench.store.reader();
    reader.own(lease);
    let mut demand = Demand {
        fresh: 10,
        due: 10,
        ..Demand::default()
    };
    let fresh = reader.read(&demand).await.unwrap().fresh;
    let lane = |limit| LaneDemand {
        shard: 0,
        destination: "d".to_owned(),
        key: fresh[0].key.clone(),
        from: 1,
        limit,
    };
    demand.lanes = vec![lane(10), lane(1)];
    let found = reader.read(&demand).await.unwrap();
    let numbers = |at: usize| -> Vec<i64> { found.lanes[at].messages.iter().map(|m| m.number()).collect() };
    assert_eq!((numbers(0), found.lanes[0].complete), (vec![1, 4], true));
    assert_eq!((numbers(1), found.lanes[1].complete), (vec![1], false));
}
