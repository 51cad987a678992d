//! Destinations that are held, by hand or by the relay itself: the real relay on SQLite in memory, in virtual time.
#![cfg(feature = "sqlite")]
#![expect(clippy::unwrap_used, reason = "a failing test may say so in its own words")]

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_core::future::BoxFuture;
use redeliver::{Moment, clock};
use redeliver_outbox::{
    DeadReason, Held, HoldCause, HoldKind, NewHold, NewMessage, Timestamp,
    desk::{Act, Desk as _, Filter, Layout, Page, Record, Schema as _},
    destination::{Delivery, Destination, Outcome, Route, Routes},
    live::LiveState,
    relay::{Relay, RelayConfig},
    store::{
        Beat, Claimed, Lease, Membership, Reader, Result, Settled, Settlement, SqliteStore, Store,
        StoreError, StoreErrorKind, WorkerId,
    },
};
use tokio::{sync::oneshot, task::JoinHandle};

const SECOND: Duration = Duration::from_secs(1);
/// Longer than it takes until the next beat.
const BEAT: Duration = Duration::from_secs(4);

/// A destination that answers as it is told to.
#[derive(Clone, Debug)]
struct Api(Arc<Mutex<Seen>>);

#[derive(Debug)]
struct Seen {
    answer: Outcome,
    /// When, which message, which attempt.
    attempts: Vec<(Moment, i64, u32)>,
    arrived: Vec<i64>,
}

impl Api {
    fn answering(answer: Outcome) -> Self {
        Self(Arc::new(Mutex::new(Seen {
            answer,
            attempts: Vec::new(),
            arrived: Vec::new(),
        })))
    }

    fn answer(&self, answer: Outcome) {
        self.0.lock().unwrap().answer = answer;
    }

    fn attempts(&self) -> usize {
        self.0.lock().unwrap().attempts.len()
    }

    fn arrived(&self) -> Vec<i64> {
        self.0.lock().unwrap().arrived.clone()
    }
}

impl Destination for Api {
    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            clock::sleep(Duration::from_millis(20)).await;
            let mut seen = self.0.lock().unwrap();
            let number = delivery.message.number();
            seen.attempts.push((clock::now(), number, delivery.attempt));
            if seen.answer == Outcome::Delivered {
                seen.arrived.push(number);
            }
            seen.answer.clone()
        })
    }

    fn kind(&self) -> &'static str {
        "api"
    }
}

fn gone() -> Outcome {
    Outcome::Disable {
        reason: "410 Gone: moved out".to_owned(),
    }
}

fn act() -> Act {
    Act {
        who: "ana".to_owned(),
        why: "the receiver is being moved".to_owned(),
    }
}

/// The database, with trouble where a test wants it.
#[derive(Clone, Debug)]
struct Outbox {
    store: SqliteStore,
    /// No hold can be written.
    refuses_holds: Arc<AtomicBool>,
    /// The answers to beats take this long.
    beats_take: Arc<Mutex<Duration>>,
}

impl Outbox {
    async fn new() -> Self {
        let started = clock::now();
        let store = SqliteStore::in_memory().unwrap().with_clock(move || {
            let millis = clock::now().since(started).as_millis();
            Timestamp::from_millis(1_767_225_600_000 + i64::try_from(millis).unwrap())
        });
        store.migrate(Layout { shards: 2 }, None).await.unwrap();
        Self {
            store,
            refuses_holds: Arc::default(),
            beats_take: Arc::default(),
        }
    }

    async fn enqueue(&self, count: usize, key: Option<&str>) {
        let message = NewMessage::to("api").payload("{}");
        let message = match key {
            Some(key) => message.key(key),
            None => message,
        };
        self.store.enqueue(&vec![message; count]).await.unwrap();
    }

    async fn records(&self) -> Vec<Record> {
        let page = Page {
            until: None,
            after: None,
            limit: 10_000,
            newest_first: false,
        };
        self.store.list(&Filter::default(), page, false).await.unwrap()
    }

    fn relay(&self, api: &Api) -> Running {
        let routes = Routes::new().with("api", Route::to(api.clone()));
        let relay = Relay::new(Arc::new(self.clone()), routes, RelayConfig::named("w"));
        let (stop, stopped) = oneshot::channel::<()>();
        let ended = tokio::spawn(async move {
            relay
                .run(async move {
                    let _ = stopped.await;
                })
                .await;
        });
        Running { stop, ended }
    }

