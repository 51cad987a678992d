//! The tables, step by step.

use std::borrow::Cow;

use futures_core::future::BoxFuture;
use tokio_postgres::types::Type;

use super::{
    Inner, PostgresStore, Result, Session, StoreError, StoreErrorKind, error::MIGRATE, row::get,
    session::Parameter,
};
use crate::desk::{Layout, Migration, Schema};

struct Step {
    name: &'static str,
    up: &'static str,
    down: &'static str,
}

const STEPS: [Step; 2] = [
    Step {
        name: "outbox",
        up: include_str!("migrations/0001_outbox.up.sql"),
        down: include_str!("migrations/0001_outbox.down.sql"),
    },
    Step {
        name: "messages_view",
        up: include_str!("migrations/0002_messages_view.up.sql"),
        down: include_str!("migrations/0002_messages_view.down.sql"),
    },
];
const NEWEST: u32 = STEPS.len() as u32;
const SHARDS: u16 = 64;
const MOST_SHARDS: u16 = 4096;
const OLDEST_SERVER: i32 = 130_000;

impl Schema for PostgresStore {
    fn migrations(&self, layout: Layout) -> Vec<Migration> {
        steps(&self.0, layout)
    }

    fn version(&self) -> BoxFuture<'_, Result<u32>> {
        Box::pin(self.0.limited(async {
            let session = self.0.connect().await?;
            version(&session).await
        }))
    }

    fn migrate(&self, layout: Layout, to: Option<u32>) -> BoxFuture<'_, Result<Vec<u32>>> {
        Box::pin(self.0.limited(migrate(&self.0, layout, to)))
    }

    fn usual_layout(&self) -> Layout {
        Layout { shards: SHARDS }
    }
}

fn steps(inner: &Inner, layout: Layout) -> Vec<Migration> {
    let shards = layout.shards.max(1);
    let shard_of_row = format!(
        "(CASE WHEN lane IS NULL THEN number % {shards} ELSE (hashtext(lane) & 2147483647) % {shards} END)::smallint"
    );
    let fill = |statements: &str| {
        let statements = statements
            .replace("{shard_of_row}", &shard_of_row)
            .replace("{shards}", &shards.to_string());
        inner.names.fill(&statements).into_owned()
    };
    (1..)
        .zip(&STEPS)
        .map(|(version, step)| Migration {
            version,
            name: step.name,
            up: fill(step.up),
            down: fill(step.down),
        })
        .collect()
}

/// Whether this program can work with what is there.
pub(super) async fn check(session: &Session<'_>) -> Result<()> {
    supported(session).await?;
    let version = version(session).await?;
    if version > NEWEST {
        return Err(too_new(version));
    }
    if version < NEWEST {
        let what = match version {
            0 => Cow::Borrowed("the outbox's tables are not there yet"),
            _ => Cow::Owned(format!(
                "the outbox's tables are at version {version}, this program needs {NEWEST}"
            )),
        };
        return Err(StoreError::new(StoreErrorKind::NotMigrated, what).next(MIGRATE));
    }
    Ok(())
}

async fn supported(session: &Session<'_>) -> Result<()> {
    let row = session
        .one(
            "SELECT current_setting('server_version_num')::integer, current_setting('server_version')",
            &[],
        )
        .await?;
    if get::<i32>(&row, 0)? >= OLDEST_SERVER {
        return Ok(());
    }
    let what = format!("the server is PostgreSQL {}", get::<&str>(&row, 1)?);
    Err(StoreError::new(StoreErrorKind::Unsupported, what).next("use PostgreSQL 13 or newer"))
}

fn too_new(version: u32) -> StoreError {
    let what =
        format!("the outbox's tables are at version {version}, and this program knows none above {NEWEST}");
    StoreError::new(StoreErrorKind::TooNew, what).next("use a newer redeliver")
}

async fn version(session: &Session<'_>) -> Result<u32> {
    match session.one(include_str!("sql/version.sql"), &[]).await {
        Ok(row) => Ok(get::<i32>(&row, 0)?.unsigned_abs()),
        Err(error) if error.kind() == StoreErrorKind::NotMigrated => Ok(0),
        Err(error) => Err(error),
    }
}

async fn migrate(inner: &Inner, layout: Layout, to: Option<u32>) -> Result<Vec<u32>> {
    if !(1..=MOST_SHARDS).contains(&layout.shards) {
        let what = format!("{} shards are not possible", layout.shards);
        return Err(StoreError::new(StoreErrorKind::BadInput, what).next("use 1 to 4096"));
    }
    let target = to.unwrap_or(NEWEST);
    if target > NEWEST {
        let what = format!("there is no version {target} of the outbox's tables");
        return Err(
            StoreError::new(StoreErrorKind::BadInput, what).next(format!("the newest version is {NEWEST}"))
        );
    }
    let mut session = inner.connect().await?;
    supported(&session).await?;
    session.opens();
    // Without a limit on the wait for a lock: another process may be at a long step.
    session.batch("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
    lock(&session).await?;
    let taken = take_steps(&session, &steps(inner, layout), target).await?;
    session.commit().await?;
    session.closed();
    Ok(taken)
}

/// One process at a time, until its transaction ends.
async fn lock(session: &Session<'_>) -> Result<()> {
    let names = session.names();
    let schema = names.schema().unwrap_or_default();
    let what = format!("redeliver migrate {schema}.{}", names.prefix());
    let locked = "SELECT FROM pg_advisory_xact_lock(hashtextextended($1, 0))";
    session.query(locked, &[(&what, Type::TEXT)]).await?;
    // `IF NOT EXISTS` asks for the right to create a schema even where it exists.
    let exists = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)";
    if !schema.is_empty() && !get::<bool>(&session.one(exists, &[(&schema, Type::TEXT)]).await?, 0)? {
        session.batch(&format!("CREATE SCHEMA {schema}")).await?;
    }
    Ok(())
}

async fn take_steps(session: &Session<'_>, steps: &[Migration], target: u32) -> Result<Vec<u32>> {
    session
        .execute(include_str!("sql/begin_migrations.sql"), &[])
        .await?;
    let current = version(session).await?;
    if current > NEWEST {
        return Err(too_new(current));
    }
    let mut taken = Vec::new();
    for step in steps
        .iter()
        .filter(|step| step.version > current && step.version <= target)
    {
        session.batch(&step.up).await?;
        let version = step.version.cast_signed();
        let parameters: [Parameter<'_>; 2] = [(&version, Type::INT4), (&step.name, Type::TEXT)];
        session
            .execute(include_str!("sql/record_migration.sql"), &parameters)
            .await?;
        taken.push(step.version);
    }
    for step in steps
        .iter()
        .rev()
        .filter(|step| step.version > target && step.version <= current)
    {
        session.batch(&step.down).await?;
        let version = step.version.cast_signed();
        session
            .execute(
                include_str!("sql/forget_migration.sql"),
                &[(&version, Type::INT4)],
            )
            .await?;
        taken.push(step.version);
    }
    if target == 0 {
        session
            .execute(include_str!("sql/end_migrations.sql"), &[])
            .await?;
    }
    Ok(taken)
}
