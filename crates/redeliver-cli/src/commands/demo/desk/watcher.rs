//! Sees what the relay does, and passes on what is worth a word.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use redeliver_outbox::{
    DeadReason, MessageId, Timestamp,
    destination::Outcome,
    relay::{Happening, Witness},
    store::{Settlement, Verdict},
};
use tokio::sync::mpsc;

/// Something that the relay did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sighting {
    /// An attempt began.
    Sending {
        destination: String,
        attempt: u32,
        /// Before it was due.
        early: bool,
    },
    /// One message was sent to see whether its destination is well again, and it is not.
    StillDown { destination: String, error: String },
    /// An attempt failed and is made again.
    Retry {
        destination: String,
        attempt: u32,
        error: String,
        wait: Duration,
        /// The destination asked for it.
        throttled: bool,
    },
    /// A message was quarantined.
    Dead {
        id: MessageId,
        /// Not known if it was never sent.
        destination: Option<String>,
        reason: DeadReason,
        error: String,
    },
}

#[derive(Debug)]
pub(super) struct Watcher {
    sightings: mpsc::UnboundedSender<Sighting>,
    /// Where what is on its way goes: what is written down of a message says only which it was.
    under_way: Mutex<HashMap<MessageId, String>>,
}

impl Watcher {
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Sighting>) {
        let (sightings, receiver) = mpsc::unbounded_channel();
        let watcher = Self {
            sightings,
            under_way: Mutex::default(),
        };
        (watcher, receiver)
    }

    fn under_way<T>(&self, look: impl FnOnce(&mut HashMap<MessageId, String>) -> T) -> T {
        look(&mut self.under_way.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn settled(&self, settlement: &Settlement) -> Option<Sighting> {
        let destination = self.under_way(|under_way| under_way.remove(&settlement.id));
        match &settlement.verdict {
            Verdict::Retry { attempted, wait } => Some(Sighting::Retry {
                destination: destination?,
                attempt: attempted.attempt,
                error: attempted.error.clone(),
                wait: *wait,
                throttled: attempted.class == "throttled",
            }),
            Verdict::Dead { reason, error, .. } => Some(Sighting::Dead {
                id: settlement.id,
                destination,
                reason: *reason,
                error: error.clone(),
            }),
            Verdict::Delivered(_)
            | Verdict::FannedOut { .. }
            | Verdict::Postponed(_)
            | Verdict::Counted { .. }
            | Verdict::Uncounted { .. } => None,
        }
    }
}

impl Witness for Watcher {
    fn saw(&self, happening: Happening<'_>) {
        let sighting = match happening {
            Happening::Sending { message, attempt, .. } => {
                let destination = message.destination.clone();
                self.under_way(|under_way| under_way.insert(message.id, destination.clone()));
                Some(Sighting::Sending {
                    destination,
                    attempt,
                    early: message.next_attempt_at > Some(Timestamp::wall()),
                })
            }
            Happening::Ended {
                message,
                outcome: Outcome::Retry { reason, .. } | Outcome::Ambiguous { reason, .. },
                counts: false,
                ..
            } => Some(Sighting::StillDown {
                destination: message.destination.clone(),
                error: reason.clone(),
            }),
            Happening::Settled(settlement) => self.settled(settlement),
            _ => None,
        };
        if let Some(sighting) = sighting {
            // Nobody listens any more once the demo is over.
            let _ = self.sightings.send(sighting);
        }
    }
}
