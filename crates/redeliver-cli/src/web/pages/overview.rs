//! The first page: how it goes.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use askama::Template;
use axum::extract::State;
use redeliver_outbox::{Timestamp, desk::StatusReport, live::LiveState};

use super::{
    address, charts,
    destinations::{self, Row},
    frame::{Answered, Frame, OVERVIEW, Visitor, page as answer},
    issues, message,
    outlook::Coming,
    picture::{Lines, Share},
    words::{Prose, about, freshness, grouped},
};
use crate::{
    commands::outbox::destination::{
        overview::{self, Overview as Destination},
        refused,
    },
    readable,
    web::site::Site,
};

/// One figure, large.
#[derive(Debug)]
struct Tile {
    name: &'static str,
    value: String,
    unit: &'static str,
    /// What the figure means, in small.
    note: &'static str,
    href: String,
    tone: &'static str,
}

/// Something that somebody should look at.
#[derive(Debug)]
struct Trouble {
    words: Prose,
    href: String,
}

/// How many live messages were attempted so often.
#[derive(Debug)]
struct Attempts {
    label: String,
    count: String,
    share: Share,
}

#[derive(Debug, Template)]
#[template(path = "overview.html", blocks = ["live"])]
struct Overview {
    frame: Frame,
    counting: bool,
    freshness: String,
    tiles: Vec<Tile>,
    troubles: Vec<Trouble>,
    attempts: Vec<Attempts>,
    rows: Vec<Row>,
    more: usize,
    flow: Lines,
    coming: Option<Coming>,
    /// The issues with the most letters.
    issues: Vec<issues::Row>,
}

/// A destination that asked for a shorter rest is not in trouble.
const SHORT_REST: Duration = Duration::from_secs(5);
/// How many issues stand here.
const ISSUES_HERE: usize = 5;
/// The most rows of the distribution of attempts; what is above is one row.
const ATTEMPT_ROWS: usize = 8;

pub(super) async fn page(State(site): State<Arc<Site>>, visitor: Visitor) -> Answered {
    // At once: each may be waited for, for a moment.
    let (told, known, outlook) = tokio::try_join!(site.told(), site.issues(), site.outlook())?;
    let (report, counted) = (&told.report, told.counted.is_some());
    let all = overview::all(&site.about.routes, report);
    let (rows, more) = destinations::rows(&all, report, &site);
    let now = Timestamp::wall();
    let issues = known.iter().flat_map(|known| known.value.iter());
    let overview = Overview {
        issues: issues
            .take(ISSUES_HERE)
            .map(|detail| issues::Row::of(&detail.issue, Some(&detail.hours), now))
            .collect(),
        counting: !counted,
        freshness: told.counted.as_ref().map_or(String::new(), freshness),
        tiles: if counted { tiles(report, &site) } else { Vec::new() },
        troubles: if counted {
            troubles(report, &all)
        } else {
            Vec::new()
        },
        attempts: attempts(&report.attempts),
        rows,
        more,
        flow: charts::flow_picture(&site),
        coming: outlook.map(|outlook| Coming::of(&outlook)),
        frame: Frame::new("Overview", OVERVIEW, &site, &visitor),
    };
    Ok(answer(&visitor, &overview, &overview.as_live()))
}

