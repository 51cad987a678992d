//! Taking a job's steps, or watching another process take them, until it is over.

use std::time::Duration;

use clap::Args;
use redeliver::clock;
use redeliver_outbox::{desk::Job, job::JobState, relay::RelayConfig};

use super::{
    super::database::{DatabaseFlags, Outbox},
    breath::Breath,
    form, show,
};
use crate::{
    exit::{Exit, outbox_help},
    output,
};

/// Take the steps of a job until it is over, or watch the relay that does
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver job follow 7\n  redeliver job follow 7 --json\n\n\
    A relay (redeliver serve) takes the steps of all jobs by itself; this is for where none runs, or to watch. Ended in the middle, the job \
    waits for whoever comes next. The exit code is 1 if the job stopped by itself or was cancelled."))]
pub(super) struct FollowArgs {
    /// Its number
    id: i64,
    /// One JSON object a line for each change
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

/// How often a job is looked at between its steps.
const LOOK: Duration = Duration::from_millis(500);

pub(super) async fn run(args: &FollowArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    follow(outbox, args.id, args.json).await
}

pub(in super::super) async fn follow(outbox: &Outbox, id: i64, as_json: bool) -> anyhow::Result<Exit> {
    // Nobody's name twice, as a relay's.
    let me = RelayConfig::unique().worker;
    let mut shown = None;
    let mut breath = Breath::default();
    if !outbox.desk().workers().await?.iter().any(|worker| worker.alive) {
        output::note(
            "no relay is running: nothing is delivered, and the job waits, until `redeliver serve` runs",
        );
    }
    loop {
        let (job, wait) = match outbox.desk().step_job(&me, Some(id)).await? {
            Some(step) => (step.job, step.next.unwrap_or_default()),
            None => (show::find(outbox, id).await?, LOOK),
        };
        let news = (job.state, job.tally);
        if shown != Some(news) {
            shown = Some(news);
            match as_json {
                true => output::json(&form::JobForm::of(&job)),
                false => output::progress(&form::line(&job)),
            }
        }
        if job.state.is_over() || job.state == JobState::Paused {
            output::progress_done();
            return Ok(ended(&job, as_json));
        }
        // Somebody may pause or end it meanwhile.
        clock::sleep(wait.min(LOOK).max(breath.after(&job))).await;
    }
}

fn ended(job: &Job, as_json: bool) -> Exit {
    if !as_json {
        output::line(&format!("{}; {}", form::line(job), job.note));
    }
    match job.state {
        JobState::Stopped | JobState::Cancelled => Exit::Failed,
        _ => Exit::Done,
    }
}
