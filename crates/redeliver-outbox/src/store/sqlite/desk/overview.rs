//! What an operator looks at.

use futures_core::future::BoxFuture;

use super::{Done, Purpose, Session, SqliteStore, audit, hold, issues, lanes, look, storage};
use crate::{
    Fingerprint,
    desk::{AuditRecord, Filter, Issue, IssueDetail, Look, Outlook, Pulse, StandingLane, Storage},
    store::{Result, desk::overview},
};

impl Look for SqliteStore {
    fn issues(&self, limit: usize) -> BoxFuture<'_, Result<Vec<Issue>>> {
        self.run(Purpose::Look, move |session| issues::all(session, limit))
    }

    fn issue(&self, fingerprint: Fingerprint) -> BoxFuture<'_, Result<Option<IssueDetail>>> {
        self.run(Purpose::Look, move |session| issues::one(session, fingerprint))
    }

    fn nearest<'a>(
        &'a self,
        filter: &'a Filter,
        behind: Option<i64>,
        newest_first: bool,
    ) -> BoxFuture<'a, Result<Option<i64>>> {
        let filter = filter.clone();
        self.run(Purpose::Look, move |session| {
            look::nearest(session, &filter, behind, newest_first)
        })
    }

    fn pulse(&self) -> BoxFuture<'_, Result<Pulse>> {
        self.run(Purpose::Look, |session| {
            let (workers, holds) = (hold::workers(session)?, hold::all(session)?);
            let shards = look::shards(session)?;
            Ok(overview::pulse(&shards, workers, holds, sequence(session)?))
        })
    }

    fn sequence(&self) -> BoxFuture<'_, Result<i64>> {
        self.run(Purpose::Look, sequence)
    }

    fn outlook(&self) -> BoxFuture<'_, Result<Outlook>> {
        self.run(Purpose::Look, |session| {
            let now = [session.now.as_millis()];
            let rows = session.read(include_str!("../sql/outlook.sql"), now, overview::bucket)?;
            Ok(overview::outlook(session.now, &rows))
        })
    }

    fn lanes(&self, limit: usize) -> BoxFuture<'_, Result<Vec<StandingLane>>> {
        self.run(Purpose::Look, move |session| lanes::lanes(session, limit))
    }

    fn storage(&self) -> BoxFuture<'_, Result<Storage>> {
        self.run(Purpose::Look, storage::storage)
    }

    fn audit_page(&self, before: Option<i64>, limit: usize) -> BoxFuture<'_, Result<Vec<AuditRecord>>> {
        self.run(Purpose::Look, move |session| audit::page(session, before, limit))
    }
}

fn sequence(session: &Session<'_>) -> Done<i64> {
    Ok(session.row(include_str!("../sql/sequence.sql"), [], |row| row.get(0))?)
}
