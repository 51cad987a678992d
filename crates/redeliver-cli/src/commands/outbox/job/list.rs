use clap::Args;
use redeliver_outbox::{Timestamp, desk::Job};

use super::{
    super::{
        database::{DatabaseFlags, Outbox},
        filter_flags::at_least_one,
        when,
    },
    form,
};
use crate::{
    exit::{Exit, outbox_help},
    output, readable,
    table::table,
};

/// The jobs, the newest first
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver job list\n  redeliver job list --limit 5 --json"))]
pub(super) struct ListArgs {
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = at_least_one, allow_negative_numbers = true)]
    limit: usize,
    /// One JSON object a line for each job
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

pub(super) async fn run(args: &ListArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let jobs = outbox.desk().jobs(args.limit).await?;
    if args.json {
        for job in &jobs {
            output::json(&form::JobForm::of(job));
        }
    } else if jobs.is_empty() {
        output::line("no jobs; `redeliver dead redrive … --canary 5` makes one");
    } else {
        output::line(&words(&jobs, Timestamp::wall()));
    }
    Ok(Exit::Done)
}

fn words(jobs: &[Job], now: Timestamp) -> String {
    let header = [
        "job",
        "state",
        "made",
        "what",
        "note",
        "out",
        "of",
        "arrived",
        "failing",
        "dead again",
    ];
    let mut table = table(header, 5);
    for job in jobs {
        let tally = &job.tally;
        table.add_row([
            job.id.to_string(),
            job.state.to_string(),
            when::relative(job.created_at, now),
            readable::line(&format!("{} {}", job.kind, form::of(&job.filter)), 50),
            readable::line(&job.note, 50),
            tally.released.to_string(),
            tally.matched.to_string(),
            tally.delivered.to_string(),
            tally.failing.to_string(),
            tally.failed.to_string(),
        ]);
    }
    table.trim_fmt()
}
