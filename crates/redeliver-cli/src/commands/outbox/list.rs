//! `redeliver list`: messages, wherever they are in their lives.

use std::time::Duration;

use clap::Args;
use redeliver_outbox::{Timestamp, desk::Record, state::Status};

use super::{
    database::{DatabaseFlags, Outbox},
    filter_flags::{FilterFlags, PageFlags, ReasonFlag},
    form::RecordForm,
    when,
};
use crate::{
    exit::{Exit, outbox_help},
    output, readable,
    table::table,
};

/// List messages, the oldest first
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver list\n  redeliver list --status failed --to billing --error timeout\n  \
    redeliver list --since 2h --attempts-from 3 --newest\n  redeliver list --json --payloads | jq .payload"))]
pub(crate) struct ListArgs {
    /// Only with this status; several may be given: pending, processing, failed, parked, sent, dead_lettered, discarded,
    /// fanned_out
    #[arg(long, value_name = "STATUS", value_delimiter = ',')]
    status: Vec<Status>,
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
    let filter = args.filter.filter(&args.status, args.reason.reason);
    let (desk, page) = (outbox.desk(), args.page.page());
    let records = if args.payloads {
        desk.list(&filter, page, true).await?
    } else {
        // In windows, to the end: no database has to sort everything that is live.
        desk.search(&filter, page, Duration::MAX).await?.records
    };
    match args.json {
        true => json(&records),
        false => output::line(&words(&records, Timestamp::wall())),
    }
    say_more(&records, args.page.limit);
    Ok(Exit::Done)
}

pub(super) fn json(records: &[Record]) {
    for record in records {
        if !output::json_item(&RecordForm::of(record)) {
            return;
        }
    }
}

/// Where the list goes on, if it was cut.
pub(super) fn say_more(records: &[Record], limit: usize) {
    if let Some(last) = records.last().filter(|_| records.len() >= limit) {
        output::note(&format!("there may be more: add --after {}", last.id.number()));
    }
}

fn words(records: &[Record], now: Timestamp) -> String {
    if records.is_empty() {
        return "no message matches".to_owned();
    }
    let mut table = table(
        [
            "number",
            "id",
            "status",
            "to",
            "key",
            "attempts",
            "inserted",
            "next",
            "last error",
        ],
        9,
    );
    for record in records {
        table.add_row([
            record.id.number().to_string(),
            record.id.to_string(),
            record.status.to_string(),
            readable::line(&destination(record), 24),
            record
                .key
                .as_deref()
                .map_or(String::new(), |key| readable::line(key, 24)),
            record.attempts.to_string(),
            when::relative(record.created_at, now),
            record
                .next_attempt_at
                .map_or(String::new(), |time| when::relative(time, now)),
            record
                .last_error
                .as_deref()
                .map_or(String::new(), |error| readable::line(error, 60)),
        ]);
    }
    table.trim_fmt()
}

/// Where it goes: an event goes where its topic leads.
pub(super) fn destination(record: &Record) -> String {
    match (&record.destination[..], &record.topic) {
        ("", Some(topic)) => format!("on {topic}"),
        (destination, _) => destination.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use redeliver_outbox::state::Status;

    use super::*;
    use crate::commands::outbox::show::tests::record;

    #[test]
    fn messages_are_rows() {
        let (now, mut failed) = (Timestamp::from_millis(100_000), record(Status::Failed));
        failed.last_error = Some("503 Service\x1b[31m Unavailable".to_owned());
        insta::assert_snapshot!(words(&[failed, record(Status::Sent)], now));
        assert_eq!(words(&[], now), "no message matches");
    }
}
