use clap::Args;
use redeliver_outbox::{Timestamp, desk::Issue};
use serde::Serialize;
use utoipa::ToSchema;

use super::super::{
    database::{DatabaseFlags, Outbox},
    filter_flags::at_least_one,
    when,
};
use crate::{
    exit::{Exit, outbox_help},
    output, readable,
    table::table,
};

/// Group dead letters by what went wrong, the most frequent first
///
/// Letters to the same destination that were quarantined for the same reason, with errors that differ only in numbers, ids, times and
/// addresses, are one issue. Its name narrows the other commands: --issue.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help(
    "  redeliver dead issues\n  redeliver dead issues --json\n  redeliver dead list --issue 1f0c9a52e77b3d48\n  \
     redeliver dead redrive --issue 1f0c9a52e77b3d48 --yes"
))]
pub(super) struct IssuesArgs {
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = at_least_one, allow_negative_numbers = true)]
    limit: usize,
    /// One JSON object a line for each issue
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

pub(super) async fn run(args: &IssuesArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let issues = outbox.desk().issues(args.limit).await?;
    if args.json {
        for issue in &issues {
            output::json(&IssueForm::of(issue));
        }
    } else {
        output::line(&words(&issues, Timestamp::wall()));
    }
    Ok(Exit::Done)
}

/// An issue in JSON.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct IssueForm<'a> {
    issue: String,
    count: u64,
    destination: &'a str,
    reason: Option<&'static str>,
    error: &'a str,
    first_seen: String,
    last_seen: String,
    sample: String,
    parked_lanes: u64,
}

impl<'a> IssueForm<'a> {
    pub(crate) fn of(issue: &'a Issue) -> Self {
        Self {
            issue: issue.fingerprint.to_string(),
            count: issue.count,
            destination: &issue.destination,
            reason: issue.reason.map(|reason| reason.as_str()),
            error: &issue.error,
            first_seen: issue.first_seen.to_string(),
            last_seen: issue.last_seen.to_string(),
            sample: issue.sample.to_string(),
            parked_lanes: issue.parked_lanes,
        }
    }
}

fn words(issues: &[Issue], now: Timestamp) -> String {
    if issues.is_empty() {
        return "there is no dead letter".to_owned();
    }
    let mut table = table(["issue", "count", "to", "reason", "error", "first", "last"], 7);
    for issue in issues {
        let to = match issue.destination.as_str() {
            "" => "(an event)".to_owned(),
            to => readable::line(to, 24),
        };
        table.add_row([
            issue.fingerprint.to_string(),
            issue.count.to_string(),
            to,
            issue.reason.map_or("-", |reason| reason.as_str()).to_owned(),
            readable::line(&issue.error, 80),
            when::relative(issue.first_seen, now),
            when::relative(issue.last_seen, now),
        ]);
    }
    table.trim_fmt()
}

#[cfg(test)]
mod tests {
    use redeliver_outbox::{DeadReason, Fingerprint, MessageId};

    use super::{super::super::show::tests::NOW, *};

    #[test]
    fn issues_are_rows() {
        let ago = |minutes: i64| Timestamp::from_millis(NOW.as_millis() - minutes * 60_000);
        let issue = Issue {
            fingerprint: Fingerprint::of("billing", "permanent", "422 Unprocessable Content"),
            destination: "billing".to_owned(),
            reason: Some(DeadReason::Permanent),
            error: "422 Unprocessable Content".to_owned(),
            count: 10_000,
            first_seen: ago(300),
            last_seen: ago(2),
            sample: MessageId::new(7, 7),
            parked_lanes: 2,
        };
        let event = Issue {
            fingerprint: Fingerprint::UNGROUPED,
            destination: String::new(),
            reason: None,
            count: 1,
            ..issue.clone()
        };
        insta::assert_snapshot!(words(&[issue, event], NOW));
        insta::assert_snapshot!(words(&[], NOW), @"there is no dead letter");
    }
}
