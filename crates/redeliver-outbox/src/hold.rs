use std::{fmt, str::FromStr};

use crate::Timestamp;

/// A destination that gets nothing until somebody lets it go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Which destination.
    pub destination: String,
    /// What it is called.
    pub kind: HoldKind,
    /// What led to it.
    pub cause: HoldCause,
    /// Why, in the words of the operator or of the destination's answer.
    pub detail: String,
    /// Who: an operator, or the worker that decided it.
    pub who: String,
    /// Since when, on the database's clock.
    pub since: Timestamp,
}

/// A hold that is to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewHold {
    /// Which destination.
    pub destination: String,
    /// What leads to it; it also says what the hold is called.
    pub cause: HoldCause,
    /// Why, for whoever finds it. Never longer than [`ERROR_LIMIT`](crate::limits::ERROR_LIMIT).
    pub detail: String,
}

/// A destination is held, by this hold or by one that was there before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The hold that counts.
    pub hold: Hold,
    /// Whether it has just begun.
    pub new: bool,
}

/// What a hold is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HoldKind {
    /// For now: somebody has to look at something first.
    Paused,
    /// It said that it is gone for good.
    Disabled,
}

/// What led to a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HoldCause {
    /// An operator.
    Hand,
    /// It rejected nearly everything, and in the same way: then it is not the messages.
    Surge,
    /// It answered that it is gone for good, as HTTP does with 410.
    Gone,
}

impl HoldKind {
    /// The word in the table and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::Disabled => "disabled",
        }
    }
}

impl HoldCause {
    /// The word in the table and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hand => "hand",
            Self::Surge => "surge",
            Self::Gone => "gone",
        }
    }

    /// What a hold with this cause is called.
    #[must_use]
    pub const fn kind(self) -> HoldKind {
        match self {
            Self::Hand | Self::Surge => HoldKind::Paused,
            Self::Gone => HoldKind::Disabled,
        }
    }
}

impl fmt::Display for HoldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for HoldCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that names no kind of hold, or no cause of one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is nothing that a hold is called or caused by")]
pub struct NoHold(String);

impl FromStr for HoldKind {
    type Err = NoHold;

    fn from_str(text: &str) -> Result<Self, NoHold> {
        [Self::Paused, Self::Disabled]
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| NoHold(text.chars().take(64).collect()))
    }
}

impl FromStr for HoldCause {
    type Err = NoHold;

    fn from_str(text: &str) -> Result<Self, NoHold> {
        [Self::Hand, Self::Surge, Self::Gone]
            .into_iter()
            .find(|cause| cause.as_str() == text)
            .ok_or_else(|| NoHold(text.chars().take(64).collect()))
    }
}
