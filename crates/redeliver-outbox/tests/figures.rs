//! What a relay counts when its database makes trouble.
#![cfg(feature = "sqlite")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_core::future::BoxFuture;
use redeliver_outbox::{
    Held, NewHold, NewMessage,
    desk::{Desk as _, Layout, Schema as _},
    destination::{Log, Route, Routes},
    relay::{ENDINGS, Relay, RelayConfig},
    store::{
        Beat, Claimed, Lease, Membership, Reader, Result, Settled, Settlement, SqliteStore, Store,
        StoreError, StoreErrorKind, WorkerId,
    },
};
use tokio::sync::{Notify, oneshot};

/// A database that does not answer to the first verdict, and knows the shard as somebody else's at the second.
#[derive(Debug)]
struct Troubled {
    store: SqliteStore,
    settles: AtomicU32,
    written: Arc<Notify>,
}

impl Store for Troubled {
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
        Box::pin(async move {
            match self.settles.fetch_add(1, Ordering::Relaxed) {
                0 => Err(StoreError::new(StoreErrorKind::Unreachable, "gone")),
                1 => {
                    let stale = settlements.iter().map(|one| one.lease.shard).collect();
                    Ok(Settled { stale })
                }
                _ => {
                    let settled = self.store.settle(worker, settlements).await;
                    // The first one counts the attempt, because the owner before may have crashed; the last one is the delivery.
                    self.written.notify_one();
                    settled
                }
            }
        })
    }
}

#[tokio::test]
async fn errors_lost_shards_and_what_is_sent_again_are_counted() {
    let store = SqliteStore::in_memory().unwrap();
    store.migrate(Layout { shards: 1 }, None).await.unwrap();
    let message = NewMessage::to("log").payload("{}");
    store.enqueue(&[message]).await.unwrap();
    let written = Arc::new(Notify::new());
    let troubled = Troubled {
        store,
        settles: AtomicU32::new(0),
        written: Arc::clone(&written),
    };
    let config = RelayConfig {
        lease: Duration::from_secs(1),
        ..RelayConfig::unique()
    };
    let relay = Relay::new(
        Arc::new(troubled),
        Routes::new().with("log", Route::to(Log)),
        config,
    );
    let figures = relay.figures();
    let (stop, stopped) = oneshot::channel::<()>();
    let ended = tokio::spawn(relay.run(async move { drop(stopped.await) }));
    while figures.delivered() == 0 {
        written.notified().await;
        tokio::task::yield_now().await;
    }
    drop(stop);
    assert!(ended.await.unwrap().clean);
    let failed: Vec<_> = figures.troubles().filter(|(_, count)| *count > 0).collect();
    assert_eq!(failed, [("settle", 1)]);
    assert_eq!(
        (figures.lost(), figures.delivered(), figures.attempts()),
        (1, 1, 2)
    );
    assert_eq!((figures.highest(), figures.in_flight()), (1, 0));
    assert!(figures.read() >= 2 && figures.renewed() >= 1);
    let all = |counts: &[u64]| counts.iter().sum::<u64>();
    assert!(all(&figures.settling().counts) >= 3);
    let destinations: Vec<_> = figures.destinations().collect();
    let [(Some("log"), log), (None, elsewhere)] = &destinations[..] else {
        unreachable!("{destinations:?}");
    };
    assert_eq!((ENDINGS[0], log.ended[0], log.delivered), ("delivered", 2, 1));
    assert_eq!((all(&log.took.counts), log.in_flight), (2, 0));
    assert_eq!(all(&elsewhere.ended), 0);
    assert_eq!(figures.live().keys().collect::<Vec<_>>(), ["log"]);
}
