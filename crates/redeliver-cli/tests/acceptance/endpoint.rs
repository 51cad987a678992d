use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use redeliver::clock;
use redeliver_lab::faulty::{Faulty, FaultyConfig, FaultyServer, RequestRecord};
use tokio::sync::Notify;

use crate::{client::RUNTIME, database::Database, relay::PATIENCE};

/// The fault server, and all that it has been asked.
pub(crate) struct Endpoint {
    server: FaultyServer,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    records: Mutex<Vec<RequestRecord>>,
    changed: Notify,
}

impl Endpoint {
    pub(crate) fn start(config: FaultyConfig) -> Self {
        let _entered = RUNTIME.enter();
        let server = Faulty::start(config).unwrap();
        let seen = Arc::<Seen>::default();
        let (mut records, kept) = (server.records(), Arc::clone(&seen));
        RUNTIME.spawn(async move {
            // One that was missed is missing in what the tests count.
            while let Ok(record) = records.recv().await {
                kept.records.lock().unwrap().push(record);
                kept.changed.notify_waiters();
            }
        });
        Self { server, seen }
    }

    /// One that answers everything with success, at once.
    pub(crate) fn well() -> Self {
        Self::start(FaultyConfig::default())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.local_addr()
    }

    /// Nobody listens there any more.
    pub(crate) fn stop(self) {
        RUNTIME.block_on(self.server.shutdown());
    }

    /// The configuration of a relay whose destination `api` is this path.
    pub(crate) fn configure(&self, database: &Database, path: &str, lease: &str) {
        let url = format!("{}{path}", self.server.base_url());
        database.configure(&format!(
            "[relay]\nlease = \"{lease}\"\n\n[destinations.api]\ntype = \"http\"\nurl = \"{url}\"\nallow_private = true\n\
             policy = {{ preset = \"standard\", base = \"10ms\", max = \"200ms\", max_attempts = 40 }}\n"
        ));
    }

    pub(crate) fn records(&self) -> Vec<RequestRecord> {
        self.seen.records.lock().unwrap().clone()
    }

    /// Every message that was asked for, with the requests in the order in which they came.
    pub(crate) fn by_message(&self) -> BTreeMap<String, Vec<RequestRecord>> {
        let mut messages = BTreeMap::<String, Vec<_>>::new();
        let mut records = self.records();
        records.sort_by_key(|record| record.number);
        for record in records {
            let key = record.idempotency_key.clone().unwrap();
            messages.entry(key).or_default().push(record);
        }
        messages
    }

    /// The messages that have arrived.
    pub(crate) fn arrived(&self) -> BTreeSet<String> {
        let records = self.seen.records.lock().unwrap();
        let arrived = records.iter().filter(|record| record.status == Some(200));
        arrived
            .filter_map(|record| record.idempotency_key.clone())
            .collect()
    }

    /// Waits until so many messages have arrived.
    #[track_caller]
    pub(crate) fn await_arrived(&self, count: usize) {
        self.await_arrived_within(count, PATIENCE);
    }

    #[track_caller]
    pub(crate) fn await_arrived_within(&self, count: usize, patience: Duration) {
        let arrived = RUNTIME.block_on(async {
            let limit = clock::now().plus(patience);
            loop {
                let changed = self.seen.changed.notified();
                if self.arrived().len() >= count {
                    return true;
                }
                let left = limit.since(clock::now());
                if left.is_zero() || tokio::time::timeout(left, changed).await.is_err() {
                    return false;
                }
            }
        });
        assert!(arrived, "{} of {count} messages arrived", self.arrived().len());
    }

    /// Asserts that every message came once.
    #[track_caller]
    pub(crate) fn assert_no_duplicate(&self) {
        let twice: Vec<_> = self
            .by_message()
            .into_iter()
            .filter(|(_, requests)| requests.len() > 1)
            .collect();
        assert!(
            twice.is_empty(),
            "{} came more than once: {twice:#?}",
            twice.len()
        );
    }
}
