//! One file a command: its flags, and what it does.

mod simulate;

use clap::Subcommand;

use crate::exit::Exit;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Simulate(simulate::Simulate),
}

pub(crate) fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Simulate(simulate) => simulate.run(),
    }
}
