use clap::Args;
use redeliver_outbox::{DeadReason, desk::MessageRef};

use super::{
    super::{
        act_flags::WhoFlag,
        database::{DatabaseFlags, Outbox},
        filter_flags::{self, FilterFlags, at_least_one},
    },
    many::{BATCH, Chosen, filter, told},
};
use crate::{
    exit::{BadInput, Exit, outbox_help},
    output,
};

/// Give dead letters up, with a reason; they stay visible until their retention is over
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver dead discard 42 --reason 'a test order'\n  \
    redeliver dead discard --to billing --dead-reason expired --reason 'the shop is closed' --yes"))]
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
    /// One JSON object a line for each message
    #[arg(long)]
    json: bool,
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
    let Some(count) = chosen.settle(outbox, "discard").await? else {
        return Ok(Exit::Done);
    };
    let act = args.who.act(&args.reason);
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
