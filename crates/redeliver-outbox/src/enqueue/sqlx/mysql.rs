use futures_core::future::BoxFuture;
use sqlx::{
    MySql, MySqlConnection,
    mysql::{MySqlDatabaseError, MySqlQueryResult},
};

use super::{
    super::{
        Answer, Dialect, Job, Parameter, Statement, Transaction,
        drive_async::{Client, drive_async},
        error::mysql_kind,
        statement::Returns,
    },
    adapter, failed, read,
};
use crate::store::{StoreError, StoreErrorKind};

adapter!(
    MySql,
    MySqlConnection,
    Dialect::Mysql,
    |done: &MySqlQueryResult| i64::try_from(done.last_insert_id()).ok(),
    |error| error
        .try_downcast_ref::<MySqlDatabaseError>()
        .map_or(StoreErrorKind::Other, |error| mysql_kind(error.number()))
);
