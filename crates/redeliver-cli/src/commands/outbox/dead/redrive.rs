use clap::Args;
use redeliver_outbox::desk::MessageRef;

use super::{
    super::{
        act_flags::WhoFlag,
        database::{DatabaseFlags, Outbox},
        filter_flags::{FilterFlags, ReasonFlag, at_least_one},
    },
    many::{BATCH, Chosen, filter, told},
};
use crate::{
    exit::{Exit, outbox_help},
    output,
};

/// Put dead letters back: pending, no attempts, due now
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver dead redrive 42 43\n  \
    redeliver dead redrive --to billing --reason attempts_exhausted --limit 10\n  \
    redeliver dead redrive --error 'connection refused' --yes --why 'the firewall is open again'\n  \
    redeliver dead redrive --all --yes"))]
pub(super) struct RedriveArgs {
    /// Their ids, or their numbers
    ids: Vec<MessageRef>,
    /// Every dead letter
    #[arg(long)]
    all: bool,
    /// At most this many, the oldest first
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    limit: Option<usize>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Why, for the audit
    #[arg(long, value_name = "TEXT", default_value = "")]
    why: String,
    /// One JSON object a line for each message
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filter: FilterFlags,
    #[command(flatten)]
    reason: ReasonFlag,
    #[command(flatten)]
    who: WhoFlag,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

pub(super) async fn run(args: &RedriveArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let chosen = Chosen {
        ids: &args.ids,
        filter: filter(&args.ids, args.filter.filter(&[], args.reason.reason)),
        narrowed: !args.filter.is_empty() || args.reason.reason.is_some(),
        all: args.all,
        limit: args.limit,
        yes: args.yes,
    };
    let Some(count) = chosen.settle(outbox, "redrive").await? else {
        return Ok(Exit::Done);
    };
    let act = args.who.act(&args.why);
    let mut done = Vec::new();
    // Never more than there were: what dies again meanwhile is not put back twice.
    while done.len() < count {
        let batch = outbox
            .desk()
            .redrive(&chosen.filter, BATCH.min(count - done.len()), &act)
            .await?;
        if batch.is_empty() {
            break;
        }
        done.extend(batch);
        output::progress(&format!("redriven {} of {count}", done.len()));
    }
    output::progress_done();
    told(outbox, &done, &args.ids, "redriven", args.json).await
}
