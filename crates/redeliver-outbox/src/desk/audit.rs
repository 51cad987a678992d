//! What the audit trail proves: each entry is sealed with the one before it.

use std::fmt;

/// An entry of the audit trail, as the chain knows it. Its hash is that of everything up to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditMark {
    /// Its number.
    pub number: i64,
    /// Its hash: 64 hexadecimal digits.
    pub hash: String,
}

/// What one step of looking through the chain found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditStep {
    /// The entries that fit, the oldest first.
    pub fit: Vec<AuditMark>,
    /// What the entries of this step stand on: the last one that retention removed, the one before the chain's beginning, or where the
    /// step before this one ended.
    pub behind: AuditMark,
    /// The newest entry, as the chain's head names it; none if the head is missing.
    pub head: Option<AuditMark>,
    /// Entries from before there was a chain, if this is the first step. They prove nothing.
    pub older: u64,
    /// The first thing that does not fit: the chain says nothing about what is behind it.
    pub broken: Option<AuditBreak>,
    /// Where the next step begins; none if this was the last one.
    pub next: Option<AuditMark>,
}

/// How a chain is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuditBreak {
    /// The entry is not what was written, or was written by something else.
    Changed {
        /// Its number.
        number: i64,
    },
    /// One or more entries between these two are gone.
    Missing {
        /// The last entry before the hole, or the last one that retention removed.
        after: i64,
        /// The first entry behind it.
        before: i64,
    },
    /// The entry that belongs here is in another place.
    Reordered {
        /// Where it belongs.
        number: i64,
        /// Where it is.
        found_at: i64,
    },
    /// The entry was put there by something else than redeliver.
    Inserted {
        /// Its number.
        number: i64,
    },
    /// The newest entries are gone: the head names one that is not there.
    Truncated {
        /// The last entry that is there, or the last one that retention removed.
        after: i64,
        /// The entry that the head names.
        head: i64,
    },
    /// The row of `redeliver_audit_chain` is gone.
    Headless,
}

impl AuditBreak {
    /// One word for it: `changed`, `missing`, `reordered`, `inserted`, `truncated`, `headless`.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Changed { .. } => "changed",
            Self::Missing { .. } => "missing",
            Self::Reordered { .. } => "reordered",
            Self::Inserted { .. } => "inserted",
            Self::Truncated { .. } => "truncated",
            Self::Headless => "headless",
        }
    }
}

impl fmt::Display for AuditBreak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed { number } => write!(f, "entry {number} is not what was written"),
            Self::Missing { after, before } => {
                write!(f, "between entry {after} and entry {before} something is missing")
            }
            Self::Reordered { number, found_at } => {
                write!(f, "what belongs at entry {number} is at entry {found_at}")
            }
            Self::Inserted { number } => write!(f, "entry {number} was not written by redeliver"),
            Self::Truncated { after, head } => write!(
                f,
                "the newest entries are gone: the head names entry {head}, and the last one there is {after}"
            ),
            Self::Headless => f.write_str("the chain has no head: the row of the table audit_chain is gone"),
        }
    }
}
