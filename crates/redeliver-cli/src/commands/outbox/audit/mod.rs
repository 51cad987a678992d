//! `redeliver audit`: what operators did, and whether the trail is whole.

mod verify;

use clap::{Args, Subcommand};
use redeliver_outbox::desk::AuditRecord;

use super::{
    database::{DatabaseFlags, Outbox},
    filter_flags::at_least_one,
    form::AuditForm,
};
use crate::{
    exit::{Exit, outbox_help},
    output, readable,
    table::table,
};

/// What operators did to messages: who, what, when and why, the newest first
#[derive(Args, Clone, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_long_help = outbox_help("  redeliver audit\n  redeliver audit --limit 1000 --json\n  redeliver audit verify")
)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    command: Option<AuditCommand>,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = at_least_one, allow_negative_numbers = true)]
    limit: usize,
    /// One JSON object a line for each act
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseFlags,
}

#[derive(Clone, Debug, Subcommand)]
enum AuditCommand {
    Verify(verify::VerifyArgs),
}

impl AuditArgs {
    pub(super) const fn database(&self) -> &DatabaseFlags {
        match &self.command {
            Some(AuditCommand::Verify(args)) => &args.database,
            None => &self.database,
        }
    }
}

pub(super) async fn run(args: &AuditArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    if let Some(AuditCommand::Verify(args)) = &args.command {
        return verify::run(args, outbox).await;
    }
    let acts = outbox.desk().audit(args.limit).await?;
    if args.json {
        for act in &acts {
            output::json(&AuditForm::of(act));
        }
    } else if acts.is_empty() {
        output::line("nobody has done anything yet");
    } else {
        output::line(&words(&acts));
    }
    if acts.len() == args.limit {
        output::note("there may be more: give a larger --limit");
    }
    Ok(Exit::Done)
}

pub(super) fn words(acts: &[AuditRecord]) -> String {
    let mut table = table(["when", "who", "what", "message", "why", "more"], 6);
    for act in acts {
        table.add_row([
            act.at.to_string(),
            readable::line(&act.who, 24),
            act.action.clone(),
            act.message.map_or("-".to_owned(), |id| id.to_string()),
            readable::line(&act.why, 60),
            readable::line(&act.detail, 60),
        ]);
    }
    table.trim_fmt()
}