fn tiles(report: &StatusReport, site: &Site) -> Vec<Tile> {
    let last = site.pulse().last();
    let flow = last.as_ref().and_then(|point| point.flow).unwrap_or_default();
    let inserted = last.and_then(|point| point.inserted);
    let total = &report.total;
    let tile = |name, value: String, note, pairs: &[(&str, &str)]| Tile {
        name,
        value,
        unit: "",
        note,
        href: if pairs.is_empty() {
            String::new()
        } else {
            address::messages(pairs)
        },
        tone: "",
    };
    let late = total.oldest_lag.filter(|lag| lag.as_secs() >= 60);
    vec![
        Tile {
            unit: "/s",
            ..tile(
                "In",
                inserted.map_or("–".to_owned(), readable::number),
                "inserted, over the last minute",
                &[],
            )
        },
        Tile {
            unit: "/s",
            ..tile(
                "Out",
                readable::number(flow.delivered),
                "arrived, over the last minute",
                &[("status", "sent")],
            )
        },
        Tile {
            unit: "/s",
            tone: if flow.failed > 0.0 { "warn" } else { "" },
            ..tile(
                "Failed",
                readable::number(flow.failed),
                "attempts, over the last minute",
                &[("status", "failed")],
            )
        },
        tile(
            "Due now",
            grouped(total.due_now),
            "held back by nothing but pace",
            &[("status", "processing"), ("status", "pending")],
        ),
        Tile {
            tone: if late.is_some() { "warn" } else { "" },
            ..tile(
                "Oldest lag",
                total.oldest_lag.map_or("–".to_owned(), about),
                "how late the oldest due one is",
                &[],
            )
        },
        tile(
            "Waiting",
            grouped(total.waiting),
            "for their time, or a retry",
            &[("status", "failed"), ("status", "pending")],
        ),
        Tile {
            tone: if total.parked + total.put_away > 0 {
                "held"
            } else {
                ""
            },
            ..tile(
                "Standing",
                grouped(total.parked + total.put_away),
                "parked, or put away",
                &[("status", "parked")],
            )
        },
        Tile {
            tone: if total.dead > 0 { "bad" } else { "" },
            href: "/issues".to_owned(),
            ..tile("Dead letters", grouped(total.dead), "wait for somebody", &[])
        },
    ]
}

fn troubles(report: &StatusReport, all: &[Destination]) -> Vec<Trouble> {
    let mut troubles = Vec::new();
    if !report.workers.iter().any(|worker| worker.alive) {
        troubles.push(Trouble {
            words: Prose::of("No relay is alive: nothing is delivered until `redeliver serve` runs."),
            href: "/workers".to_owned(),
        });
    } else if report.shards_without_owner > 0 {
        troubles.push(Trouble {
            words: Prose::of(&format!(
                "{} of {} shards have no owner: what is in them waits until a relay takes them.",
                report.shards_without_owner, report.shards
            )),
            href: "/workers".to_owned(),
        });
    }
    for (name, figures) in &report.live() {
        if let Some(refused) = refused(name, Some(figures), report.now) {
            let first = figures.stuck_verdicts.first();
            troubles.push(Trouble {
                words: Prose::of(&format!("Needs attention: {refused}.")),
                href: first.map_or_else(|| destinations::address(name), |stuck| message::address(stuck.id)),
            });
        }
    }
    for destination in all {
        // A rest that is over before anybody has read of it needs nobody.
        let resting = destination
            .live
            .as_ref()
            .filter(|live| live.state == LiveState::Resting);
        let until = resting.and_then(|live| live.until);
        if destination.hold.is_none() && until.is_some_and(|until| until.since(report.now) < SHORT_REST) {
            continue;
        }
        if let Some(trouble) = destination.trouble(report.now) {
            troubles.push(Trouble {
                words: Prose::of(&format!(
                    "{} is {trouble}.",
                    readable::line(&destination.name, 80)
                )),
                href: destinations::address(&destination.name),
            });
        }
    }
    troubles
}

fn attempts(distribution: &BTreeMap<u32, u64>) -> Vec<Attempts> {
    let total: u64 = distribution.values().sum();
    let row = |label: String, count: u64| Attempts {
        label,
        count: grouped(count),
        share: Share::of(count, total),
    };
    let mut rows: Vec<Attempts> = distribution
        .iter()
        .take(ATTEMPT_ROWS)
        .map(|(attempts, count)| row(attempts.to_string(), *count))
        .collect();
    if let Some((first, _)) = distribution.iter().nth(ATTEMPT_ROWS) {
        let rest = distribution.values().skip(ATTEMPT_ROWS).sum();
        rows.push(row(format!("{first} and more"), rest));
    }
    rows
}
