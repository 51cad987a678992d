use std::{borrow::Cow, error::Error, fmt};

use redeliver::{Class, Classify};

/// What went wrong with a database, in the terms of what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// It cannot be reached, or the connection was lost.
    Unreachable,
    /// It is there, and had no time: locked, deadlocked, not serializable, out of connections.
    Busy,
    /// The tables are missing or older than this program.
    NotMigrated,
    /// The tables are newer than this program.
    TooNew,
    /// It does not let us in, or not do this.
    Denied,
    /// It cannot be written to: read-only, or its disk is full.
    ReadOnly,
    /// The server's version lacks what is needed.
    Unsupported,
    /// What the caller gave is wrong.
    BadInput,
    /// There is no such message, or it is not in a state in which this can be done.
    NotFound,
    /// It has changed since the caller looked, or somebody else does it already.
    Conflict,
    /// It refused what was to be written because of its content: a constraint, a trigger, a value that does not fit. The same again
    /// meets the same, and says nothing of other rows.
    Refused,
    /// Anything else.
    Other,
}

impl StoreErrorKind {
    /// Whether the content of the statement was at fault, rather than the database: another one may work.
    #[must_use]
    pub const fn is_about_content(self) -> bool {
        matches!(
            self,
            Self::BadInput | Self::NotFound | Self::Conflict | Self::Refused
        )
    }
}

/// What went wrong with a database: one sentence, and one more with the next step.
#[derive(Debug)]
pub struct StoreError {
    kind: StoreErrorKind,
    what: Cow<'static, str>,
    next: Cow<'static, str>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl StoreError {
    /// Says what happened.
    #[must_use]
    pub fn new(kind: StoreErrorKind, what: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            what: what.into(),
            next: Cow::Borrowed(""),
            source: None,
        }
    }

    /// Says what the reader of the error can do.
    #[must_use]
    pub fn next(mut self, next: impl Into<Cow<'static, str>>) -> Self {
        self.next = next.into();
        self
    }

    /// Keeps what the driver said. It is not shown unless asked for: it may tell more than the error's reader should see.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What kind of trouble it is.
    #[must_use]
    pub const fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// What happened, without the next step.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What can be done about it; empty if nothing is known.
    #[must_use]
    pub fn next_step(&self) -> &str {
        &self.next
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if self.next.is_empty() {
            Ok(())
        } else {
            write!(f, "; {}", self.next)
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static))
    }
}

/// The relay waits out everything that may mend itself, by the same policies as anything else. Missing tables and a full disk are
/// mended by people while it waits.
impl Classify for StoreError {
    fn class(&self) -> Class {
        match self.kind {
            StoreErrorKind::Unreachable
            | StoreErrorKind::Busy
            | StoreErrorKind::NotMigrated
            | StoreErrorKind::ReadOnly
            | StoreErrorKind::Denied
            | StoreErrorKind::Other => Class::Transient,
            StoreErrorKind::TooNew
            | StoreErrorKind::Unsupported
            | StoreErrorKind::BadInput
            | StoreErrorKind::NotFound
            | StoreErrorKind::Conflict
            | StoreErrorKind::Refused => Class::Permanent,
        }
    }
}
