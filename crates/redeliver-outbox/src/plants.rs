//! Bugs that are planted on purpose, one at a time, to see whether the simulator's checkers find them. Without the feature `plants` none
//! can be planted, and the compiler removes the places where they would be.

use std::{fmt, str::FromStr};

macro_rules! plants {
    ($($variant:ident = $name:literal: $what:literal,)*) => {
        /// A bug.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Plant { $(#[doc = $what] $variant,)* }

        impl Plant {
            /// Every one of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Its name on the command line.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// What is wrong with it.
            #[must_use]
            pub const fn what(self) -> &'static str {
                match self { $(Self::$variant => $what),* }
            }
        }
    };
}

plants! {
    NoFence = "no-fence": "a settle does not look at the epoch",
    StaleNotTold = "stale-not-told": "a settle does not tell which epochs have passed",
    EpochNotBumped = "epoch-not-bumped": "a claim does not begin a new epoch",
    LiveLeaseTaken = "live-lease-taken": "a claim takes shards whose owner is alive",
    CrashTakenForClean = "crash-taken-for-clean": "a new owner is not told that the one before crashed",
    NothingReleased = "nothing-released": "a shard that is given back stays owned",
    LostShardKept = "lost-shard-kept": "a relay that has lost a shard goes on with it",
    UnansweredSentAgain = "unanswered-sent-again": "what must not arrive twice is sent again though its last attempt may have arrived",
    LeaseNotMinded = "lease-not-minded": "a relay that was stopped for longer than its lease goes on sending",
    ReleasedInFlight = "released-in-flight": "a shard is given back while its messages are on their way",
    AbandonedAsClean = "abandoned-as-clean": "a relay that runs out of time says that nothing is on its way",
    SuspectsNotCounted = "suspects-not-counted": "after a crash attempts are not counted before the send",
    SettledBeforeSend = "settled-before-send": "a message is settled instead of sent",
    SilenceIsDelivery = "silence-is-delivery": "a message whose answer is missing is taken for delivered",
    LostAnswerIsSuccess = "lost-answer-is-success": "a write whose answer was lost is taken for done",
    LostAnswerForgotten = "lost-answer-forgotten": "a write whose answer was lost is not written again",
    DeleteOnFailure = "delete-on-failure": "a failed message is deleted",
    HistoryForgotten = "history-forgotten": "a delivered message is deleted without a trace",
    DeadLetterDeleted = "dead-letter-deleted": "a dead letter is deleted",
    DeadLetterStaysLive = "dead-letter-stays-live": "a dead letter stays in the hot table as well",
    AttemptsNotCounted = "attempts-not-counted": "a failed attempt is not counted",
    AttemptsReset = "attempts-reset": "every attempt is the first",
    OneAttemptTooMany = "one-attempt-too-many": "there is one attempt more than the policy allows",
    FailureNotLogged = "failure-not-logged": "a failed attempt is not in the log",
    InterruptionNotLogged = "interruption-not-logged": "an attempt that is counted first is not in the log",
    RejectionRetried = "rejection-retried": "what the destination refuses for good is tried again",
    RetryAtOnce = "retry-at-once": "a retry is due at once",
    AskingIsRefusing = "asking-is-refusing": "who asks to come back is taken not to have taken the message",
    RetryAfterIgnored = "retry-after-ignored": "the destination's Retry-After is ignored",
    DueReadEarly = "due-read-early": "messages are read two seconds before they are due",
    NotBeforeIgnored = "not-before-ignored": "a message is sent before the time that its sender named",
    ExpiryIgnored = "expiry-ignored": "a message is sent after it expired",
    PayloadNotExamined = "payload-not-examined": "a payload that the destination cannot take is sent",
    PostponementForgotten = "postponement-forgotten": "a message that is put off is not written down",
    HeadDoesNotBlock = "head-does-not-block": "a lane goes on while its head waits for its retry",
    TurnEndsAtSend = "turn-ends-at-send": "a lane goes on as soon as its head is on its way",
    SkipWaits = "skip-waits": "a lane that should skip a failing head waits for it",
    ParkedLaneGoesOn = "parked-lane-goes-on": "a lane that should stand still for a dead letter goes on",
    LaneNotParked = "lane-not-parked": "a relay forgets that a lane stands still",
    ParkForgotten = "park-forgotten": "a new owner forgets which lanes stand still",
    HeadsIgnored = "heads-ignored": "a relay ignores which scheduled messages block their lanes",
    DueBeforeCaughtUp = "due-before-caught-up": "a due message overtakes predecessors that were not read yet",
    LaneNeverResumes = "lane-never-resumes": "a lane that an operator has set going stands still",
    ParkedByHandIgnored = "parked-by-hand-ignored": "a lane that an operator has parked goes on",
    GapNotRecorded = "gap-not-recorded": "that a lane goes on without a dead letter is not kept with it",
    DiscardLeavesLaneParked = "discard-leaves-lane-parked": "a lane stays parked when its head is discarded",
    LetGoForgotten = "let-go-forgotten": "what was let go for want of room is not read again",
    RereadEndsEarly = "reread-ends-early": "a lane that was read again in part is taken for complete",
    LaneReadEndsEarly = "lane-read-ends-early": "the store calls a lane complete when a limit cut it off",
    FailedReadForgotten = "failed-read-forgotten": "what a failed read should have brought is not asked for again",
    CursorPassesUnread = "cursor-passes-unread": "the cursor moves past a message that was not read",
    OldReadBelieved = "old-read-believed": "a read from before a settle is believed",
    WindowUnbounded = "window-unbounded": "the window has no bound",
    ConcurrencyIgnored = "concurrency-ignored": "a destination gets more at a time than it should",
    HoldNotMinded = "hold-not-minded": "messages go to a destination that is held",
    OldBeatEndsHold = "old-beat-ends-hold": "a beat from before a hold ends it",
    GoneIsRetried = "gone-is-retried": "that a destination is gone counts as an attempt",
    HoldNeverEnds = "hold-never-ends": "a destination that an operator has resumed gets nothing",
    OthersForgotten = "others-forgotten": "what was put away for a destination that left the configuration never comes back",
    IdChanges = "id-changes": "the id changes with each attempt",
    DeduplicationIgnored = "deduplication-ignored": "a de-duplication key is ignored",
    RedriveNotAudited = "redrive-not-audited": "a redrive is not in the audit",
    DiscardNotAudited = "discard-not-audited": "a discard is not in the audit",
    RedriveKeepsAttempts = "redrive-keeps-attempts": "a redrive does not begin at no attempts",
    EventMissesOne = "event-misses-one": "an event becomes no message for the first of its destinations",
    EventStays = "event-stays": "an event that became messages stays, to become them again",
    RedriveLeavesDeadLetter = "redrive-leaves-dead-letter": "a message that is put back stays a dead letter as well",
}

