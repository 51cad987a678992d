//! What the blocking and the async Diesel share: a statement as a query, a row, an error.

use diesel::{
    QueryableByName,
    result::{DatabaseErrorKind, Error},
    sql_types::{BigInt, Text},
};

use super::{answer::Row, error::refused};
use crate::store::{StoreError, StoreErrorKind};

/// The statement for the backend `$backend`. Its types must be known for Diesel to know the query, hence a macro.
macro_rules! query {
    ($backend:ty, $statement:expr) => {{
        use diesel::sql_types::{BigInt, Binary, Nullable, Text};
        let mut query = diesel::sql_query($statement.sql.as_str()).into_boxed::<$backend>();
        for parameter in &$statement.parameters {
            query = match parameter {
                $crate::enqueue::Parameter::Integer(integer) => query.bind::<Nullable<BigInt>, _>(*integer),
                $crate::enqueue::Parameter::Text(text) => query.bind::<Nullable<Text>, _>(text.as_deref()),
                $crate::enqueue::Parameter::Binary(bytes) => {
                    query.bind::<Nullable<Binary>, _>(bytes.as_deref())
                }
            };
        }
        query
    }};
}
pub(super) use query;

#[derive(QueryableByName)]
pub(super) struct Numbered {
    #[diesel(sql_type = BigInt)]
    number: i64,
    #[diesel(sql_type = BigInt)]
    salt: i64,
}

#[derive(QueryableByName)]
pub(super) struct Keyed {
    #[diesel(sql_type = BigInt)]
    number: i64,
    #[diesel(sql_type = BigInt)]
    salt: i64,
    #[diesel(sql_type = Text)]
    deduplication_key: String,
}

impl From<Numbered> for Row {
    fn from(row: Numbered) -> Self {
        Self {
            number: row.number,
            salt: row.salt,
            deduplication_key: None,
        }
    }
}

impl From<Keyed> for Row {
    fn from(row: Keyed) -> Self {
        Self {
            number: row.number,
            salt: row.salt,
            deduplication_key: Some(row.deduplication_key),
        }
    }
}

/// Diesel tells neither SQLSTATE nor error number; where it has no word of its own for the trouble, the database's words must do.
pub(super) fn error(error: Error) -> StoreError {
    let kind = match &error {
        Error::DatabaseError(DatabaseErrorKind::SerializationFailure, _) => StoreErrorKind::Busy,
        Error::DatabaseError(DatabaseErrorKind::ReadOnlyTransaction, _) => StoreErrorKind::ReadOnly,
        Error::DatabaseError(DatabaseErrorKind::ClosedConnection, _) => StoreErrorKind::Unreachable,
        Error::DatabaseError(_, said) => kind_in_words(said.message()),
        _ => StoreErrorKind::Other,
    };
    refused(kind, error)
}

fn kind_in_words(said: &str) -> StoreErrorKind {
    let said = said.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|words| said.contains(words));
    if says(&["no such table", "does not exist", "doesn't exist"]) {
        StoreErrorKind::NotMigrated
    } else if says(&[
        "deadlock",
        "lock wait timeout",
        "database is locked",
        "lock timeout",
        "record has changed since last read",
    ]) {
        StoreErrorKind::Busy
    } else if says(&["wsrep has not yet prepared node"]) {
        StoreErrorKind::Unreachable
    } else if says(&["denied"]) {
        StoreErrorKind::Denied
    } else {
        StoreErrorKind::Other
    }
}
