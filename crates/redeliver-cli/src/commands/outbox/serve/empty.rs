use std::{sync::Arc, time::Duration};

use redeliver::clock;
use redeliver_outbox::{
    desk::{Filter, Page},
    job::JobState,
    relay::Figures,
    state::Status,
    store::Result,
};

use super::{super::database::Outbox, figures::Sum, telling::Telling};

/// How often it is asked whether the relays have something to do.
const TICK: Duration = Duration::from_millis(50);
/// A look may count millions. It rests ten times as long as it took, so that looking is never the load;
const REST: u32 = 10;
/// and a hundred times while the relays of this process are at work, for who is at work is hardly done.
const REST_AT_WORK: u32 = 100;
/// But what never rests is looked at, too: somebody may insert one message after the other.
const SOONEST_AT_WORK: Duration = Duration::from_secs(1);
/// How long one is looked for before all are counted.
const LOOK: Duration = Duration::from_millis(100);
/// How many of the newest jobs are looked at.
const JOBS: usize = 100;

/// Ready when nothing is due or waiting. What stands still for an operator does not count, and what waits for a held destination is told.
pub(super) async fn empty(telling: Telling, outbox: &Outbox, figures: &[Arc<Figures>]) {
    let mut took = Duration::ZERO;
    loop {
        rested(figures, took).await;
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
        took = clock::now().since(start);
    }
}

/// Ready when it is time for another look, the last one having taken so long.
async fn rested(figures: &[Arc<Figures>], took: Duration) {
    let start = clock::now();
    let mut before = Sum::of(figures);
    loop {
        clock::sleep(TICK).await;
        let sum = Sum::of(figures);
        let at_work = sum.in_flight > 0 || sum != before;
        before = sum;
        let rest = if at_work {
            took.saturating_mul(REST_AT_WORK).max(SOONEST_AT_WORK)
        } else {
            took.saturating_mul(REST)
        };
        if clock::now().since(start) >= rest {
            return;
        }
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
    /// Messages that are due or wait for their time, or one of them.
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
    let oldest = Page {
        after: None,
        until: None,
        limit: 1,
        newest_first: false,
    };
    // One that is not held is enough to know that there is something to do, however many there are.
    let first = outbox.desk().search(&live, oldest, LOOK).await?;
    if first.records.is_empty() && first.complete {
        return Ok(Left::default());
    }
    let holds = outbox.desk().holds().await?;
    let is_held = |destination: &str| holds.iter().any(|hold| hold.destination == destination);
    if first.records.iter().any(|record| !is_held(&record.destination)) {
        return Ok(Left {
            waiting: 1,
            ..Left::default()
        });
    }
    let mut left = Left {
        waiting: outbox.desk().count(&live).await?,
        ..Left::default()
    };
    for hold in holds {
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
