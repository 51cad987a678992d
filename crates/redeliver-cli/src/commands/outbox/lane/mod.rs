//! `redeliver lane`: lanes that stand or wait, parking one by hand, and letting it go on.

pub(crate) mod form;
mod list;
mod park;
mod resume;

use clap::{Args, Subcommand};
use redeliver_outbox::store::LaneId;

use super::database::DatabaseFlags;
use crate::{exit::Exit, readable};

/// Lanes (what has the same destination and key): those that stand or wait, parking one, and letting it go on
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  redeliver lane list\n  \
    redeliver lane park billing customer-7 --why 'their shop is being moved'\n  redeliver lane resume billing customer-7")]
pub(crate) struct LaneArgs {
    #[command(subcommand)]
    command: LaneCommand,
}

#[derive(Debug, Subcommand)]
enum LaneCommand {
    List(list::ListArgs),
    Park(park::ParkArgs),
    Resume(resume::ResumeArgs),
}

impl LaneCommand {
    const fn database(&self) -> &DatabaseFlags {
        match self {
            Self::List(args) => &args.database,
            Self::Park(args) => &args.database,
            Self::Resume(args) => &args.database,
        }
    }
}

/// Which lane.
#[derive(Args, Clone, Debug)]
struct LaneName {
    /// The destination of its messages
    destination: String,
    /// The key of its messages
    #[arg(allow_hyphen_values = true)]
    key: String,
}

impl LaneName {
    fn id(&self) -> LaneId {
        LaneId {
            destination: self.destination.clone(),
            key: self.key.clone(),
        }
    }
}

/// A lane in a sentence.
fn named(lane: &LaneId) -> String {
    let destination = readable::line(&lane.destination, 80);
    format!("{destination} / {}", readable::line(&lane.key, 80))
}

pub(super) async fn run(args: LaneArgs) -> anyhow::Result<Exit> {
    let command = args.command;
    let outbox = command.database().open().await?;
    let done = match &command {
        LaneCommand::List(args) => list::run(args, &outbox).await,
        LaneCommand::Park(args) => park::run(args, &outbox).await,
        LaneCommand::Resume(args) => resume::run(args, &outbox).await,
    };
    done.map_err(|error| outbox.named(error))
}
