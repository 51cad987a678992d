//! What an operator looks at.

use futures_core::future::BoxFuture;

use super::{MySqlStore, Work, audit, hold, issues, lanes, look, storage};
use crate::{
    Fingerprint,
    desk::{AuditRecord, Filter, Issue, IssueDetail, Look, Outlook, Pulse, StandingLane, Storage},
    store::{Result, columns::Known as _, desk::overview},
};

impl Look for MySqlStore {
    fn issues(&self, limit: usize) -> BoxFuture<'_, Result<Vec<Issue>>> {
        Box::pin(issues::all(self, limit))
    }

    fn issue(&self, fingerprint: Fingerprint) -> BoxFuture<'_, Result<Option<IssueDetail>>> {
        Box::pin(issues::one(self, fingerprint))
    }

    fn nearest<'a>(
        &'a self,
        filter: &'a Filter,
        behind: Option<i64>,
        newest_first: bool,
    ) -> BoxFuture<'a, Result<Option<i64>>> {
        Box::pin(async move {
            let mut connection = self.connection().await?;
            let mut work = Work::snapshot(self, &mut connection).await?;
            look::nearest(&mut work, filter, behind, newest_first).await
        })
    }

    fn pulse(&self) -> BoxFuture<'_, Result<Pulse>> {
        Box::pin(async move {
            let mut connection = self.connection().await?;
            let mut work = Work::snapshot(self, &mut connection).await?;
            let shards = look::shards(&mut work).await?;
            let (workers, holds) = (hold::workers(&mut work).await?, hold::all(&mut work).await?);
            let sequence = sequence(&mut work).await?;
            Ok(overview::pulse(&shards, workers, holds, sequence))
        })
    }

    fn sequence(&self) -> BoxFuture<'_, Result<i64>> {
        Box::pin(async move {
            let mut connection = self.connection().await?;
            let mut work = Work::snapshot(self, &mut connection).await?;
            sequence(&mut work).await
        })
    }

    fn outlook(&self) -> BoxFuture<'_, Result<Outlook>> {
        Box::pin(async move {
            let mut connection = self.connection().await?;
            let mut work = Work::snapshot(self, &mut connection).await?;
            let now = look::shards(&mut work).await?.now;
            let statement = of_all_shards(&mut work, include_str!("../sql/outlook.sql")).await?;
            let rows = work.read(&statement, (), overview::bucket).await?;
            Ok(overview::outlook(now, &rows))
        })
    }

    fn lanes(&self, limit: usize) -> BoxFuture<'_, Result<Vec<StandingLane>>> {
        Box::pin(lanes::lanes(self, limit))
    }

    fn storage(&self) -> BoxFuture<'_, Result<Storage>> {
        Box::pin(storage::storage(self))
    }

    fn audit_page(&self, before: Option<i64>, limit: usize) -> BoxFuture<'_, Result<Vec<AuditRecord>>> {
        Box::pin(audit::page(self, before, limit))
    }
}

async fn sequence(work: &mut Work<'_>) -> Result<i64> {
    let schema = (work.store.names.schema(),);
    let row = work.row(include_str!("../sql/sequence.sql"), schema).await?;
    row.map_or(Ok(0), |mut row| row.number())
}

/// The statement with every shard named: only then does the server go to what is scheduled in each, instead of through all of it.
pub(super) async fn of_all_shards(work: &mut Work<'_>, statement: &str) -> Result<String> {
    let shards: u16 = match work.row(include_str!("../sql/count_shards.sql"), ()).await? {
        Some(mut row) => row.count()?,
        None => 0,
    };
    let shards: Vec<String> = (0..shards.max(1)).map(|shard| shard.to_string()).collect();
    Ok(statement.replace("{shards}", &shards.join(", ")))
}
