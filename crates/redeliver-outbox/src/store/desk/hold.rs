//! Holding a destination, and letting it go on: all of it that is no statement.

use serde_json::json;

use crate::{
    Hold, HoldCause, NewHold, Timestamp,
    desk::Act,
    limits::{self, DESTINATION_LIMIT},
    store::{Result, StoreError, StoreErrorKind, WorkerId},
};

/// The hold that an operator asks for.
pub(in crate::store) fn by_hand(destination: &str, act: &Act) -> Result<NewHold> {
    check(destination)?;
    Ok(NewHold {
        destination: destination.to_owned(),
        cause: HoldCause::Hand,
        detail: limits::error_text(&act.why),
    })
}

/// What the audit says of a relay that holds a destination.
pub(in crate::store) fn act_of(worker: &WorkerId, hold: &NewHold) -> Act {
    Act {
        who: worker.0.clone(),
        why: hold.detail.clone(),
    }
}

/// A name that no destination can have is a mistake.
pub(in crate::store) fn check(destination: &str) -> Result<()> {
    if (1..=DESTINATION_LIMIT).contains(&destination.len()) && !destination.contains(char::is_control) {
        return Ok(());
    }
    let what = "that is no name of a destination";
    let next = format!("use 1 to {DESTINATION_LIMIT} bytes without control characters");
    Err(StoreError::new(StoreErrorKind::BadInput, what).next(next))
}

/// What the audit calls the beginning of a hold.
pub(in crate::store) const fn action(cause: HoldCause) -> &'static str {
    match cause {
        HoldCause::Hand | HoldCause::Surge => "pause",
        HoldCause::Gone => "disable",
    }
}

/// What the audit says besides.
pub(in crate::store) fn audited(destination: &str, cause: HoldCause) -> String {
    json!({ "destination": destination, "cause": cause.as_str() }).to_string()
}

/// The hold of a destination, among all.
pub(in crate::store) fn of(holds: Vec<Hold>, destination: &str) -> Option<Hold> {
    holds.into_iter().find(|hold| hold.destination == destination)
}

/// Refuses to end another hold than was seen.
pub(in crate::store) fn unchanged(held: &Hold, seen: Option<Timestamp>) -> Result<()> {
    if seen.is_none_or(|since| since == held.since) {
        return Ok(());
    }
    let Hold { destination, who, .. } = held;
    let what = format!(
        "'{destination}' was let go on and is held anew since it was looked at, by {who} at {}",
        held.since
    );
    Err(StoreError::new(StoreErrorKind::Conflict, what).next("nothing was done; look at it again"))
}

/// It was written, or one was there, and now there is none.
pub(in crate::store) fn gone() -> StoreError {
    let what = "the destination was resumed at the same moment";
    StoreError::new(StoreErrorKind::Busy, what).next("try again if it is still to be held")
}
