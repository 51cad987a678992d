use std::{error::Error, fmt, io, iter, time::Duration};

use redeliver_policy::{Class, Classify, classify, duration::display};

use super::EventTooLarge;

/// Why there are no events.
#[derive(Debug)]
#[non_exhaustive]
pub enum SseError {
    /// The request makes no sense: what of it, and what is allowed.
    Invalid(String),
    /// The answer has a status that is neither 200 nor the end.
    Refused {
        /// The HTTP status.
        status: u16,
        /// What the status means for a retry.
        class: Class,
    },
    /// The answer is no event stream, but this.
    NotEventStream(String),
    /// The response ended. Without the status 204 that is a loss.
    Ended,
    /// Nothing came for this long, comments included.
    Silent(Duration),
    /// An event is larger than allowed.
    TooLarge(EventTooLarge),
    /// The network failed, or what answered does not speak HTTP.
    Network(reqwest::Error),
}

/// A cause this deep is a cycle in somebody's `source()`.
const DEEPEST_CAUSE: usize = 16;

impl SseError {
    pub(super) fn network(error: reqwest::Error) -> Self {
        // The query of a URL may be secret.
        Self::Network(error.without_url())
    }
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    iter::successors(error.source(), |&cause| cause.source()).take(DEEPEST_CAUSE)
}

fn network_class(error: &reqwest::Error) -> Class {
    if error.is_builder() || error.is_redirect() {
        return Class::Permanent;
    }
    for cause in causes(error) {
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            return match error.class() {
                Class::Permanent => classify::by_text(&error.to_string()),
                class => class,
            };
        }
        // hyper's words for an answer that is no HTTP; its type is not ours to see.
        if cause.to_string().starts_with("invalid HTTP") {
            return Class::Permanent;
        }
    }
    Class::Transient
}

impl Classify for SseError {
    fn class(&self) -> Class {
        match self {
            Self::Invalid(_) | Self::NotEventStream(_) | Self::TooLarge(_) => Class::Permanent,
            Self::Refused { class, .. } => *class,
            Self::Ended | Self::Silent(_) => Class::Transient,
            Self::Network(error) => network_class(error),
        }
    }

    fn kind(&self) -> &str {
        match self {
            Self::Invalid(_) => "Invalid",
            Self::Refused { .. } => "Refused",
            Self::NotEventStream(_) => "NotEventStream",
            Self::Ended => "Ended",
            Self::Silent(_) => "Silent",
            Self::TooLarge(_) => "TooLarge",
            Self::Network(_) => "Network",
        }
    }
}

impl fmt::Display for SseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(words) => f.write_str(words),
            Self::Refused { status, .. } => write!(f, "the request was answered with status {status}"),
            Self::NotEventStream(found) => {
                write!(f, "the answer is {found}, not text/event-stream")
            }
            Self::Ended => f.write_str("the response ended"),
            Self::Silent(longest) => write!(f, "nothing came for {}", display(*longest)),
            Self::TooLarge(error) => error.fmt(f),
            Self::Network(error) => {
                error.fmt(f)?;
                // The last cause says what happened; those between say who says so.
                match causes(error).last() {
                    Some(cause) => write!(f, ": {cause}"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl Error for SseError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::TooLarge(error) => Some(error),
            Self::Network(error) => Some(error),
            _ => None,
        }
    }
}
