//! The relay at work on SQLite, with real time and a handler for a destination.
#![cfg(feature = "sqlite")]
#![expect(clippy::unwrap_used, reason = "a failing test may say so in its own words")]

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_core::future::BoxFuture;
use redeliver::{Class, Jitter, Policy};
use redeliver_outbox::{
    DeadReason, MessageId, NewMessage,
    desk::{Act, Desk as _, Enqueued, Filter, Layout, MessageRef, Page, Schema as _},
    destination::{Delivery, Destination, LanePolicy, Outcome, Route, Routes},
    relay::{Finished, Happening, Relay, RelayConfig, Witness},
    state::Status,
    store::{LaneId, SqliteStore},
};
use tokio::sync::{Notify, oneshot};

type Rule = Box<dyn Fn(&Delivery<'_>) -> Outcome + Send + Sync>;

/// A destination that does as it is told and remembers everything.
struct Told {
    rule: Rule,
    arrived: Mutex<Vec<(i64, u32)>>,
    changed: Notify,
}

impl std::fmt::Debug for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Told")
    }
}

#[derive(Clone, Debug)]
struct Handle(Arc<Told>);

impl Handle {
    fn new(rule: impl Fn(&Delivery<'_>) -> Outcome + Send + Sync + 'static) -> Self {
        Self(Arc::new(Told {
            rule: Box::new(rule),
            arrived: Mutex::default(),
            changed: Notify::new(),
        }))
    }

    fn arrived(&self) -> Vec<(i64, u32)> {
        self.0.arrived.lock().unwrap().clone()
    }
}

impl Destination for Handle {
    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let outcome = (self.0.rule)(&delivery);
            if outcome == Outcome::Delivered {
                let arrival = (delivery.message.number(), delivery.attempt);
                self.0.arrived.lock().unwrap().push(arrival);
                self.0.changed.notify_waiters();
            }
            outcome
        })
    }

    fn kind(&self) -> &'static str {
        "told"
    }
}

fn quick() -> Policy {
    Policy::fixed(Duration::from_millis(2))
        .jitter(Jitter::None)
        .max_attempts(4)
}

fn route(handle: &Handle) -> Route {
    Route {
        policy: quick(),
        ..Route::to(handle.clone())
    }
}

async fn store(shards: u16) -> SqliteStore {
    let store = SqliteStore::in_memory().unwrap();
    store.migrate(Layout { shards }, None).await.unwrap();
    store
}

struct Running {
    stop: oneshot::Sender<()>,
    ended: tokio::task::JoinHandle<Finished>,
}

fn start(store: &SqliteStore, routes: Routes) -> Running {
    let relay = Relay::new(Arc::new(store.clone()), routes, RelayConfig::unique());
    let (stop, stopped) = oneshot::channel();
    let ended = tokio::spawn(relay.run(async move {
        let _ = stopped.await;
    }));
    Running { stop, ended }
}

impl Running {
    async fn stop(self) -> Finished {
        let _ = self.stop.send(());
        self.ended.await.unwrap()
    }
}

/// Waits until nothing is live any more.
async fn until_quiet(store: &SqliteStore) {
    loop {
        let live: i64 = store
            .with_connection(|connection| {
                connection.query_row("SELECT count(*) FROM redeliver_outbox", [], |row| row.get(0))
            })
            .unwrap();
        if live == 0 {
            return;
        }
        redeliver::clock::sleep(Duration::from_millis(5)).await;
    }
}

async fn statuses(store: &SqliteStore) -> Vec<(i64, Status, u32)> {
    let page = Page {
        until: None,
        after: None,
        limit: 1000,
        newest_first: false,
    };
    let records = store.list(&Filter::default(), page, false).await.unwrap();
    records
        .iter()
        .map(|record| (record.id.number(), record.status, record.attempts))
        .collect()
}

#[tokio::test]
async fn what_is_enqueued_arrives_and_is_remembered() {
    let store = store(1).await;
    let handle = Handle::new(|_| Outcome::Delivered);
    let messages: Vec<NewMessage> = (0..1_200)
        .map(|n| NewMessage::to("there").payload(format!("{{\"n\":{n}}}")))
        .collect();
    store.enqueue(&messages).await.unwrap();
    let running = start(&store, Routes::new().with("there", route(&handle)));
    until_quiet(&store).await;
    assert_eq!(
        running.stop().await,
        Finished {
            clean: true,
            abandoned: 0
        }
    );
    let mut numbers: Vec<i64> = handle.arrived().into_iter().map(|(number, _)| number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=1_200).collect::<Vec<_>>());
    assert!(
        statuses(&store)
            .await
            .iter()
            .all(|&(_, status, attempts)| status == Status::Sent && attempts == 1)
    );
}

