//! What PostgreSQL and the way to it say, in the terms of what to do about it. The only place that knows the codes.

use std::{error::Error as _, io, time::Duration};

use deadpool_postgres::{PoolError, TimeoutType};
use tokio_postgres::{
    Error,
    error::{DbError, SqlState},
};

use super::{StoreError, StoreErrorKind as Kind};
use crate::store::schema::MIGRATE;

const REACH: &str =
    "check that the server runs, and that the host, port and sslmode of the database URL are right";

/// The classes for data, constraints, limits of the program and rules of views, and those in which other people's triggers fail.
const REFUSING: [&str; 10] = ["09", "22", "23", "27", "2F", "38", "39", "44", "54", "P0"];
const REFUSED: &str = "look for a constraint or a trigger on the table that redeliver did not make";

pub(crate) fn of(error: Error) -> StoreError {
    if let Some(answer) = error.as_db_error() {
        return of_answer(answer).caused_by(error);
    }
    let lost = error.is_closed()
        || error
            .source()
            .is_some_and(|source| source.downcast_ref::<io::Error>().is_some());
    if lost {
        return unreachable("the connection to PostgreSQL failed").caused_by(error);
    }
    // What the driver says by itself names the step that failed and holds nothing of the URL.
    let what = format!("PostgreSQL: {error}");
    StoreError::new(Kind::Other, what).next(REACH).caused_by(error)
}

fn of_answer(answer: &DbError) -> StoreError {
    let code = answer.code().code();
    let what = format!("PostgreSQL says: {} ({code})", answer.message());
    let (kind, next) = match code {
        "42P01" | "42703" | "3F000" => {
            let what = "the outbox's tables are missing or older than this program";
            return StoreError::new(Kind::NotMigrated, what).next(MIGRATE);
        }
        "57014" | "55P03" | "40001" | "40P01" | "53300" | "53200" | "55006" => (Kind::Busy, "try again"),
        "57P01" | "57P02" | "57P03" | "57P05" | "25P03" | "25P04" => (Kind::Unreachable, "try again"),
        "25006" => (Kind::ReadOnly, "connect to the primary server"),
        "53100" => (Kind::ReadOnly, "make room on the server's disk"),
        "42501" => (
            Kind::Denied,
            "grant the role the rights on the outbox's tables and sequence",
        ),
        "3D000" => (
            Kind::Denied,
            "create the database, or correct its name in the database URL",
        ),
        "22021" | "22P05" => (
            Kind::BadInput,
            "leave out what the database's encoding cannot hold",
        ),
        "0A000" => (Kind::Unsupported, "use PostgreSQL 13 or newer"),
        _ if code.starts_with("28") => (
            Kind::Denied,
            "check the user and password of the database URL, and the server's pg_hba.conf",
        ),
        _ if code.starts_with("08") => (Kind::Unreachable, REACH),
        _ if REFUSING.contains(&code.get(..2).unwrap_or_default()) => (Kind::Refused, REFUSED),
        _ if code.starts_with("53") => (Kind::Busy, "try again"),
        _ => (Kind::Other, ""),
    };
    StoreError::new(kind, what).next(next)
}

pub(super) fn of_pool(error: PoolError) -> StoreError {
    match error {
        PoolError::Backend(error) => of(error),
        PoolError::Timeout(TimeoutType::Wait) => {
            StoreError::new(Kind::Busy, "every connection to PostgreSQL is in use")
                .next("allow more connections")
        }
        PoolError::Timeout(_) => unreachable("PostgreSQL did not accept a connection in time"),
        other => StoreError::new(Kind::Other, "no connection to PostgreSQL").caused_by(other),
    }
}

pub(super) fn silent(patience: Duration) -> StoreError {
    let what = format!("PostgreSQL did not answer within {} s", patience.as_secs_f32());
    StoreError::new(Kind::Unreachable, what).next(REACH)
}

pub(super) fn closed() -> StoreError {
    unreachable("the connection to PostgreSQL was closed")
}

/// A statement that always has a row had none: not the tables that this program made.
pub(super) fn no_row() -> StoreError {
    StoreError::new(
        Kind::NotMigrated,
        "the outbox's tables are not as this program made them",
    )
    .next(MIGRATE)
}

pub(super) fn unreadable(error: Error) -> StoreError {
    let what = format!("a row could not be understood: {error}");
    StoreError::new(Kind::Other, what).caused_by(error)
}

fn unreachable(what: &'static str) -> StoreError {
    StoreError::new(Kind::Unreachable, what).next(REACH)
}

/// Whether a lock was not to be had in time, or would have been waited for in a circle.
pub(super) fn is_lock_wait(error: &StoreError) -> bool {
    let cause = error.source().and_then(|source| source.downcast_ref::<Error>());
    let code = cause.and_then(Error::code).map(SqlState::code);
    matches!(code, Some("55P03" | "40P01"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_of_refusals_is_known() {
        for code in ["22001", "23505", "23514", "54000", "P0001", "44000"] {
            assert!(REFUSING.contains(&&code[..2]), "{code}");
        }
        for code in ["08006", "40001", "53100", "57014"] {
            assert!(!REFUSING.contains(&&code[..2]), "{code}");
        }
    }
}
