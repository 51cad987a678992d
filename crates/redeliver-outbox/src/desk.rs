//! The operator's side of a store: look, enqueue, mend, put back, give up, clean up.

use std::time::Duration;

use futures_core::future::BoxFuture;

mod audit;
mod discreet;
mod edit;
mod filter;
mod finding;
mod job;
mod lane;
mod look;
mod patch;
mod replay;
mod schema;
mod search;
mod status;

pub use audit::{AuditBreak, AuditMark, AuditStep};
pub use discreet::Discreet;
pub use edit::{Edit, NoSeen, Seen};
pub use filter::NoFilter;
pub use finding::{Finding, Grade};
pub use job::{Job, JobDesk, JobPreview, JobStep, NewJob};
pub use lane::{LaneHold, Parked, ResumedLane, SeenLane};
pub use look::{
    Depth, Holder, Issue, IssueDetail, Known, Look, Outlook, Pulse, Standing, StandingLane, Storage,
    TableStorage,
};
pub use patch::{NoSight, Patch, PatchPreview, Patched, Refused, Sight, unpatched};
pub use replay::{Branch, Replay, Replayed};
pub use schema::{Layout, Migration, Schema};
pub use search::Searched;
pub use status::{Figures, StatusReport, WorkerRecord};

pub use crate::enqueue::Enqueued;
use crate::{
    DeadReason, Fingerprint, Held, Hold, MessageId, NewMessage, Payload, Timestamp,
    destination::Routes,
    job::JobKind,
    limits,
    secrecy::{Hidden, Secrecy, is_marked},
    state::Status,
    store::{LaneId, Result},
};

/// A message named by its id or by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageRef {
    /// By its id.
    Id(MessageId),
    /// By the number of its row.
    Number(i64),
}

impl std::str::FromStr for MessageRef {
    type Err = crate::NoMessageId;

    fn from_str(text: &str) -> std::result::Result<Self, crate::NoMessageId> {
        match text.parse::<i64>() {
            Ok(number) if number >= 0 => Ok(Self::Number(number)),
            _ => text.parse().map(Self::Id),
        }
    }
}

/// Which messages. Every field narrows; the empty filter is all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only these, if not empty.
    pub messages: Vec<MessageRef>,
    /// Only with one of these statuses, if not empty.
    pub statuses: Vec<Status>,
    /// Only to this destination.
    pub destination: Option<String>,
    /// Only with this topic.
    pub topic: Option<String>,
    /// Only with this key.
    pub key: Option<String>,
    /// Only dead letters with this reason.
    pub reason: Option<DeadReason>,
    /// Only dead letters of this issue.
    pub issue: Option<Fingerprint>,
    /// Only where the last error contains this text, whatever the case of its ASCII letters.
    pub error: Option<String>,
    /// Only where this is the id or the number, or where this text is in the key, the destination, the topic, the last error, the trace or a
    /// payload that is text, whatever the case of its ASCII letters.
    pub text: Option<String>,
    /// The text is looked for in payloads to these destinations only, and in every one if this is none: what is hidden is not to be found
    /// out by searching.
    pub searched: Option<Vec<String>>,
    /// Only inserted at this time or later.
    pub created_from: Option<Timestamp>,
    /// Only inserted before this time.
    pub created_before: Option<Timestamp>,
    /// Only with at least so many attempts.
    pub attempts_from: Option<u32>,
    /// Only what was quarantined in this millisecond or before, on the database's clock: what dies later is not what somebody looked at.
    pub died_by: Option<Timestamp>,
}

/// One page of a list, by number. No message is on two pages, wherever it moves meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Begin behind this number (before it, if the newest come first).
    pub after: Option<i64>,
    /// Look no further than this number.
    pub until: Option<i64>,
    /// At most so many.
    pub limit: usize,
    /// The newest first.
    pub newest_first: bool,
}

