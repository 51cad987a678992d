//! `redeliver config`: the configuration's reference, to begin one with.

use clap::Args;
use redeliver_outbox::config::Config;

use crate::{
    exit::{Exit, outbox_help},
    output,
};

/// Print a configuration that says everything that can be said, with its defaults and comments
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver config > redeliver.toml\n  redeliver config --schema > redeliver.schema.json\n\n\
    Editors that know TOML find the schema by a first line such as\n  #:schema ./redeliver.schema.json\n\n\
    `redeliver check` tries a configuration without sending a message."))]
pub(crate) struct ConfigArgs {
    /// Print its JSON Schema instead, for editors
    #[arg(long)]
    schema: bool,
}

#[expect(clippy::unnecessary_wraps, reason = "every command may fail")]
pub(super) fn run(args: &ConfigArgs) -> anyhow::Result<Exit> {
    output::text(match args.schema {
        true => Config::schema(),
        false => Config::example(),
    });
    Ok(Exit::Done)
}
