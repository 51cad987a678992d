//! One destination: how it is and why, how fast it goes, what it is configured to be, and holding it.

use std::{sync::Arc, time::Duration};

use askama::Template;
use axum::{
    extract::{Path, State},
    http::StatusCode,
};
use redeliver_outbox::{
    Timestamp,
    desk::{Filter, Page, StatusReport},
    destination::{Expects, Route},
    state::Status,
};
use redeliver_policy::duration;

use super::{
    acting::Acting,
    address::messages,
    destinations::{Row, address, row},
    done::Done,
    frame::{Answered, DESTINATIONS, Frame, Visitor, page as answer},
    issues, messages as list,
    words::{Chip, Pace, bytes, freshness},
};
use crate::{
    commands::outbox::destination::overview,
    readable,
    web::{problem::Problem, site::Site},
};

/// How many failing messages are shown, and how long they are looked for.
const FAILING: usize = 10;
const PATIENCE: Duration = Duration::from_millis(25);

/// How one worker finds it.
#[derive(Debug)]
struct Found {
    worker: String,
    chip: Chip,
    pace: Pace,
}

#[derive(Debug, Template)]
#[template(path = "destination.html", blocks = ["live"])]
struct Destination {
    frame: Frame,
    counting: bool,
    freshness: String,
    row: Row,
    /// Since when it is held, in milliseconds; none if it is not.
    held: Option<i64>,
    act: String,
    chart: String,
    latency: String,
    settings: Vec<(&'static str, String)>,
    found: Vec<Found>,
    failing: Vec<list::Row>,
    /// What its dead letters are of.
    issues: Vec<issues::Row>,
    messages: String,
    standing_href: String,
}

pub(super) async fn page(
    State(site): State<Arc<Site>>,
    visitor: Visitor,
    Path(name): Path<String>,
) -> Answered {
    let filter = Filter {
        statuses: vec![Status::Failed],
        destination: Some(name.clone()),
        ..Filter::default()
    };
    let look = Page {
        after: None,
        limit: FAILING,
        newest_first: true,
        until: None,
    };
    // At once: each may be waited for, for a moment.
    let search = async { Ok(site.desk.search(&filter, look, PATIENCE).await?) };
    let (told, known, failing) = tokio::try_join!(site.told(), site.issues(), search)?;
    let failing = failing.records;
    let report = &told.report;
    let all = overview::all(&site.about.routes, report);
    let Some(destination) = all.iter().find(|destination| destination.name == name) else {
        if told.counted.is_none() {
            let detail = "the outbox is being counted for the first time; come again in a moment";
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail).into());
        }
        let detail = format!(
            "there is no destination {} in this configuration, and no message for one",
            readable::line(&name, 80)
        );
        return Err(Problem::not_found(detail).into());
    };
    let now = Timestamp::wall();
    let issues = known.iter().flat_map(|known| known.value.iter());
    let here = address(&name);
    let page = Destination {
        frame: Frame::new(readable::line(&name, 80), DESTINATIONS, &site, &visitor),
        counting: told.counted.is_none(),
        freshness: told.counted.as_ref().map_or(String::new(), freshness),
        row: row(destination, report, &site.pulse().points()),
        held: destination.hold.as_ref().map(|hold| hold.since.as_millis()),
        act: format!(
            "{here}/{}",
            if destination.hold.is_some() {
                "resume"
            } else {
                "pause"
            }
        ),
        chart: format!("/charts{here}"),
        latency: format!("/charts{here}/latency"),
        settings: site.about.routes.get(&name).map_or_else(Vec::new, settings),
        found: found(report, &name),
        failing: failing.iter().map(|record| list::Row::of(record, now)).collect(),
        issues: issues
            .filter(|detail| detail.issue.destination == name)
            .map(|detail| issues::Row::of(&detail.issue, Some(&detail.hours), now))
            .collect(),
        messages: messages(&[("to", &name)]),
        standing_href: messages(&[("to", &name), ("status", "parked")]),
    };
    Ok(answer(&visitor, &page, &page.as_live()))
}

fn found(report: &StatusReport, name: &str) -> Vec<Found> {
    let alive = report.workers.iter().filter(|worker| worker.alive);
    alive
        .filter_map(|worker| {
            let live = worker.destinations.get(name)?;
            Some(Found {
                worker: readable::line(&worker.id, 80),
                chip: Chip::of_destination(live.state.as_str()),
                pace: Pace::of(live),
            })
        })
        .collect()
}

fn settings(route: &Route) -> Vec<(&'static str, String)> {
    let yes = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    vec![
        ("Kind", route.destination.kind().to_owned()),
        ("Policy", route.policy.to_string()),
        ("Lane", route.lane.as_str().to_owned()),
        ("Timeout", duration::display(route.timeout).to_string()),
        ("Concurrency", format!("at most {}", route.concurrency)),
        ("Largest payload", bytes(route.payload_limit as u64)),
        (
            "Expects",
            match route.expects {
                Expects::Anything => "anything".to_owned(),
                Expects::Json => "JSON".to_owned(),
                Expects::Schema(_) => "JSON that fits a schema".to_owned(),
            },
        ),
        ("Bears the same twice", yes(route.idempotent)),
    ]
}

pub(super) async fn pause(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    acting: Acting,
) -> Answered {
    let held = site.desk.pause(&name, &acting.act()).await?;
    let done = if held.new { Done::Paused } else { Done::HeldBefore };
    Ok(acting.went(&done.at(&address(&name), 1)))
}

pub(super) async fn resume(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    acting: Acting,
) -> Answered {
    let seen = acting.fields.get("since").and_then(|since| since.parse().ok());
    let seen = seen.ok_or_else(|| {
        Problem::bad_request("since: must say since when it was seen to be held; look at it again")
    })?;
    let seen = Some(Timestamp::from_millis(seen));
    let ended = site.desk.resume(&name, seen, &acting.act()).await?;
    let done = if ended.is_some() {
        Done::Resumed
    } else {
        Done::NotHeld
    };
    Ok(acting.went(&done.at(&address(&name), 1)))
}
