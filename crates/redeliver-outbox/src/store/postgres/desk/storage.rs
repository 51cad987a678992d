//! How much room everything takes, as the catalogue and the statistics know it.

use tokio_postgres::types::Type;

use super::{Inner, Result, row};
use crate::{
    desk::Storage,
    store::desk::storage::{self, TABLES},
};

pub(super) async fn storage(inner: &Inner) -> Result<Storage> {
    let session = inner.session().await?;
    let tables: Vec<String> = TABLES
        .iter()
        .map(|table| session.names().fill(table).into_owned())
        .collect();
    let tables = session
        .read(
            include_str!("../sql/storage.sql"),
            &[(&tables, Type::TEXT_ARRAY)],
            storage::table,
        )
        .await?;
    let database = session
        .one(include_str!("../sql/storage_database.sql"), &[])
        .await?;
    let held_back_by = session
        .read(include_str!("../sql/storage_holders.sql"), &[], storage::holder)
        .await?;
    Ok(Storage {
        tables,
        database_bytes: Some(row::get::<i64>(&database, 0)?.unsigned_abs()),
        held_back_by,
        ..Storage::default()
    })
}
