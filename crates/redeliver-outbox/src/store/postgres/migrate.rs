//! Taking the steps of the tables beside producers and relays that use them.
//!
//! A lock that waits blocks everybody who comes after it, so none waits long: an attempt that does not get its locks is rolled back, and
//! made again after a pause in which the others get through. The work itself has no limit once the locks are there.

use tokio_postgres::types::Type;

use super::{
    Inner, Result, Session, error,
    row::get,
    schema::{NEWEST, migrations, supported, version},
    session::Parameter,
};
use crate::{
    desk::{Layout, Migration},
    limits::{MIGRATION_LOCK_TIMEOUT, MOST_SHARDS},
    store::{
        StoreError, StoreErrorKind,
        patient::{Patience, with_progress},
        schema::{check_target, refuse_newer},
    },
};

/// What a step may change, in the order in which relays lock it, so that the two do not wait for each other: a relay's transaction
/// begins with its shards and goes on with the outbox.
const LOCKED: [&str; 17] = [
    "redeliver_workers",
    "redeliver_shards",
    "redeliver_outbox",
    "redeliver_attempts",
    "redeliver_lanes",
    "redeliver_dead",
    "redeliver_sent",
    "redeliver_events",
    "redeliver_fan_out",
    "redeliver_destinations",
    "redeliver_deduplication",
    "redeliver_jobs",
    "redeliver_job_messages",
    "redeliver_audit",
    "redeliver_audit_chain",
    "redeliver_inbox",
    "redeliver_messages",
];

pub(super) async fn migrate(inner: &Inner, layout: Layout, to: Option<u32>) -> Result<Vec<u32>> {
    let target = to.unwrap_or(NEWEST);
    check_target(target, NEWEST, layout.shards, MOST_SHARDS)?;
    let steps = migrations(inner, layout);
    let mut patience = Patience::begin();
    loop {
        match attempt(inner, &steps, target).await {
            Ok(Some(taken)) => return Ok(taken),
            Ok(None) => patience.wait(rival()).await?,
            Err(error) if error::is_lock_wait(&error) => patience.wait(in_use(inner).await).await?,
            Err(error) => return Err(error),
        }
    }
}

/// One transaction; none if another process is changing the tables.
async fn attempt(inner: &Inner, steps: &[Migration], target: u32) -> Result<Option<Vec<u32>>> {
    let mut session = inner.connect().await?;
    supported(&session).await?;
    session.opens();
    begin(&session).await?;
    if !is_alone(&session).await? {
        return Ok(None);
    }
    let taken = take_steps(&session, steps, target).await?;
    session.commit().await?;
    session.closed();
    Ok(Some(taken))
}

async fn begin(session: &Session<'_>) -> Result<()> {
    let limit = MIGRATION_LOCK_TIMEOUT.as_millis();
    let begin = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = {limit}; SET LOCAL statement_timeout = 0; \
         SET LOCAL idle_in_transaction_session_timeout = 0"
    );
    session.batch(&begin).await?;
    // A client that is gone is noticed in the middle of the work, and the work undone. From PostgreSQL 14, where the system can.
    let notice = "SELECT set_config(name, '1s', true) FROM pg_settings
         WHERE name = 'client_connection_check_interval' AND version() LIKE '%linux%'";
    session.query(notice, &[]).await?;
    Ok(())
}

/// One process at a time, until its transaction ends. Nobody queues for it.
async fn is_alone(session: &Session<'_>) -> Result<bool> {
    let names = session.names();
    let schema = names.schema().unwrap_or_default();
    let what = format!("redeliver migrate {schema}.{}", names.prefix());
    let locked = "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))";
    if !get::<bool>(&session.one(locked, &[(&what, Type::TEXT)]).await?, 0)? {
        return Ok(false);
    }
    // `IF NOT EXISTS` asks for the right to create a schema even where it exists.
    let exists = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)";
    if !schema.is_empty() && !get::<bool>(&session.one(exists, &[(&schema, Type::TEXT)]).await?, 0)? {
        session.batch(&format!("CREATE SCHEMA {schema}")).await?;
    }
    Ok(true)
}

async fn take_steps(session: &Session<'_>, steps: &[Migration], target: u32) -> Result<Vec<u32>> {
    session
        .execute(include_str!("sql/begin_migrations.sql"), &[])
        .await?;
    let current = version(session).await?;
    refuse_newer(current, NEWEST)?;
    let up = steps
        .iter()
        .filter(|step| step.version > current && step.version <= target);
    let down = steps
        .iter()
        .rev()
        .filter(|step| step.version > target && step.version <= current);
    let steps: Vec<(&Migration, bool)> = up
        .map(|step| (step, true))
        .chain(down.map(|step| (step, false)))
        .collect();
    if !steps.is_empty() {
        lock(session).await?;
    }
    for (step, up) in &steps {
        with_progress(step, take(session, step, *up)).await?;
    }
    if target == 0 {
        session
            .execute(include_str!("sql/end_migrations.sql"), &[])
            .await?;
    }
    Ok(steps.iter().map(|(step, _)| step.version).collect())
}

/// All that a step may need, before any work is done that a lock that is not to be had would undo.
async fn lock(session: &Session<'_>) -> Result<()> {
    let names: Vec<String> = LOCKED
        .map(|table| session.names().fill(table).into_owned())
        .into();
    let there = "SELECT name FROM unnest($1::text[]) WITH ORDINALITY AS locked (name, place)
         WHERE to_regclass(name) IS NOT NULL ORDER BY place";
    let there = session.query(there, &[(&names, Type::TEXT_ARRAY)]).await?;
    let there = there
        .iter()
        .map(|row| get(row, 0))
        .collect::<Result<Vec<&str>>>()?;
    if there.is_empty() {
        return Ok(());
    }
    session
        .batch(&format!(
            "LOCK TABLE {} IN ACCESS EXCLUSIVE MODE",
            there.join(", ")
        ))
        .await
}

async fn take(session: &Session<'_>, step: &Migration, up: bool) -> Result<()> {
    let version = step.version.cast_signed();
    let parameters: [Parameter<'_>; 2] = [(&version, Type::INT4), (&step.name, Type::TEXT)];
    if up {
        session.batch(&step.up).await?;
        let record = include_str!("sql/record_migration.sql");
        session.execute(record, &parameters).await?;
    } else {
        session.batch(&step.down).await?;
        let forget = include_str!("sql/forget_migration.sql");
        session.execute(forget, &parameters[..1]).await?;
    }
    Ok(())
}

fn rival() -> StoreError {
    StoreError::new(StoreErrorKind::Busy, "another process is changing the tables").next("wait for it")
}

/// Who holds the tables.
async fn in_use(inner: &Inner) -> StoreError {
    let who = holders(inner).await.unwrap_or_default();
    let what = if who.is_empty() {
        "other transactions use the tables".to_owned()
    } else {
        format!("other transactions use the tables: {who}")
    };
    StoreError::new(StoreErrorKind::Busy, what).next("end them, or migrate when they have ended")
}

async fn holders(inner: &Inner) -> Result<String> {
    let session = inner.connect().await?;
    let names: Vec<String> = LOCKED
        .map(|table| session.names().fill(table).into_owned())
        .into();
    let query = include_str!("sql/lock_holders.sql");
    let rows = session.query(query, &[(&names, Type::TEXT_ARRAY)]).await?;
    let rows = rows
        .iter()
        .map(|row| get(row, 0))
        .collect::<Result<Vec<&str>>>()?;
    Ok(rows.join(", "))
}
