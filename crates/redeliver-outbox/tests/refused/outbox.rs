//! A database that refuses to settle what a test names, and a relay on it.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_core::future::BoxFuture;
use redeliver::clock;
use redeliver_outbox::{
    DeadReason, Held, NewHold, NewMessage, Timestamp,
    desk::{Desk as _, Layout, Schema as _},
    destination::{Delivery, Destination, LanePolicy, Outcome, Route, Routes},
    relay::{Finished, Relay, RelayConfig},
    store::{
        Beat, Claimed, Lease, Membership, Reader, Result, Settled, Settlement, SqliteStore, Store,
        StoreError, StoreErrorKind, WorkerId,
    },
};
use tokio::{sync::oneshot, task::JoinHandle};

use super::SECOND;

/// Rejects everything for `bad`, delivers all else, and remembers it.
#[derive(Clone, Debug, Default)]
pub(super) struct Api(Arc<Mutex<Vec<(String, i64)>>>);

impl Api {
    pub(super) fn attempts(&self, destination: &str) -> Vec<i64> {
        let seen = self.0.lock().unwrap();
        let mut attempts = Vec::new();
        attempts.extend(
            seen.iter()
                .filter(|(name, _)| name == destination)
                .map(|(_, number)| *number),
        );
        attempts
    }
}

impl Destination for Api {
    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            clock::sleep(Duration::from_millis(5)).await;
            let name = delivery.message.destination.clone();
            let outcome = match name.as_str() {
                "bad" => Outcome::Reject {
                    kind: DeadReason::Permanent,
                    reason: "422 Unprocessable".to_owned(),
                },
                _ => Outcome::Delivered,
            };
            self.0.lock().unwrap().push((name, delivery.message.number()));
            outcome
        })
    }

    fn kind(&self) -> &'static str {
        "api"
    }
}

type Trouble = Arc<dyn Fn(&Settlement) -> Option<StoreErrorKind> + Send + Sync>;

/// The database, which refuses to settle what a test names.
#[derive(Clone)]
pub(super) struct Outbox {
    pub(super) store: SqliteStore,
    trouble: Arc<Mutex<Option<Trouble>>>,
    pub(super) settles: Arc<Mutex<u64>>,
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Outbox")
    }
}

impl Outbox {
    pub(super) async fn new(shards: u16) -> Self {
        let started = clock::now();
        let store = SqliteStore::in_memory().unwrap().with_clock(move || {
            let millis = clock::now().since(started).as_millis();
            Timestamp::from_millis(1_767_225_600_000 + i64::try_from(millis).unwrap())
        });
        store.migrate(Layout { shards }, None).await.unwrap();
        Self {
            store,
            trouble: Arc::default(),
            settles: Arc::default(),
        }
    }

    pub(super) fn refuse(
        &self,
        trouble: impl Fn(&Settlement) -> Option<StoreErrorKind> + Send + Sync + 'static,
    ) {
        *self.trouble.lock().unwrap() = Some(Arc::new(trouble));
    }

    pub(super) fn execute(&self, sql: &str) {
        self.store
            .with_connection(|connection| connection.execute_batch(sql).unwrap());
    }

    pub(super) fn count(&self, sql: &str) -> i64 {
        self.store
            .with_connection(|connection| connection.query_row(sql, [], |row| row.get(0)).unwrap())
    }

    pub(super) async fn enqueue(&self, destination: &str, count: usize, key: Option<&str>) {
        let message = NewMessage::to(destination).payload("{}");
        let message = match key {
            Some(key) => message.key(key),
            None => message,
        };
        self.store.enqueue(&vec![message; count]).await.unwrap();
    }

    pub(super) fn relay(&self, api: &Api, name: &str) -> Running {
        let parking = Route {
            lane: LanePolicy::Park,
            ..Route::to(api.clone())
        };
        let routes = Routes::new()
            .with("bad", parking)
            .with("odd", Route::to(api.clone()))
            .with("good", Route::to(api.clone()));
        let relay = Relay::new(Arc::new(self.clone()), routes, RelayConfig::named(name));
        let (stop, stopped) = oneshot::channel::<()>();
        let ended = tokio::spawn(async move {
            relay
                .run(async move {
                    let _ = stopped.await;
                })
                .await
        });
        Running { stop, ended }
    }

    /// Whether all of this destination arrive in good time.
    pub(super) async fn until_sent(&self, destination: &str, count: i64) {
        let sql = format!("SELECT count(*) FROM redeliver_sent WHERE destination = '{destination}'");
        for _ in 0..600 {
            if self.count(&sql) == count {
                return;
            }
            clock::sleep(SECOND / 2).await;
        }
        panic!("{} of {count} for {destination} were sent", self.count(&sql));
    }
}

pub(super) struct Running {
    stop: oneshot::Sender<()>,
    ended: JoinHandle<Finished>,
}

impl Running {
    pub(super) async fn stop(self) -> Finished {
        let _ = self.stop.send(());
        self.ended.await.unwrap()
    }
}

impl Store for Outbox {
    fn beat<'a>(&'a self, beat: &'a Beat) -> BoxFuture<'a, Result<Membership>> {
        self.store.beat(beat)
    }

    fn claim<'a>(
        &'a self,
        worker: &'a WorkerId,
        at_most: usize,
        window: u32,
    ) -> BoxFuture<'a, Result<Vec<Claimed>>> {
        self.store.claim(worker, at_most, window)
    }

    fn release<'a>(
        &'a self,
        worker: &'a WorkerId,
        leases: &'a [Lease],
        clean: bool,
    ) -> BoxFuture<'a, Result<()>> {
        self.store.release(worker, leases, clean)
    }

    fn leave<'a>(&'a self, worker: &'a WorkerId) -> BoxFuture<'a, Result<()>> {
        self.store.leave(worker)
    }

    fn reader(&self) -> Box<dyn Reader> {
        self.store.reader()
    }

    fn unpark<'a>(
        &'a self,
        shards: &'a [u16],
        destination: &'a str,
        at_most: usize,
    ) -> BoxFuture<'a, Result<usize>> {
        self.store.unpark(shards, destination, at_most)
    }

    fn unpark_others<'a>(
        &'a self,
        shards: &'a [u16],
        known: &'a [String],
        at_most: usize,
    ) -> BoxFuture<'a, Result<usize>> {
        self.store.unpark_others(shards, known, at_most)
    }

    fn hold<'a>(&'a self, worker: &'a WorkerId, hold: &'a NewHold) -> BoxFuture<'a, Result<Held>> {
        self.store.hold(worker, hold)
    }

    fn settle<'a>(
        &'a self,
        worker: &'a WorkerId,
        settlements: &'a [Settlement],
    ) -> BoxFuture<'a, Result<Settled>> {
        *self.settles.lock().unwrap() += 1;
        let trouble = self.trouble.lock().unwrap().clone();
        if let Some(kind) = trouble.and_then(|trouble| settlements.iter().find_map(|of| trouble(of))) {
            return Box::pin(async move { Err(StoreError::new(kind, "as the test wants it")) });
        }
        self.store.settle(worker, settlements)
    }
}
