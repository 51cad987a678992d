//! One file a command: its flags, and what it does.

use clap::Subcommand;

use crate::exit::Exit;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {}

pub(crate) fn run(command: Command) -> anyhow::Result<Exit> {
    match command {}
}