#[tokio::test]
async fn failures_are_retried_and_counted_until_they_arrive_or_die() {
    let store = store(4).await;
    let handle = Handle::new(
        |delivery| match (delivery.message.payload.as_text(), delivery.attempt) {
            (Some("hopeless"), _) => Outcome::Retry {
                class: Class::Transient,
                reason: "busy".into(),
            },
            (Some("refused"), _) => Outcome::Reject {
                kind: DeadReason::Permanent,
                reason: "404".into(),
            },
            (_, 3) => Outcome::Delivered,
            _ => Outcome::Ambiguous {
                reason: "no answer".into(),
                asked: None,
            },
        },
    );
    let payloads = ["hopeless", "refused", "third time"];
    let messages: Vec<NewMessage> = payloads
        .iter()
        .map(|payload| NewMessage::to("there").payload(*payload))
        .collect();
    store.enqueue(&messages).await.unwrap();
    store
        .enqueue(&[NewMessage::to("elsewhere").payload("x")])
        .await
        .unwrap();
    let running = start(&store, Routes::new().with("there", route(&handle)));
    until_quiet(&store).await;
    running.stop().await;
    let expected = [
        (1, Status::DeadLettered, 4),
        (2, Status::DeadLettered, 1),
        (3, Status::Sent, 3),
        (4, Status::DeadLettered, 0),
    ];
    assert_eq!(statuses(&store).await, expected);
    let reasons: Vec<_> = store
        .list(
            &Filter::default(),
            Page {
                until: None,
                after: None,
                limit: 9,
                newest_first: false,
            },
            false,
        )
        .await
        .unwrap()
        .iter()
        .filter_map(|record| record.dead_letter_reason)
        .collect();
    assert_eq!(
        reasons,
        [
            DeadReason::AttemptsExhausted,
            DeadReason::Permanent,
            DeadReason::UnknownDestination
        ]
    );
    let detail = store.find(MessageRef::Number(1)).await.unwrap().unwrap();
    assert_eq!(
        detail
            .attempts
            .iter()
            .map(|attempt| attempt.attempt)
            .collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
}

#[tokio::test]
async fn a_lane_keeps_its_order_whatever_its_head_does() {
    let store = store(3).await;
    let failures = AtomicU32::new(0);
    let handle = Handle::new(move |_| {
        if failures.fetch_add(1, Ordering::Relaxed).is_multiple_of(3) {
            Outcome::Retry {
                class: Class::Transient,
                reason: "busy".into(),
            }
        } else {
            Outcome::Delivered
        }
    });
    let keys = ["a", "b", "c", "d", "e"];
    let messages: Vec<NewMessage> = (0..400)
        .map(|n| NewMessage::to("there").key(keys[n % 5]).payload("x"))
        .collect();
    store.enqueue(&messages).await.unwrap();
    let policy = Policy::fixed(Duration::from_millis(1))
        .jitter(Jitter::None)
        .unlimited_attempts();
    let routes = Routes::new().with(
        "there",
        Route {
            policy,
            ..route(&handle)
        },
    );
    let running = start(&store, routes);
    until_quiet(&store).await;
    running.stop().await;
    let arrived = handle.arrived();
    assert_eq!(arrived.len(), 400);
    for lane in 0..5 {
        let numbers: Vec<i64> = arrived
            .iter()
            .map(|(number, _)| *number)
            .filter(|number| (number - 1) % 5 == lane)
            .collect();
        assert!(numbers.is_sorted(), "{numbers:?}");
    }
}

#[tokio::test]
async fn a_parked_lane_waits_for_its_head_and_resumes_in_order() {
    let store = store(1).await;
    let handle = Handle::new(|delivery| {
        if delivery.message.payload.as_text() == Some("broken") {
            Outcome::Reject {
                kind: DeadReason::Permanent,
                reason: "422".into(),
            }
        } else {
            Outcome::Delivered
        }
    });
    let in_lane = |payload: &str| NewMessage::to("there").key("k").payload(payload);
    store
        .enqueue(&[
            in_lane("one"),
            in_lane("broken"),
            in_lane("three"),
            in_lane("four"),
        ])
        .await
        .unwrap();
    store
        .enqueue(&[NewMessage::to("there").payload("other")])
        .await
        .unwrap();
    let routes = Routes::new().with(
        "there",
        Route {
            lane: LanePolicy::Park,
            ..route(&handle)
        },
    );
    let running = start(&store, routes);
    while handle.arrived().len() < 2 || store.status().await.unwrap().total.dead < 1 {
        redeliver::clock::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(store.status().await.unwrap().total.parked, 2);
    let act = Act {
        who: "me".into(),
        why: "mended".into(),
    };
    let broken = MessageRef::Number(2);
    let edit = redeliver_outbox::desk::Edit {
        payload: Some("mended".into()),
        ..Default::default()
    };
    store.edit(broken, &edit, &act).await.unwrap();
    let only = Filter {
        messages: vec![broken],
        ..Filter::default()
    };
    store.redrive(&only, 1, &act).await.unwrap();
    until_quiet(&store).await;
    running.stop().await;
    let lane: Vec<i64> = handle
        .arrived()
        .into_iter()
        .map(|(number, _)| number)
        .filter(|&number| number < 5)
        .collect();
    assert_eq!(lane, [1, 2, 3, 4]);
}

#[tokio::test]
async fn two_relays_share_the_shards_and_a_killed_ones_come_back() {
    let store = store(8).await;
    let handle = Handle::new(|_| Outcome::Delivered);
    let routes = || Routes::new().with("there", route(&handle));
    let config = |name: &str| RelayConfig {
        lease: Duration::from_millis(400),
        ..RelayConfig::named(name)
    };
    let run = |name: &str| {
        let relay = Relay::new(Arc::new(store.clone()), routes(), config(name));
        let figures = relay.figures();
        (tokio::spawn(relay.run(std::future::pending())), figures)
    };
    let (first, first_figures) = run("first");
    let (second, second_figures) = run("second");
    while first_figures.shards() != 4 || second_figures.shards() != 4 {
        redeliver::clock::sleep(Duration::from_millis(5)).await;
    }
    first.abort();
    let messages: Vec<NewMessage> = (0..80).map(|_| NewMessage::to("there").payload("x")).collect();
    store.enqueue(&messages).await.unwrap();
    until_quiet(&store).await;
    assert_eq!(second_figures.shards(), 8);
    assert_eq!(handle.arrived().len(), 80);
    second.abort();
}

fn operator() -> Act {
    Act {
        who: "ana".to_owned(),
        why: "their shop is being moved".to_owned(),
    }
}

/// Waits until so many have arrived.
async fn until_arrived(handle: &Handle, count: usize) {
    loop {
        let changed = handle.0.changed.notified();
        if handle.arrived().len() >= count {
            return;
        }
        changed.await;
    }
}

#[tokio::test]
async fn a_lane_that_is_parked_by_hand_stays_and_the_others_flow() {
    let store = store(4).await;
    let handle = Handle::new(|_| Outcome::Delivered);
    let to = |key: &str| NewMessage::to("there").key(key).payload("{}");
    let lane = LaneId {
        destination: "there".to_owned(),
        key: "mine".to_owned(),
    };
    let number = |enqueued: Vec<Enqueued>| enqueued[0].id().unwrap().number();
    let mut mine = vec![number(store.enqueue(&[to("mine")]).await.unwrap())];
    store.park_lane(&lane, &operator()).await.unwrap();
    let running = start(&store, Routes::new().with("there", route(&handle)));

    // More of it while the relay runs, in turns with the others, which show that it has read past them.
    let mut others = Vec::new();
    for _ in 0..20 {
        mine.push(number(store.enqueue(&[to("mine")]).await.unwrap()));
        others.push(number(store.enqueue(&[to("other")]).await.unwrap()));
        until_arrived(&handle, others.len()).await;
    }
    let arrived = |handle: &Handle| -> Vec<i64> { handle.arrived().iter().map(|(id, _)| *id).collect() };
    assert_eq!(arrived(&handle), others);

    let resumed = store
        .resume_lane(&lane, None, &operator())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(resumed.hold.unwrap().who, "ana");
    until_quiet(&store).await;
    assert_eq!(arrived(&handle)[others.len()..], mine);
    assert!(running.stop().await.clean);
}

#[tokio::test]
async fn a_lane_is_parked_while_the_relay_runs_and_goes_on_without_what_died() {
    let store = store(1).await;
    // The first one of the lane is refused for good, once the lane is parked.
    let parked = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let known = Arc::clone(&parked);
    let handle = Handle::new(move |delivery| match delivery.message.key.as_deref() {
        Some("mine") if !known.load(Ordering::SeqCst) => Outcome::Retry {
            class: Class::Transient,
            reason: "not yet".to_owned(),
        },
        Some("mine") if delivery.message.number() == 1 => Outcome::Reject {
            kind: DeadReason::Permanent,
            reason: "never".to_owned(),
        },
        _ => Outcome::Delivered,
    });
    let to = |key: &str| NewMessage::to("there").key(key).payload("{}");
    store
        .enqueue(&[to("mine"), to("mine"), to("mine")])
        .await
        .unwrap();
    let standing = Route {
        policy: Policy::fixed(Duration::from_millis(2)).jitter(Jitter::None),
        lane: LanePolicy::Park,
        ..route(&handle)
    };
    let running = start(&store, Routes::new().with("there", standing));
    let lane = LaneId {
        destination: "there".to_owned(),
        key: "mine".to_owned(),
    };
    store.park_lane(&lane, &operator()).await.unwrap();
    store.enqueue(&[to("other")]).await.unwrap();
    until_arrived(&handle, 1).await;
    assert_eq!(handle.arrived()[0].0, 4, "the lane stands");
    parked.store(true, Ordering::SeqCst);
    store.resume_lane(&lane, None, &operator()).await.unwrap();
    // Its first message dies now, and stands in the way; by hand, the lane goes on without it.
    loop {
        let found = store.find(MessageRef::Number(1)).await.unwrap().unwrap();
        if found.record.status == Status::DeadLettered {
            break;
        }
        redeliver::clock::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(handle.arrived().len(), 1);
    let resumed = store
        .resume_lane(&lane, None, &operator())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(resumed.without.map(MessageId::number), Some(1));
    until_quiet(&store).await;
    let arrived: Vec<i64> = handle.arrived().iter().map(|(id, _)| *id).collect();
    assert_eq!(arrived, [4, 2, 3]);
    assert!(running.stop().await.clean);
}

/// A destination that takes everything, and never says so.
#[derive(Clone, Debug, Default)]
struct Silent(Arc<Notify>);

impl Destination for Silent {
    fn deliver<'a>(&'a self, _: Delivery<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            self.0.notify_one();
            std::future::pending().await
        })
    }

    fn kind(&self) -> &'static str {
        "silent"
    }
}

