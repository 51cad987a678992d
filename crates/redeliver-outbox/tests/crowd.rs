//! More destinations than the window has places: the real relay on SQLite in memory, in virtual time.
#![cfg(feature = "sqlite")]
#![expect(clippy::unwrap_used, reason = "a failing test may say so in its own words")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_core::future::BoxFuture;
use redeliver::{Class, clock};
use redeliver_outbox::{
    NewMessage, Timestamp,
    desk::{Act, Desk as _, Layout, Schema as _},
    destination::{Delivery, Destination, Outcome, Route, Routes},
    relay::{Relay, RelayConfig},
    store::SqliteStore,
};
use tokio::{sync::oneshot, task::JoinHandle};

const SECOND: Duration = Duration::from_secs(1);
const WINDOW: usize = 16;
const DESTINATIONS: usize = 60;
const MESSAGES: usize = 5;

/// What all destinations see.
#[derive(Clone, Debug, Default)]
struct Api(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    in_flight: usize,
    most: usize,
    arrived: BTreeMap<String, usize>,
    /// From this destination on, all are down.
    down_from: Option<usize>,
}

impl Destination for Api {
    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            {
                let mut seen = self.0.lock().unwrap();
                seen.in_flight += 1;
                seen.most = seen.most.max(seen.in_flight);
            }
            clock::sleep(SECOND).await;
            let mut seen = self.0.lock().unwrap();
            seen.in_flight -= 1;
            let name = &delivery.message.destination;
            let number: usize = name.trim_start_matches('d').parse().unwrap();
            if seen.down_from.is_some_and(|from| number >= from) {
                let (class, reason) = (Class::Transient, "connection refused".to_owned());
                return Outcome::Retry { class, reason };
            }
            *seen.arrived.entry(name.clone()).or_default() += 1;
            Outcome::Delivered
        })
    }

    fn kind(&self) -> &'static str {
        "api"
    }
}

impl Api {
    fn complete(&self) -> usize {
        let seen = self.0.lock().unwrap();
        seen.arrived.values().filter(|&&count| count == MESSAGES).count()
    }
}

async fn outbox() -> SqliteStore {
    let started = clock::now();
    let store = SqliteStore::in_memory().unwrap().with_clock(move || {
        let millis = clock::now().since(started).as_millis();
        Timestamp::from_millis(1_767_225_600_000 + i64::try_from(millis).unwrap())
    });
    store.migrate(Layout { shards: 2 }, None).await.unwrap();
    store
}

fn relay(store: &SqliteStore, api: &Api) -> (oneshot::Sender<()>, JoinHandle<()>) {
    let routes = (0..DESTINATIONS).fold(Routes::new(), |routes, number| {
        routes.with(format!("d{number}"), Route::to(api.clone()))
    });
    let config = RelayConfig {
        window: WINDOW,
        ..RelayConfig::named("w")
    };
    let relay = Relay::new(Arc::new(store.clone()), routes, config);
    let (stop, stopped) = oneshot::channel::<()>();
    let ended = tokio::spawn(async move {
        relay
            .run(async move {
                let _ = stopped.await;
            })
            .await;
    });
    (stop, ended)
}

/// Some for each destination, those that will get nothing first; every second one with a key.
async fn enqueue(store: &SqliteStore) {
    let mut messages = Vec::new();
    for number in (0..DESTINATIONS).rev() {
        for count in 0..MESSAGES {
            let message = NewMessage::to(format!("d{number}")).payload("{}");
            messages.push(if count % 2 == 0 { message.key("k") } else { message });
        }
    }
    store.enqueue(&messages).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_window_holds_and_every_destination_has_its_turn() {
    let (store, api) = (outbox().await, Api::default());
    enqueue(&store).await;
    let (stop, ended) = relay(&store, &api);
    clock::sleep(60 * SECOND).await;
    assert_eq!(api.complete(), DESTINATIONS);
    assert!(
        api.0.lock().unwrap().most <= WINDOW,
        "{:?}",
        api.0.lock().unwrap().most
    );
    let _ = stop.send(());
    ended.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn destinations_that_are_paused_keep_none_of_the_others_waiting() {
    let (store, api) = (outbox().await, Api::default());
    let act = Act {
        who: "ana".to_owned(),
        why: "they move out".to_owned(),
    };
    let paused = 10..DESTINATIONS;
    for number in paused.clone() {
        store.pause(&format!("d{number}"), &act).await.unwrap();
    }
    enqueue(&store).await;
    let (stop, ended) = relay(&store, &api);
    clock::sleep(60 * SECOND).await;
    assert_eq!(api.complete(), 10);
    for number in paused {
        store.resume(&format!("d{number}"), None, &act).await.unwrap();
    }
    clock::sleep(120 * SECOND).await;
    assert_eq!(api.complete(), DESTINATIONS);
    let _ = stop.send(());
    ended.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn destinations_that_are_down_keep_none_of_the_others_waiting() {
    let (store, api) = (outbox().await, Api::default());
    api.0.lock().unwrap().down_from = Some(10);
    enqueue(&store).await;
    let (stop, ended) = relay(&store, &api);
    clock::sleep(300 * SECOND).await;
    assert_eq!(api.complete(), 10);
    assert!(api.0.lock().unwrap().most <= WINDOW);
    let _ = stop.send(());
    ended.await.unwrap();
}
