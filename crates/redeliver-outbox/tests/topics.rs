//! Events at a relay on SQLite: where they go, in which order, and when.
#![cfg(feature = "sqlite")]
#![expect(clippy::unwrap_used, reason = "a failing test may say so in its own words")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use redeliver_outbox::{
    DeadReason, NewMessage,
    desk::{Act, Desk as _, Filter, Layout, MessageRef, Schema as _},
    destination::{Handler, Outcome, OwnedDelivery, Route, Routes},
    relay::{Relay, RelayConfig},
    state::Status,
    store::SqliteStore,
};

/// What arrived, by destination: payloads in order.
type Arrived = Arc<Mutex<BTreeMap<String, Vec<String>>>>;

fn routes(names: &[&str], arrived: &Arrived) -> Routes {
    names.iter().fold(Routes::new(), |routes, name| {
        let arrived = Arc::clone(arrived);
        let handler = Handler::new(move |delivery: OwnedDelivery| {
            let mut arrived = arrived.lock().unwrap();
            let message = &delivery.message;
            let payload = message.payload.as_text().unwrap().to_owned();
            arrived
                .entry(message.destination.clone())
                .or_default()
                .push(payload);
            std::future::ready(Outcome::Delivered)
        });
        routes.with(*name, Route::to(handler))
    })
}

async fn store() -> SqliteStore {
    let store = SqliteStore::in_memory().unwrap();
    store.migrate(Layout { shards: 4 }, None).await.unwrap();
    store
}

/// Runs a relay until it has written so many verdicts of this kind.
async fn run_until(store: &SqliteStore, routes: Routes, config: RelayConfig, done: impl Fn() -> bool) {
    let relay = Relay::new(Arc::new(store.clone()), routes, config);
    let stop = async {
        loop {
            let live: i64 = store
                .with_connection(|connection| {
                    connection.query_row(
                        "SELECT count(*) FROM redeliver_outbox WHERE coalesce(next_attempt_at, not_before, 0) < 4102444800000",
                        [],
                        |row| row.get(0),
                    )
                })
                .unwrap();
            if live == 0 && done() {
                break;
            }
            tokio::task::yield_now().await;
        }
    };
    let finished = tokio::time::timeout(Duration::from_secs(60), relay.run(stop))
        .await
        .unwrap();
    assert!(finished.clean);
}

#[tokio::test]
async fn each_destination_gets_the_events_of_a_key_in_order() {
    let (store, arrived) = (store().await, Arrived::default());
    let events: Vec<NewMessage> = (0..300)
        .map(|index| {
            let topic = ["orders.paid", "orders.sent", "users.new"][index % 3];
            NewMessage::on(topic)
                .key(format!("k{}", index % 5))
                .payload(index.to_string())
        })
        .collect();
    store.enqueue(&events).await.unwrap();
    let routes = routes(&["a", "b", "c"], &arrived)
        .with_topic("orders.*".parse().unwrap(), ["b", "a"])
        .with_topic("**".parse().unwrap(), ["c", "a"]);
    // So small a window that events and messages are let go and read again.
    let config = RelayConfig {
        window: 8,
        lane_window: 2,
        read_batch: 4,
        settle_batch: 3,
        ..RelayConfig::unique()
    };
    run_until(&store, routes, config, || true).await;
    let arrived = arrived.lock().unwrap();
    let count = |name: &str| arrived[name].len();
    assert_eq!((count("a"), count("b"), count("c")), (300, 200, 300));
    for (name, payloads) in arrived.iter() {
        for key in 0..5 {
            let of_key: Vec<usize> = payloads
                .iter()
                .map(|payload| payload.parse::<usize>().unwrap())
                .filter(|index| index % 5 == key)
                .collect();
            assert!(of_key.is_sorted(), "{name}, key {key}: {of_key:?}");
        }
    }
}

#[tokio::test]
async fn where_no_topic_leads_anywhere_an_event_is_a_dead_letter() {
    let (store, arrived) = (store().await, Arrived::default());
    let events = [
        NewMessage::on("a.b").key("k").payload("1"),
        NewMessage::to("a").payload("2"),
    ];
    let ids = store.enqueue(&events).await.unwrap();
    run_until(&store, routes(&["a"], &arrived), RelayConfig::unique(), || true).await;
    let id = ids[0].id().unwrap();
    let dead = store.find(MessageRef::Id(id)).await.unwrap().unwrap();
    assert_eq!(dead.record.dead_letter_reason, Some(DeadReason::NoRoute));
    assert!(dead.record.last_error.unwrap().contains("\"a.b\""));
    let act = Act {
        who: "ana".to_owned(),
        why: String::new(),
    };
    let all = Filter::default();
    assert_eq!(store.redrive(&all, 9, &act).await.unwrap(), [id]);
    let with = routes(&["a"], &arrived).with_topic("a.*".parse().unwrap(), ["a"]);
    run_until(&store, with, RelayConfig::unique(), || true).await;
    assert_eq!(arrived.lock().unwrap()["a"], ["2", "1"]);
}

#[tokio::test]
async fn an_event_waits_for_its_time_before_it_fans_out() {
    let (store, arrived) = (store().await, Arrived::default());
    let year = Duration::from_secs(100 * 365 * 24 * 3600 - 1);
    let events = [
        NewMessage::on("x").key("k").payload("later").delay(year),
        NewMessage::on("x").key("k").payload("behind"),
        NewMessage::on("x").payload("now"),
    ];
    let ids = store.enqueue(&events).await.unwrap();
    let routes = routes(&["a"], &arrived).with_topic("x".parse().unwrap(), ["a"]);
    let there = Arc::clone(&arrived);
    let relay = Relay::new(Arc::new(store.clone()), routes, RelayConfig::unique());
    let stop = async {
        while there.lock().unwrap().get("a").is_none() {
            tokio::task::yield_now().await;
        }
        loop {
            // Its time is written once it has been looked at.
            let scheduled: i64 = store
                .with_connection(|connection| {
                    let sql = "SELECT count(*) FROM redeliver_outbox WHERE next_attempt_at IS NOT NULL";
                    connection.query_row(sql, [], |row| row.get(0))
                })
                .unwrap();
            if scheduled == 1 {
                break;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), relay.run(stop))
        .await
        .unwrap();
    assert_eq!(arrived.lock().unwrap()["a"], ["now"]);
    for id in &ids[..2] {
        let found = store
            .find(MessageRef::Id(id.id().unwrap()))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(found.record.status, Status::Pending);
    }
}
