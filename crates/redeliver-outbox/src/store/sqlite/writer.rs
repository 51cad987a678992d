//! The one thread that writes to a file.
//!
//! SQLite copies a row of many megabytes on its way to another table, and the allocator keeps what a thread has used once. On the
//! threads of a pool it would keep that for each of them: after sixty dead letters of 16 MB a relay had 195 to 230 MiB, and has 86.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc,
    thread,
};

use tokio::sync::oneshot;

use crate::store::{Result, StoreError, StoreErrorKind};

type Job = Box<dyn FnOnce() + Send>;

#[derive(Debug)]
pub(super) struct Writer(mpsc::Sender<Job>);

impl Writer {
    /// Starts the thread, which ends with this.
    pub(super) fn start() -> Result<Self> {
        let (sender, jobs) = mpsc::channel::<Job>();
        thread::Builder::new()
            .name("redeliver-sqlite".to_owned())
            .spawn(move || jobs.iter().for_each(|job| job()))
            .map_err(|error| {
                let what = "the thread that writes to the SQLite database cannot be started";
                StoreError::new(StoreErrorKind::Busy, what).caused_by(error)
            })?;
        Ok(Self(sender))
    }

    /// Does the work after all that was asked for before, and does it to its end even if nobody awaits that. None if it panicked.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        let job = move || {
            if let Ok(value) = catch_unwind(AssertUnwindSafe(work)) {
                // Whoever asked may have gone.
                let _ = answer.send(value);
            }
        };
        self.0.send(Box::new(job)).ok()?;
        answered.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_is_done_in_its_order_on_one_thread_and_a_panic_ends_only_its_own() {
        let writer = Writer::start().unwrap();
        let first = writer.run(|| thread::current().id()).await;
        let broken: Option<()> = writer.run(|| panic!("planted")).await;
        assert_eq!(broken, None);
        assert_eq!(writer.run(|| thread::current().id()).await, first);
    }
}
