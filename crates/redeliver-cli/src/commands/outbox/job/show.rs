use clap::Args;
use redeliver_outbox::{Timestamp, desk::Job};

use super::{
    super::database::{DatabaseFlags, Outbox},
    form,
};
use crate::{
    exit::{Exit, NotFound, outbox_help},
    output,
};

/// Everything about one job
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver job show 7\n  redeliver job show 7 --json"))]
pub(super) struct ShowArgs {
    /// Its number
    id: i64,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

pub(super) async fn run(args: &ShowArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let job = find(outbox, args.id).await?;
    if args.json {
        output::json(&form::JobForm::of(&job));
    } else {
        output::line(&form::words(&job, Timestamp::wall()));
    }
    Ok(Exit::Done)
}

pub(super) async fn find(outbox: &Outbox, id: i64) -> anyhow::Result<Job> {
    let found = outbox.desk().job(id).await?;
    let missing = || NotFound(format!("there is no job {id}; `redeliver job list` names them"));
    Ok(found.ok_or_else(missing)?)
}
