use futures_core::future::BoxFuture;
use sqlx::{Sqlite, SqliteConnection, sqlite::SqliteQueryResult};

use super::{
    super::{
        Answer, Dialect, Job, Parameter, Statement, Transaction,
        drive_async::{Client, drive_async},
        error::sqlite_kind,
        statement::Returns,
    },
    adapter, failed, read,
};
use crate::store::StoreError;

adapter!(
    Sqlite,
    SqliteConnection,
    Dialect::Sqlite,
    |_: &SqliteQueryResult| None,
    |error| {
        let code = error
            .code()
            .and_then(|code| code.parse().ok())
            .unwrap_or_default();
        sqlite_kind(code, error.message())
    }
);
