use std::time::Duration;

use redeliver::clock;
use redeliver_outbox::{desk::Filter, job::JobState, state::Status, store::Result};

use super::{super::database::Outbox, telling::Telling};

/// How soon it is looked again at first. Each look waits ten times as long as the last one took, so that looking is never the load.
const SOONEST: Duration = Duration::from_millis(50);
/// How many of the newest jobs are looked at.
const JOBS: usize = 100;

/// Ready when nothing is due or waiting. What stands still for an operator does not count, and what waits for a held destination is told.
pub(super) async fn empty(telling: Telling, outbox: &Outbox) {
    loop {
        let start = clock::now();
        // A database in trouble is not empty; the relay tells of the trouble.
        if let Ok(left) = left(outbox).await
            && left.waiting <= left.held
            && (left.held > 0 || !has_jobs(outbox).await)
        {
            if left.held > 0 {
                telling.holds_back(left.held, &left.destinations);
            }
            return;
        }
        let took = clock::now().since(start);
        clock::sleep(SOONEST.max(took.saturating_mul(10))).await;
    }
}

/// Whether a job is about to put more into the outbox.
async fn has_jobs(outbox: &Outbox) -> bool {
    let jobs = outbox.desk().jobs(JOBS).await.unwrap_or_default();
    let goes_on = |state| matches!(state, JobState::Canary | JobState::Ramping);
    jobs.iter().any(|job| goes_on(job.state))
}

/// What is left to do.
#[derive(Debug, Default)]
struct Left {
    /// Messages that are due or wait for their time.
    waiting: u64,
    /// How many of them are for destinations that are held.
    held: u64,
    /// Those destinations.
    destinations: Vec<String>,
}

async fn left(outbox: &Outbox) -> Result<Left> {
    let live = Filter {
        statuses: vec![Status::Pending, Status::Processing, Status::Failed],
        ..Filter::default()
    };
    let mut left = Left {
        waiting: outbox.desk().count(&live).await?,
        ..Left::default()
    };
    if left.waiting == 0 {
        return Ok(left);
    }
    for hold in outbox.desk().holds().await? {
        let of_destination = Filter {
            destination: Some(hold.destination.clone()),
            ..live.clone()
        };
        let held = outbox.desk().count(&of_destination).await?;
        if held > 0 {
            left.held += held;
            left.destinations.push(hold.destination);
        }
    }
    Ok(left)
}