#[tokio::test]
async fn what_must_not_come_twice_is_written_down_before_a_relay_ends() {
    for (idempotent, shutdown) in [(false, 400), (false, 0), (true, 400)] {
        let store = store(1).await;
        store.enqueue(&[NewMessage::to("there")]).await.unwrap();
        let silent = Silent::default();
        let route = Route {
            policy: quick(),
            idempotent,
            ..Route::to(silent.clone())
        };
        let config = RelayConfig {
            shutdown: Duration::from_millis(shutdown),
            ..RelayConfig::unique()
        };
        let routes = Routes::new().with("there", route);
        let (stop, stopped) = oneshot::channel();
        let relay = Relay::new(Arc::new(store.clone()), routes, config);
        let ended = tokio::spawn(relay.run(async move {
            let _ = stopped.await;
        }));
        silent.0.notified().await;
        let finished = Running { stop, ended }.stop().await;
        let found = store.find(MessageRef::Number(1)).await.unwrap().unwrap();
        let (reason, attempts) = (found.record.dead_letter_reason, found.record.attempts);
        if idempotent {
            assert_eq!((finished.abandoned, reason, attempts), (1, None, 0));
            continue;
        }
        assert_eq!(finished.abandoned, 0);
        assert_eq!((reason, attempts), (Some(DeadReason::UnknownOutcome), 1));
        let error = found.record.last_error.unwrap();
        assert!(error.contains("stopped before the answer came"), "{error}");
    }
}

