//! Parking a lane by hand, and letting it go on.

use crate::{MessageId, Timestamp, store::LaneId};

/// A lane from which nothing goes out until somebody lets it go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneHold {
    /// Which lane.
    pub lane: LaneId,
    /// Who parked it.
    pub who: String,
    /// Why.
    pub why: String,
    /// Since when, on the database's clock.
    pub since: Timestamp,
}

/// A lane is parked by hand, now or since somebody did it before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parked {
    /// The hold that counts.
    pub hold: LaneHold,
    /// Whether it has just begun.
    pub new: bool,
}

/// What somebody saw who lets a lane go on: it must not come to skip another message than they know of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenLane {
    /// The dead letter that it would have gone on without.
    pub without: Option<MessageId>,
}

/// A lane that stood still and goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumedLane {
    /// Which lane.
    pub lane: LaneId,
    /// Since when it stood still.
    pub since: Timestamp,
    /// The hold that has ended; none if it stood still for a dead letter only.
    pub hold: Option<LaneHold>,
    /// The dead letter that it goes on without. It stays one, and the gap is kept with it.
    pub without: Option<MessageId>,
}
