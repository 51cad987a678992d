use core::fmt;

/// Why no further attempt is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum StopReason {
    /// The failure is of a kind that no retry mends.
    Permanent,
    /// It may have executed, and the operation is not safe to repeat.
    UnknownOutcome,
    /// As many attempts as the policy allows were made.
    Attempts,
    /// The deadline has passed, or the next wait would end past it.
    Deadline,
    /// The server asked for a longer wait than the policy accepts.
    RetryAfter,
    /// The retry budget is spent.
    Budget,
    /// The circuit breaker is open.
    Breaker,
    /// The caller asked for the end.
    Cancelled,
    /// A retry loop inside this one gave up already; repeating it would multiply the attempts.
    Nested,
}

impl StopReason {
    /// Every reason, in the order of the documentation.
    pub const ALL: [Self; 9] = [
        Self::Permanent,
        Self::UnknownOutcome,
        Self::Attempts,
        Self::Deadline,
        Self::RetryAfter,
        Self::Budget,
        Self::Breaker,
        Self::Cancelled,
        Self::Nested,
    ];

    /// The reason as one word, as logs and JSON show it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Permanent => "permanent",
            Self::UnknownOutcome => "unknown_outcome",
            Self::Attempts => "attempts",
            Self::Deadline => "deadline",
            Self::RetryAfter => "retry_after",
            Self::Budget => "budget",
            Self::Breaker => "breaker",
            Self::Cancelled => "cancelled",
            Self::Nested => "nested",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Permanent => "the failure is permanent",
            Self::UnknownOutcome => "it may have executed and is not idempotent",
            Self::Attempts => "out of attempts",
            Self::Deadline => "the next wait would end past the deadline",
            Self::RetryAfter => "the server asked for a longer wait than allowed",
            Self::Budget => "the retry budget is spent",
            Self::Breaker => "the circuit breaker is open",
            Self::Cancelled => "cancelled",
            Self::Nested => "an inner retry loop already gave up",
        })
    }
}