    async fn until_arrived(&self, api: &Api, count: usize) {
        while api.arrived().len() < count {
            clock::sleep(SECOND).await;
        }
    }
}

impl Store for Outbox {
    fn beat<'a>(&'a self, beat: &'a Beat) -> BoxFuture<'a, Result<Membership>> {
        Box::pin(async move {
            let membership = self.store.beat(beat).await;
            let takes = *self.beats_take.lock().unwrap();
            clock::sleep(takes).await;
            membership
        })
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
        if self.refuses_holds.load(Ordering::Relaxed) {
            return Box::pin(async {
                Err(StoreError::new(
                    StoreErrorKind::Unreachable,
                    "the database is away",
                ))
            });
        }
        self.store.hold(worker, hold)
    }

    fn settle<'a>(
        &'a self,
        worker: &'a WorkerId,
        settlements: &'a [Settlement],
    ) -> BoxFuture<'a, Result<Settled>> {
        self.store.settle(worker, settlements)
    }
}

struct Running {
    stop: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

impl Running {
    async fn stop(self) {
        let _ = self.stop.send(());
        self.ended.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_lasts_until_somebody_ends_it_and_loses_nothing() {
    let (outbox, api) = (Outbox::new().await, Api::answering(Outcome::Delivered));
    let running = outbox.relay(&api);
    outbox.enqueue(100, None).await;
    outbox.until_arrived(&api, 100).await;
    assert!(outbox.store.pause("api", &act()).await.unwrap().new);
    clock::sleep(BEAT).await;

    outbox.enqueue(50, None).await;
    // Many that fall due while it is held.
    let soon = NewMessage::to("api").payload("{}").delay(SECOND);
    outbox.store.enqueue(&vec![soon; 50]).await.unwrap();
    clock::sleep(Duration::from_secs(3600)).await;
    assert_eq!(api.attempts(), 100, "nothing goes for an hour");
    let live: Vec<Record> = outbox.records().await.into_iter().skip(100).collect();
    assert!(
        live.iter()
            .all(|record| record.attempts == 0 && record.sent_at.is_none())
    );
    assert!(live.iter().filter(|record| record.put_away).count() >= 40);
    let figures = outbox.store.status().await.unwrap().live();
    assert_eq!(figures["api"].state, LiveState::Paused);
    assert_eq!(figures["api"].detail, "the receiver is being moved");

    let ended = outbox.store.resume("api", None, &act()).await.unwrap().unwrap();
    assert_eq!((ended.kind, ended.cause), (HoldKind::Paused, HoldCause::Hand));
    clock::sleep(BEAT).await;
    let ramping = outbox.store.workers().await.unwrap();
    outbox.until_arrived(&api, 200).await;
    assert_eq!(ramping[0].destinations["api"].ceiling, 32);
    assert!(
        api.0
            .lock()
            .unwrap()
            .attempts
            .iter()
            .all(|&(_, _, attempt)| attempt == 1),
        "each was attempted once"
    );
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn one_that_is_gone_is_disabled_at_once_and_its_messages_wait_in_their_order() {
    let (outbox, api) = (Outbox::new().await, Api::answering(gone()));
    outbox.enqueue(20, Some("order-7")).await;
    outbox.enqueue(20, None).await;
    let running = outbox.relay(&api);
    clock::sleep(Duration::from_secs(600)).await;
    let tried = api.attempts();
    assert!(
        (1..=32).contains(&tried),
        "{tried} that were on their way when it said so"
    );
    let records = outbox.records().await;
    assert_eq!(records.len(), 40);
    assert!(
        records
            .iter()
            .all(|record| record.attempts == 0 && record.dead_lettered_at.is_none())
    );
    let holds = outbox.store.holds().await.unwrap();
    let [hold] = holds.as_slice() else {
        panic!("one hold, and not {holds:?}")
    };
    assert_eq!(
        (hold.kind, hold.cause, hold.who.as_str(), hold.detail.as_str()),
        (HoldKind::Disabled, HoldCause::Gone, "w", "410 Gone: moved out")
    );
    let audit = outbox.store.audit(10).await.unwrap();
    assert_eq!((audit.len(), audit[0].action.as_str()), (1, "disable"));

    // Another relay finds it held before it sends anything.
    running.stop().await;
    let next = outbox.relay(&api);
    clock::sleep(Duration::from_secs(60)).await;
    assert_eq!(api.attempts(), tried);

    api.answer(Outcome::Delivered);
    outbox.store.resume("api", None, &act()).await.unwrap();
    outbox.until_arrived(&api, 40).await;
    let lane: Vec<i64> = api.arrived().into_iter().filter(|&number| number <= 20).collect();
    assert_eq!(lane, (1..=20).collect::<Vec<_>>(), "the lane in its order");
    next.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_surge_of_rejections_pauses_and_the_rest_is_kept() {
    let rejected = Outcome::Reject {
        kind: DeadReason::Permanent,
        reason: "401 Unauthorized: the key was revoked".to_owned(),
    };
    let (outbox, api) = (Outbox::new().await, Api::answering(rejected));
    outbox.enqueue(500, None).await;
    let running = outbox.relay(&api);
    clock::sleep(Duration::from_secs(600)).await;
    let dead = outbox
        .records()
        .await
        .iter()
        .filter(|record| record.dead_lettered_at.is_some())
        .count();
    assert!((40..=40 + 32).contains(&dead), "{dead} dead letters of 500");
    let holds = outbox.store.holds().await.unwrap();
    assert_eq!(
        (holds[0].kind, holds[0].cause),
        (HoldKind::Paused, HoldCause::Surge)
    );
    assert!(
        holds[0].detail.contains("40 of the last 50") && holds[0].detail.contains("the key was revoked"),
        "{}",
        holds[0].detail
    );
    api.answer(Outcome::Delivered);
    outbox.store.resume("api", None, &act()).await.unwrap();
    outbox.until_arrived(&api, 500 - dead).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_hold_that_cannot_be_written_holds_and_is_written_in_the_end() {
    let (outbox, api) = (Outbox::new().await, Api::answering(gone()));
    outbox.refuses_holds.store(true, Ordering::Relaxed);
    outbox.enqueue(10, None).await;
    let running = outbox.relay(&api);
    clock::sleep(Duration::from_secs(60)).await;
    let tried = api.attempts();
    assert!(tried <= 10, "{tried} attempts of ten messages");
    assert!(outbox.store.holds().await.unwrap().is_empty());
    clock::sleep(Duration::from_secs(600)).await;
    assert_eq!(
        api.attempts(),
        tried,
        "beats that know of no hold end none that is not written"
    );

    outbox.refuses_holds.store(false, Ordering::Relaxed);
    clock::sleep(Duration::from_secs(10)).await;
    assert_eq!(outbox.store.holds().await.unwrap().len(), 1);
    assert_eq!(api.attempts(), tried);
    api.answer(Outcome::Delivered);
    outbox.store.resume("api", None, &act()).await.unwrap();
    outbox.until_arrived(&api, 10).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_relay_that_stops_leaves_its_hold_behind() {
    let (outbox, api) = (Outbox::new().await, Api::answering(gone()));
    outbox.refuses_holds.store(true, Ordering::Relaxed);
    outbox.enqueue(1, None).await;
    let running = outbox.relay(&api);
    while api.attempts() == 0 {
        clock::sleep(SECOND).await;
    }
    outbox.refuses_holds.store(false, Ordering::Relaxed);
    running.stop().await;
    assert_eq!(outbox.store.holds().await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_beat_from_before_a_hold_does_not_end_it_and_an_operator_does() {
    let (outbox, api) = (Outbox::new().await, Api::answering(Outcome::Delivered));
    let running = outbox.relay(&api);
    outbox.enqueue(1, None).await;
    outbox.until_arrived(&api, 1).await;
    // From now on each beat is answered three seconds after the database has looked, and a hold comes at any time in between.
    *outbox.beats_take.lock().unwrap() = 3 * SECOND;
    api.answer(gone());
    for round in 0..20_u32 {
        clock::sleep(Duration::from_millis(170) * round).await;
        let before = api.attempts();
        outbox.enqueue(1, None).await;
        while outbox.store.holds().await.unwrap().is_empty() {
            clock::sleep(Duration::from_millis(130)).await;
        }
        let tried = api.attempts();
        assert_eq!(tried, before + 1, "round {round}: one attempt");
        clock::sleep(Duration::from_secs(30)).await;
        assert_eq!(
            api.attempts(),
            tried,
            "round {round}: a beat from before has ended the hold"
        );
        api.answer(Outcome::Delivered);
        outbox.store.resume("api", None, &act()).await.unwrap();
        outbox.until_arrived(&api, 2 + round as usize).await;
        api.answer(gone());
    }
    running.stop().await;
}
