use std::{fmt, str::FromStr, time::Duration};

use redeliver_policy::{Jitter, Policy};
use serde::Serialize;

/// How the clients of the contention model wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// They do not wait.
    None,
    /// Exponential backoff without jitter.
    Exponential,
    /// Exponential backoff, half of it certain and half spread.
    Equal,
    /// Exponential backoff, all of it spread.
    Full,
    /// Decorrelated jitter.
    Decorrelated,
}

/// The number of clients that [`Kind::aws_figures`] are for.
pub const AWS_CLIENTS: u32 = 100;

/// What AWS's own simulator comes to with 100 clients, base 5 ms and cap 2 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AwsFigures {
    /// Writes sent.
    pub calls: u32,
    /// Milliseconds until the last success.
    pub time_ms: u32,
}

impl Kind {
    /// Every kind, in the order of the tables.
    pub const ALL: [Self; 5] = [
        Self::None,
        Self::Exponential,
        Self::Equal,
        Self::Full,
        Self::Decorrelated,
    ];

    /// The policy of this kind for AWS's `base` and `cap`.
    #[must_use]
    pub const fn policy(self, base: Duration, cap: Duration) -> Policy {
        let first = base.saturating_mul(2);
        match self {
            Self::None => Policy::fixed(Duration::ZERO).jitter(Jitter::None),
            Self::Exponential => Policy::exponential(first, cap).jitter(Jitter::None),
            Self::Equal => Policy::exponential(first, cap).jitter(Jitter::Equal),
            Self::Full => Policy::exponential(first, cap).jitter(Jitter::Full),
            Self::Decorrelated => Policy::exponential(base, cap).jitter(Jitter::Decorrelated),
        }
        .unlimited_attempts()
    }

    /// What AWS's own simulator comes to, for [`AWS_CLIENTS`].
    #[must_use]
    pub const fn aws_figures(self) -> AwsFigures {
        let (calls, time_ms) = match self {
            Self::None => (2_418, 2_031),
            Self::Exponential => (1_859, 63_716),
            Self::Equal => (813, 6_603),
            Self::Full => (797, 4_796),
            Self::Decorrelated => (1_003, 4_531),
        };
        AwsFigures { calls, time_ms }
    }

    /// The kind as one word, as the command line and JSON have it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Exponential => "exponential",
            Self::Equal => "equal",
            Self::Full => "full",
            Self::Decorrelated => "decorrelated",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text.trim())
            .ok_or_else(|| "must be none, exponential, equal, full or decorrelated".to_owned())
    }
}
