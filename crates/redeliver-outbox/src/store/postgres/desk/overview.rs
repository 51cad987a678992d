//! What an operator looks at.

use futures_core::future::BoxFuture;

use super::{Begin, PostgresStore, Result, Session, audit, hold, issues, lanes, look, row, storage};
use crate::{
    Fingerprint,
    desk::{AuditRecord, Filter, Issue, IssueDetail, Look, Outlook, Pulse, StandingLane, Storage},
    store::desk::overview,
};

impl Look for PostgresStore {
    fn issues(&self, limit: usize) -> BoxFuture<'_, Result<Vec<Issue>>> {
        Box::pin(self.0.limited(issues::all(&self.0, limit)))
    }

    fn issue(&self, fingerprint: Fingerprint) -> BoxFuture<'_, Result<Option<IssueDetail>>> {
        Box::pin(self.0.limited(issues::one(&self.0, fingerprint)))
    }

    fn nearest<'a>(
        &'a self,
        filter: &'a Filter,
        behind: Option<i64>,
        newest_first: bool,
    ) -> BoxFuture<'a, Result<Option<i64>>> {
        Box::pin(self.0.limited(async move {
            let mut session = self.0.session().await?;
            session.opens();
            session.begin(Begin::GlanceByShard).await?;
            let nearest = look::nearest(&session, filter, behind, newest_first).await?;
            session.commit().await?;
            session.closed();
            Ok(nearest)
        }))
    }

    fn pulse(&self) -> BoxFuture<'_, Result<Pulse>> {
        Box::pin(self.0.limited(async move {
            let mut session = self.0.session().await?;
            session.opens();
            session.begin(Begin::Look).await?;
            let shards = look::shards(&session).await?;
            let (workers, holds) = (hold::workers(&session).await?, hold::all(&session).await?);
            let sequence = sequence(&session).await?;
            session.commit().await?;
            session.closed();
            Ok(overview::pulse(&shards, workers, holds, sequence))
        }))
    }

    fn sequence(&self) -> BoxFuture<'_, Result<i64>> {
        Box::pin(self.0.limited(async move {
            let session = self.0.session().await?;
            sequence(&session).await
        }))
    }

    fn outlook(&self) -> BoxFuture<'_, Result<Outlook>> {
        Box::pin(self.0.limited(async move {
            let mut session = self.0.session().await?;
            session.opens();
            session.begin(Begin::Glance).await?;
            let now = look::shards(&session).await?.now;
            let statement = include_str!("../sql/outlook.sql");
            let rows = session.read(statement, &[], overview::bucket).await?;
            session.commit().await?;
            session.closed();
            Ok(overview::outlook(now, &rows))
        }))
    }

    fn lanes(&self, limit: usize) -> BoxFuture<'_, Result<Vec<StandingLane>>> {
        Box::pin(self.0.limited(lanes::lanes(&self.0, limit)))
    }

    fn storage(&self) -> BoxFuture<'_, Result<Storage>> {
        Box::pin(self.0.limited(storage::storage(&self.0)))
    }

    fn audit_page(&self, before: Option<i64>, limit: usize) -> BoxFuture<'_, Result<Vec<AuditRecord>>> {
        Box::pin(self.0.limited(audit::page(&self.0, before, limit)))
    }
}

async fn sequence(session: &Session<'_>) -> Result<i64> {
    let row = session.one(include_str!("../sql/read_sequence.sql"), &[]).await?;
    row::get(&row, 0)
}
