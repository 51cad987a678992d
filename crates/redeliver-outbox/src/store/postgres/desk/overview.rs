//! What an operator looks at.

use futures_core::future::BoxFuture;

use super::{PostgresStore, Result, issues};
use crate::{
    Fingerprint,
    desk::{Issue, IssueDetail, Look},
};

impl Look for PostgresStore {
    fn issues(&self, limit: usize) -> BoxFuture<'_, Result<Vec<Issue>>> {
        Box::pin(self.0.limited(issues::all(&self.0, limit)))
    }

    fn issue(&self, fingerprint: Fingerprint) -> BoxFuture<'_, Result<Option<IssueDetail>>> {
        Box::pin(self.0.limited(issues::one(&self.0, fingerprint)))
    }
}
