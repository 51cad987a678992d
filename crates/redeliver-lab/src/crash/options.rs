use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use super::database::Kind;

/// Kills, stops and cuts off real relay processes while producers commit, and checks that nothing is lost.
#[derive(Clone, Debug, Parser)]
#[command(name = "redeliver-crash", version)]
pub struct Options {
    /// How much: SIGKILLs on SQLite; everything else in proportion to the usual 200.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub cycles: Option<u32>,
    /// Which databases.
    #[arg(long, value_enum, default_value_t = DatabaseChoice::All)]
    pub database: DatabaseChoice,
    /// How many SIGKILLs on each database, instead of what --cycles says.
    #[arg(long)]
    pub kills: Option<u32>,
    /// How many SIGSTOPs beyond the lease on each database.
    #[arg(long)]
    pub stops: Option<u32>,
    /// How many times each database server is ended at once and started again.
    #[arg(long)]
    pub restarts: Option<u32>,
    /// How many times relays are cut off from each database server.
    #[arg(long)]
    pub cuts: Option<u32>,
    /// How many times a relay on each database is asked to stop, and replaced.
    #[arg(long)]
    pub leaves: Option<u32>,
    /// What decides about chance; the kinds of torments and their order follow from it, what the machine makes of them does not.
    #[arg(long)]
    pub seed: Option<u64>,
    /// The relay's program.
    #[arg(long, default_value = "target/release/redeliver")]
    pub binary: PathBuf,
    /// Prints one JSON object instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Leaves databases and logs in place, also if all is well.
    #[arg(long)]
    pub keep: bool,
}

/// Which databases are tormented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DatabaseChoice {
    /// SQLite in files.
    Sqlite,
    /// A private PostgreSQL.
    Postgres,
    /// A private MariaDB.
    Mariadb,
    /// A private MySQL.
    Mysql,
    /// All of them.
    All,
}

impl DatabaseChoice {
    pub(crate) fn includes(self, kind: Kind) -> bool {
        match self {
            Self::Sqlite => kind == Kind::Sqlite,
            Self::Postgres => kind == Kind::Postgres,
            Self::Mariadb => kind == Kind::Mariadb,
            Self::Mysql => kind == Kind::Mysql,
            Self::All => true,
        }
    }
}
