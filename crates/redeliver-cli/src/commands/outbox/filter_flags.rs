//! Which messages.

use clap::Args;
use redeliver_outbox::{
    DeadReason, Fingerprint, Timestamp,
    desk::{Filter, MessageRef, Page},
    state::Status,
};

use super::when;

/// What every list of messages can be narrowed by.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Which messages")]
pub(super) struct FilterFlags {
    /// Only to this destination
    #[arg(long, value_name = "DESTINATION")]
    to: Option<String>,
    /// Only with this topic
    #[arg(long)]
    topic: Option<String>,
    /// Only with this key
    #[arg(long)]
    key: Option<String>,
    /// Only dead letters of this issue, as `redeliver dead issues` names it
    #[arg(long, value_name = "FINGERPRINT")]
    issue: Option<Fingerprint>,
    /// Only where the last error contains this text, in capitals or not
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    /// Only inserted since then: so long ago, such as 2h, or a time, such as 2026-11-15T20:30:00Z
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    since: Option<Timestamp>,
    /// Only inserted before then
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    until: Option<Timestamp>,
    /// Only with at least this many attempts
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    attempts_from: Option<u32>,
}

impl FilterFlags {
    pub(super) fn filter(&self, statuses: &[Status], reason: Option<DeadReason>) -> Filter {
        Filter {
            messages: Vec::new(),
            statuses: statuses.to_vec(),
            destination: self.to.clone(),
            topic: self.topic.clone(),
            key: self.key.clone(),
            reason,
            issue: self.issue,
            error: self.error.clone(),
            text: None,
            searched: None,
            created_from: self.since,
            created_before: self.until,
            attempts_from: self.attempts_from,
            died_by: None,
        }
    }

    /// Whether they narrow nothing.
    pub(super) const fn is_empty(&self) -> bool {
        self.to.is_none()
            && self.topic.is_none()
            && self.key.is_none()
            && self.issue.is_none()
            && self.error.is_none()
            && self.since.is_none()
            && self.until.is_none()
            && self.attempts_from.is_none()
    }
}

/// Why they were quarantined. Apart from the rest, because `discard` says with `--reason` why it discards.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Which messages")]
pub(super) struct ReasonFlag {
    /// Only dead letters with this reason, such as permanent or attempts_exhausted
    #[arg(long, visible_alias = "dead-reason", value_name = "REASON", value_parser = reason)]
    pub(super) reason: Option<DeadReason>,
}

/// How much of the list.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Which messages")]
pub(super) struct PageFlags {
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = at_least_one, allow_negative_numbers = true)]
    pub(super) limit: usize,
    /// Go on behind this message, by its id or number
    #[arg(long, value_name = "ID")]
    after: Option<MessageRef>,
    /// The newest first
    #[arg(long)]
    newest: bool,
}

impl PageFlags {
    pub(super) fn page(self) -> Page {
        Page {
            until: None,
            after: self.after.map(|message| match message {
                MessageRef::Id(id) => id.number(),
                MessageRef::Number(number) => number,
            }),
            limit: self.limit,
            newest_first: self.newest,
        }
    }
}

pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    let limit = text.parse::<u32>().ok().filter(|limit| *limit >= 1);
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    limit.ok_or_else(|| format!("must be a whole number from 1 to {}", u32::MAX))
}

pub(crate) fn reason(text: &str) -> Result<DeadReason, String> {
    text.parse().map_err(|_| {
        let reasons: Vec<&str> = DeadReason::ALL.iter().map(|reason| reason.as_str()).collect();
        format!("must be one of {}", reasons.join(", "))
    })
}
