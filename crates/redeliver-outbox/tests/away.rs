//! What was put away for a destination that the configuration does not have any more: the real relay on SQLite in memory, in virtual time.
#![cfg(feature = "sqlite")]
#![expect(clippy::unwrap_used, reason = "a failing test may say so in its own words")]

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use redeliver::clock;
use redeliver_outbox::{
    DeadReason, NewMessage, Timestamp,
    desk::{Act, Desk as _, Filter, Layout, Page, Record, Schema as _},
    destination::{Log, Route, Routes},
    relay::{Relay, RelayConfig},
    state::Status,
    store::SqliteStore,
};
use tokio::{sync::oneshot, task::JoinHandle};

const SECOND: Duration = Duration::from_secs(1);

async fn outbox() -> SqliteStore {
    let started = clock::now();
    let store = SqliteStore::in_memory().unwrap().with_clock(move || {
        let millis = clock::now().since(started).as_millis();
        Timestamp::from_millis(1_767_225_600_000 + i64::try_from(millis).unwrap())
    });
    store.migrate(Layout { shards: 2 }, None).await.unwrap();
    store
}

async fn records(store: &SqliteStore) -> Vec<Record> {
    let page = Page {
        until: None,
        after: None,
        limit: 10_000,
        newest_first: false,
    };
    store.list(&Filter::default(), page, false).await.unwrap()
}

/// How many there are of each status and reason.
async fn ends(store: &SqliteStore) -> BTreeMap<(Status, Option<DeadReason>), usize> {
    let mut ends = BTreeMap::new();
    for record in records(store).await {
        *ends
            .entry((record.status, record.dead_letter_reason))
            .or_default() += 1;
    }
    ends
}

async fn enqueue(store: &SqliteStore, count: usize, message: NewMessage) {
    store.enqueue(&vec![message.payload("{}"); count]).await.unwrap();
}

fn put_all_away(store: &SqliteStore) {
    let sql = format!(
        "UPDATE redeliver_outbox SET deferred = 1, next_attempt_at = {}",
        Timestamp::PARKED.as_millis()
    );
    store.with_connection(|connection| connection.execute(&sql, []).unwrap());
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

/// A relay whose configuration has these destinations.
fn relay(store: &SqliteStore, worker: &str, destinations: &[&str]) -> Running {
    let routes = destinations
        .iter()
        .fold(Routes::new(), |routes, &name| routes.with(name, Route::to(Log)));
    let relay = Relay::new(Arc::new(store.clone()), routes, RelayConfig::named(worker));
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

#[tokio::test(start_paused = true)]
async fn a_destination_that_is_paused_and_then_removed_strands_nothing() {
    let store = outbox().await;
    let act = Act {
        who: "ana".to_owned(),
        why: "they move out".to_owned(),
    };
    store.pause("billing", &act).await.unwrap();
    let running = relay(&store, "w", &["billing", "mail"]);
    clock::sleep(SECOND).await;
    enqueue(&store, 20, NewMessage::to("billing").delay(SECOND)).await;
    enqueue(&store, 20, NewMessage::to("billing").key("order-7").delay(SECOND)).await;
    clock::sleep(60 * SECOND).await;
    let away = records(&store)
        .await
        .iter()
        .filter(|record| record.put_away)
        .count();
    assert!(away >= 30, "{away} of 40 are put away");
    running.stop().await;

    // A hold is of a destination, and there is none of this name: what is inserted for it now is a dead letter, too.
    let running = relay(&store, "w", &["mail"]);
    enqueue(&store, 1, NewMessage::to("billing")).await;
    clock::sleep(10 * SECOND).await;
    let unknown = (Status::DeadLettered, Some(DeadReason::UnknownDestination));
    assert_eq!(ends(&store).await, BTreeMap::from([(unknown, 41)]));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn many_come_back_while_others_are_delivered() {
    let store = outbox().await;
    enqueue(&store, 2500, NewMessage::to("billing")).await;
    enqueue(&store, 300, NewMessage::to("mail")).await;
    enqueue(&store, 1, NewMessage::on("orders.paid")).await;
    put_all_away(&store);
    let running = relay(&store, "w", &["mail"]);
    clock::sleep(20 * SECOND).await;
    let expected = [
        ((Status::Sent, None), 300),
        ((Status::DeadLettered, Some(DeadReason::NoRoute)), 1),
        ((Status::DeadLettered, Some(DeadReason::UnknownDestination)), 2500),
    ];
    assert_eq!(ends(&store).await, BTreeMap::from(expected));

    // As a server does that has lost its last commits.
    enqueue(&store, 1, NewMessage::to("billing").delay(SECOND)).await;
    put_all_away(&store);
    clock::sleep(700 * SECOND).await;
    let unknown = (Status::DeadLettered, Some(DeadReason::UnknownDestination));
    assert_eq!(ends(&store).await[&unknown], 2501);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn who_owns_the_shard_says_which_destinations_there_are() {
    let store = outbox().await;
    enqueue(&store, 50, NewMessage::to("billing")).await;
    put_all_away(&store);
    let new = relay(&store, "new", &["mail"]);
    let old = relay(&store, "old", &["billing", "mail"]);
    clock::sleep(60 * SECOND).await;
    let ends = ends(&store).await;
    let of = |status, reason| ends.get(&(status, reason)).copied().unwrap_or_default();
    let sent = of(Status::Sent, None);
    let unknown = of(Status::DeadLettered, Some(DeadReason::UnknownDestination));
    assert_eq!(sent + unknown, 50, "each has an end: {ends:?}");
    new.stop().await;
    old.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_message_for_the_year_9999_is_not_sent_before_it() {
    let store = outbox().await;
    let running = relay(&store, "w", &["billing"]);
    enqueue(&store, 3, NewMessage::to("billing").not_before(Timestamp::PARKED)).await;
    let keyed = NewMessage::to("billing").key("order-7");
    enqueue(&store, 3, keyed.not_before(Timestamp::PARKED)).await;
    clock::sleep(1300 * SECOND).await;
    running.stop().await;
    let running = relay(&store, "w", &["billing"]);
    clock::sleep(60 * SECOND).await;
    assert_eq!(ends(&store).await, BTreeMap::from([((Status::Pending, None), 6)]));
    assert!(records(&store).await.iter().all(|record| !record.put_away));
    running.stop().await;
}

/// By a producer that writes columns which are not its own, or by a relay of a version that has no column to say it in.
#[tokio::test(start_paused = true)]
async fn what_this_relay_did_not_defer_comes_back_too() {
    let store = outbox().await;
    let running = relay(&store, "w", &["billing"]);
    clock::sleep(SECOND).await;
    for deferred in [0, 1] {
        let sql = format!(
            "INSERT INTO redeliver_outbox (destination, payload, next_attempt_at, deferred) VALUES ('billing', '{{}}', {}, {deferred})",
            Timestamp::PARKED.as_millis()
        );
        store.with_connection(|connection| connection.execute(&sql, []).unwrap());
    }
    clock::sleep(601 * SECOND).await;
    assert_eq!(ends(&store).await, BTreeMap::from([((Status::Sent, None), 2)]));
    running.stop().await;
}
