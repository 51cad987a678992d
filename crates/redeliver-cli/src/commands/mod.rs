//! One file a command: its flags, and what it does.

mod explain;
mod simulate;

use clap::Subcommand;

use crate::exit::Exit;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Explain(explain::Explain),
    Simulate(simulate::Simulate),
}

pub(crate) fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Explain(explain) => explain.run(),
        Command::Simulate(simulate) => simulate.run(),
    }
}
