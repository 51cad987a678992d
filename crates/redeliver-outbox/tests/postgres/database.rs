//! A database of its own for each test.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use redeliver_outbox::{
    Message, MessageId,
    desk::{Layout, Schema as _},
    store::{
        Attempted, Beat, Claimed, Demand, Found, Lease, Names, PostgresOptions, PostgresStore, Reader,
        Settlement, Store as _, StoreError, Verdict, WorkerId,
    },
};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

pub(crate) struct Database {
    pub(crate) url: String,
    name: String,
}

fn server() -> String {
    std::env::var("REDELIVER_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!(
            "REDELIVER_TEST_POSTGRES names no server: run ./test, or eval \"$(scripts/services start)\" first"
        )
    })
}

/// The same server, another database.
fn url_of(name: &str) -> String {
    let server = server();
    let (place, query) = server.split_once('?').unwrap_or((&server, ""));
    let base = place.rsplit_once('/').map_or(place, |(base, _)| base);
    format!("{base}/{name}?{query}")
}

impl Database {
    pub(crate) async fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("redeliver_test_{}_{count}", std::process::id());
        let admin = connect(&server()).await;
        admin
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .await
            .unwrap();
        Self {
            url: url_of(&name),
            name,
        }
    }

    /// With its tables, and so many shards.
    pub(crate) async fn migrated(shards: u16) -> (Self, PostgresStore) {
        let database = Self::new().await;
        let store = database.store();
        store.migrate(Layout { shards }, None).await.unwrap();
        (database, store)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn store(&self) -> PostgresStore {
        PostgresStore::new(&self.url, PostgresOptions::default()).unwrap()
    }

    pub(crate) fn named(&self, schema: Option<&str>, prefix: &str) -> PostgresStore {
        let names = Names::new(schema, prefix).unwrap();
        let options = PostgresOptions {
            names,
            ..PostgresOptions::default()
        };
        PostgresStore::new(&self.url, options).unwrap()
    }

    pub(crate) async fn client(&self) -> Client {
        connect(&self.url).await
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        let server = server();
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async { connect(&server).await.batch_execute(&drop).await })
        });
        let dropped = dropped.join();
        if !std::thread::panicking() {
            dropped.unwrap().unwrap();
        }
    }
}

pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// The first column of the first row, as text.
pub(crate) async fn scalar(client: &Client, query: &str) -> String {
    let rows = client.simple_query(query).await.unwrap();
    let row = rows.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("null").to_owned()),
        _ => None,
    });
    row.unwrap_or_else(|| "no row".to_owned())
}

/// Inserts a message and says its number.
pub(crate) async fn insert(client: &Client, lane: Option<&str>, payload: &str) -> i64 {
    let statement = "INSERT INTO redeliver_outbox (salt, destination, lane, payload) VALUES (0, 'd', $1, $2) RETURNING number";
    let row = client.query_one(statement, &[&lane, &payload]).await.unwrap();
    row.get(0)
}

/// Waits for something to become true. The limit is there to fail instead of hanging.
pub(crate) async fn until(client: &Client, query: &str) {
    for _ in 0..5_000 {
        if scalar(client, query).await == "t" {
            return;
        }
        redeliver::clock::sleep(Duration::from_millis(2)).await;
    }
    panic!("never became true: {query}");
}

pub(crate) fn worker(name: &str) -> WorkerId {
    WorkerId(name.to_owned())
}

pub(crate) async fn beat(store: &PostgresStore, name: &str, lease: Duration) {
    try_beat(store, name, lease).await.unwrap();
}

pub(crate) async fn try_beat(store: &PostgresStore, name: &str, lease: Duration) -> Result<(), StoreError> {
    let beat = Beat {
        worker: worker(name),
        lease,
        in_flight: 0,
        destinations: redeliver_outbox::live::Live::new(),
    };
    store.beat(&beat).await.map(|_| ())
}

/// A worker that lives and owns every shard that it can get.
pub(crate) async fn owner(store: &PostgresStore, name: &str) -> Vec<Claimed> {
    beat(store, name, Duration::from_secs(3600)).await;
    store.claim(&worker(name), usize::MAX, 100).await.unwrap()
}

/// The same, with a reader on what it got.
pub(crate) async fn owning_reader(store: &PostgresStore) -> (Box<dyn Reader>, Vec<Lease>) {
    let leases: Vec<Lease> = owner(store, "w")
        .await
        .iter()
        .map(|claimed| claimed.lease)
        .collect();
    let mut reader = store.reader();
    leases.iter().for_each(|&lease| reader.own(lease));
    (reader, leases)
}

pub(crate) fn room(count: usize) -> Demand {
    Demand {
        fresh: count,
        due: count,
        lanes: Vec::new(),
        ..Demand::default()
    }
}

pub(crate) async fn read(reader: &mut Box<dyn Reader>) -> Found {
    reader.read(&room(500)).await.unwrap()
}

pub(crate) fn numbers(messages: &[Message]) -> Vec<i64> {
    messages.iter().map(Message::number).collect()
}

pub(crate) fn attempted(attempt: u32, error: &str) -> Attempted {
    Attempted {
        attempt,
        took: Duration::from_millis(7),
        class: if error.is_empty() { "" } else { "transient" },
        error: error.to_owned(),
        resumes_lane: false,
    }
}

/// Of what [`insert`] has inserted.
pub(crate) const fn id_of(number: i64) -> MessageId {
    MessageId::new(number, 0)
}

pub(crate) fn delivered(lease: Lease, id: MessageId) -> Settlement {
    let verdict = Verdict::Delivered(attempted(1, ""));
    Settlement {
        lease,
        id,
        redrives: 0,
        verdict,
    }
}
