use std::{borrow::Cow, path::Path};

use rusqlite::ErrorCode;

use crate::{
    limits::error_text,
    store::{StoreError, StoreErrorKind, schema::MIGRATE},
};

/// What a piece of work inside a transaction may end with: SQLite's word, or ours.
#[derive(Debug)]
pub(super) enum Failure {
    Sqlite(rusqlite::Error),
    Store(StoreError),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Sqlite(error) => interpret(error),
            Failure::Store(error) => error,
        }
    }
}

pub(crate) fn interpret(error: rusqlite::Error) -> StoreError {
    let (kind, what, next) = describe(&error);
    let what = match &error {
        // SQLite says which constraint it was, or what the trigger says, and no value.
        rusqlite::Error::SqliteFailure(_, Some(text)) if kind == StoreErrorKind::Refused => {
            format!("{what}: {}", error_text(text)).into()
        }
        _ => Cow::Borrowed(what),
    };
    StoreError::new(kind, what).next(next).caused_by(error)
}

/// The same, of a file that is being opened.
pub(crate) fn interpret_opening(error: rusqlite::Error, path: &Path) -> StoreError {
    let (kind, what, next) = describe(&error);
    StoreError::new(kind, format!("{what}: {}", path.display()))
        .next(next)
        .caused_by(error)
}

/// The one place that knows SQLite's errors: the kind, what happened, and the next step.
fn describe(error: &rusqlite::Error) -> (StoreErrorKind, &'static str, &'static str) {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            StoreErrorKind::Busy,
            "the SQLite database is locked by another connection",
            "end the transaction that is held open elsewhere",
        ),
        Some(ErrorCode::ReadOnly) => (
            StoreErrorKind::ReadOnly,
            "the SQLite database cannot be written to",
            "let this user write to the file and to its folder",
        ),
        Some(ErrorCode::DiskFull) => (
            StoreErrorKind::ReadOnly,
            "the disk of the SQLite database is full",
            "make room on it",
        ),
        Some(ErrorCode::NotADatabase) => (
            StoreErrorKind::BadInput,
            "the file is no SQLite database",
            "name another file, or one that does not exist yet",
        ),
        Some(ErrorCode::DatabaseCorrupt) => (
            StoreErrorKind::Other,
            "the SQLite database is damaged",
            "restore it from a backup, or try `.recover` of the sqlite3 shell on a copy",
        ),
        Some(ErrorCode::CannotOpen) => (
            StoreErrorKind::Unreachable,
            "the SQLite database cannot be opened",
            "see that its folder exists and that this user may write to it",
        ),
        Some(ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied) => (
            StoreErrorKind::Denied,
            "the SQLite database does not allow that",
            "let this user read and write the file",
        ),
        Some(ErrorCode::SystemIoFailure) => (
            StoreErrorKind::Unreachable,
            "the disk of the SQLite database failed",
            "look into the system's log",
        ),
        Some(ErrorCode::OutOfMemory) => (StoreErrorKind::Busy, "SQLite ran out of memory", ""),
        Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch) => (
            StoreErrorKind::Refused,
            "a constraint or a trigger of the SQLite database refused what was to be written",
            "look for one on the table that redeliver did not make",
        ),
        Some(ErrorCode::TooBig) => (
            StoreErrorKind::BadInput,
            "a value is larger than SQLite takes",
            "",
        ),
        _ if lacks_a_table(error) => (
            StoreErrorKind::NotMigrated,
            "the SQLite database lacks a table or a column of the outbox",
            MIGRATE,
        ),
        _ => (StoreErrorKind::Other, "SQLite refused a statement", ""),
    }
}

/// SQLite has one code for every wrong statement; only the text tells them apart.
fn lacks_a_table(error: &rusqlite::Error) -> bool {
    let text = match error {
        rusqlite::Error::SqliteFailure(_, Some(text)) => text,
        rusqlite::Error::SqlInputError { msg, .. } => msg,
        _ => return false,
    };
    ["no such table", "no such column", "has no column named"]
        .iter()
        .any(|sign| text.contains(sign))
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, ffi};

    use super::*;

    #[test]
    fn what_sqlite_says_becomes_a_kind_and_a_next_step() {
        for (code, kind) in [
            (ffi::SQLITE_BUSY, StoreErrorKind::Busy),
            (ffi::SQLITE_BUSY_SNAPSHOT, StoreErrorKind::Busy),
            (ffi::SQLITE_READONLY, StoreErrorKind::ReadOnly),
            (ffi::SQLITE_FULL, StoreErrorKind::ReadOnly),
            (ffi::SQLITE_NOTADB, StoreErrorKind::BadInput),
            (ffi::SQLITE_IOERR_FSYNC, StoreErrorKind::Unreachable),
            (ffi::SQLITE_CONSTRAINT_TRIGGER, StoreErrorKind::Refused),
        ] {
            let error = interpret(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
            assert_eq!(error.kind(), kind, "{code}");
            assert!(!error.next_step().is_empty(), "{code}");
        }
    }

    #[test]
    fn a_missing_table_is_a_missing_migration() {
        let connection = Connection::open_in_memory().unwrap();
        let error = connection.prepare("SELECT 1 FROM redeliver_outbox").unwrap_err();
        assert_eq!(interpret(error).kind(), StoreErrorKind::NotMigrated);
        let error = connection.prepare("SELEC").unwrap_err();
        assert_eq!(interpret(error).kind(), StoreErrorKind::Other);
    }
}
