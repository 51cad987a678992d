//! Every destination: how it is, how fast it goes, what waits for it.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use redeliver_outbox::{
    desk::StatusReport,
    live::{FailureClass, Failures},
};

use super::{
    address::{encoded, messages},
    charts,
    frame::{Answered, DESTINATIONS, Frame, Visitor, page as answer},
    picture::{Lines, Share},
    words::{Chip, Pace, Prose, about, freshness, grouped},
};
use crate::{
    commands::outbox::destination::overview::{self, Overview},
    readable,
    web::{pulse::Point, site::Site},
};

/// How many destinations are shown that messages name, and nobody else knows.
const ONLY_NAMED: usize = 50;

/// The page of a destination.
pub(super) fn address(name: &str) -> String {
    format!("/destinations/{}", encoded(name))
}

/// One destination, as a row.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) href: String,
    pub(super) chip: Chip,
    pub(super) trouble: Prose,
    pub(super) configured: bool,
    pub(super) pace: Option<Pace>,
    pub(super) met: Vec<Met>,
    pub(super) fill: Share,
    pub(super) spark: Lines,
    pub(super) due_now: String,
    pub(super) waiting: String,
    /// Put away and parked.
    pub(super) standing: String,
    pub(super) sent: String,
    pub(super) dead: String,
    pub(super) dead_href: String,
    pub(super) has_dead: bool,
    pub(super) lag: String,
}

/// How many attempts of the last minute failed with something.
#[derive(Debug)]
pub(super) struct Met {
    pub(super) class: &'static str,
    pub(super) count: String,
    /// Of all that failed.
    pub(super) share: Share,
}

impl Met {
    /// What was met at all, the most frequent first.
    fn all(failures: &Failures) -> Vec<Self> {
        let met = |(class, count): (FailureClass, u64)| Self {
            class: class.as_str(),
            count: grouped(count),
            share: Share::of(count, failures.all()),
        };
        failures.met().into_iter().map(met).collect()
    }
}

/// The rows, and how many more there are. Anybody who can insert a row can name a destination: those that are nothing but a name are only
/// so many, behind those that somebody configured, holds or sends to.
pub(super) fn rows(all: &[Overview], report: &StatusReport, site: &Site) -> (Vec<Row>, usize) {
    let points = site.pulse().points();
    let (known, named): (Vec<&Overview>, Vec<&Overview>) = all
        .iter()
        .partition(|one| one.configured || one.hold.is_some() || one.live.is_some());
    let rows = known.iter().chain(named.iter().take(ONLY_NAMED));
    let rows = rows
        .map(|destination| row(destination, report, &points))
        .collect();
    (rows, named.len().saturating_sub(ONLY_NAMED))
}

pub(super) fn row(destination: &Overview, report: &StatusReport, points: &[Point]) -> Row {
    let (figures, live) = (&destination.figures, destination.live.as_ref());
    let standing = figures.put_away + figures.parked;
    Row {
        name: readable::line(&destination.name, 80),
        href: address(&destination.name),
        chip: Chip::of_destination(destination.state()),
        trouble: Prose::of(&destination.trouble(report.now).unwrap_or_default()),
        configured: destination.configured,
        pace: live.map(Pace::of),
        met: live.map_or_else(Vec::new, |live| Met::all(&live.failures)),
        fill: live.map_or(Share(0.0), |live| Share::of(live.in_flight, live.limit)),
        spark: charts::spark(points, &destination.name),
        due_now: grouped(figures.due_now),
        waiting: grouped(figures.waiting),
        standing: grouped(standing),
        sent: grouped(figures.sent),
        dead: grouped(figures.dead),
        dead_href: messages(&[("status", "dead_lettered"), ("to", &destination.name)]),
        has_dead: figures.dead > 0,
        lag: figures.oldest_lag.map_or("–".to_owned(), about),
    }
}

#[derive(Debug, Template)]
#[template(path = "destinations.html", blocks = ["live"])]
struct Destinations {
    frame: Frame,
    counting: bool,
    freshness: String,
    rows: Vec<Row>,
    more: usize,
    in_trouble: bool,
}

pub(super) async fn page(State(site): State<Arc<Site>>, visitor: Visitor) -> Answered {
    let told = site.told().await?;
    let all = overview::all(&site.about.routes, &told.report);
    let (rows, more) = rows(&all, &told.report, &site);
    let destinations = Destinations {
        counting: told.counted.is_none(),
        freshness: told.counted.as_ref().map_or(String::new(), freshness),
        in_trouble: rows.iter().any(|row| !row.trouble.is_empty()),
        rows,
        more,
        frame: Frame::new("Destinations", DESTINATIONS, &site, &visitor),
    };
    Ok(answer(&visitor, &destinations, &destinations.as_live()))
}
