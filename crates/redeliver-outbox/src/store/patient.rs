//! Migrations beside producers and relays that use the tables: short waits for locks, no limit on the work.

use std::{future::Future, time::Duration};

use futures_util::future::{Either, select};
use redeliver::{
    Moment,
    clock::{self, Timer},
};

use super::{Result, StoreError};
use crate::{
    desk::Migration,
    limits::{MIGRATION_LOCK_PAUSE, MIGRATION_PROGRESS, MIGRATION_WAIT},
};

/// The waits for locks of one migration.
#[derive(Debug)]
pub(super) struct Patience {
    until: Moment,
    waits: u32,
}

impl Patience {
    pub(super) fn begin() -> Self {
        Self {
            until: clock::now().plus(MIGRATION_WAIT),
            waits: 0,
        }
    }

    /// A lock was not to be had. Waits, so that others get through, or returns the error if it has waited long enough.
    pub(super) async fn wait(&mut self, error: StoreError) -> Result<()> {
        if clock::now() >= self.until {
            return Err(error);
        }
        if self.waits.is_multiple_of(10) {
            tracing::warn!(target: "redeliver", "waiting to change the tables: {error}");
        }
        self.waits += 1;
        clock::sleep(MIGRATION_LOCK_PAUSE).await;
        Ok(())
    }
}

/// Does the work of a step, and reports now and then how long it has taken.
pub(super) async fn with_progress<T>(
    step: &Migration,
    work: impl Future<Output = Result<T>> + Send,
) -> Result<T> {
    let mut work = Box::pin(work);
    let mut so_far = Duration::ZERO;
    loop {
        match select(work, Timer::limit(MIGRATION_PROGRESS)).await {
            Either::Left((result, _)) => return result,
            Either::Right(((), unfinished)) => work = unfinished,
        }
        so_far += MIGRATION_PROGRESS;
        let (version, name, seconds) = (step.version, step.name, so_far.as_secs());
        tracing::info!(target: "redeliver", "step {version} ({name}) has been running for {seconds} s");
    }
}
