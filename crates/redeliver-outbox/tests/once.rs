//! What must not arrive twice: the real relay on SQLite in memory, in virtual time, killed and stopped at every moment.
#![cfg(feature = "sqlite")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failing test may say so in its own words"
)]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_core::future::BoxFuture;
use redeliver::clock;
use redeliver_outbox::{
    NewMessage, Timestamp,
    desk::{Act, Desk as _, Layout, Schema as _},
    destination::{Delivery, Destination, Outcome, Route, Routes},
    relay::{Relay, RelayConfig},
    store::{LaneId, SqliteStore},
};
use tokio::sync::oneshot;

const MESSAGES: i64 = 30;
const AT_A_TIME: usize = 4;

/// Takes everything, in a while, and counts how often each came.
#[derive(Clone, Debug, Default)]
struct Bank(Arc<Mutex<BTreeMap<i64, u32>>>);

impl Bank {
    fn most(&self) -> u32 {
        self.0.lock().unwrap().values().copied().max().unwrap_or(0)
    }
}

impl Destination for Bank {
    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            *self
                .0
                .lock()
                .unwrap()
                .entry(delivery.message.number())
                .or_default() += 1;
            clock::sleep(Duration::from_millis(3)).await;
            Outcome::Delivered
        })
    }

    fn kind(&self) -> &'static str {
        "bank"
    }
}

async fn outbox() -> SqliteStore {
    let started = clock::now();
    let store = SqliteStore::in_memory().unwrap().with_clock(move || {
        let millis = clock::now().since(started).as_millis();
        Timestamp::from_millis(1_767_225_600_000 + i64::try_from(millis).unwrap())
    });
    store.migrate(Layout { shards: 2 }, None).await.unwrap();
    let message = |index: i64| {
        let message = NewMessage::to("bank").payload("{}");
        match index % 3 {
            0 => message.key("account-7"),
            _ => message,
        }
    };
    let messages: Vec<NewMessage> = (0..MESSAGES).map(message).collect();
    store.enqueue(&messages).await.unwrap();
    store
}

fn relay(store: &SqliteStore, bank: &Bank, name: &str) -> Relay {
    let route = Route {
        idempotent: false,
        concurrency: AT_A_TIME,
        ..Route::to(bank.clone())
    };
    let routes = Routes::new().with("bank", route);
    Relay::new(Arc::new(store.clone()), routes, RelayConfig::named(name))
}

fn count(store: &SqliteStore, sql: &str) -> i64 {
    store.with_connection(|connection| connection.query_row(sql, [], |row| row.get(0)).unwrap())
}

async fn until_empty(store: &SqliteStore) {
    for _ in 0..600 {
        if count(store, "SELECT count(*) FROM redeliver_outbox") == 0 {
            return;
        }
        clock::sleep(Duration::from_millis(100)).await;
    }
    panic!("some messages have no end");
}

#[tokio::test(start_paused = true)]
async fn a_relay_that_is_killed_makes_dead_letters_and_no_duplicates() {
    let mut buried_most = 0;
    for millis in 1..60 {
        let (store, bank) = (outbox().await, Bank::default());
        let killed = relay(&store, &bank, "w1").run(std::future::pending());
        let _ = tokio::time::timeout(Duration::from_millis(millis), killed).await;
        let (stop, stopped) = oneshot::channel::<()>();
        let next = tokio::spawn(relay(&store, &bank, "w2").run(async move {
            let _ = stopped.await;
        }));
        until_empty(&store).await;
        let _ = stop.send(());
        next.await.unwrap();
        assert!(
            bank.most() <= 1,
            "killed after {millis} ms: {:?}",
            bank.0.lock().unwrap()
        );
        let buried = count(
            &store,
            "SELECT count(*) FROM redeliver_dead WHERE reason = 'unknown_outcome'",
        );
        let sent = count(&store, "SELECT count(*) FROM redeliver_sent");
        assert_eq!(buried + sent, MESSAGES, "killed after {millis} ms");
        buried_most = buried_most.max(buried);
    }
    let most = i64::try_from(2 * AT_A_TIME).unwrap();
    assert!(
        (1..=most).contains(&buried_most),
        "{buried_most} were taken for sent"
    );
}

#[tokio::test(start_paused = true)]
async fn a_relay_that_is_stopped_makes_neither() {
    for millis in 1..60 {
        let (store, bank) = (outbox().await, Bank::default());
        for name in ["w1", "w2"] {
            let stopping = clock::sleep(Duration::from_millis(millis));
            let finished = relay(&store, &bank, name).run(stopping).await;
            assert!(finished.clean, "stopped after {millis} ms");
        }
        let (stop, stopped) = oneshot::channel::<()>();
        let next = tokio::spawn(relay(&store, &bank, "w3").run(async move {
            let _ = stopped.await;
        }));
        until_empty(&store).await;
        let _ = stop.send(());
        next.await.unwrap();
        assert_eq!(
            count(&store, "SELECT count(*) FROM redeliver_dead"),
            0,
            "stopped after {millis} ms"
        );
        assert_eq!(
            count(&store, "SELECT count(*) FROM redeliver_attempts"),
            0,
            "nothing was in vain"
        );
        assert_eq!(bank.most(), 1, "stopped after {millis} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lane_that_is_parked_between_the_count_and_the_send_loses_nothing() {
    for millis in 1..40 {
        let (store, bank) = (outbox().await, Bank::default());
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(relay(&store, &bank, "w1").run(async move {
            let _ = stopped.await;
        }));
        clock::sleep(Duration::from_millis(millis)).await;
        let lane = LaneId {
            destination: "bank".to_owned(),
            key: "account-7".to_owned(),
        };
        let act = Act {
            who: "ana".to_owned(),
            why: "to look at it".to_owned(),
        };
        store.park_lane(&lane, &act).await.unwrap();
        clock::sleep(Duration::from_secs(5)).await;
        store.resume_lane(&lane, None, &act).await.unwrap();
        until_empty(&store).await;
        let _ = stop.send(());
        running.await.unwrap();
        assert_eq!(
            count(&store, "SELECT count(*) FROM redeliver_dead"),
            0,
            "parked after {millis} ms"
        );
        assert_eq!(bank.most(), 1, "parked after {millis} ms");
    }
}
