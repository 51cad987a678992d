//! Holding a job, letting it go on, ending it.

use clap::Args;
use redeliver_outbox::desk::Job;

use super::{
    super::{
        act_flags::WhoFlag,
        database::{DatabaseFlags, Outbox},
    },
    form,
};
use crate::{
    exit::{Exit, outbox_help},
    output,
};

/// What the three have in common.
#[derive(Args, Clone, Debug)]
pub(super) struct TurnArgs {
    /// Its number
    id: i64,
    /// Why, for the audit
    #[arg(long, value_name = "TEXT", default_value = "")]
    why: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: WhoFlag,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

/// Hold a job: nothing more is let out until it goes on
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver job pause 7 --why 'the receiver is slow'\n  redeliver job pause 7 --json"))]
pub(super) struct PauseArgs {
    #[command(flatten)]
    pub(super) turn: TurnArgs,
}

/// Let a job go on that was paused, or that stopped by itself
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver job resume 7\n  redeliver job resume 7 --as ana --json\n  \
    redeliver job resume 7 --why 'the receiver is mended'\n\n\
    A job that stopped by itself goes on only with a reason: with its canary again, for what is left, and what failed until then is not \
    counted any more. What it let out before is not let out again."))]
pub(super) struct ResumeArgs {
    #[command(flatten)]
    pub(super) turn: TurnArgs,
}

/// End a job; what it let out stays out
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver job cancel 7 --why 'they are not needed any more'\n  redeliver job cancel 7 --json"))]
pub(super) struct CancelArgs {
    #[command(flatten)]
    pub(super) turn: TurnArgs,
}

pub(super) async fn pause(args: &TurnArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let job = outbox.desk().pause_job(args.id, &args.who.act(&args.why)).await?;
    Ok(told(args, &job))
}

pub(super) async fn resume(args: &TurnArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let job = outbox
        .desk()
        .resume_job(args.id, &args.who.act(&args.why))
        .await?;
    Ok(told(args, &job))
}

pub(super) async fn cancel(args: &TurnArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let job = outbox
        .desk()
        .cancel_job(args.id, &args.who.act(&args.why))
        .await?;
    Ok(told(args, &job))
}

fn told(args: &TurnArgs, job: &Job) -> Exit {
    if args.json {
        output::json(&form::JobForm::of(job));
    } else {
        output::line(&format!("{}; {}", form::line(job), job.note));
    }
    Exit::Done
}
