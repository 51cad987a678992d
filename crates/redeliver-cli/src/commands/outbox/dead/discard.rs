use clap::Args;
use redeliver_outbox::{
    DeadReason,
    desk::{MessageRef, NewJob},
    job::{JobKind, JobPlan},
};

use super::{
    super::{
        act_flags::WhoFlag,
        database::{DatabaseFlags, Outbox},
        filter_flags::{self, FilterFlags, at_least_one},
    },
    many::{BATCH, Chosen, as_job, filter, preview, told},
};
use crate::{
    exit::{BadInput, Exit, outbox_help},
    output,
};

/// Give dead letters up, with a reason; they stay visible until their retention is over
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver dead discard 42 --reason 'a test order'\n  \
    redeliver dead discard --to billing --dead-reason expired --reason 'the shop is closed' --yes\n  \
    redeliver dead discard --to billing --reason 'the shop is closed' --background --yes\n\n\
    With --job or --background it is a job, which `redeliver job` shows, holds and ends."))]
pub(super) struct DiscardArgs {
    /// Their ids, or their numbers
    ids: Vec<MessageRef>,
    /// Why they are given up, for the audit
    #[arg(long, visible_alias = "why", value_name = "TEXT", required = true)]
    reason: String,
    /// Only dead letters with this reason, such as permanent or attempts_exhausted
    #[arg(long, value_name = "REASON", value_parser = filter_flags::reason, help_heading = "Which messages")]
    dead_reason: Option<DeadReason>,
    /// Every dead letter
    #[arg(long)]
    all: bool,
    /// At most this many, the oldest first
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    limit: Option<usize>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// One JSON object a line for each message; for each change of the job, if it is one
    #[arg(long)]
    json: bool,
    /// As a job, in batches: it can be held, ended and followed
    #[arg(long, help_heading = "As a job")]
    job: bool,
    /// The same, left to a relay that runs elsewhere (redeliver serve), and not waited for
    #[arg(long, help_heading = "As a job")]
    background: bool,
    #[command(flatten)]
    filter: FilterFlags,
    #[command(flatten)]
    who: WhoFlag,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

pub(super) async fn run(args: &DiscardArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    if args.reason.trim().is_empty() {
        return Err(BadInput("--reason: is empty; say why, for whoever asks later".to_owned()).into());
    }
    let chosen = Chosen {
        ids: &args.ids,
        filter: filter(&args.ids, args.filter.filter(&[], args.dead_reason)),
        narrowed: !args.filter.is_empty() || args.dead_reason.is_some(),
        all: args.all,
        limit: args.limit,
        yes: args.yes,
    };
    let as_a_job = args.job || args.background;
    if as_a_job && args.ids.is_empty() {
        preview(outbox, &chosen.filter).await?;
    }
    let Some(count) = chosen.settle(outbox, "discard").await? else {
        return Ok(Exit::Done);
    };
    let act = args.who.act(&args.reason);
    if as_a_job && count > 0 {
        let job = NewJob {
            kind: JobKind::Discard,
            filter: chosen.filter,
            at_most: Some(count as u64),
            plan: JobPlan::AT_ONCE,
        };
        return as_job(outbox, &job, &act, args.background, args.json).await;
    }
    let mut done = Vec::new();
    while done.len() < count {
        let batch = outbox
            .desk()
            .discard(&chosen.filter, BATCH.min(count - done.len()), &act)
            .await?;
        if batch.is_empty() {
            break;
        }
        done.extend(batch);
        output::progress(&format!("discarded {} of {count}", done.len()));
    }
    output::progress_done();
    told(outbox, &done, &args.ids, "discarded", args.json).await
}
