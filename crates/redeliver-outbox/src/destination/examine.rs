//! A look at a message before its first attempt: what can never be delivered is quarantined without one.

use serde::de::IgnoredAny;

use super::{Expects, Route, Routes, headers};
use crate::{DeadReason, Message, limits};

/// Why a message is not sent: the kind, and what to tell the operator.
pub type Refusal = (DeadReason, String);

/// The route of a message that can be sent.
///
/// # Errors
/// If it cannot: no destination has its name, or [`fits`] refuses it.
pub fn examine<'r>(message: &Message, routes: &'r Routes) -> Result<&'r Route, Refusal> {
    let Some(route) = routes.get(&message.destination) else {
        let names = routes.iter().map(|(name, _)| name);
        return Err((
            DeadReason::UnknownDestination,
            unknown(&message.destination, names),
        ));
    };
    fits(message, route)?;
    Ok(route)
}

pub(crate) const KEY_IS_NO_TEXT: &str = "the key is not valid Unicode";

/// Whether a message is what its route takes: key, size, headers, and a payload of the kind that is expected.
///
/// # Errors
/// The first rule that it breaks.
pub fn fits(message: &Message, route: &Route) -> Result<(), Refusal> {
    if message.unreadable_key {
        return Err((DeadReason::InvalidKey, KEY_IS_NO_TEXT.to_owned()));
    }
    if let Some(key) = &message.key
        && key.len() > limits::KEY_LIMIT
    {
        let (length, limit) = (key.len(), limits::KEY_LIMIT);
        let reason = format!("the key has {length} bytes; at most {limit} are allowed");
        return Err((DeadReason::InvalidKey, reason));
    }
    if let Some(size) = message.withheld {
        return Err(withheld(size, route.payload_limit));
    }
    let (length, limit) = (message.payload.len(), route.payload_limit);
    if length > limit {
        let reason = format!("the payload has {length} bytes; this destination takes at most {limit}");
        return Err((DeadReason::TooLarge, reason));
    }
    headers::of(message)
        .and_then(|_| headers::check_columns(message))
        .map_err(|reason| (DeadReason::InvalidHeaders, reason))?;
    match &route.expects {
        Expects::Anything => Ok(()),
        Expects::Json if !is_json(message.content_type.as_deref()) => Ok(()),
        Expects::Json => json(message),
        #[cfg(feature = "schema")]
        Expects::Schema(validator) => {
            let value = serde_json::from_str(text(message)?).map_err(no_json)?;
            super::schema::check(&value, validator).map_err(|reason| (DeadReason::SchemaViolation, reason))
        }
    }
}

/// A message that is too large to be read.
pub(crate) fn withheld(size: u64, limit: usize) -> Refusal {
    let reason = format!("the message has {size} bytes; this destination takes payloads of at most {limit}");
    (DeadReason::TooLarge, reason)
}

/// How many names of destinations are shown.
const NAMES_SHOWN: usize = 10;

pub(crate) fn unknown<'a>(destination: &str, names: impl Iterator<Item = &'a str>) -> String {
    let name: String = destination.chars().take(64).collect();
    let mut names: Vec<&str> = names.collect();
    let more = names.len().saturating_sub(NAMES_SHOWN);
    names.truncate(NAMES_SHOWN);
    let known = match (names.is_empty(), more) {
        (true, _) => "none is configured".to_owned(),
        (false, 0) => format!("known are {}", names.join(", ")),
        (false, more) => format!("known are {} and {more} more", names.join(", ")),
    };
    format!("no destination is called {name:?}; {known}")
}

/// Whether this content type, or none, promises JSON.
pub(super) fn is_json(content_type: Option<&str>) -> bool {
    let Some(content_type) = content_type else {
        return true;
    };
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    let kind = kind.to_ascii_lowercase();
    kind == "application/json" || kind == "text/json" || kind.ends_with("+json")
}

pub(super) fn no_json(problem: impl std::fmt::Display) -> Refusal {
    let reason = format!("the payload is no JSON: {problem}");
    (DeadReason::InvalidPayload, reason)
}

fn text(message: &Message) -> Result<&str, Refusal> {
    message
        .payload
        .as_text()
        .ok_or_else(|| no_json("it holds bytes that are no UTF-8"))
}

/// Ignoring every value reads the whole of it without keeping any, and without going deeper on the stack.
fn json(message: &Message) -> Result<(), Refusal> {
    serde_json::from_str::<IgnoredAny>(text(message)?).map_err(no_json)?;
    Ok(())
}
