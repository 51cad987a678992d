//! What is for the destination only, and how everybody else sees it.

mod clearing;
mod gathering;
mod headers;
mod path;

use std::sync::Arc;

use serde_json::{Value, value::RawValue};

pub(crate) use self::{clearing::cleared, headers::shown as shown_headers};
pub use self::{
    headers::is_secret_header,
    path::{FieldPath, NoFieldPath},
};
use crate::{
    Message, Payload,
    destination::{Destination, Outcome},
    members::{Members, member, patched},
};
use gathering::Gathering;
use path::Way;

/// What stands in the place of what is hidden.
pub const MARK: &str = "…";

/// What of the payloads to a destination is for it alone. Whoever looks through redeliver sees a mark instead; the database has all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Secrecy {
    /// Nothing.
    #[default]
    Nothing,
    /// These fields; all of it where the payload is no JSON.
    Fields(Arc<[FieldPath]>),
    /// All of it.
    Everything,
}

/// What is hidden of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// How long the payload is, in bytes.
    pub bytes: usize,
    /// Whether nothing of it is shown.
    pub whole: bool,
}

impl Secrecy {
    /// Whether anything is hidden at all.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// What both hide.
    #[must_use]
    pub fn with(self, other: &Self) -> Self {
        match (self, other) {
            (Self::Everything, _) | (_, Self::Everything) => Self::Everything,
            (Self::Nothing, other) => other.clone(),
            (mine, Self::Nothing) => mine,
            (Self::Fields(mine), Self::Fields(theirs)) => {
                Self::Fields(mine.iter().chain(theirs.iter()).cloned().collect())
            }
        }
    }

