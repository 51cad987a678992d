//! The tables themselves.

use futures_core::future::BoxFuture;
use mysql_async::{Conn, prelude::Queryable};

use super::{MySqlStore, desk::issues, store_error};
use crate::{
    desk::{Layout, Migration, Schema},
    limits::{MIGRATION_LOCK_TIMEOUT, MIGRATION_WAIT, MOST_SHARDS, MYSQL_SHARDS},
    store::{
        Result, StoreError, StoreErrorKind,
        patient::{Patience, with_progress},
        schema::{self, Notes, Step, by_hand, check_target, refuse_newer, require, steps},
    },
};

const STEPS: [Step; 13] = steps![
    "outbox": "0001_outbox",
    "messages_view": "0002_messages_view",
    "destinations": "0003_destinations",
    "topics": "0004_topics",
    "audit_chain": "0005_audit_chain",
    "issues": "0006_issues",
    "jobs": "0007_jobs",
    "lane_holds": "0008_lane_holds",
    "resumed_jobs": "0009_resumed_jobs",
    "discarded": "0010_discarded",
    "hardening": "0011_hardening",
    "scheduled_lanes": "0012_scheduled_lanes",
    "attempts_by_id": "0013_attempts_by_id",
];
const NEWEST: u32 = STEPS.len() as u32;

impl Schema for MySqlStore {
    fn migrations(&self, layout: Layout) -> Vec<Migration> {
        let notes = Notes {
            begin: include_str!("sql/begin_migrations.sql").to_owned(),
            record: include_str!("sql/record_migration.sql"),
            forget: include_str!("sql/forget_migration.sql"),
            end: include_str!("sql/end_migrations.sql"),
        };
        by_hand(migrations(self, layout), &notes, |note, step| {
            let note = note.replacen('?', &step.version.to_string(), 1).replacen(
                '?',
                &format!("'{}'", step.name),
                1,
            );
            self.sql(&note).into_owned()
        })
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
        Layout { shards: MYSQL_SHARDS }
    }
}

fn migrations(store: &MySqlStore, layout: Layout) -> Vec<Migration> {
    let count = layout.shards;
    let of_row =
        format!("CASE WHEN lane IS NULL THEN FLOOR(RAND() * {count}) ELSE CRC32(lane) % {count} END");
    let rows: Vec<String> = (0..count).map(|shard| format!("({shard})")).collect();
    schema::migrations(&STEPS, |statements| {
        let statements = statements
            .replace("{shard_of_row}", &of_row)
            .replace("{shards}", &count.to_string())
            .replace("{shard_rows}", &rows.join(", "));
        store.sql(&statements).into_owned()
    })
}

/// Whether the tables are those that this program knows.
pub(super) async fn check(store: &MySqlStore, connection: &mut Conn) -> Result<()> {
    require(version(store, connection).await?, NEWEST)
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
    let to = to.unwrap_or(NEWEST);
    check_target(to, NEWEST, layout.shards, MOST_SHARDS)?;
    let mut connection = store.any_connection().await?;
    let lock = store.sql("redeliver_").into_owned();
    let got: Option<Option<u8>> = connection
        .exec_first(
            include_str!("sql/lock_migrations.sql"),
            (&lock, MIGRATION_WAIT.as_secs()),
        )
        .await
        .map_err(store_error)?;
    if got.flatten() != Some(1) {
        let what = "another process has been changing the tables for ten minutes";
        return Err(StoreError::new(StoreErrorKind::Busy, what));
    }
    let taken = match set_lock_timeout(&mut connection, &MIGRATION_LOCK_TIMEOUT.as_secs().to_string()).await {
        Ok(()) => steps(store, &mut connection, layout, to).await,
        Err(error) => Err(error),
    };
    // The session goes on with what the server has for all.
    let usual = set_lock_timeout(&mut connection, "DEFAULT").await;
    // The lock also ends with the connection; one that failed is not used again.
    let released = connection
        .exec_drop(include_str!("sql/unlock_migrations.sql"), (&lock,))
        .await;
    let taken = taken?;
    usual?;
    released.map_err(store_error)?;
    // What is in the tables from before there were issues.
    if to == NEWEST && taken.contains(&NEWEST) {
        while issues::group(store, &mut connection).await? {}
    }
    Ok(taken)
}

async fn steps(store: &MySqlStore, connection: &mut Conn, layout: Layout, to: u32) -> Result<Vec<u32>> {
    let now = version(store, connection).await?;
    refuse_newer(now, NEWEST)?;
    run(connection, &store.sql(include_str!("sql/begin_migrations.sql"))).await?;
    let migrations = migrations(store, begun(store, connection).await?.unwrap_or(layout));
    let mut taken = Vec::new();
    for step in migrations
        .iter()
        .filter(|step| now < step.version && step.version <= to)
    {
        with_progress(step, run(connection, &step.up)).await?;
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
        with_progress(step, run(connection, &step.down)).await?;
        taken.push(step.version);
    }
    if to == 0 {
        run(connection, &store.sql(include_str!("sql/end_migrations.sql"))).await?;
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

/// How long a statement waits for transactions that use its table. While it waits, every other statement on the table waits behind it.
async fn set_lock_timeout(connection: &mut Conn, seconds: &str) -> Result<()> {
    let sql = format!("SET SESSION lock_wait_timeout = {seconds}");
    connection.query_drop(sql).await.map_err(store_error)
}

/// One after the other: there is no transaction around statements that make tables. One that does not get its lock is given up, so that
/// others get through, and tried again.
async fn run(connection: &mut Conn, statements: &str) -> Result<()> {
    let mut patience = Patience::begin();
    for statement in statements.split(";\n").filter(|text| !text.trim().is_empty()) {
        loop {
            match connection.query_drop(statement).await {
                Err(mysql_async::Error::Server(server)) if DONE_BEFORE.contains(&server.code) => break,
                Err(mysql_async::Error::Server(server)) if LOCKED.contains(&server.code) => {
                    patience.wait(in_use()).await?;
                }
                result => {
                    result.map_err(store_error)?;
                    break;
                }
            }
        }
    }
    Ok(())
}

fn in_use() -> StoreError {
    StoreError::new(StoreErrorKind::Busy, "other transactions use the tables")
        .next("end them (SHOW PROCESSLIST lists them), or migrate when they have ended")
}

/// A lock that was not to be had in time, or that would have been waited for in a circle.
const LOCKED: [u16; 2] = [1205, 1213];

/// What a step that was cut off and is taken again meets: the column or the constraint is there, or is gone, already. The two servers
/// have no statement in common that would ask first.
const DONE_BEFORE: [u16; 5] = [1060, 1091, 1826, 3822, 3940];
