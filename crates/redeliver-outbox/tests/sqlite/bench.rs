//! What every test of the store needs: a database, a clock to move, a worker that owns it.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU32, Ordering},
    },
    time::Duration,
};

use redeliver_outbox::{
    MessageId, Timestamp,
    desk::{Layout, Schema},
    store::{
        Attempted, Beat, LaneId, Lease, Membership, Names, Settlement, SqliteStore, Store, Verdict, WorkerId,
    },
};

pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// A store in memory, with a clock that the test moves.
pub(crate) struct Bench {
    pub(crate) store: SqliteStore,
    clock: Arc<AtomicI64>,
}

impl Bench {
    pub(crate) async fn with_shards(shards: u16) -> Self {
        let clock = Arc::new(AtomicI64::new(1_000_000));
        let hand = Arc::clone(&clock);
        let store = SqliteStore::in_memory()
            .unwrap()
            .with_clock(move || Timestamp::from_millis(hand.load(Ordering::SeqCst)));
        store.migrate(Layout { shards }, None).await.unwrap();
        Self { store, clock }
    }

    pub(crate) async fn new() -> Self {
        Self::with_shards(1).await
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.clock
            .fetch_add(i64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.load(Ordering::SeqCst))
    }

    pub(crate) fn sql(&self, sql: &str) {
        self.store
            .with_connection(|connection| connection.execute_batch(sql))
            .unwrap();
    }

    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.store
            .with_connection(|connection| connection.query_row(sql, [], |row| row.get(0)))
            .unwrap()
    }

    /// All rows of a table, as one text, to be compared.
    pub(crate) fn dump(&self) -> String {
        ["outbox", "sent", "dead", "attempts", "lanes"]
            .map(|table| {
                self.store.with_connection(|connection| {
                    let mut statement = connection
                        .prepare(&format!("SELECT * FROM redeliver_{table}"))
                        .unwrap();
                    let columns = statement.column_count();
                    let rows: Vec<String> = statement
                        .query_map([], |row| {
                            let values = (0..columns).map(|column| row.get(column));
                            let values: Result<Vec<rusqlite::types::Value>, _> = values.collect();
                            Ok(format!("{:?}", values?))
                        })
                        .unwrap()
                        .map(Result::unwrap)
                        .collect();
                    format!("{table}: {rows:#?}")
                })
            })
            .join("\n")
    }

    pub(crate) fn insert(&self, destination: &str, lane: Option<&str>) -> i64 {
        self.store.with_connection(|connection| {
            connection
                .execute(
                    "INSERT INTO redeliver_outbox (salt, destination, lane, payload) VALUES (0, ?1, ?2, '{}')",
                    (destination, lane),
                )
                .unwrap();
            connection.last_insert_rowid()
        })
    }

    pub(crate) async fn beat(&self, worker: &WorkerId) -> Membership {
        let beat = Beat {
            worker: worker.clone(),
            lease: LEASE,
            in_flight: 0,
            destinations: redeliver_outbox::live::Live::new(),
        };
        self.store.beat(&beat).await.unwrap()
    }

    /// A worker that owns the only shard.
    pub(crate) async fn owner(&self, name: &str) -> (WorkerId, Lease) {
        let worker = worker(name);
        self.beat(&worker).await;
        let claimed = self.store.claim(&worker, 1, 32).await.unwrap();
        (worker, claimed[0].lease)
    }

    pub(crate) async fn settle(
        &self,
        worker: &WorkerId,
        lease: Lease,
        number: i64,
        verdict: Verdict,
    ) -> Vec<u16> {
        let redrives = self.number(&format!(
            "SELECT COALESCE((SELECT redrives FROM redeliver_outbox WHERE number = {number}), 0)"
        ));
        let salt = self.number(&format!(
            "SELECT COALESCE((SELECT salt FROM redeliver_outbox WHERE number = {number}), 0)"
        ));
        let settlement = Settlement {
            lease,
            id: MessageId::new(number, salt),
            redrives: u32::try_from(redrives).unwrap(),
            verdict,
        };
        self.store.settle(worker, &[settlement]).await.unwrap().stale
    }
}

pub(crate) fn worker(name: &str) -> WorkerId {
    WorkerId(name.to_owned())
}

pub(crate) fn attempted(attempt: u32, class: &'static str, error: &str) -> Attempted {
    Attempted {
        attempt,
        took: Duration::from_millis(3),
        class,
        error: error.to_owned(),
        resumes_lane: false,
    }
}

pub(crate) fn lane(destination: &str, key: &str) -> LaneId {
    LaneId {
        destination: destination.to_owned(),
        key: key.to_owned(),
    }
}

/// A folder of its own, removed at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("redeliver-sqlite-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn url(&self, name: &str) -> String {
        format!("sqlite://{}", self.0.join(name).display())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn open(url: &str) -> SqliteStore {
    SqliteStore::open(url, Names::default()).unwrap()
}

pub(crate) fn open_in_memory() -> SqliteStore {
    SqliteStore::in_memory().unwrap()
}
