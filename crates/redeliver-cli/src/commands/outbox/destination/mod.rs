//! `redeliver destination`: how each destination is, and holding one.

mod enable;
pub(crate) mod form;
mod list;
pub(crate) mod overview;
mod pause;
mod resume;
mod show;
mod test;
pub(crate) mod trial;
pub(crate) mod words;

use clap::{Args, Subcommand};

pub(crate) use self::words::refused;
pub(super) use self::{
    form::{HoldForm, LiveForm},
    trial::{Test, chosen},
    words::trouble_of,
};
use super::database::DatabaseFlags;
use crate::exit::Exit;

/// Destinations: how each one is just now, what waits for it, a test message, and holding one back until it is ready
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  redeliver destination list\n  redeliver destination show billing\n  \
    redeliver destination pause billing --why 'the receiver is being moved'\n  redeliver destination resume billing\n  \
    redeliver destination enable billing --why 'it is at its new address'\n  redeliver destination test billing"
)]
pub(crate) struct DestinationArgs {
    #[command(subcommand)]
    command: DestinationCommand,
}

#[derive(Debug, Subcommand)]
enum DestinationCommand {
    #[command(flatten)]
    AtTheOutbox(OutboxCommand),
    Test(test::TestArgs),
}

#[derive(Debug, Subcommand)]
enum OutboxCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Pause(pause::PauseArgs),
    Resume(resume::ResumeArgs),
    Enable(enable::EnableArgs),
}

impl OutboxCommand {
    const fn database(&self) -> &DatabaseFlags {
        match self {
            Self::List(args) => &args.database,
            Self::Show(args) => &args.database,
            Self::Pause(args) => &args.database,
            Self::Resume(args) => &args.database,
            Self::Enable(args) => &args.database,
        }
    }
}

pub(super) async fn run(args: DestinationArgs) -> anyhow::Result<Exit> {
    let command = match args.command {
        DestinationCommand::Test(args) => return test::run(&args).await,
        DestinationCommand::AtTheOutbox(command) => command,
    };
    let outbox = command.database().open().await?;
    let done = match &command {
        OutboxCommand::List(args) => list::run(args, &outbox).await,
        OutboxCommand::Show(args) => show::run(args, &outbox).await,
        OutboxCommand::Pause(args) => pause::run(args, &outbox).await,
        OutboxCommand::Resume(args) => resume::run(args, &outbox).await,
        OutboxCommand::Enable(args) => enable::run(args, &outbox).await,
    };
    done.map_err(|error| outbox.named(error))
}
