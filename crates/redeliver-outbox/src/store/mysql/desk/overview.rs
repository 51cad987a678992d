//! What an operator looks at.

use futures_core::future::BoxFuture;

use super::{MySqlStore, issues};
use crate::{
    Fingerprint,
    desk::{Issue, IssueDetail, Look},
    store::Result,
};

impl Look for MySqlStore {
    fn issues(&self, limit: usize) -> BoxFuture<'_, Result<Vec<Issue>>> {
        Box::pin(issues::all(self, limit))
    }

    fn issue(&self, fingerprint: Fingerprint) -> BoxFuture<'_, Result<Option<IssueDetail>>> {
        Box::pin(issues::one(self, fingerprint))
    }
}
