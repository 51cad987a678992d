//! `redeliver job`: acts on many dead letters that go on by themselves.

mod breath;
mod flags;
mod follow;
pub(crate) mod form;
mod list;
mod show;
mod turn;

use clap::{Args, Subcommand};

pub(super) use self::{
    breath::Breath,
    flags::PlanFlags,
    follow::follow,
    form::{JobForm, line},
};
use super::database::DatabaseFlags;
use crate::exit::Exit;

/// Jobs, which put many dead letters back with care: what they do, and holding or ending one
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  redeliver dead redrive --to billing --canary 5 --background --yes\n  redeliver job list\n  \
    redeliver job show 7\n  redeliver job pause 7 --why 'the receiver is slow'\n  redeliver job resume 7\n  redeliver job cancel 7\n  \
    redeliver job follow 7"
)]
pub(crate) struct JobArgs {
    #[command(subcommand)]
    command: JobCommand,
}

#[derive(Debug, Subcommand)]
enum JobCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Follow(follow::FollowArgs),
    Pause(turn::PauseArgs),
    Resume(turn::ResumeArgs),
    Cancel(turn::CancelArgs),
}

impl JobCommand {
    const fn database(&self) -> &DatabaseFlags {
        match self {
            Self::List(args) => &args.database,
            Self::Show(args) => &args.database,
            Self::Follow(args) => &args.database,
            Self::Pause(args) => &args.turn.database,
            Self::Resume(args) => &args.turn.database,
            Self::Cancel(args) => &args.turn.database,
        }
    }
}

pub(super) async fn run(args: JobArgs) -> anyhow::Result<Exit> {
    let outbox = args.command.database().open().await?;
    let done = match &args.command {
        JobCommand::List(args) => list::run(args, &outbox).await,
        JobCommand::Show(args) => show::run(args, &outbox).await,
        JobCommand::Follow(args) => follow::run(args, &outbox).await,
        JobCommand::Pause(args) => turn::pause(&args.turn, &outbox).await,
        JobCommand::Resume(args) => turn::resume(&args.turn, &outbox).await,
        JobCommand::Cancel(args) => turn::cancel(&args.turn, &outbox).await,
    };
    done.map_err(|error| outbox.named(error))
}
