use std::path::PathBuf;

use clap::{Parser, builder::PossibleValuesParser};

use super::action::Action;
use crate::crash::{DatabaseChoice, database::Kind};

/// Attacks real relays with hostile rows, table changes and maintenance, and checks that nothing is lost and nothing stalls.
#[derive(Clone, Debug, Parser)]
#[command(name = "redeliver-hostile", version)]
pub struct Options {
    /// How many seeds, each one trial on each database.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    pub first: u64,
    /// Which databases.
    #[arg(long, value_enum, default_value_t = DatabaseChoice::All)]
    pub database: DatabaseChoice,
    /// How many trials run at a time on each database.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: u16,
    /// Nothing but these actions.
    #[arg(long, value_delimiter = ',', value_parser = PossibleValuesParser::new(Action::NAMES))]
    pub only: Vec<String>,
    /// None of these actions.
    #[arg(long, value_delimiter = ',', value_parser = PossibleValuesParser::new(Action::NAMES))]
    pub without: Vec<String>,
    /// The relay's program.
    #[arg(long, default_value = "target/release/redeliver")]
    pub binary: PathBuf,
    /// Prints one JSON object instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Keeps logs even if nothing was found.
    #[arg(long)]
    pub keep: bool,
}

impl Options {
    pub(super) fn wants(&self, action: &str) -> bool {
        (self.only.is_empty() || self.only.iter().any(|name| name == action))
            && !self.without.iter().any(|name| name == action)
    }

    pub(super) fn kinds(&self) -> Vec<Kind> {
        let kinds = Kind::ALL.into_iter();
        kinds.filter(|kind| self.database.includes(*kind)).collect()
    }

    /// How to repeat one trial.
    pub(super) fn repeat(&self, kind: Kind, seed: u64) -> String {
        let mut command = format!(
            "./test hostile --first {seed} --seeds 1 --database {}",
            kind.as_str()
        );
        for (flag, names) in [("--only", &self.only), ("--without", &self.without)] {
            if !names.is_empty() {
                command.push_str(&format!(" {flag} {}", names.join(",")));
            }
        }
        command
    }
}
