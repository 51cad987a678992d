//! Twenty destinations of which some are in trouble, each in its own way: the others do not notice. The real relay on SQLite in
//! memory, in virtual time.
#![cfg(feature = "sqlite")]
#![expect(clippy::unwrap_used, reason = "a failing test may say so in its own words")]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_core::future::BoxFuture;
use redeliver::{Class, Moment, clock};
use redeliver_outbox::{
    Timestamp,
    desk::{Layout, Schema as _},
    destination::{Delivery, Destination, Outcome, Route, Routes},
    relay::{Relay, RelayConfig},
    store::SqliteStore,
};
use tokio::sync::oneshot;

const SECOND: Duration = Duration::from_secs(1);
const DESTINATIONS: usize = 20;
const MINUTES: u64 = 5;
const EACH_SECOND: usize = 20;
const REST: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    None,
    Down,
    /// Takes one a second, and asks for a rest of five seconds otherwise.
    Throttling,
    Hanging,
}

fn three(destination: usize) -> Trouble {
    match destination {
        3 => Trouble::Down,
        7 => Trouble::Throttling,
        11 => Trouble::Hanging,
        _ => Trouble::None,
    }
}

fn most(destination: usize) -> Trouble {
    match destination {
        0..6 => Trouble::Down,
        6..10 => Trouble::Throttling,
        10..16 => Trouble::Hanging,
        _ => Trouble::None,
    }
}

#[derive(Debug, Default)]
struct Seen {
    /// When each attempt began.
    attempts: Vec<Moment>,
    /// How long after its insert each message arrived.
    late: Vec<Duration>,
    taken: Option<Moment>,
    /// When it asked for a rest.
    asked: Vec<Moment>,
}

#[derive(Clone, Debug)]
struct Api {
    trouble: Trouble,
    began: Moment,
    seen: Arc<Mutex<Seen>>,
}

impl Api {
    fn answer(&self, delivery: &Delivery<'_>) -> Outcome {
        let now = clock::now();
        let mut seen = self.seen.lock().unwrap();
        if self.trouble == Trouble::Down {
            let (class, reason) = (Class::Transient, "connection refused".to_owned());
            return Outcome::Retry { class, reason };
        }
        if self.trouble == Trouble::Throttling && seen.taken.is_some_and(|last| now.since(last) < SECOND) {
            seen.asked.push(now);
            let (class, reason) = (Class::throttled_for(REST), "429 Too Many Requests".to_owned());
            return Outcome::Retry { class, reason };
        }
        seen.taken = Some(now);
        let created = delivery.message.created_at.as_millis() - BEGINNING;
        let created = self
            .began
            .plus(Duration::from_millis(u64::try_from(created).unwrap()));
        seen.late.push(now.since(created));
        Outcome::Delivered
    }
}

impl Destination for Api {
    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            self.seen.lock().unwrap().attempts.push(clock::now());
            if self.trouble == Trouble::Hanging {
                std::future::pending::<()>().await;
            }
            clock::sleep(Duration::from_millis(20)).await;
            self.answer(&delivery)
        })
    }

    fn kind(&self) -> &'static str {
        "api"
    }
}

const BEGINNING: i64 = 1_767_225_600_000;

#[tokio::test(start_paused = true)]
async fn three_in_trouble_do_not_disturb_the_other_seventeen() {
    run(three).await;
}

#[tokio::test(start_paused = true)]
async fn sixteen_in_trouble_do_not_disturb_the_other_four() {
    run(most).await;
}

async fn run(trouble: fn(usize) -> Trouble) {
    let began = clock::now();
    let store = SqliteStore::in_memory().unwrap().with_clock(move || {
        let millis = clock::now().since(began).as_millis();
        Timestamp::from_millis(BEGINNING + i64::try_from(millis).unwrap())
    });
    store.migrate(Layout { shards: 4 }, None).await.unwrap();
    let apis: Vec<Api> = (0..DESTINATIONS)
        .map(|at| Api {
            trouble: trouble(at),
            began,
            seen: Arc::default(),
        })
        .collect();
    let routes = apis.iter().enumerate().fold(Routes::new(), |routes, (at, api)| {
        routes.with(format!("d{at}"), Route::to(api.clone()))
    });
    let relay = Relay::new(Arc::new(store.clone()), routes, RelayConfig::named("w"));
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(relay.run(async move {
        let _ = stopped.await;
    }));
    let created = move || BEGINNING + i64::try_from(clock::now().since(began).as_millis()).unwrap();
    for _ in 0..MINUTES * 60 {
        store.with_connection(|connection| {
            let mut insert = connection
                .prepare_cached(
                    "INSERT INTO redeliver_outbox (destination, payload, created_at) VALUES (?1, '{}', ?2)",
                )
                .unwrap();
            for at in 0..DESTINATIONS * EACH_SECOND {
                insert
                    .execute((format!("d{}", at % DESTINATIONS), created()))
                    .unwrap();
            }
        });
        clock::sleep(SECOND).await;
    }
    clock::sleep(SECOND * 2).await;
    let _ = stop.send(());
    running.await.unwrap();

    let sent = usize::try_from(MINUTES).unwrap() * 60 * EACH_SECOND;
    for (at, api) in apis.iter().enumerate() {
        let seen = api.seen.lock().unwrap();
        let attempts = seen.attempts.len();
        match api.trouble {
            Trouble::None => {
                assert_eq!(seen.late.len(), sent, "d{at} has got everything");
                let mut late = seen.late.clone();
                late.sort_unstable();
                let p99 = late[late.len() * 99 / 100];
                assert!(p99 < SECOND, "d{at}: {p99:?} until 99 of 100 have arrived");
            }
            Trouble::Down => assert!(attempts < 100, "d{at}: {attempts} attempts"),
            Trouble::Throttling => {
                let asked = &seen.asked;
                let early = seen.attempts.iter().filter(|&&attempt| {
                    let asks = |ask: &&Moment| **ask < attempt && attempt.since(**ask) < REST;
                    asked.iter().any(|ask| asks(&ask))
                });
                // Those that were on their way when it asked.
                let early = early.count();
                assert!(
                    early <= 64 + asked.len(),
                    "d{at}: {early} attempts within its rest"
                );
                assert!(!seen.late.is_empty(), "d{at} gets what it takes");
            }
            Trouble::Hanging => assert!(attempts < 200, "d{at}: {attempts} attempts"),
        }
    }
}
