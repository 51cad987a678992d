//! The workers, and the shards that they own.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use redeliver_outbox::desk::{StatusReport, WorkerRecord};

use super::{
    frame::{Answered, Frame, Visitor, WORKERS, page as answer},
    picture::Share,
    words::{Chip, When, counted, grouped},
};
use crate::{readable, web::site::Site};

/// One worker.
#[derive(Debug)]
struct Row {
    id: String,
    chip: Chip,
    shards: u32,
    share: Share,
    in_flight: String,
    delivered: String,
    failed: String,
    started: When,
    seen: When,
    /// The destinations that it finds in trouble.
    unwell: Vec<String>,
}

#[derive(Debug, Template)]
#[template(path = "workers.html", blocks = ["live"])]
struct Workers {
    frame: Frame,
    counting: bool,
    rows: Vec<Row>,
    shards: String,
    orphaned: bool,
}

pub(super) async fn page(State(site): State<Arc<Site>>, visitor: Visitor) -> Answered {
    let status = site.status().await?;
    let report = status.as_ref().map(|status| &*status.value);
    let workers = Workers {
        frame: Frame::new("Workers", WORKERS, &site, &visitor),
        counting: report.is_none(),
        rows: report.map_or_else(Vec::new, rows),
        shards: report.map_or(String::new(), shards),
        orphaned: report.is_some_and(|report| report.shards_without_owner > 0),
    };
    Ok(answer(&visitor, &workers, &workers.as_live()))
}

fn rows(report: &StatusReport) -> Vec<Row> {
    let mut workers: Vec<&WorkerRecord> = report.workers.iter().collect();
    workers.sort_by_key(|worker| (!worker.alive, std::cmp::Reverse(worker.seen_at)));
    workers.into_iter().map(|worker| row(worker, report)).collect()
}

fn row(worker: &WorkerRecord, report: &StatusReport) -> Row {
    let live = worker.destinations.values();
    let (delivered, failed) = live.fold((0.0, 0.0), |(delivered, failed), figures| {
        (
            delivered + figures.delivered_per_second,
            failed + figures.failed_per_second,
        )
    });
    let unwell = worker
        .destinations
        .iter()
        .filter(|(_, figures)| figures.state.as_str() != "well")
        .map(|(name, figures)| format!("{} {}", readable::line(name, 40), figures.state));
    Row {
        id: readable::line(&worker.id, 80),
        chip: match worker.alive {
            true => Chip::new("good", "✓", "alive"),
            false => Chip::new("bad", "✕", "silent"),
        },
        shards: worker.shards,
        share: Share::of(worker.shards.into(), report.shards.into()),
        in_flight: grouped(worker.in_flight.into()),
        delivered: readable::number(delivered),
        failed: readable::number(failed),
        started: When::of(worker.started_at, report.now),
        seen: When::of(worker.seen_at, report.now),
        unwell: unwell.collect(),
    }
}

fn shards(report: &StatusReport) -> String {
    let all = counted(report.shards.into(), "shard", "shards");
    match report.shards_without_owner {
        0 => format!("{all}, each with its owner."),
        orphans => format!(
            "{all}, {orphans} without an owner: what is in those waits until a relay takes them, within the lease of ten seconds as a rule."
        ),
    }
}
