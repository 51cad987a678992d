//! The tables themselves.

use futures_core::future::BoxFuture;
use mysql_async::{Conn, prelude::Queryable};

use super::{MySqlStore, store_error};
use crate::{
    desk::{Layout, Migration, Schema},
    store::{Result, StoreError, StoreErrorKind},
};

/// More shards cost a statement each when there is something to read in them.
const SHARDS: u16 = 16;
/// How long to wait for another process that is migrating.
const PATIENCE_SECONDS: u32 = 600;

const STEPS: &[(&str, &str, &str)] = &[
    (
        "outbox",
        include_str!("migrations/0001_outbox.up.sql"),
        include_str!("migrations/0001_outbox.down.sql"),
    ),
    (
        "messages_view",
        include_str!("migrations/0002_messages_view.up.sql"),
        include_str!("migrations/0002_messages_view.down.sql"),
    ),
];

fn newest() -> u32 {
    u32::try_from(STEPS.len()).unwrap_or(u32::MAX)
}

impl Schema for MySqlStore {
    fn migrations(&self, layout: Layout) -> Vec<Migration> {
        let fill = |sql: &str| {
            let count = layout.shards;
            let of_row =
                format!("CASE WHEN lane IS NULL THEN FLOOR(RAND() * {count}) ELSE CRC32(lane) % {count} END");
            let rows: Vec<String> = (0..count).map(|shard| format!("({shard})")).collect();
            let sql = sql
                .replace("{shard_of_row}", &of_row)
                .replace("{shard_rows}", &rows.join(", "));
            self.sql(&sql).into_owned()
        };
        (1..)
            .zip(STEPS)
            .map(|(version, &(name, up, down))| Migration {
                version,
                name,
                up: fill(up),
                down: fill(down),
            })
            .collect()
    }

    fn version(&self) -> BoxFuture<'_, Result<u32>> {
        Box::pin(async move {
            let mut connection = self.any_connection().await?;
            version(self, &mut connection).await
        })
    }

    fn migrate(&self, layout: Layout, to: Option<u32>) -> BoxFuture<'_, Result<Vec<u32>>> {
        Box::pin(migrate(self, layout, to))
    }

    fn usual_layout(&self) -> Layout {
        Layout { shards: SHARDS }
    }
}

/// Whether the tables are those that this program knows.
pub(super) async fn check(store: &MySqlStore, connection: &mut Conn) -> Result<()> {
    let (found, known) = (version(store, connection).await?, newest());
    if found < known {
        return Err(not_migrated());
    }
    if found > known {
        return Err(too_new(found));
    }
    Ok(())
}

pub(super) fn not_migrated() -> StoreError {
    let what = "the outbox's tables are missing or older than this program";
    StoreError::new(StoreErrorKind::NotMigrated, what).next("run `redeliver migrate`")
}

fn too_new(found: u32) -> StoreError {
    let what = format!(
        "the outbox's tables are of version {found}, and this program knows {} at most",
        newest()
    );
    StoreError::new(StoreErrorKind::TooNew, what).next("use a newer redeliver")
}

async fn version(store: &MySqlStore, connection: &mut Conn) -> Result<u32> {
    let sql = store.sql(include_str!("sql/version.sql")).into_owned();
    match connection.query_first::<Option<u32>, _>(sql).await {
        Ok(version) => Ok(version.flatten().unwrap_or(0)),
        Err(mysql_async::Error::Server(server)) if server.code == 1146 => Ok(0),
        Err(error) => Err(store_error(error)),
    }
}

async fn migrate(store: &MySqlStore, layout: Layout, to: Option<u32>) -> Result<Vec<u32>> {
    let to = to.unwrap_or_else(newest);
    if to > newest() {
        let what = format!(
            "there is no version {to} of the tables; the newest is {}",
            newest()
        );
        return Err(StoreError::new(StoreErrorKind::BadInput, what));
    }
    if layout.shards == 0 || i16::try_from(layout.shards).is_err() {
        let what = format!("{} shards are not possible", layout.shards);
        return Err(StoreError::new(StoreErrorKind::BadInput, what).next("use 1 to 32767"));
    }
    let mut connection = store.any_connection().await?;
    let lock = store.sql("redeliver_").into_owned();
    let got: Option<Option<u8>> = connection
        .exec_first(include_str!("sql/lock_migrations.sql"), (&lock, PATIENCE_SECONDS))
        .await
        .map_err(store_error)?;
    if got.flatten() != Some(1) {
        let what = "another process has been changing the tables for ten minutes";
        return Err(StoreError::new(StoreErrorKind::Busy, what));
    }
    let taken = steps(store, &mut connection, layout, to).await;
    // The lock also ends with the connection; one that failed is not used again.
    let released = connection
        .exec_drop(include_str!("sql/unlock_migrations.sql"), (&lock,))
        .await;
    let taken = taken?;
    released.map_err(store_error)?;
    Ok(taken)
}

async fn steps(store: &MySqlStore, connection: &mut Conn, layout: Layout, to: u32) -> Result<Vec<u32>> {
    let now = version(store, connection).await?;
    if now > newest() {
        return Err(too_new(now));
    }
    run(connection, &store.sql(include_str!("sql/create_migrations.sql"))).await?;
    let migrations = store.migrations(begun(store, connection).await?.unwrap_or(layout));
    let mut taken = Vec::new();
    for step in migrations
        .iter()
        .filter(|step| now < step.version && step.version <= to)
    {
        run(connection, &step.up).await?;
        let sql = store.sql(include_str!("sql/record_migration.sql")).into_owned();
        connection
            .exec_drop(sql, (step.version, step.name))
            .await
            .map_err(store_error)?;
        taken.push(step.version);
    }
    for step in migrations
        .iter()
        .rev()
        .filter(|step| to < step.version && step.version <= now)
    {
        // Forgotten first: cut off in between, the tables count as missing, and the way up finds what is left of them.
        let sql = store.sql(include_str!("sql/forget_migration.sql")).into_owned();
        connection
            .exec_drop(sql, (step.version,))
            .await
            .map_err(store_error)?;
        run(connection, &step.down).await?;
        taken.push(step.version);
    }
    Ok(taken)
}

/// The layout of a migration that was cut off: its rows may be there already, and the shards are part of a table's definition.
async fn begun(store: &MySqlStore, connection: &mut Conn) -> Result<Option<Layout>> {
    let sql = store.sql(include_str!("sql/count_shards.sql")).into_owned();
    match connection.query_first::<u16, _>(sql).await {
        Ok(Some(shards)) if shards > 0 => Ok(Some(Layout { shards })),
        Ok(_) => Ok(None),
        Err(mysql_async::Error::Server(server)) if server.code == 1146 => Ok(None),
        Err(error) => Err(store_error(error)),
    }
}

/// One after the other: there is no transaction around statements that make tables.
async fn run(connection: &mut Conn, statements: &str) -> Result<()> {
    for statement in statements.split(";\n").filter(|text| !text.trim().is_empty()) {
        connection.query_drop(statement).await.map_err(store_error)?;
    }
    Ok(())
}