impl fmt::Display for Plant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A name that no plant has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no bug named '{0}' to plant; `redeliver verify --list-plants` names them")]
pub struct NoPlant(String);

impl FromStr for Plant {
    type Err = NoPlant;

    fn from_str(name: &str) -> Result<Self, NoPlant> {
        let mut all = Self::ALL.iter().copied();
        all.find(|plant| plant.as_str() == name)
            .ok_or_else(|| NoPlant(name.chars().take(64).collect()))
    }
}

/// Whether this build can have bugs planted.
pub const AVAILABLE: bool = cfg!(feature = "plants");

#[cfg(feature = "plants")]
thread_local! {
    static PLANTED: std::cell::Cell<Option<Plant>> = const { std::cell::Cell::new(None) };
}

/// Plants a bug on this thread, until what is returned is dropped.
#[must_use]
pub fn plant(plant: Option<Plant>) -> Planted {
    #[cfg(feature = "plants")]
    PLANTED.set(plant);
    #[cfg(not(feature = "plants"))]
    let _ = plant;
    Planted(())
}

/// Takes the bug out again.
#[derive(Debug)]
pub struct Planted(());

impl Drop for Planted {
    fn drop(&mut self) {
        #[cfg(feature = "plants")]
        PLANTED.set(None);
    }
}

#[cfg(feature = "plants")]
pub(crate) fn planted(plant: Plant) -> bool {
    PLANTED.get() == Some(plant)
}

#[cfg(not(feature = "plants"))]
pub(crate) const fn planted(_: Plant) -> bool {
    false
}

/// Whether no bug is planted: only then do the invariants hold that a planted bug breaks.
#[cfg(feature = "plants")]
pub(crate) fn is_sound() -> bool {
    PLANTED.get().is_none()
}

#[cfg(not(feature = "plants"))]
pub(crate) const fn is_sound() -> bool {
    true
}
