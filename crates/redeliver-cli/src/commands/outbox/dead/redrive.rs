use clap::Args;
use redeliver_outbox::{
    desk::{Act, Filter, MessageRef, NewJob},
    job::JobKind,
};

use super::{
    super::{
        act_flags::WhoFlag,
        database::{DatabaseFlags, Outbox},
        filter_flags::{FilterFlags, ReasonFlag, at_least_one},
        job::{JobForm, PlanFlags, follow, line},
    },
    many::{BATCH, Chosen, filter, told},
};
use crate::{
    exit::{Exit, outbox_help},
    output, readable,
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
        return as_job(args, outbox, &job, &act).await;
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

/// A few of those that are meant.
async fn preview(outbox: &Outbox, filter: &Filter) -> anyhow::Result<()> {
    for letter in outbox.desk().preview_job(filter).await?.sample {
        let reason = letter.dead_letter_reason.map_or("", |reason| reason.as_str());
        output::note(&format!(
            "  {} to {}, {reason}: {}",
            letter.id.number(),
            readable::line(&letter.destination, 40),
            readable::line(letter.last_error.as_deref().unwrap_or("-"), 80)
        ));
    }
    Ok(())
}

async fn as_job(args: &RedriveArgs, outbox: &Outbox, job: &NewJob, act: &Act) -> anyhow::Result<Exit> {
    let job = outbox.desk().create_job(job, act).await?;
    let id = job.id;
    if !args.plan.background {
        output::note(&format!(
            "job {id}: `redeliver job pause {id}` holds it, `redeliver job cancel {id}` ends it"
        ));
        return follow(outbox, id, args.json).await;
    }
    match args.json {
        true => output::json(&JobForm::of(&job)),
        false => output::line(&format!(
            "{}; a relay takes its steps, and `redeliver job show {id}` tells how far it is",
            line(&job)
        )),
    }
    Ok(Exit::Done)
}
