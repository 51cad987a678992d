//! One issue: how it goes on, what its letters say, and what to do with them.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use redeliver_outbox::{
    Fingerprint, Timestamp,
    desk::{Filter, Page, Record},
    state::Status,
};

use super::{
    address,
    fields::Fields,
    frame::{Answered, Frame, ISSUES, Visitor, page as answer},
    issues,
    looking::Looking,
    messages::Row,
    payload::{Compared, Shown, compared},
};
use crate::{
    readable,
    web::{problem::Problem, site::Site},
};

/// How many letters are shown, the newest first.
const SHOWN: usize = 20;

#[derive(Debug, Template)]
#[template(path = "issue.html", blocks = ["live"])]
struct IssuePage {
    frame: Frame,
    fingerprint: String,
    row: issues::Row,
    rows: Vec<Row>,
    workable: bool,
    /// Whether what all of them have in common is left out.
    slim: bool,
    looking: Option<Looking>,
    sample: Option<Sample>,
    comparison: Option<Comparison>,
    all: String,
    redrive: String,
    patch: String,
    discard: String,
}

/// One of its letters.
#[derive(Debug)]
struct Sample {
    number: i64,
    href: String,
    payload: Option<Shown>,
}

/// How the payloads of two of its letters differ.
#[derive(Debug)]
struct Comparison {
    left: Vec<Side>,
    right: Vec<Side>,
    lines: Option<Vec<Compared>>,
    same: bool,
}

#[derive(Debug)]
struct Side {
    number: i64,
    chosen: bool,
}

pub(super) async fn page(
    State(site): State<Arc<Site>>,
    visitor: Visitor,
    Path(name): Path<String>,
    query: Fields,
) -> Answered {
    let missing = || {
        let name = readable::line(&name, 40);
        Problem::not_found(format!(
            "no dead letter is of the issue {name}: they were put back or given up, or there never was one"
        ))
    };
    let fingerprint: Fingerprint = name.parse().map_err(|_| missing())?;
    let detail = site.desk.issue(fingerprint).await?.ok_or_else(missing)?;
    let filter = Filter {
        statuses: vec![Status::DeadLettered],
        issue: Some(fingerprint),
        ..Filter::default()
    };
    let look = Page {
        after: None,
        limit: SHOWN,
        newest_first: true,
        until: None,
    };
    // What is asked for again is what is above the letters.
    let records = match visitor.again {
        true => Vec::new(),
        false => site.desk.list(&filter, look, true).await?,
    };
    let now = Timestamp::wall();
    let pairs: [(&str, &str); 2] = [("status", "dead_lettered"), ("issue", &name)];
    let page = IssuePage {
        frame: Frame::new("Issue", ISSUES, &site, &visitor),
        row: issues::Row::of(&detail.issue, Some(&detail.hours), now),
        rows: records.iter().map(|record| Row::of(record, now)).collect(),
        workable: true,
        slim: true,
        looking: None,
        sample: records.first().map(sample),
        comparison: comparison(&records, &query),
        all: address::messages(&pairs),
        redrive: address::with("/letters/redrive", &pairs),
        patch: address::with("/letters/patch", &pairs),
        discard: address::with("/letters/discard", &pairs),
        fingerprint: fingerprint.to_string(),
    };
    Ok(answer(&visitor, &page, &page.as_live()))
}

fn sample(record: &Record) -> Sample {
    Sample {
        number: record.id.number(),
        href: super::message::address(record.id),
        payload: record.payload.as_ref().map(Shown::of),
    }
}

/// Two that were chosen, or the newest and the one before it.
fn comparison(records: &[Record], query: &Fields) -> Option<Comparison> {
    let numbered = |name: &str| {
        let number = query.get(name)?.parse::<i64>().ok()?;
        records.iter().find(|record| record.id.number() == number)
    };
    let left = numbered("left").or_else(|| records.get(1))?;
    let right = numbered("right").or_else(|| records.first())?;
    let sides = |chosen: &Record| {
        let side = |record: &Record| Side {
            number: record.id.number(),
            chosen: record.id == chosen.id,
        };
        records.iter().map(side).collect()
    };
    let (before, after) = (left.payload.as_ref()?, right.payload.as_ref()?);
    Some(Comparison {
        left: sides(left),
        right: sides(right),
        lines: compared(before, after),
        same: before == after,
    })
}
