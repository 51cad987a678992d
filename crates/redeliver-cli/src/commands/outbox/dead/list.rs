use clap::Args;
use redeliver_outbox::{Timestamp, desk::Record, state::Status};

use super::super::{
    database::{DatabaseFlags, Outbox},
    filter_flags::{FilterFlags, PageFlags, ReasonFlag},
    list::{destination, json, say_more},
    when,
};
use crate::{
    exit::{Exit, outbox_help},
    output, readable,
    table::table,
};

/// List dead letters, the oldest first
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver dead list\n  redeliver dead list --reason permanent --error '404' --json"))]
pub(super) struct ListArgs {
    /// Those that were given up too
    #[arg(long)]
    discarded: bool,
    /// One JSON object a line for each message
    #[arg(long)]
    json: bool,
    /// With their payloads; only together with --json
    #[arg(long, requires = "json")]
    payloads: bool,
    #[command(flatten)]
    filter: FilterFlags,
    #[command(flatten)]
    reason: ReasonFlag,
    #[command(flatten)]
    page: PageFlags,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

pub(super) async fn run(args: &ListArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let statuses = match args.discarded {
        true => &[Status::DeadLettered, Status::Discarded][..],
        false => &[Status::DeadLettered],
    };
    let filter = args.filter.filter(statuses, args.reason.reason);
    let records = outbox
        .desk()
        .list(&filter, args.page.page(), args.payloads)
        .await?;
    match args.json {
        true => json(&records),
        false => output::line(&words(&records, Timestamp::wall())),
    }
    say_more(&records, args.page.limit);
    Ok(Exit::Done)
}

fn words(records: &[Record], now: Timestamp) -> String {
    if records.is_empty() {
        return "no dead letter matches".to_owned();
    }
    let mut table = table(
        [
            "number",
            "id",
            "reason",
            "to",
            "key",
            "attempts",
            "died",
            "last error",
        ],
        8,
    );
    for record in records {
        let reason = record.dead_letter_reason.map_or("-", |reason| reason.as_str());
        let reason = match record.status {
            Status::Discarded => format!("{reason} (discarded)"),
            _ => reason.to_owned(),
        };
        table.add_row([
            record.id.number().to_string(),
            record.id.to_string(),
            reason,
            readable::line(&destination(record), 24),
            record
                .key
                .as_deref()
                .map_or(String::new(), |key| readable::line(key, 24)),
            record.attempts.to_string(),
            record
                .dead_lettered_at
                .map_or(String::new(), |time| when::relative(time, now)),
            record
                .last_error
                .as_deref()
                .map_or(String::new(), |error| readable::line(error, 80)),
        ]);
    }
    table.trim_fmt()
}

#[cfg(test)]
mod tests {
    use super::{
        super::super::show::tests::{NOW, record},
        *,
    };

    #[test]
    fn dead_letters_are_rows() {
        let records = [record(Status::DeadLettered), record(Status::Discarded)];
        insta::assert_snapshot!(words(&records, NOW));
    }
}
