use super::{Answer, Job, Statement};
use crate::store::StoreError;

/// Runs a job through a client that blocks.
pub(super) fn drive_blocking<J: Job>(
    job: Result<J, J::Error>,
    mut run: impl FnMut(&Statement<'_>) -> Result<Answer, StoreError>,
) -> Result<J::Outcome, J::Error> {
    let mut job = job?;
    while let Some(statement) = job.next() {
        let answer = run(&statement)?;
        drop(statement);
        job.hear(answer)?;
    }
    job.finish()
}
