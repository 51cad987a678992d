use futures_core::future::BoxFuture;
use sqlx::{PgConnection, Postgres, postgres::PgQueryResult};

use super::{
    super::{
        Answer, Dialect, Job, Parameter, Statement, Transaction,
        drive_async::{Client, drive_async},
        error::postgres_kind,
        statement::Returns,
    },
    adapter, failed, read,
};
use crate::store::{StoreError, StoreErrorKind};

adapter!(
    Postgres,
    PgConnection,
    Dialect::Postgres,
    |_: &PgQueryResult| None,
    |error| error
        .code()
        .map_or(StoreErrorKind::Other, |state| postgres_kind(&state))
);