    /// Whether all that the other hides is hidden by this.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Nothing) | (Self::Everything, _) => true,
            (Self::Fields(mine), Self::Fields(theirs)) => theirs
                .iter()
                .all(|path| mine.iter().any(|mine| mine.covers(path))),
            _ => false,
        }
    }

    /// What is hidden of this payload; none if nothing is.
    #[must_use]
    pub fn hides(&self, payload: &Payload) -> Option<Hidden> {
        let whole = match self {
            Self::Nothing => return None,
            Self::Everything => true,
            Self::Fields(_) => json(payload).is_none(),
        };
        let bytes = payload.len();
        Some(Hidden { bytes, whole })
    }

    /// The payload as it is shown: a mark in the place of each hidden field, and instead of a payload that is hidden, what it can be known
    /// again by.
    #[must_use]
    pub fn hidden(&self, payload: &Payload) -> Payload {
        match (self, json(payload)) {
            (Self::Nothing, _) => payload.clone(),
            (Self::Fields(paths), Some(text)) => {
                let ways: Vec<Way<'_>> = paths.iter().map(FieldPath::way).collect();
                let mark = Value::from(MARK).to_string();
                replaced(text, &ways, &mut |_| mark.clone()).into()
            }
            _ => outline(payload).into(),
        }
    }

    /// The values that are hidden: texts and numbers, as they would be read aloud.
    #[must_use]
    pub fn values(&self, payload: &Payload) -> Vec<String> {
        Gathering::whole().gather(self, payload).values
    }

    /// A payload that was changed by somebody who has not seen the hidden part of it: what is hidden stays unless it is given anew. Where fields
    /// are hidden, the change is a JSON Merge Patch.
    ///
    /// # Errors
    /// If the change holds a mark in a hidden place: nobody means that.
    pub fn changed(&self, stored: &Payload, change: &Payload) -> Result<Payload, InvalidChange> {
        match (self, json(stored)) {
            (Self::Nothing, _) => return Ok(change.clone()),
            (Self::Fields(paths), Some(text)) => {
                let given = json(change).ok_or(InvalidChange::NoPatch)?;
                if let Some(path) = paths.iter().find(|path| is_marked_at(given, path.way())) {
                    return Err(InvalidChange::Marked(path.to_string()));
                }
                match serde_json::from_str(given) {
                    Ok(Value::Object(patch)) => {
                        return patched(text, &patch)
                            .map(Payload::from)
                            .ok_or(InvalidChange::NoPatch);
                    }
                    _ => return Err(InvalidChange::NoPatch),
                }
            }
            _ => {}
        }
        let is_outline = change
            .as_text()
            .is_some_and(|text| text.trim_start().starts_with(MARK));
        match is_outline {
            true => Err(InvalidChange::Outline),
            false => Ok(change.clone()),
        }
    }

    /// How a payload will be shown after a change, to somebody to whom it `was` shown: as it is, or what of it is hidden hidden.
    #[must_use]
    pub fn seen_after(&self, was: &Payload, change: &Payload) -> Payload {
        let patch = json(change).and_then(|text| serde_json::from_str(text).ok());
        let merged = match (self, json(was), patch) {
            (Self::Fields(_), Some(was), Some(patch)) => patched(was, &patch).map(Payload::from),
            _ => None,
        };
        self.hidden(merged.as_ref().unwrap_or(change))
    }

    /// What came of an attempt at this destination, without what is hidden of the message, which a destination may repeat.
    #[must_use]
    pub fn cleared_outcome(
        &self,
        outcome: Outcome,
        message: &Message,
        destination: &dyn Destination,
    ) -> Outcome {
        let cleared = |reason: String| {
            let words = destination.words(&reason).len();
            self.cleared_up_to(&reason, reason.len().saturating_sub(words), message)
        };
        match outcome {
            Outcome::Delivered => Outcome::Delivered,
            Outcome::Retry { class, reason } => {
                let reason = cleared(reason);
                Outcome::Retry { class, reason }
            }
            Outcome::Reject { kind, reason } => {
                let reason = cleared(reason);
                Outcome::Reject { kind, reason }
            }
            Outcome::Unreachable { reason } => Outcome::Unreachable {
                reason: cleared(reason),
            },
            Outcome::Disable { reason } => Outcome::Disable {
                reason: cleared(reason),
            },
            Outcome::Ambiguous { reason, asked } => Outcome::Ambiguous {
                reason: cleared(reason),
                asked,
            },
        }
    }

    /// A text about a message, without what is hidden of it. If that is more than is looked for ([`CLEARED_VALUES`],
    /// [`CLEARED_BYTES`]), there is only a mark.
    ///
    /// [`CLEARED_VALUES`]: crate::limits::CLEARED_VALUES
    /// [`CLEARED_BYTES`]: crate::limits::CLEARED_BYTES
    #[must_use]
    pub fn cleared(&self, text: &str, message: &Message) -> String {
        self.cleared_up_to(text, 0, message)
    }

    /// The same of a text whose beginning is known to hold nothing of the message.
    fn cleared_up_to(&self, text: &str, harmless: usize, message: &Message) -> String {
        let Gathering {
            mut values, is_full, ..
        } = Gathering::bounded().gather(self, &message.payload);
        if is_full {
            return match text.split_at_checked(harmless) {
                Some((_, "")) => text.to_owned(),
                Some((harmless, _)) => format!("{harmless}{MARK}"),
                None => MARK.to_owned(),
            };
        }
        values.extend(
            message
                .headers
                .as_deref()
                .map(headers::values)
                .unwrap_or_default(),
        );
        match values.is_empty() {
            true => text.to_owned(),
            false => cleared(text, values.iter().map(String::as_str)),
        }
    }
}

