//! Sending events of the history once more, to one destination: which of them, and what the audit says.

use serde_json::json;

use crate::{
    MessageId, NewMessage, Timestamp,
    desk::{Replay, Replayed},
    limits::REPLAY_BATCH,
    store::{
        Result,
        columns::{Columns, Known as _},
    },
};

/// An event of the history: a row of `replay_candidates.sql`.
pub(in crate::store) struct Candidate {
    id: MessageId,
    topic: String,
    /// The history has kept its payload.
    payload: bool,
    /// A message of it to the destination has been made before.
    there: bool,
}

pub(in crate::store) fn candidate(row: &mut dyn Columns) -> Result<Candidate> {
    Ok(Candidate {
        id: row.id()?,
        topic: row.known_text()?,
        payload: row.flag()?,
        there: row.flag()?,
    })
}

impl Candidate {
    #[cfg(feature = "mysql")]
    pub(in crate::store) const fn id(&self) -> MessageId {
        self.id
    }
}

/// Refuses a destination that no message could be for.
pub(in crate::store) fn check(replay: &Replay) -> Result<()> {
    super::check(std::iter::once(&NewMessage::to(&replay.to)))
}

/// The numbers of the events that a message is to be made of, in order, and what is to be said of this step.
pub(in crate::store) fn choose(
    replay: &Replay,
    candidates: &[Candidate],
    oldest: Option<Timestamp>,
) -> (Vec<i64>, Replayed) {
    let mut replayed = Replayed {
        oldest,
        next: candidates
            .last()
            .filter(|_| candidates.len() >= REPLAY_BATCH)
            .map(|last| last.id.number()),
        ..Replayed::default()
    };
    let mut chosen = Vec::new();
    for candidate in candidates.iter().filter(|of| replay.topic.matches(&of.topic)) {
        match candidate {
            Candidate { there: true, .. } => replayed.there_before += 1,
            Candidate { payload: false, .. } => replayed.without_payload += 1,
            _ => chosen.push(candidate.id.number()),
        }
    }
    replayed.messages = chosen.len() as u64;
    (chosen, replayed)
}

/// What the audit says of one step.
pub(in crate::store) fn detail(replay: &Replay, events: &[i64], made: u64) -> String {
    json!({
        "to": replay.to,
        "topic": replay.topic.as_str(),
        "since": replay.since.to_string(),
        "until": replay.until.map(|until| until.to_string()),
        "messages": made,
        "first_event": events.first(),
        "last_event": events.last(),
    })
    .to_string()
}

/// A row of `oldest_event.sql`.
pub(in crate::store) fn oldest(row: &mut dyn Columns) -> Result<Timestamp> {
    row.known_time()
}
