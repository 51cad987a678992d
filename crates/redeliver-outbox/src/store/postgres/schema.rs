//! The tables, step by step.

use futures_core::future::BoxFuture;

use super::{
    Inner, PostgresStore, Result, Session, StoreError, StoreErrorKind, desk::issues, migrate::migrate,
    row::get,
};
use crate::{
    desk::{Layout, Migration, Schema},
    limits::POSTGRES_SHARDS,
    store::schema::{self, Notes, Step, by_hand, require, steps},
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
pub(super) const NEWEST: u32 = STEPS.len() as u32;
const OLDEST_SERVER: i32 = 130_000;

impl Schema for PostgresStore {
    fn migrations(&self, layout: Layout) -> Vec<Migration> {
        let names = &self.0.names;
        let begin = include_str!("sql/begin_migrations.sql");
        let notes = Notes {
            begin: names.schema().map_or_else(
                || begin.to_owned(),
                |schema| format!("CREATE SCHEMA IF NOT EXISTS {schema};\n{begin}"),
            ),
            record: include_str!("sql/record_migration.sql"),
            forget: include_str!("sql/forget_migration.sql"),
            end: include_str!("sql/end_migrations.sql"),
        };
        by_hand(migrations(&self.0, layout), &notes, |note, step| {
            let note = note
                .replace("$1", &step.version.to_string())
                .replace("$2", &format!("'{}'", step.name));
            names.fill(&note).into_owned()
        })
    }

    fn version(&self) -> BoxFuture<'_, Result<u32>> {
        Box::pin(self.0.limited(async {
            let session = self.0.connect().await?;
            version(&session).await
        }))
    }

    fn migrate(&self, layout: Layout, to: Option<u32>) -> BoxFuture<'_, Result<Vec<u32>>> {
        Box::pin(async move {
            let taken = migrate(&self.0, layout, to).await?;
            // What is in the tables from before there were issues, once they can be used again.
            if taken.contains(&NEWEST) && to.is_none_or(|to| to == NEWEST) {
                while self.0.limited(group(&self.0)).await? {}
            }
            Ok(taken)
        })
    }

    fn usual_layout(&self) -> Layout {
        Layout {
            shards: POSTGRES_SHARDS,
        }
    }
}

pub(super) fn migrations(inner: &Inner, layout: Layout) -> Vec<Migration> {
    let shards = layout.shards.max(1);
    let shard_of_row = format!(
        "(CASE WHEN lane IS NULL THEN number % {shards} ELSE (hashtext(lane) & 2147483647) % {shards} END)::smallint"
    );
    schema::migrations(&STEPS, |statements| {
        let statements = statements
            .replace("{shard_of_row}", &shard_of_row)
            .replace("{shards}", &shards.to_string());
        inner.names.fill(&statements).into_owned()
    })
}

/// Whether this program can work with what is there.
pub(super) async fn check(session: &Session<'_>) -> Result<()> {
    supported(session).await?;
    require(version(session).await?, NEWEST)
}

pub(super) async fn supported(session: &Session<'_>) -> Result<()> {
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

pub(super) async fn version(session: &Session<'_>) -> Result<u32> {
    match session.one(include_str!("sql/version.sql"), &[]).await {
        Ok(row) => Ok(get::<i32>(&row, 0)?.unsigned_abs()),
        Err(error) if error.kind() == StoreErrorKind::NotMigrated => Ok(0),
        Err(error) => Err(error),
    }
}

async fn group(inner: &Inner) -> Result<bool> {
    let session = inner.connect().await?;
    issues::group(&session).await
}
