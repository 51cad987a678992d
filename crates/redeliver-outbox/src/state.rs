//! The life of a message, as a pure function.
//!
//! ```text
//!         counted, uncounted, postponed, retry
//!                  ┌──────┐
//!   inserted ──▶  live ───┴──▶ sent
//!                  │ ▲
//!             dead │ │ redriven
//!                  ▼ │
//!                 dead ──────▶ discarded
//!                  └┘ edited
//! ```
//!
//! An event is a message without a destination: from live it goes to *fanned out*, which is its end; the messages that are made of it
//! begin as inserted.
//!
//! The tables repeat it as constraints and the statements as guards; a test drives random histories through this function and through
//! each database, and compares.

use std::{fmt, str::FromStr, time::Duration};

use crate::{DeadReason, Timestamp};

/// The documents' words for where a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Not attempted yet; due now or later.
    Pending,
    /// Due, and its shard is owned by a live worker: being sent, or about to be.
    Processing,
    /// Attempted in vain, waiting for its retry.
    Failed,
    /// Held back because the head of its lane is a dead letter.
    Parked,
    /// Arrived.
    Sent,
    /// Quarantined.
    DeadLettered,
    /// Quarantined, then given up by an operator.
    Discarded,
    /// An event that has become a message for each destination of its topic.
    FannedOut,
}

impl Status {
    /// Every status, in the order of a message's life.
    pub const ALL: [Self; 8] = [
        Self::Pending,
        Self::Processing,
        Self::Failed,
        Self::Parked,
        Self::Sent,
        Self::DeadLettered,
        Self::Discarded,
        Self::FannedOut,
    ];

    /// The word in the view and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Processing => "processing",
            Self::Failed => "failed",
            Self::Parked => "parked",
            Self::Sent => "sent",
            Self::DeadLettered => "dead_lettered",
            Self::Discarded => "discarded",
            Self::FannedOut => "fanned_out",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that is no status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no status: use pending, processing, failed, parked, sent, dead_lettered, discarded or fanned_out"
)]
pub struct NoStatus(String);

impl FromStr for Status {
    type Err = NoStatus;

    fn from_str(text: &str) -> Result<Self, NoStatus> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| NoStatus(text.chars().take(64).collect()))
    }
}

/// Which table holds a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// The hot table.
    Live,
    /// The history.
    Sent,
    /// The dead letters.
    Dead,
    /// The dead letters, marked as given up.
    Discarded,
    /// The history of events.
    FannedOut,
}

/// All that the machine knows of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Where it is.
    pub place: Place,
    /// Attempts counted since it was inserted or last redriven.
    pub attempts: u32,
    /// How often it was redriven.
    pub redrives: u32,
    /// When its next attempt is due, once it has been scheduled.
    pub next_attempt_at: Option<Timestamp>,
    /// Why it was quarantined, while it is.
    pub reason: Option<DeadReason>,
}

impl State {
    /// A message that was just inserted.
    pub const INSERTED: Self = Self {
        place: Place::Live,
        attempts: 0,
        redrives: 0,
        next_attempt_at: None,
        reason: None,
    };
}

/// What can happen to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An attempt is counted before it begins.
    Counted {
        /// Which.
        attempt: u32,
    },
    /// A counted attempt did not begin.
    Uncounted {
        /// Which.
        attempt: u32,
    },
    /// An attempt succeeded.
    Delivered {
        /// Which.
        attempt: u32,
    },
    /// An attempt failed, and another follows.
    Retry {
        /// Which.
        attempt: u32,
        /// After how long.
        wait: Duration,
    },
    /// It is quarantined, after an attempt or without one.
    Dead {
        /// The attempt, if there was one.
        attempt: Option<u32>,
        /// Why.
        reason: DeadReason,
    },
    /// It was an event, and has become messages.
    FannedOut,
    /// It waits, unattempted.
    Postponed {
        /// Until when.
        until: Timestamp,
    },
    /// An operator puts it back.
    Redriven,
    /// An operator gives it up.
    Discarded,
    /// An operator changes the payload of a dead letter.
    Edited,
}

/// The event does not fit the state; nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("that cannot happen to this message now")]
pub struct Refused;

