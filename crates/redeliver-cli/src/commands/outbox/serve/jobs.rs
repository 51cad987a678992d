use std::{convert::Infallible, time::Duration};

use redeliver::clock;
use redeliver_outbox::{
    desk::JobStep,
    job::{Decision, JobState},
    relay::RelayConfig,
};
use serde_json::json;

use super::{
    super::{
        database::Outbox,
        job::{Breath, line},
    },
    telling::Telling,
};

/// How often it is looked whether a job is due.
const LOOK: Duration = Duration::from_secs(1);

/// Takes the steps of jobs that are due, for as long as the relay runs.
pub(super) async fn step(outbox: &Outbox, took: impl Fn(&JobStep)) -> Infallible {
    let me = RelayConfig::unique().worker;
    let mut told = None;
    let mut breath = Breath::default();
    loop {
        match outbox.desk().step_job(&me, None).await {
            // Another may be due as well.
            Ok(Some(step)) => {
                took(&step);
                clock::sleep(breath.after(&step.job)).await;
            }
            Ok(None) => {
                told = None;
                clock::sleep(LOOK).await;
            }
            Err(error) => {
                // Told once: the relay tells of the same database. Other jobs may take their steps in between.
                let error = error.to_string();
                if told.as_ref() != Some(&error) {
                    tracing::warn!(target: "redeliver", "cannot take the next step of a job: {error}");
                }
                told = Some(error);
                clock::sleep(LOOK).await;
            }
        }
    }
}

/// Waiting is no news.
pub(super) fn tell(telling: Telling, step: &JobStep) {
    if step.decision == Decision::Wait {
        return;
    }
    let job = &step.job;
    let words = match job.state {
        JobState::Stopped | JobState::Done => format!("{}; {}", line(job), job.note),
        _ => line(job),
    };
    let figures = json!({
        "event": "job",
        "job": job.id,
        "state": job.state.as_str(),
        "released": job.tally.released,
        "matched": job.tally.matched,
        "delivered": job.tally.delivered,
        "failing": job.tally.failing,
        "failed": job.tally.failed,
        "note": job.note,
    });
    telling.note(&words, &figures);
}
