//! Taking the steps of jobs, one at a time: what fails or cannot be read keeps no other from its own.

use futures_core::future::BoxFuture;

use crate::{
    desk::JobStep,
    limits,
    store::{Result, StoreError, StoreErrorKind, WorkerId},
};

/// What a store does for it, each in a transaction of its own.
pub(in crate::store) trait Steps: Sync {
    /// The jobs that are due, or this one if it is, the longest due first.
    fn due<'a>(&'a self, worker: &'a WorkerId, only: Option<i64>) -> BoxFuture<'a, Result<Vec<i64>>>;

    /// The step of one of them; none if it is not due any more, or another process has it in hand.
    fn step<'a>(&'a self, worker: &'a WorkerId, job: i64) -> BoxFuture<'a, Result<Option<JobStep>>>;

    /// Puts its next step off, for twice as long as the last time.
    fn put_off<'a>(&'a self, job: i64, note: &'a str) -> BoxFuture<'a, Result<()>>;
}

pub(in crate::store) async fn step(
    store: &impl Steps,
    worker: &WorkerId,
    only: Option<i64>,
) -> Result<Option<JobStep>> {
    let mut unreadable = None;
    for job in store.due(worker, only).await? {
        match store.step(worker, job).await {
            Ok(None) => {}
            Ok(step) => return Ok(step),
            // Left alone, for the newer program that made it: it may be running beside this one.
            Err(error) if error.kind() == StoreErrorKind::TooNew => unreadable = Some(error),
            Err(error) => return Err(put_off(store, job, error).await),
        }
    }
    unreadable.map_or(Ok(None), Err)
}

async fn put_off(store: &impl Steps, job: i64, error: StoreError) -> StoreError {
    let note = limits::error_text(&format!("the next step failed, and is tried again: {error}"));
    // If that fails as well, the database is what is wrong, and the error tells it.
    let _ = store.put_off(job, &note).await;
    StoreError::new(
        error.kind(),
        format!("the next step of job {job} failed: {error}"),
    )
    .caused_by(error)
}
