//! Lanes as programs see them.

use redeliver_outbox::desk::{LaneHold, Standing, StandingLane};
use serde::Serialize;
use utoipa::ToSchema;

/// A lane that does not go on by itself, or not now.
#[derive(Serialize, ToSchema)]
pub(crate) struct LaneForm<'a> {
    destination: &'a str,
    key: &'a str,
    /// held: an operator parked it; parked: it stands still for a dead letter, and somebody has to act; blocked: its head waits for its next
    /// attempt.
    standing: &'static str,
    /// The message that it waits for, or that died in it while it was held.
    head: Option<String>,
    /// How many live messages are in it, as far as was counted.
    depth: u64,
    /// Whether there may be more.
    or_more: bool,
    /// Since when it is held or parked, or when the head of a blocked one was inserted.
    since: String,
    /// Why the head of a parked one was quarantined.
    reason: Option<&'static str>,
    /// Who parked a held one.
    who: Option<&'a str>,
    /// Why.
    why: Option<&'a str>,
    /// How often the head of a blocked one was attempted.
    attempts: Option<u32>,
    next_attempt_at: Option<String>,
    error: Option<&'a str>,
}

impl<'a> LaneForm<'a> {
    pub(crate) fn of(lane: &'a StandingLane) -> Self {
        let form = Self {
            destination: &lane.lane.destination,
            key: &lane.lane.key,
            standing: "parked",
            head: lane.head.map(|head| head.to_string()),
            depth: lane.depth.messages,
            or_more: lane.depth.or_more,
            since: String::new(),
            reason: None,
            who: None,
            why: None,
            attempts: None,
            next_attempt_at: None,
            error: None,
        };
        match &lane.standing {
            Standing::Parked { reason, since } => Self {
                since: since.to_string(),
                reason: reason.map(|reason| reason.as_str()),
                ..form
            },
            Standing::Held { who, why, since } => Self {
                standing: "held",
                since: since.to_string(),
                who: Some(who),
                why: Some(why),
                ..form
            },
            Standing::Blocked {
                attempts,
                next_attempt_at,
                error,
                oldest,
            } => Self {
                standing: "blocked",
                since: oldest.to_string(),
                attempts: Some(*attempts),
                next_attempt_at: Some(next_attempt_at.to_string()),
                error: Some(error),
                ..form
            },
        }
    }
}

/// A lane that an operator parked.
#[derive(Serialize, ToSchema)]
pub(crate) struct LaneHoldForm<'a> {
    who: &'a str,
    why: &'a str,
    since: String,
}

impl<'a> LaneHoldForm<'a> {
    pub(crate) fn of(hold: &'a LaneHold) -> Self {
        Self {
            who: &hold.who,
            why: &hold.why,
            since: hold.since.to_string(),
        }
    }
}
