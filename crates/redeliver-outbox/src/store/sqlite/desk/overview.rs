//! What an operator looks at.

use futures_core::future::BoxFuture;

use super::{Purpose, SqliteStore, issues};
use crate::{
    Fingerprint,
    desk::{Issue, IssueDetail, Look},
    store::Result,
};

impl Look for SqliteStore {
    fn issues(&self, limit: usize) -> BoxFuture<'_, Result<Vec<Issue>>> {
        self.run(Purpose::Read, move |session| issues::all(session, limit))
    }

    fn issue(&self, fingerprint: Fingerprint) -> BoxFuture<'_, Result<Option<IssueDetail>>> {
        self.run(Purpose::Read, move |session| issues::one(session, fingerprint))
    }
}
