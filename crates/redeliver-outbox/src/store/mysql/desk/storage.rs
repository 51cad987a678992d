//! How much room everything takes, as the server's own tables know it.

use super::{MySqlStore, Work};
use crate::{
    desk::Storage,
    store::{
        Result, StoreErrorKind,
        columns::Columns as _,
        desk::storage::{self, TABLES},
    },
};

pub(super) async fn storage(store: &MySqlStore) -> Result<Storage> {
    let mut connection = store.connection().await?;
    let mut work = Work::snapshot(store, &mut connection).await?;
    // Without the schema, which the statement asks for by itself.
    let tables: Vec<String> = TABLES.iter().map(|table| format!("'local_{table}'")).collect();
    let statement = include_str!("../sql/storage.sql").replace("{tables}", &tables.join(", "));
    let schema = (store.names.schema(),);
    let mut told = Storage {
        tables: work.read(&statement, schema, storage::table).await?,
        ..Storage::default()
    };
    let statement = include_str!("../sql/storage_database.sql");
    if let Some(mut row) = work.row(statement, schema).await? {
        let bytes = |bytes: Option<i64>| bytes.map(i64::unsigned_abs);
        (told.database_bytes, told.free_bytes) = (bytes(row.integer()?), bytes(row.integer()?));
    }
    match unpurged(&mut work, &mut told).await {
        // Not every user may see what others do.
        Err(error) if error.kind() != StoreErrorKind::Denied => Err(error),
        _ => Ok(told),
    }
}

async fn unpurged(work: &mut Work<'_>, told: &mut Storage) -> Result<()> {
    let statement = include_str!("../sql/storage_holders.sql");
    told.held_back_by = work.read(statement, (), storage::holder).await?;
    if let Some(mut row) = work.row(include_str!("../sql/history.sql"), ()).await? {
        told.unpurged = row.integer()?.map(i64::unsigned_abs);
    }
    Ok(())
}
