//! `redeliver destination`: where messages go.

mod test;
mod trial;

use clap::{Args, Subcommand};

pub(super) use self::trial::{Test, chosen};
use crate::exit::Exit;

/// Destinations: send one a test message
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  redeliver destination test billing\n  redeliver check --destination billing"
)]
pub(crate) struct DestinationArgs {
    #[command(subcommand)]
    command: DestinationCommand,
}

#[derive(Debug, Subcommand)]
enum DestinationCommand {
    Test(test::TestArgs),
}

pub(super) async fn run(args: DestinationArgs) -> anyhow::Result<Exit> {
    match args.command {
        DestinationCommand::Test(args) => test::run(&args).await,
    }
}