/// What the event makes of the state.
///
/// An event of the relay may come twice, because a commit whose answer was lost is written again: the second time is either
/// refused, the message being elsewhere by then, or changes nothing but the time of the next attempt.
///
/// # Errors
///
/// If the event does not fit the state.
pub fn apply(state: State, event: Event, now: Timestamp) -> Result<State, Refused> {
    match (state.place, event) {
        (Place::Live, Event::Counted { attempt }) => counted(state, attempt),
        (Place::Live, Event::Uncounted { attempt }) => Ok(State {
            attempts: attempt.saturating_sub(1),
            ..counted(state, attempt)?
        }),
        (Place::Live, Event::Delivered { attempt }) => Ok(State {
            place: Place::Sent,
            next_attempt_at: None,
            ..counted(state, attempt)?
        }),
        (Place::Live, Event::Retry { attempt, wait }) => Ok(State {
            next_attempt_at: Some(now.plus(wait)),
            ..counted(state, attempt)?
        }),
        (Place::Live, Event::Dead { attempt, reason }) => {
            let state = attempt.map_or(Ok(state), |attempt| counted(state, attempt))?;
            Ok(State {
                place: Place::Dead,
                next_attempt_at: None,
                reason: Some(reason),
                ..state
            })
        }
        (Place::Live, Event::FannedOut) => Ok(State {
            place: Place::FannedOut,
            next_attempt_at: None,
            ..state
        }),
        (Place::Live, Event::Postponed { until }) => Ok(State {
            next_attempt_at: Some(until),
            ..state
        }),
        (Place::Dead, Event::Redriven) => Ok(State {
            place: Place::Live,
            attempts: 0,
            redrives: state.redrives + 1,
            next_attempt_at: Some(now),
            reason: None,
        }),
        (Place::Dead, Event::Discarded) => Ok(State {
            place: Place::Discarded,
            ..state
        }),
        (Place::Dead, Event::Edited) => Ok(state),
        _ => Err(Refused),
    }
}

/// Attempts are counted one by one from 1, before the send or after it, never both.
const fn counted(state: State, attempt: u32) -> Result<State, Refused> {
    if attempt == 0 {
        return Err(Refused);
    }
    if attempt == state.attempts || attempt == state.attempts.saturating_add(1) {
        Ok(State {
            attempts: attempt,
            ..state
        })
    } else {
        Err(Refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000);

    #[test]
    fn a_message_fails_is_rescued_and_arrives() {
        let wait = Duration::from_secs(2);
        let mut state = State::INSERTED;
        for attempt in 1..=3 {
            state = apply(state, Event::Retry { attempt, wait }, NOW).unwrap();
            assert_eq!(state.next_attempt_at, Some(Timestamp::from_millis(3_000)));
        }
        let reason = DeadReason::AttemptsExhausted;
        state = apply(
            state,
            Event::Dead {
                attempt: Some(4),
                reason,
            },
            NOW,
        )
        .unwrap();
        assert_eq!(
            (state.place, state.attempts, state.reason),
            (Place::Dead, 4, Some(reason))
        );
        state = apply(state, Event::Edited, NOW).unwrap();
        state = apply(state, Event::Redriven, NOW).unwrap();
        assert_eq!(
            (state.attempts, state.redrives, state.next_attempt_at),
            (0, 1, Some(NOW))
        );
        state = apply(state, Event::Delivered { attempt: 1 }, NOW).unwrap();
        assert_eq!(state.place, Place::Sent);
    }

    #[test]
    fn an_attempt_counted_before_is_not_counted_again() {
        let state = apply(State::INSERTED, Event::Counted { attempt: 1 }, NOW).unwrap();
        assert_eq!(apply(state, Event::Counted { attempt: 1 }, NOW), Ok(state));
        let sent = apply(state, Event::Delivered { attempt: 1 }, NOW).unwrap();
        assert_eq!(sent.attempts, 1);
        assert_eq!(apply(state, Event::Delivered { attempt: 3 }, NOW), Err(Refused));
        assert_eq!(
            apply(State::INSERTED, Event::Delivered { attempt: 0 }, NOW),
            Err(Refused)
        );
    }

    #[test]
    fn an_attempt_that_did_not_begin_is_taken_back_once() {
        let counted = apply(State::INSERTED, Event::Counted { attempt: 1 }, NOW).unwrap();
        let back = apply(counted, Event::Uncounted { attempt: 1 }, NOW).unwrap();
        assert_eq!(back, State::INSERTED);
        assert_eq!(apply(back, Event::Uncounted { attempt: 1 }, NOW), Ok(back));
        assert_eq!(apply(back, Event::Uncounted { attempt: 3 }, NOW), Err(Refused));
        assert_eq!(apply(back, Event::Uncounted { attempt: 0 }, NOW), Err(Refused));
    }

    #[test]
    fn an_end_is_an_end() {
        let sent = apply(State::INSERTED, Event::Delivered { attempt: 1 }, NOW).unwrap();
        let dead = apply(
            State::INSERTED,
            Event::Dead {
                attempt: None,
                reason: DeadReason::TooLarge,
            },
            NOW,
        )
        .unwrap();
        let discarded = apply(dead, Event::Discarded, NOW).unwrap();
        let fanned_out = apply(State::INSERTED, Event::FannedOut, NOW).unwrap();
        assert_eq!(fanned_out.place, Place::FannedOut);
        for state in [sent, discarded, fanned_out] {
            for event in [
                Event::Counted { attempt: 1 },
                Event::Delivered { attempt: 1 },
                Event::Postponed { until: NOW },
                Event::Redriven,
                Event::Discarded,
                Event::Edited,
                Event::FannedOut,
            ] {
                assert_eq!(apply(state, event, NOW), Err(Refused), "{event:?}");
            }
        }
    }
}
