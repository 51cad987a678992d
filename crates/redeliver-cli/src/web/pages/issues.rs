//! Dead letters, grouped by how they failed.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use redeliver_outbox::{
    DeadReason, Fingerprint, Timestamp,
    desk::{Issue, IssueDetail},
};

use super::{
    address,
    frame::{Answered, Frame, ISSUES, Visitor, page as answer},
    picture::Columns,
    words::{When, counted, freshness, grouped},
};
use crate::{readable, web::site::Site};

/// One issue, as a row.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) href: String,
    pub(super) error: String,
    pub(super) destination: String,
    pub(super) reason: &'static str,
    pub(super) count: String,
    pub(super) hours: Option<Columns>,
    pub(super) first: When,
    pub(super) last: When,
    pub(super) lanes: Option<String>,
}

impl Row {
    pub(super) fn of(issue: &Issue, hours: Option<&[u64; 24]>, now: Timestamp) -> Self {
        Self {
            href: format!("/issues/{}", issue.fingerprint),
            error: match issue.fingerprint {
                Fingerprint::UNGROUPED => "Not grouped yet".to_owned(),
                _ if issue.error.trim().is_empty() => "(no error was told)".to_owned(),
                _ => readable::line(&issue.error, 240),
            },
            destination: match issue.destination.as_str() {
                "" => "(event)".to_owned(),
                name => readable::line(name, 60),
            },
            reason: issue.reason.map_or("", DeadReason::as_str),
            count: grouped(issue.count),
            hours: hours.map(columns),
            first: When::of(issue.first_seen, now),
            last: When::of(issue.last_seen, now),
            lanes: (issue.parked_lanes > 0)
                .then(|| counted(issue.parked_lanes, "lane stands still", "lanes stand still")),
        }
    }
}

/// How many died in each of the last 24 hours.
pub(super) fn columns(hours: &[u64; 24]) -> Columns {
    let label = |place: usize| match 24 - place {
        1 => "within the last hour".to_owned(),
        ago => format!("{} to {ago} hours ago", ago - 1),
    };
    let columns = hours
        .iter()
        .enumerate()
        .map(|(place, count)| (label(place), *count));
    Columns::new(
        "Dead letters in each of the last 24 hours".to_owned(),
        columns.collect(),
    )
}

#[derive(Debug, Template)]
#[template(path = "issues.html", blocks = ["live"])]
struct Issues {
    frame: Frame,
    counting: bool,
    freshness: String,
    summary: String,
    rows: Vec<Row>,
    /// Whether there are more than are shown.
    more: bool,
    all: String,
}

pub(super) async fn page(State(site): State<Arc<Site>>, visitor: Visitor) -> Answered {
    let counted_issues = site.issues().await?;
    let details: &[IssueDetail] = counted_issues.as_ref().map_or(&[], |issues| &issues.value);
    let now = Timestamp::wall();
    let rows: Vec<Row> = details
        .iter()
        .map(|detail| Row::of(&detail.issue, Some(&detail.hours), now))
        .collect();
    let letters = details.iter().map(|detail| detail.issue.count).sum();
    let issues = Issues {
        frame: Frame::new("Dead letters", ISSUES, &site, &visitor),
        counting: counted_issues.is_none(),
        freshness: counted_issues.as_ref().map_or(String::new(), freshness),
        summary: format!(
            "{} in {}",
            counted(letters, "dead letter", "dead letters"),
            counted(rows.len() as u64, "issue", "issues")
        ),
        more: rows.len() >= crate::web::site::ISSUES_SHOWN,
        rows,
        all: address::messages(&[("status", "dead_lettered")]),
    };
    Ok(answer(&visitor, &issues, &issues.as_live()))
}
