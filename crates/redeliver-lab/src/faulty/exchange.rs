//! The server's memory, and the account of one request in it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redeliver::{Moment, clock};
use tokio::sync::broadcast;

use super::config::FaultyConfig;
use super::limit::Taken;
use super::payment::KeyState;
use super::recent::Recent;
use super::stats::{FaultyStats, RequestRecord};
use super::wait::{pause, since_epoch};

const REMEMBERED_KEYS: usize = 65_536;
const RECORDS_KEPT_FOR_A_SLOW_READER: usize = 4096;

/// What all connections share.
pub(crate) struct Lab {
    pub(crate) config: FaultyConfig,
    began: Moment,
    next_number: AtomicU64,
    stats: Mutex<FaultyStats>,
    keys: Mutex<Recent<KeyState>>,
    flaky: Mutex<Recent<u64>>,
    taken: Mutex<Recent<Taken>>,
    pub(crate) records: broadcast::Sender<RequestRecord>,
}

/// A panic elsewhere must not take the figures with it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lab {
    pub(crate) fn new(config: FaultyConfig) -> Self {
        Self {
            config,
            began: clock::now(),
            next_number: AtomicU64::new(0),
            stats: Mutex::default(),
            keys: Mutex::new(Recent::new(REMEMBERED_KEYS)),
            flaky: Mutex::new(Recent::new(REMEMBERED_KEYS)),
            taken: Mutex::new(Recent::new(REMEMBERED_KEYS)),
            records: broadcast::Sender::new(RECORDS_KEPT_FOR_A_SLOW_READER),
        }
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut FaultyStats)) {
        change(&mut lock(&self.stats));
    }

    /// Looks at, and changes, what is known of an idempotency key.
    pub(crate) fn with_key<T>(&self, key: &str, change: impl FnOnce(&mut KeyState) -> T) -> T {
        change(lock(&self.keys).entry(key))
    }

    /// How often `key` has failed before this call, which counts as one more.
    pub(crate) fn flaky_calls_before(&self, key: &str) -> u64 {
        let mut flaky = lock(&self.flaky);
        let calls = flaky.entry(key);
        *calls = calls.saturating_add(1);
        *calls - 1
    }

    /// How long the server has been there.
    pub(crate) fn age(&self) -> Duration {
        clock::now().since(self.began)
    }

    /// One of so many requests that are taken in this second; if there is none left, how long until the next.
    pub(crate) fn take_one_of(&self, per_second: u64) -> Result<(), Duration> {
        let mut taken = lock(&self.taken);
        taken
            .entry(&per_second.to_string())
            .one_more(per_second, self.age())
    }

    pub(crate) fn stats(&self) -> FaultyStats {
        let mut stats = lock(&self.stats).clone();
        stats.idempotency_keys = lock(&self.keys)
            .iter()
            .map(|(key, state)| (key.clone(), state.requests))
            .collect();
        stats
    }

    pub(crate) fn stats_json(&self) -> String {
        serde_json::to_string(&self.stats()).unwrap_or_default()
    }
}

/// The account of one request; one that is dropped untold was left by its client.
pub(crate) struct Exchange {
    lab: Arc<Lab>,
    route: &'static str,
    record: RequestRecord,
    delay: Duration,
    told: bool,
}

impl Exchange {
    /// Opens the account of a request to `route`, a path of the table or `(none)`.
    pub(crate) fn open(
        lab: &Arc<Lab>,
        route: &'static str,
        method: String,
        path: String,
        idempotency_key: Option<String>,
    ) -> Self {
        let number = lab.next_number.fetch_add(1, Ordering::Relaxed);
        lab.count(|stats| {
            stats.requests += 1;
            stats.routes.entry(route).or_default().requests += 1;
        });
        let at_unix_ms = u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX);
        let record = RequestRecord {
            at_unix_ms,
            number,
            method,
            path,
            fault: None,
            status: None,
            delay_ms: 0,
            items: 0,
            idempotency_key,
        };
        Self {
            lab: Arc::clone(lab),
            route,
            record,
            delay: Duration::ZERO,
            told: false,
        }
    }

    pub(crate) fn number(&self) -> u64 {
        self.record.number
    }

    pub(crate) fn lab(&self) -> &Lab {
        &self.lab
    }

    /// Keeps the client waiting.
    pub(crate) async fn delay(&mut self, duration: Duration) {
        self.delay += duration;
        pause(duration).await;
    }

    pub(crate) fn count_item(&mut self) {
        self.record.items += 1;
    }

    /// Closes the account: once, the first word counts.
    pub(crate) fn tell(&mut self, fault: Option<&'static str>, status: Option<u16>) {
        if std::mem::replace(&mut self.told, true) {
            return;
        }
        self.close(fault, status, false);
    }

    /// Closes the account of a client that left.
    pub(crate) fn abandon(&mut self) {
        if !std::mem::replace(&mut self.told, true) {
            self.close(Some("client-gone"), None, true);
        }
    }

    fn close(&mut self, fault: Option<&'static str>, status: Option<u16>, abandoned: bool) {
        self.lab.count(|stats| {
            let route = stats.routes.entry(self.route).or_default();
            route.items += self.record.items;
            match fault {
                _ if abandoned => route.abandoned += 1,
                None => route.successes += 1,
                Some(fault) => {
                    route.failures += 1;
                    *route.faults.entry(fault).or_default() += 1;
                }
            }
        });
        self.record.fault = fault;
        self.record.status = status;
        self.record.delay_ms = u64::try_from(self.delay.as_millis()).unwrap_or(u64::MAX);
        // Nobody listening is fine.
        let _ = self.lab.records.send(self.record.clone());
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.abandon();
    }
}
