use redeliver::{Class, Classify};

use super::InvalidMessage;
use crate::store::StoreError;
#[cfg(any(feature = "_enqueue-async", feature = "_enqueue-blocking"))]
use crate::store::StoreErrorKind;

/// Why a message was not put into the outbox.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnqueueError {
    /// The message breaks a rule. Nothing was asked of the database.
    #[error(transparent)]
    Invalid(#[from] InvalidMessage),
    /// The database did not take it. What the driver said is the error's source.
    #[error(transparent)]
    Database(#[from] StoreError),
}

impl Classify for EnqueueError {
    fn class(&self) -> Class {
        match self {
            Self::Invalid(_) => Class::Permanent,
            Self::Database(error) => error.class(),
        }
    }
}

/// For a desk, whose errors are all of one kind.
#[cfg(any(feature = "postgres", feature = "mysql"))]
impl From<EnqueueError> for StoreError {
    fn from(error: EnqueueError) -> Self {
        match error {
            EnqueueError::Invalid(invalid) => Self::new(StoreErrorKind::BadInput, invalid.to_string()),
            EnqueueError::Database(error) => error,
        }
    }
}

/// The error of a database that refused a statement, with what the driver said as its source.
#[cfg(any(feature = "_enqueue-async", feature = "_enqueue-blocking"))]
pub(super) fn refused(
    kind: StoreErrorKind,
    cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> StoreError {
    let (what, next) = match kind {
        StoreErrorKind::NotMigrated => (
            "redeliver's tables are not in this database",
            "create them with 'redeliver migrate', or set the schema and prefix under which they are",
        ),
        StoreErrorKind::Busy => (
            "the database was busy with another transaction",
            "roll back and run the transaction again",
        ),
        StoreErrorKind::Unreachable => (
            "the connection to the database was lost",
            "run the transaction again on another connection",
        ),
        StoreErrorKind::Denied => (
            "the database does not let this user write redeliver's tables",
            "grant INSERT and SELECT on them, and UPDATE on the de-duplication table",
        ),
        StoreErrorKind::ReadOnly => (
            "the database cannot be written to",
            "connect to one that can, or free its disk",
        ),
        _ => (
            "the database refused the statement",
            "the source of this error is what its driver said",
        ),
    };
    StoreError::new(kind, what).next(next).caused_by(cause)
}

/// What kind of trouble a SQLSTATE of PostgreSQL is.
#[cfg(any(feature = "enqueue-tokio-postgres", feature = "enqueue-sqlx-postgres"))]
pub(super) fn postgres_kind(state: &str) -> StoreErrorKind {
    match state {
        "42P01" | "3F000" | "42703" => StoreErrorKind::NotMigrated,
        "40001" | "40P01" | "55P03" | "57014" => StoreErrorKind::Busy,
        "42501" => StoreErrorKind::Denied,
        "25006" | "53100" => StoreErrorKind::ReadOnly,
        _ if state.starts_with("08") || state.starts_with("57P") => StoreErrorKind::Unreachable,
        _ => StoreErrorKind::Other,
    }
}

/// What kind of trouble an error number of MySQL is.
#[cfg(any(feature = "enqueue-mysql-async", feature = "enqueue-sqlx-mysql"))]
pub(super) fn mysql_kind(code: u16) -> StoreErrorKind {
    match code {
        1146 | 1049 | 1054 => StoreErrorKind::NotMigrated,
        1205 | 1213 | 1020 | 1180 | 3101 => StoreErrorKind::Busy,
        // The server is not a working member of its cluster at the moment.
        1047 | 3100 => StoreErrorKind::Unreachable,
        1044 | 1142 | 1143 => StoreErrorKind::Denied,
        1290 | 1792 | 1836 | 1021 | 1114 => StoreErrorKind::ReadOnly,
        _ => StoreErrorKind::Other,
    }
}

/// What kind of trouble a result code of SQLite is; a missing table has none of its own.
#[cfg(any(feature = "enqueue-rusqlite", feature = "enqueue-sqlx-sqlite"))]
pub(super) fn sqlite_kind(code: i32, message: &str) -> StoreErrorKind {
    const BUSY: i32 = 5;
    const LOCKED: i32 = 6;
    const READ_ONLY: i32 = 8;
    const FULL: i32 = 13;
    match code & 0xff {
        BUSY | LOCKED => StoreErrorKind::Busy,
        READ_ONLY | FULL => StoreErrorKind::ReadOnly,
        _ if message.starts_with("no such table") => StoreErrorKind::NotMigrated,
        _ => StoreErrorKind::Other,
    }
}
