//! `redeliver status`: the figures of the outbox.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use redeliver::clock;
use redeliver_outbox::{
    desk::{Figures, StatusReport, WorkerRecord},
    live::Live,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    database::{DatabaseFlags, Outbox},
    destination::{HoldForm, LiveForm, refused, trouble_of},
    when,
};
use crate::{
    ending::told_to_end,
    exit::{Exit, outbox_help},
    output,
    policy_flags::parse_limit,
    readable,
    table::table,
};

/// How full the outbox is: what is due, waits, is on its way, has arrived or died, and how late the oldest is
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver status\n  redeliver status --watch\n  redeliver status --json"))]
pub(crate) struct StatusArgs {
    /// Show it again and again, until Ctrl-C
    #[arg(long)]
    watch: bool,
    /// How often with --watch
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = parse_limit, requires = "watch")]
    every: Duration,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

pub(super) async fn run(args: &StatusArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    if !args.watch {
        let report = outbox.desk().status().await?;
        match args.json {
            true => output::json(&StatusForm::of(&report, &report.live())),
            false => output::line(&words(&outbox.address(), &report)),
        }
        return Ok(Exit::Done);
    }
    let mut end = pin!(told_to_end().context("cannot listen for Ctrl-C")?);
    loop {
        let report = outbox.desk().status().await?;
        let read = match args.json {
            true => output::json_item(&StatusForm::of(&report, &report.live())),
            false => output::redraw(&words(&outbox.address(), &report)),
        };
        if !read {
            return Ok(Exit::Done);
        }
        tokio::select! {
            () = &mut end => return Ok(Exit::Done),
            () = clock::sleep(args.every) => {}
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FiguresForm {
    due_now: u64,
    waiting: u64,
    put_away: u64,
    parked: u64,
    sent: u64,
    dead: u64,
    oldest_lag_ms: u64,
}

impl FiguresForm {
    pub(crate) fn of(figures: &Figures) -> Self {
        Self {
            due_now: figures.due_now,
            waiting: figures.waiting,
            put_away: figures.put_away,
            parked: figures.parked,
            sent: figures.sent,
            dead: figures.dead,
            oldest_lag_ms: figures
                .oldest_lag
                .map_or(0, |lag| u64::try_from(lag.as_millis()).unwrap_or(u64::MAX)),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StatusForm<'a> {
    now: String,
    #[serde(flatten)]
    total: FiguresForm,
    in_flight: u64,
    /// How many live messages have been attempted how often.
    #[schema(value_type = BTreeMap<String, u64>)]
    attempts: &'a BTreeMap<u32, u64>,
    events: FiguresForm,
    destinations: BTreeMap<&'a str, FiguresForm>,
    holds: Vec<HoldForm<'a>>,
    live: BTreeMap<&'a str, LiveForm<'a>>,
    workers: Vec<WorkerForm<'a>>,
    shards: ShardsForm,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WorkerForm<'a> {
    id: &'a str,
    alive: bool,
    shards: u32,
    in_flight: u32,
    started_at: String,
    seen_at: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ShardsForm {
    total: u32,
    without_owner: u32,
}

impl<'a> WorkerForm<'a> {
    pub(crate) fn of(worker: &'a WorkerRecord) -> Self {
        Self {
            id: &worker.id,
            alive: worker.alive,
            shards: worker.shards,
            in_flight: worker.in_flight,
            started_at: worker.started_at.to_string(),
            seen_at: worker.seen_at.to_string(),
        }
    }
}

impl<'a> StatusForm<'a> {
    pub(crate) fn of(report: &'a StatusReport, live: &'a Live) -> Self {
        let destinations = report.destinations.iter();
        Self {
            now: report.now.to_string(),
            total: FiguresForm::of(&report.total),
            in_flight: report.in_flight,
            attempts: &report.attempts,
            events: FiguresForm::of(&report.events),
            destinations: destinations
                .map(|(name, figures)| (name.as_str(), FiguresForm::of(figures)))
                .collect(),
            holds: report.holds.iter().map(HoldForm::of).collect(),
            live: live
                .iter()
                .map(|(name, live)| (name.as_str(), LiveForm::of(live)))
                .collect(),
            workers: report.workers.iter().map(WorkerForm::of).collect(),
            shards: ShardsForm {
                total: report.shards,
                without_owner: report.shards_without_owner,
            },
        }
    }
}

fn words(address: &str, report: &StatusReport) -> String {
    let mut parts = vec![format!("{address} at {}", report.now), figures(report)];
    parts.extend(troubles(report));
    let live: u64 = report.attempts.values().sum();
    if live > 0 {
        parts.push(attempts(&report.attempts));
    }
    parts.push(workers(report));
    parts.join("\n\n")
}

fn figures(report: &StatusReport) -> String {
    let header = [
        "destination",
        "due now",
        "waiting",
        "put away",
        "parked",
        "sent",
        "dead",
        "oldest lag",
    ];
    let mut table = table(header, 1);
    for (name, figures) in &report.destinations {
        table.add_row(row(&readable::line(name, 40), figures));
    }
    if report.events != Figures::default() {
        table.add_row(row("(events)", &report.events));
    }
    table.add_row(row("all", &report.total));
    format!("{}\nin flight: {}", table.trim_fmt(), report.in_flight)
}

/// What is the matter with destinations, and the next step.
fn troubles(report: &StatusReport) -> Option<String> {
    let live = report.live();
    let held = report.holds.iter().map(|hold| hold.destination.as_str());
    let names: BTreeSet<&str> = held.chain(live.keys().map(String::as_str)).collect();
    let troubles: Vec<String> = names
        .into_iter()
        .flat_map(|name| {
            let hold = report.holds.iter().find(|hold| hold.destination == name);
            let trouble = trouble_of(hold, live.get(name), report.now);
            let trouble = trouble.map(|trouble| format!("{} is {trouble}", readable::line(name, 40)));
            trouble
                .into_iter()
                .chain(refused(name, live.get(name), report.now))
        })
        .collect();
    (!troubles.is_empty()).then(|| troubles.join("\n"))
}

fn row(name: &str, figures: &Figures) -> [String; 8] {
    let count = |count: u64| count.to_string();
    [
        name.to_owned(),
        count(figures.due_now),
        count(figures.waiting),
        count(figures.put_away),
        count(figures.parked),
        count(figures.sent),
        count(figures.dead),
        figures.oldest_lag.map_or("-".to_owned(), readable::duration),
    ]
}

fn attempts(distribution: &BTreeMap<u32, u64>) -> String {
    let mut table = table(["attempts so far", "live messages"], 0);
    for (attempts, messages) in distribution {
        table.add_row([attempts.to_string(), messages.to_string()]);
    }
    table.trim_fmt()
}

fn workers(report: &StatusReport) -> String {
    let shards = match (report.shards, report.shards_without_owner) {
        (1, 0) => "the one shard has its owner".to_owned(),
        (1, _) => "the one shard has no owner: is `redeliver serve` running?".to_owned(),
        (all, 0) => format!("all {all} shards have their owners"),
        (all, without) => format!("{without} of {all} shards have no owner: is `redeliver serve` running?"),
    };
    if report.workers.is_empty() {
        return format!("no worker; {shards}");
    }
    let mut table = table(["worker", "state", "seen", "shards", "in flight"], 3);
    for worker in &report.workers {
        table.add_row([
            worker.id.clone(),
            if worker.alive { "alive" } else { "silent" }.to_owned(),
            when::relative(worker.seen_at, report.now),
            worker.shards.to_string(),
            worker.in_flight.to_string(),
        ]);
    }
    format!("{}\n{shards}", table.trim_fmt())
}

#[cfg(test)]
mod tests {
    use redeliver_outbox::{
        Hold, HoldCause, HoldKind, Timestamp,
        desk::WorkerRecord,
        live::{LiveFigures, LiveState},
    };

    use super::*;

    fn report() -> StatusReport {
        let billing = Figures {
            due_now: 3,
            waiting: 12,
            put_away: 7,
            parked: 2,
            sent: 988,
            dead: 4,
            oldest_lag: Some(Duration::from_millis(1_250)),
        };
        let now = Timestamp::from_millis(1_763_238_744_123);
        StatusReport {
            now,
            total: billing,
            events: Figures::default(),
            destinations: BTreeMap::from([
                ("billing".to_owned(), billing),
                ("log".to_owned(), Figures::default()),
            ]),
            attempts: BTreeMap::from([(0, 10), (1, 4), (7, 1)]),
            in_flight: 2,
            workers: vec![WorkerRecord {
                id: "4711-0badcafe".to_owned(),
                started_at: now,
                seen_at: Timestamp::from_millis(now.as_millis() - 1_000),
                alive: true,
                shards: 60,
                in_flight: 2,
                destinations: Live::from([(
                    "log".to_owned(),
                    LiveFigures {
                        state: LiveState::Open,
                        ceiling: 32,
                        failed_per_second: 2.5,
                        until: Some(Timestamp::from_millis(now.as_millis() + 12_000)),
                        since: Some(Timestamp::from_millis(now.as_millis() - 372_000)),
                        detail: "connection refused".to_owned(),
                        ..LiveFigures::default()
                    },
                )]),
            }],
            holds: vec![Hold {
                destination: "billing".to_owned(),
                kind: HoldKind::Paused,
                cause: HoldCause::Hand,
                detail: "the receiver is being moved".to_owned(),
                who: "ana".to_owned(),
                since: Timestamp::from_millis(now.as_millis() - 60_000),
            }],
            shards: 64,
            shards_without_owner: 4,
        }
    }

    #[test]
    fn the_figures_are_told_in_words() {
        insta::assert_snapshot!(words("sqlite://redeliver.db", &report()));
    }

    #[test]
    fn the_figures_are_told_in_json() {
        insta::assert_snapshot!(
            serde_json::to_string_pretty(&StatusForm::of(&report(), &report().live())).unwrap()
        );
    }

    #[test]
    fn an_empty_outbox_has_figures_too() {
        let empty = StatusReport {
            shards: 1,
            shards_without_owner: 1,
            ..StatusReport::default()
        };
        insta::assert_snapshot!(words("sqlite://redeliver.db", &empty));
    }
}
