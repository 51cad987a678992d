use clap::Args;
use redeliver_outbox::{
    Timestamp,
    desk::{MessageRef, NewJob},
    job::JobKind,
};

use super::{
    super::{
        act_flags::WhoFlag,
        database::{DatabaseFlags, Outbox},
        filter_flags::{FilterFlags, ReasonFlag, at_least_one},
        job::PlanFlags,
    },
    forgotten_warning,
    many::{BATCH, Chosen, as_job, filter, preview, told},
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
    redeliver dead redrive --all --yes\n  redeliver dead redrive --to billing --canary 5 --stop-at 0.1 --yes\n  \
    redeliver dead redrive --all --background --yes\n\n\
    With --canary, --grow, --every, --stop-at or --background it is a job: a few are put back first, then more and more, and it stops by itself \
    when too many fail. `redeliver job` shows, holds and ends it."))]
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
    /// One JSON object a line for each message; for each change of the job, if it is one
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    plan: PlanFlags,
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
    chosen.check("redrive")?;
    let kept = outbox.settings.retention.inbox;
    if let Some(warning) = forgotten_warning(outbox.desk(), &chosen.filter, kept, Timestamp::wall()).await? {
        output::note(&format!("warning: {warning}"));
    }
    let plan = args.plan.plan()?;
    if plan.is_some() && args.ids.is_empty() {
        preview(outbox, &chosen.filter).await?;
    }
    let Some(count) = chosen.settle(outbox, "redrive").await? else {
        return Ok(Exit::Done);
    };
    let act = args.who.act(&args.why);
    if let Some(plan) = plan.filter(|_| count > 0) {
        let job = NewJob {
            kind: JobKind::Redrive,
            filter: chosen.filter,
            at_most: Some(count as u64),
            plan,
        };
        return as_job(outbox, &job, &act, args.plan.background, args.json).await;
    }
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