/// Notes which messages were put back without an attempt that counts.
#[derive(Clone, Debug, Default)]
struct PutBack(Arc<Mutex<Vec<i64>>>);

impl Witness for PutBack {
    fn saw(&self, happening: Happening<'_>) {
        if let Happening::Ended {
            message,
            counts: false,
            ..
        } = happening
        {
            self.0.lock().unwrap().push(message.number());
        }
    }
}

#[tokio::test]
async fn nothing_is_sent_under_a_lease_that_ended_while_the_process_was_stopped() {
    let store = store(1).await;
    let lease = Duration::from_millis(400);
    let stopped = AtomicU32::new(0);
    // The first send holds the only thread for longer than the lease, as a stopped process would.
    let handle = Handle::new(move |_| {
        if stopped.fetch_add(1, Ordering::SeqCst) == 0 {
            redeliver::clock::block(lease);
        }
        Outcome::Delivered
    });
    store
        .enqueue(&[NewMessage::to("there"), NewMessage::to("there")])
        .await
        .unwrap();
    let put_back = PutBack::default();
    let config = RelayConfig {
        lease,
        ..RelayConfig::unique()
    };
    let routes = Routes::new().with("there", route(&handle));
    let relay = Relay::new(Arc::new(store.clone()), routes, config).witnessed_by(Arc::new(put_back.clone()));
    let (stop, stopped) = oneshot::channel();
    let ended = tokio::spawn(relay.run(async move {
        let _ = stopped.await;
    }));
    until_quiet(&store).await;
    assert_eq!(handle.arrived().len(), 2);
    assert!(
        !put_back.0.lock().unwrap().is_empty(),
        "the second one waited for the next beat"
    );
    assert!(Running { stop, ended }.stop().await.clean);
}