/// A message wherever it lives: a row of the view `redeliver_messages`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its id.
    pub id: MessageId,
    /// Where it is in its life.
    pub status: Status,
    /// The shard.
    pub shard: u16,
    /// The destination; empty if it is an event.
    pub destination: String,
    /// What it is about.
    pub topic: Option<String>,
    /// The key of its lane.
    pub key: Option<String>,
    /// Attempts since it was inserted or redriven.
    pub attempts: u32,
    /// How often it was redriven.
    pub redrives: u32,
    /// When it was inserted.
    pub created_at: Timestamp,
    /// When it is due; none if it was never scheduled, or is put away.
    pub next_attempt_at: Option<Timestamp>,
    /// Whether it was due and was put away, because its destination takes nothing now.
    pub put_away: bool,
    /// When it was last attempted.
    pub last_attempt_at: Option<Timestamp>,
    /// What the last failed attempt met.
    pub last_error: Option<String>,
    /// The worker that owns its shard, while it is due.
    pub locked_by: Option<String>,
    /// Since when.
    pub locked_at: Option<Timestamp>,
    /// Why it was quarantined.
    pub dead_letter_reason: Option<DeadReason>,
    /// The issue that it is of, if it was.
    pub issue: Option<Fingerprint>,
    /// When it was quarantined.
    pub dead_lettered_at: Option<Timestamp>,
    /// When it arrived.
    pub sent_at: Option<Timestamp>,
    /// When it became messages, if it was an event.
    pub fanned_out_at: Option<Timestamp>,
    /// When it is too late.
    pub expires_at: Option<Timestamp>,
    /// The type of the payload.
    pub content_type: Option<String>,
    /// The headers, as a JSON object.
    pub headers: Option<String>,
    /// The trace context.
    pub traceparent: Option<String>,
    /// The payload; none where the history keeps none.
    pub payload: Option<Payload>,
    /// What of the payload is not shown here, if anything is not.
    pub hidden: Option<Hidden>,
}

impl Record {
    /// What of it these routes let nobody see.
    #[must_use]
    pub fn secrecy(&self, routes: &Routes) -> Secrecy {
        routes.secrecy(&self.destination, self.topic.as_deref())
    }

    /// Whether something of it is not shown: of its payload, or of its headers.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.hidden.is_some() || self.headers.as_deref().is_some_and(is_marked)
    }
}

/// One failed or interrupted attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptRecord {
    /// In which life of the message: 0, or the number of the redrive.
    pub redrive: u32,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// When it ended (or, if it was interrupted, when it began).
    pub at: Timestamp,
    /// How long it took; none if it was interrupted.
    pub took: Option<Duration>,
    /// What kind of failure: `transient`, `throttled`, `permanent`, `unknown`, `interrupted`.
    pub class: String,
    /// What it met.
    pub error: String,
    /// Who tried.
    pub worker: String,
}

/// Everything about one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    /// The message.
    pub record: Record,
    /// Its failed attempts, the oldest first.
    pub attempts: Vec<AttemptRecord>,
    /// How long the attempt took with which it arrived.
    pub took: Option<Duration>,
    /// What operators did to it, the oldest first.
    pub audit: Vec<AuditRecord>,
    /// The payload as it was inserted, if an operator changed it.
    pub original_payload: Option<Payload>,
    /// Whether its lane went on without it.
    pub gap: bool,
    /// The message that its lane stands still for, if it does.
    pub parked_behind: Option<MessageId>,
    /// The hold of its lane, if an operator has parked it.
    pub lane_hold: Option<LaneHold>,
    /// The message of its lane that is before it and still live, if there is one.
    pub waits_behind: Option<MessageId>,
    /// The event that it was made of, if it was made of one and the history tells.
    pub event: Option<MessageId>,
    /// The messages that were made of it, by destination, if it was an event.
    pub fan_out: Vec<Branch>,
}

/// Who does something, and why. Both are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// Who.
    pub who: String,
    /// Why.
    pub why: String,
}

/// An operator's act, as the audit table keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// Its number, in the order of the acts.
    pub number: i64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub who: String,
    /// What: `edit`, `redrive`, `discard`, `import`, `replay`, `reveal`; to a destination: `pause`, `disable`, `resume`; to a
    /// lane: `park_lane`, `resume_lane`.
    pub action: String,
    /// To which message; none for an act on a destination or a lane, which the detail names.
    pub message: Option<MessageId>,
    /// Why.
    pub why: String,
    /// More, as JSON; empty if there is none.
    pub detail: String,
    /// What seals it and everything before it; none if it is older than the chain.
    pub hash: Option<String>,
}

