use std::future::Future;

use futures_core::future::BoxFuture;

use super::{Answer, Job, Statement};
use crate::store::StoreError;

/// An async client: one statement at a time.
pub(super) trait Client: Send {
    fn run(&mut self, statement: &Statement<'_>) -> impl Future<Output = Result<Answer, StoreError>> + Send;
}

/// Runs a job through a client that is async.
pub(super) fn drive_async<'a, J: Job + 'a>(
    job: Result<J, J::Error>,
    mut client: impl Client + 'a,
) -> BoxFuture<'a, Result<J::Outcome, J::Error>> {
    Box::pin(async move {
        let mut job = job?;
        while let Some(statement) = job.next() {
            let answer = client.run(&statement).await?;
            drop(statement);
            job.hear(answer)?;
        }
        job.finish()
    })
}
