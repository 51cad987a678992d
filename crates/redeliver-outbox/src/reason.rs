use std::{fmt, str::FromStr};

use redeliver::StopReason;

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $text:literal,)*) => {
        /// Why a message was quarantined.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum DeadReason { $($(#[$doc])* $variant,)* }

        impl DeadReason {
            /// Every reason, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The word in the tables, on the command line and in metrics.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }
        }
    };
}

reasons! {
    /// The destination refused it in a way that no wait changes.
    Permanent = "permanent",
    /// It failed as often as its policy allows.
    AttemptsExhausted = "attempts_exhausted",
    /// It grew older than it may.
    Expired = "expired",
    /// The payload is not what its content type says.
    InvalidPayload = "invalid_payload",
    /// The payload breaks the destination's JSON Schema.
    SchemaViolation = "schema_violation",
    /// The payload is larger than the destination takes.
    TooLarge = "too_large",
    /// The headers are no JSON object of texts, or one of them may not be sent.
    InvalidHeaders = "invalid_headers",
    /// The key is longer than a key may be.
    InvalidKey = "invalid_key",
    /// No destination has this name.
    UnknownDestination = "unknown_destination",
    /// No route leads anywhere from its topic.
    NoRoute = "no_route",
    /// It may have arrived, and its destination may not be sent the same thing twice.
    UnknownOutcome = "unknown_outcome",
    /// The server asked for a longer wait than the policy allows.
    RetryAfter = "retry_after",
    /// It failed at the head of a lane that does not wait.
    LaneSkipped = "lane_skipped",
}

impl DeadReason {
    /// The reason behind a policy's word to stop.
    #[must_use]
    pub const fn from_stop(stop: StopReason) -> Self {
        match stop {
            StopReason::Attempts => Self::AttemptsExhausted,
            StopReason::Deadline => Self::Expired,
            StopReason::RetryAfter => Self::RetryAfter,
            StopReason::UnknownOutcome => Self::UnknownOutcome,
            _ => Self::Permanent,
        }
    }
}

impl fmt::Display for DeadReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that is none of the reasons.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no reason for a dead letter")]
pub struct NoReason(String);

impl FromStr for DeadReason {
    type Err = NoReason;

    fn from_str(text: &str) -> Result<Self, NoReason> {
        Self::ALL
            .iter()
            .copied()
            .find(|reason| reason.as_str() == text)
            .ok_or_else(|| NoReason(text.chars().take(64).collect()))
    }
}
