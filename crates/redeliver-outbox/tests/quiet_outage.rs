//! A destination that is down while there are few messages: the real relay on SQLite in memory, in virtual time.
#![cfg(feature = "sqlite")]
#![expect(clippy::unwrap_used, reason = "a failing test may say so in its own words")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_core::future::BoxFuture;
use redeliver::{Class, Moment, Policy, clock};
use redeliver_outbox::{
    NewMessage, Timestamp,
    desk::{Desk as _, Layout, Schema as _},
    destination::{Delivery, Destination, Outcome, Route, Routes},
    live::LiveState,
    relay::{Relay, RelayConfig},
    store::SqliteStore,
};
use tokio::{sync::oneshot, task::JoinHandle};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

/// What a destination answers.
#[derive(Clone, Debug)]
enum Mood {
    Well,
    Answers(Outcome),
    /// It answers this to the message with this payload, and takes all others.
    Dislikes(&'static str, Outcome),
}

#[derive(Clone, Debug)]
struct Api(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    mood: Mood,
    attempts: u32,
    /// When each message arrived, by its payload.
    arrived: BTreeMap<String, Moment>,
}

impl Api {
    fn new(mood: Mood) -> Self {
        Self(Arc::new(Mutex::new(State {
            mood,
            attempts: 0,
            arrived: BTreeMap::new(),
        })))
    }

    fn turns(&self, mood: Mood) {
        self.0.lock().unwrap().mood = mood;
    }

    fn arrived(&self) -> usize {
        self.0.lock().unwrap().arrived.len()
    }

    fn attempts(&self) -> u32 {
        self.0.lock().unwrap().attempts
    }
}

impl Destination for Api {
    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            clock::sleep(Duration::from_millis(3)).await;
            let mut state = self.0.lock().unwrap();
            state.attempts += 1;
            let payload = String::from_utf8_lossy(delivery.message.payload.as_bytes()).into_owned();
            match &state.mood {
                Mood::Answers(outcome) => return outcome.clone(),
                Mood::Dislikes(one, outcome) if *one == payload => return outcome.clone(),
                Mood::Well | Mood::Dislikes(..) => {}
            }
            state.arrived.insert(payload, clock::now());
            Outcome::Delivered
        })
    }

    fn kind(&self) -> &'static str {
        "api"
    }
}

fn refused() -> Outcome {
    Outcome::Unreachable {
        reason: "cannot connect to http://api: connection refused".to_owned(),
    }
}

fn failed() -> Outcome {
    Outcome::Retry {
        class: Class::Unknown,
        reason: "500 Internal Server Error".to_owned(),
    }
}