/// Why a payload is not changed by somebody who has not seen all of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidChange {
    /// A mark stands where a hidden value was.
    #[error(
        "the payload's field {0} is marked secret, and … is not its value: leave the field out and it stays as it is, or give it anew"
    )]
    Marked(String),
    /// A header that is hidden has a mark for its value.
    #[error("the value of the header {0} is secret, and … is not its value: give it anew")]
    Header(String),
    /// What is shown instead of a payload was given as one.
    #[error("the payload is marked secret, and this is what is shown instead of it: give all of it anew")]
    Outline,
    /// Fields are hidden, and this names none.
    #[error(
        "fields of the payload are marked secret: give a JSON object of the fields to change (null removes one), and the others stay"
    )]
    NoPatch,
    /// Nobody knows any more what was hidden where it is.
    #[error(
        "the configuration names no destination {from} any more, so that nobody knows what is secret in its payloads, and at {to} they \
         would be shown: name {from} there again, with its `secret`"
    )]
    FromUnknown {
        /// Where it is.
        from: String,
        /// Where it would be.
        to: String,
    },
    /// Events would be replayed to where less of them is hidden.
    #[error(
        "what is marked secret of events on {topic} would be shown at {to}: mark it there too, or let [routes] lead {topic} there"
    )]
    Replayed {
        /// Their topics.
        topic: String,
        /// Where they would be.
        to: String,
    },
    /// It would go where less is hidden.
    #[error("what is marked secret at {from} would be shown at {to}: mark it there too")]
    Elsewhere {
        /// Where it is.
        from: String,
        /// Where it would be.
        to: String,
    },
}

/// Whether headers that somebody gives hold a mark in a hidden place.
pub(crate) fn check_headers(given: &str) -> Result<(), InvalidChange> {
    headers::marked(given).map_or(Ok(()), |name| Err(InvalidChange::Header(name)))
}

/// Whether headers are shown without all of their values.
pub(crate) fn is_marked(headers: &str) -> bool {
    headers::marked(headers).is_some()
}

/// The text of a payload, if it is JSON.
fn json(payload: &Payload) -> Option<&str> {
    let text = payload.as_text()?;
    serde_json::from_str::<&RawValue>(text).ok().map(RawValue::get)
}

/// What a payload can be known again by, for whoever has it already.
fn outline(payload: &Payload) -> String {
    let bytes = payload.len();
    match digest(payload.as_bytes()) {
        Some(digest) => format!("{MARK} ({bytes} bytes, SHA-256 {digest})"),
        None => format!("{MARK} ({bytes} bytes)"),
    }
}

/// The first eight digits of the hash.
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql", feature = "http"))]
fn digest(bytes: &[u8]) -> Option<String> {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    Some(
        digest
            .as_ref()
            .iter()
            .take(4)
            .map(|byte| format!("{byte:02x}"))
            .collect(),
    )
}

#[cfg(not(any(feature = "sqlite", feature = "postgres", feature = "mysql", feature = "http")))]
const fn digest(_: &[u8]) -> Option<String> {
    None
}

/// The JSON with each place that one of these ways leads to replaced, and all else as it was written.
fn replaced(text: &str, ways: &[Way<'_>], by: &mut impl FnMut(&str) -> String) -> String {
    if ways.iter().any(|way| way.is_over()) {
        return by(text);
    }
    let mut go_on = |name: &str, value: &str| {
        let rest: Vec<Way<'_>> = ways.iter().filter_map(|way| way.at(name)).collect();
        match rest.is_empty() {
            true => value.to_owned(),
            false => replaced(value, &rest, by),
        }
    };
    if let Ok(Members(members)) = serde_json::from_str(text) {
        let members: Vec<String> = members
            .iter()
            .map(|(name, value)| member(name, &go_on(name, value.get())))
            .collect();
        return format!("{{{}}}", members.join(","));
    }
    if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text) {
        let items: Vec<String> = items
            .iter()
            .enumerate()
            .map(|(place, value)| go_on(&place.to_string(), value.get()))
            .collect();
        return format!("[{}]", items.join(","));
    }
    text.to_owned()
}

/// Whether a mark stands where this way leads.
fn is_marked_at(text: &str, way: Way<'_>) -> bool {
    let mut marked = false;
    replaced(text, &[way], &mut |value| {
        marked |= serde_json::from_str::<String>(value).is_ok_and(|text| text == MARK);
        String::new()
    });
    marked
}

#[cfg(test)]
mod tests;
