//! Dead letters as issues.

use mysql_async::Conn;
use serde_json::json;

use super::{MySqlStore, Work, row};
use crate::{
    Fingerprint,
    desk::{Issue, IssueDetail},
    limits::RETENTION_BATCH,
    store::{
        Result,
        desk::issues::{self, Ungrouped},
    },
};

const ISSUES: &str = include_str!("../sql/issues.sql");

pub(super) async fn all(store: &MySqlStore, limit: usize) -> Result<Vec<Issue>> {
    let mut connection = store.connection().await?;
    let mut work = Work::snapshot(store, &mut connection).await?;
    let statement = issues::statement(ISSUES, "");
    work.read(&statement, (limit,), issues::issue).await
}

pub(super) async fn one(store: &MySqlStore, fingerprint: Fingerprint) -> Result<Option<IssueDetail>> {
    let mut connection = store.connection().await?;
    let mut work = Work::snapshot(store, &mut connection).await?;
    let statement = issues::statement(ISSUES, "AND fingerprint = ?");
    let fingerprint = fingerprint.column();
    let found = work.read(&statement, (&fingerprint, 1), issues::issue).await?;
    let hours = include_str!("../sql/issue_hours.sql");
    let hours = work.read(hours, (&fingerprint,), issues::hour).await?;
    Ok(found
        .into_iter()
        .next()
        .map(|issue| issues::detail(issue, &hours)))
}

/// Says of a batch of dead letters which issue they are of, and whether there may be more.
pub(in crate::store::mysql) async fn group(store: &MySqlStore, connection: &mut Conn) -> Result<bool> {
    let mut work = Work::begin(store, connection).await?;
    let statement = include_str!("../sql/ungrouped.sql");
    let letters: Vec<Ungrouped> = work
        .read(statement, (RETENTION_BATCH,), issues::ungrouped)
        .await?;
    if letters.is_empty() {
        work.abandon().await?;
        return Ok(false);
    }
    let rows = letters
        .iter()
        .map(|letter| json!([letter.number, letter.destination, letter.fingerprint]));
    let grouped = work
        .run(include_str!("../sql/group.sql"), (row::table(rows),))
        .await?;
    work.commit().await?;
    Ok(grouped > 0 && letters.len() >= RETENTION_BATCH)
}