fn bad_gateway() -> Outcome {
    Outcome::Retry {
        class: Class::THROTTLED,
        reason: "502 Bad Gateway".to_owned(),
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

async fn enqueue(store: &SqliteStore, payload: &str) {
    let message = NewMessage::to("api").payload(payload.to_owned());
    store.enqueue(&[message]).await.unwrap();
}

fn count(store: &SqliteStore, sql: &str) -> i64 {
    store.with_connection(|connection| connection.query_row(sql, [], |row| row.get(0)).unwrap())
}

fn dead(store: &SqliteStore) -> i64 {
    count(store, "SELECT count(*) FROM redeliver_dead")
}

fn most_attempts(store: &SqliteStore) -> i64 {
    count(store, "SELECT coalesce(max(attempts), 0) FROM redeliver_outbox")
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

    /// Ends it as a crash does.
    async fn kill(self) {
        self.ended.abort();
        let _ = self.ended.await;
    }
}

fn relay(store: &SqliteStore, worker: &str, api: &Api, policy: Policy) -> Running {
    let mut config = RelayConfig::named(worker);
    (config.poll_soonest, config.poll_latest) = (SECOND, 2 * SECOND);
    relay_with(store, config, api, policy)
}

fn relay_with(store: &SqliteStore, config: RelayConfig, api: &Api, policy: Policy) -> Running {
    let route = Route {
        policy,
        ..Route::to(api.clone())
    };
    let routes = Routes::new().with("api", route);
    let relay = Relay::new(Arc::new(store.clone()), routes, config);
    let (stop, stopped) = oneshot::channel();
    let ended = tokio::spawn(async move {
        relay
            .run(async {
                let _ = stopped.await;
            })
            .await;
    });
    Running { stop, ended }
}

/// How the relay finds the destination.
async fn state(store: &SqliteStore) -> Option<LiveState> {
    let workers = store.workers().await.unwrap();
    let alive = workers.iter().filter(|worker| worker.alive);
    let live = redeliver_outbox::live::sum(alive.map(|worker| &worker.destinations));
    live.get("api").map(|figures| figures.state)
}

fn is_down(state: Option<LiveState>) -> bool {
    matches!(state, Some(LiveState::Open | LiveState::Probing))
}

/// How long it takes until something is so, looked at each half second.
async fn until(longest: Duration, mut so: impl AsyncFnMut() -> bool) -> Duration {
    let began = clock::now();
    while !so().await {
        assert!(clock::now().since(began) <= longest, "not so after {longest:?}");
        clock::sleep(SECOND / 2).await;
    }
    clock::now().since(began)
}

const FIVE: Policy = Policy::STANDARD;

fn policies() -> [Policy; 5] {
    [
        Policy::DELIVERY,
        Policy::DELIVERY.max_attempts(5),
        FIVE,
        Policy::INTERACTIVE,
        FIVE.max_attempts(1),
    ]
}

/// So many messages, ten minutes of an outage: all arrive within a minute of its end, and it was seen within 30 s.
async fn survives(messages: usize, policy: Policy, outage: Outcome) {
    let told = format!("{messages} messages, {policy:?}, {outage:?}");
    let store = outbox().await;
    let api = Api::new(Mood::Answers(outage));
    let running = relay(&store, "w", &api, policy);
    for at in 0..messages {
        enqueue(&store, &at.to_string()).await;
    }
    until(30 * SECOND, async || is_down(state(&store).await)).await;
    clock::sleep(10 * MINUTE).await;
    assert_eq!(dead(&store), 0, "{told}");
    if let Some(most) = policy.max_attempts {
        assert!(most_attempts(&store) < i64::from(most), "{told}");
    }
    api.turns(Mood::Well);
    until(MINUTE, async || api.arrived() == messages).await;
    assert_eq!(dead(&store), 0, "{told}");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_connection_kills_no_message_whatever_its_policy() {
    for policy in policies() {
        for messages in [1, 3] {
            survives(messages, policy, refused()).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_only_fails_kills_no_message_that_is_tried_for_a_while() {
    for outage in [failed(), bad_gateway()] {
        for policy in [Policy::DELIVERY, Policy::DELIVERY.max_attempts(5), FIVE] {
            for messages in [1, 3] {
                survives(messages, policy, outage.clone()).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn ten_messages_a_day_survive_a_day() {
    for (outage, policy) in [(refused(), Policy::DELIVERY), (failed(), FIVE)] {
        let store = outbox().await;
        let api = Api::new(Mood::Answers(outage.clone()));
        // A day passes more quickly where less is looked at.
        let mut config = RelayConfig::named("w");
        (config.poll_soonest, config.poll_latest) = (5 * SECOND, 15 * SECOND);
        config.lease = MINUTE;
        let running = relay_with(&store, config, &api, policy);
        for at in 0..10 {
            enqueue(&store, &at.to_string()).await;
            until(MINUTE, async || is_down(state(&store).await)).await;
            clock::sleep(HOUR * 24 / 10).await;
        }
        assert_eq!(dead(&store), 0);
        api.turns(Mood::Well);
        until(MINUTE, async || api.arrived() == 10).await;
        // A probe each half minute, and the few attempts before the first.
        assert!(api.attempts() <= 24 * 120 + 60, "{}", api.attempts());
        running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_relay_that_starts_again_in_the_outage_kills_none() {
    for (policy, outage) in [
        (Policy::DELIVERY, refused()),
        (Policy::DELIVERY.max_attempts(5), refused()),
        (FIVE, refused()),
        (FIVE, failed()),
    ] {
        let store = outbox().await;
        let api = Api::new(Mood::Answers(outage));
        let mut running = relay(&store, "w0", &api, policy);
        for at in 0..3 {
            enqueue(&store, &at.to_string()).await;
        }
        for start in 1..=8 {
            clock::sleep(2 * MINUTE).await;
            running.stop().await;
            running = relay(&store, &format!("w{start}"), &api, policy);
        }
        until(MINUTE, async || is_down(state(&store).await)).await;
        assert_eq!(dead(&store), 0, "{policy:?}");
        api.turns(Mood::Well);
        until(MINUTE, async || api.arrived() == 3).await;
        running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_relay_that_is_killed_in_the_outage_kills_none() {
    let store = outbox().await;
    let api = Api::new(Mood::Answers(refused()));
    let running = relay(&store, "w0", &api, FIVE);
    for at in 0..3 {
        enqueue(&store, &at.to_string()).await;
    }
    clock::sleep(2 * MINUTE).await;
    running.kill().await;
    let running = relay(&store, "w1", &api, FIVE);
    clock::sleep(2 * MINUTE).await;
    assert_eq!(dead(&store), 0);
    api.turns(Mood::Well);
    until(MINUTE, async || api.arrived() == 3).await;
    running.stop().await;
}

/// A message that a healthy destination never takes does not keep the others back for long, and has an end.
#[tokio::test(start_paused = true)]
async fn a_bad_message_is_not_an_outage_for_the_others() {
    let store = outbox().await;
    let api = Api::new(Mood::Dislikes("bad", failed()));
    let running = relay(&store, "w", &api, FIVE);
    enqueue(&store, "bad").await;
    clock::sleep(MINUTE).await;
    for at in 0..30 {
        enqueue(&store, &at.to_string()).await;
        until(2 * MINUTE, async || api.arrived() == at + 1).await;
    }
    until(5 * MINUTE, async || dead(&store) == 1).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn bad_messages_among_good_ones_do_not_open_the_circuit() {
    let store = outbox().await;
    let api = Api::new(Mood::Dislikes("bad", failed()));
    let running = relay(&store, "w", &api, FIVE);
    for at in 0..60 {
        if at < 30 && at % 5 == 0 {
            enqueue(&store, "bad").await;
        }
        enqueue(&store, &at.to_string()).await;
        clock::sleep(SECOND).await;
        assert_eq!(state(&store).await.unwrap_or_default(), LiveState::Well, "{at}");
    }
    until(MINUTE, async || api.arrived() == 60).await;
    assert_eq!(dead(&store), 6);
    running.stop().await;
}
