//! `redeliver simulate`: many clients in virtual time.

mod contenders;
mod fleet;
mod fleet_view;
mod occ;
mod occ_view;

use clap::{Args, Subcommand};
use redeliver_lab::OutOfRange;

use crate::exit::{BadInput, Exit};

/// Run many clients of a policy in virtual time, and see what they do to a server.
#[derive(Args, Debug)]
pub(crate) struct Simulate {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "a command line is parsed once")]
enum What {
    Fleet(fleet::Fleet),
    Occ(occ::Occ),
}

impl Simulate {
    pub(crate) fn run(&self) -> anyhow::Result<Exit> {
        match &self.what {
            What::Fleet(fleet) => fleet.run(),
            What::Occ(occ) => occ.run(),
        }
    }
}

/// A simulation's fields are named after their flags.
fn refused(error: &OutOfRange) -> BadInput {
    BadInput(format!("--{error}"))
}

fn parse_seed(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("must be a whole number from 0 to {}", u64::MAX))
}