/// What to forget, each if it is older than so long; none keeps it for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Sent messages, and events that became messages.
    pub sent: Option<Duration>,
    /// Discarded dead letters. Dead letters that nobody has looked at are never forgotten.
    pub discarded: Option<Duration>,
    /// Ids that consumers have seen.
    pub inbox: Option<Duration>,
    /// Audit records.
    pub audit: Option<Duration>,
}

/// What one step of retention removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Rows, over all tables.
    pub rows: u64,
    /// Whether a limit was met: call again.
    pub more: bool,
}

/// The operator's desk.
pub trait Desk: Schema + Look {
    /// Inserts messages, all or none, in a transaction of its own.
    fn enqueue<'a>(&'a self, messages: &'a [NewMessage]) -> BoxFuture<'a, Result<Vec<Enqueued>>>;

    /// The figures.
    fn status(&self) -> BoxFuture<'_, Result<StatusReport>>;

    /// One page of the messages that match. `payloads` says whether they come with it.
    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        page: Page,
        payloads: bool,
    ) -> BoxFuture<'a, Result<Vec<Record>>>;

    /// How many match.
    fn count<'a>(&'a self, filter: &'a Filter) -> BoxFuture<'a, Result<u64>>;

    /// Everything about one message.
    fn find(&self, message: MessageRef) -> BoxFuture<'_, Result<Option<Detail>>>;

    /// Changes a dead letter. The payload as it was inserted is kept.
    fn edit<'a>(&'a self, message: MessageRef, edit: &'a Edit, act: &'a Act) -> BoxFuture<'a, Result<()>>;

    /// The number of the newest act of an operator on record of each of these messages, in their order; 0 where there is none.
    fn newest_acts<'a>(&'a self, messages: &'a [MessageId]) -> BoxFuture<'a, Result<Vec<u64>>>;

    /// The dead letters that a patch would be for, how each of them is now, and a few of them; none is changed. At most so many, the
    /// oldest first; without a limit, more than [`limits::PATCH_LIMIT`] are refused.
    fn preview_patch<'a>(
        &'a self,
        filter: &'a Filter,
        at_most: Option<usize>,
    ) -> BoxFuture<'a, Result<PatchPreview>> {
        Box::pin(patch::preview(self, filter, at_most))
    }

    /// Changes those dead letters that are still as they were seen, each in a transaction of its own, and says of each other one what
    /// happened to it.
    fn patch<'a>(
        &'a self,
        patch: &'a Patch,
        sight: &'a Sight,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Patched>> {
        Box::pin(patch::patch(self, patch, sight, act))
    }

    /// Puts at most so many of the dead letters that match back, the oldest first: pending, no attempts, due now. An `expires_at` that has
    /// passed does not come with them: they would only expire again. Returns which.
    fn redrive<'a>(
        &'a self,
        filter: &'a Filter,
        at_most: usize,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Vec<MessageId>>>;

    /// Gives at most so many of the dead letters that match up, the oldest first. Their rows stay, marked. Returns which.
    fn discard<'a>(
        &'a self,
        filter: &'a Filter,
        at_most: usize,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Vec<MessageId>>>;

    /// Puts one dead letter back, or gives it up, if nothing was done to it since it was seen. Otherwise it is refused, with what was.
    fn rescue<'a>(
        &'a self,
        way: JobKind,
        letter: MessageId,
        seen: Seen,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<()>>;

    /// Puts dead letters from elsewhere beside the ones here, under new ids.
    fn import<'a>(&'a self, letters: &'a [DeadLetter], act: &'a Act)
    -> BoxFuture<'a, Result<Vec<MessageId>>>;

    /// Says in the audit trail that rows of a foreign table were put in, in one entry for all of them, with this detail as JSON.
    fn record_import<'a>(&'a self, detail: &'a str, act: &'a Act) -> BoxFuture<'a, Result<()>>;

    /// One step of a replay, behind the event of this number: a bounded batch of the history. Without an act nothing is written, and
    /// what would be is said.
    fn replay<'a>(
        &'a self,
        replay: &'a Replay,
        after: i64,
        act: Option<&'a Act>,
    ) -> BoxFuture<'a, Result<Replayed>>;

    /// The newest acts of operators.
    fn audit(&self, limit: usize) -> BoxFuture<'_, Result<Vec<AuditRecord>>> {
        self.audit_page(None, limit)
    }

    /// Puts on record that the payloads of these messages are shown to somebody although they are marked secret. It comes before they are.
    fn reveal<'a>(&'a self, messages: &'a [MessageId], act: &'a Act) -> BoxFuture<'a, Result<()>>;

    /// Holds a destination until it is resumed: nothing more is sent there from the relays' next beats on, and nothing is lost. One that
    /// is held already stays as it is, and that is said. The name need not be one that any message has.
    fn pause<'a>(&'a self, destination: &'a str, act: &'a Act) -> BoxFuture<'a, Result<Held>>;

    /// Lets a destination go on that was paused or disabled, and returns the hold that has ended; none if there was none. Where it is told
    /// since when it was seen to be held, nothing is done if it is held anew by now.
    fn resume<'a>(
        &'a self,
        destination: &'a str,
        seen: Option<Timestamp>,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Option<Hold>>>;

    /// The destinations that are held, by name.
    fn holds(&self) -> BoxFuture<'_, Result<Vec<Hold>>>;

    /// The workers, and how each of them found its destinations at its last beat.
    fn workers(&self) -> BoxFuture<'_, Result<Vec<WorkerRecord>>>;

    /// Parks a lane: nothing of it goes out from the relays' next reads on, until it is resumed, and nothing is lost. What is on its way is
    /// finished. One that is parked by hand already stays as it is, and that is said; one that stands still for a dead letter is parked by
    /// hand from now on. There must be a live message in it.
    fn park_lane<'a>(&'a self, lane: &'a LaneId, act: &'a Act) -> BoxFuture<'a, Result<Parked>>;

    /// Lets a lane go on that was parked, by hand or for a dead letter, and says how it stood; none if it did not. The dead letter stays one.
    /// Where it is told what was seen, nothing is done if it would go on without something else by now.
    fn resume_lane<'a>(
        &'a self,
        lane: &'a LaneId,
        seen: Option<SeenLane>,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Option<ResumedLane>>>;

    /// The lanes that stand still, each with the message that it stands still for, whose number is 0 if an operator parked it.
    fn parked_lanes(&self) -> BoxFuture<'_, Result<Vec<(LaneId, MessageId, Timestamp)>>>;

    /// Forgets some of what is old: one bounded batch a table.
    fn retain<'a>(&'a self, retention: &'a Retention) -> BoxFuture<'a, Result<Removed>>;

    /// Looks at the database's health.
    fn examine(&self) -> BoxFuture<'_, Result<Vec<Finding>>>;

    /// One step of a look through the chain of the audit trail: at most so many entries behind this one, or from the beginning.
    fn verify_audit(&self, after: Option<AuditMark>, limit: usize) -> BoxFuture<'_, Result<AuditStep>>;

    /// One page of the messages that match, without their payloads, however rare they are: window by window, until the page is full, there
    /// are no more, or the time is up. Then it says where to go on. A message that a text names by its id or number comes first.
    fn search<'a>(
        &'a self,
        filter: &'a Filter,
        page: Page,
        budget: Duration,
    ) -> BoxFuture<'a, Result<Searched>> {
        Box::pin(search::search(self, filter, page, budget))
    }
}

/// A dead letter as it is exported and imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// What would be enqueued.
    pub message: NewMessage,
    /// Why it was quarantined.
    pub reason: DeadReason,
    /// What the last attempt met.
    pub error: String,
    /// How often it was attempted.
    pub attempts: u32,
}

impl DeadLetter {
    /// The issue that it is of.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let error = limits::error_text(&self.error);
        Fingerprint::of(&self.message.destination, self.reason.as_str(), &error)
    }
}
