//! The documents' worker: authorizes payments with an API that fails.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use redeliver::{Jitter, Policy, clock, http::Client};

use super::super::narrator::{Actor, Narrator};
use crate::commands::call::{
    answer::Ended,
    record::{Record, watched},
};

/// The policy of the documents' worker.
pub(super) const POLICY: Policy =
    Policy::exponential(Duration::from_millis(200), Duration::from_millis(2500))
        .jitter(Jitter::Full)
        .max_attempts(5)
        .attempt_timeout(Duration::from_millis(1200))
        .deadline(Duration::from_secs(8));

/// Workers that authorize payments side by side, so that one can see a `Retry-After` hold the other back too.
pub(super) const WORKERS: usize = 2;

/// A worker rests this long between two payments, so that the eye can follow.
const REST: Duration = Duration::from_millis(150);
/// The careless one comes this often.
const CARELESS_EVERY: Duration = Duration::from_secs(4);

/// What became of the payments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) calls: u64,
    pub(super) under_way: u64,
    pub(super) authorized: u64,
    pub(super) attempts: u64,
    pub(super) asked_waits: u64,
    pub(super) early_waits: u64,
    pub(super) careless: u64,
    pub(super) careless_attempts: u64,
}

/// The workers' common things.
pub(super) struct Counter {
    client: Client,
    url: String,
    careless_url: String,
    narrator: Arc<Narrator>,
    next: AtomicU64,
    tally: Mutex<Tally>,
}

impl Counter {
    pub(super) fn new(api: &str, narrator: Arc<Narrator>) -> Self {
        Self {
            client: Client::new(POLICY),
            // Some answers get lost as well, so that a key is seen at work: asked again, the API does not charge twice.
            url: format!("{api}/payment/authorize?lose=15"),
            careless_url: format!("{api}/payment/authorize?lose=100&fail_rate=0"),
            narrator,
            next: AtomicU64::new(1),
            tally: Mutex::default(),
        }
    }

    pub(super) fn tally(&self) -> Tally {
        let mut tally = *self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.under_way = (self.next.load(Ordering::Relaxed) - 1).saturating_sub(tally.calls);
        tally
    }

    fn count(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut self.tally.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// One payment after the other, for ever.
    pub(super) async fn work(&self) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let actor = Actor::Payment(number);
            let request = self
                .client
                .post(&self.url)
                .json(&serde_json::json!({ "payment": number }))
                .idempotent();
            let (record, ended) = self.send(actor, request).await;
            let (asked, early) = record.asked_waits();
            self.count(|tally| {
                tally.calls += 1;
                tally.authorized += u64::from(matches!(ended, Ended::Answered(_)));
                tally.attempts += record.attempts().len() as u64;
                tally.asked_waits += asked as u64;
                tally.early_waits += early as u64;
            });
            clock::sleep(REST).await;
        }
    }

    /// A payment without a key whose answer gets lost, now and then: it is not sent again.
    pub(super) async fn be_careless(&self) {
        loop {
            clock::sleep(CARELESS_EVERY / 2).await;
            let request = self.client.post(&self.careless_url).body("{}");
            let (record, _) = self.send(Actor::Careless, request).await;
            self.count(|tally| {
                tally.careless += 1;
                tally.careless_attempts += record.attempts().len() as u64;
            });
            clock::sleep(CARELESS_EVERY / 2).await;
        }
    }

    async fn send(&self, actor: Actor, request: redeliver::http::RequestBuilder) -> (Arc<Record>, Ended) {
        let narrator = Arc::clone(&self.narrator);
        let tell = Box::new(move |words: &str, figures| narrator.tell(actor, words, figures));
        let record = Arc::new(Record::new(POLICY, Some(tell)));
        let ended: Ended = watched(request, &record).send().await.into();
        record.tell_end(&ended);
        (record, ended)
    }
}
