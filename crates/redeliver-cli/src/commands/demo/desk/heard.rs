//! What the API heard: the only side that knows what really arrived.

use std::collections::{BTreeMap, HashSet};

use redeliver_lab::faulty::RequestRecord;
use redeliver_outbox::MessageId;
use tokio::sync::broadcast::error::RecvError;

use super::setting::of_path;

#[derive(Clone, Debug, Default)]
pub(super) struct Heard {
    /// Requests by destination.
    pub(super) requests: BTreeMap<&'static str, u64>,
    /// Messages that it was asked to take.
    pub(super) asked: HashSet<MessageId>,
    /// Messages that it took.
    pub(super) taken: HashSet<MessageId>,
    /// Requests of which nothing is known, because they came too fast to be followed.
    pub(super) missed: u64,
}

impl Heard {
    pub(super) fn hear(&mut self, record: Result<RequestRecord, RecvError>) {
        let record = match record {
            Ok(record) => record,
            Err(RecvError::Lagged(missed)) => return self.missed += missed,
            Err(RecvError::Closed) => return,
        };
        if let Some(destination) = of_path(&record.path) {
            *self.requests.entry(destination).or_default() += 1;
        }
        let id = record.idempotency_key.as_deref().and_then(|key| key.parse().ok());
        let Some(id) = id else {
            return;
        };
        self.asked.insert(id);
        if record.status.is_some_and(|status| (200..300).contains(&status)) {
            self.taken.insert(id);
        }
    }
}
