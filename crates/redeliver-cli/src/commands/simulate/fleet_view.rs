//! A fleet's reports as a table and as drawings.

use std::time::Duration;

use redeliver_lab::fleet::{OutageKind, Report, Scenario, Second};

use crate::{
    chart::{
        Axis, Lines, Mark, Measure, Series, Span,
        svg::{self, Panel},
        terminal,
    },
    readable,
    table::table,
};

const LEGEND: &str = "\
peak       requests in the busiest second since the outage began, as a multiple of the capacity
after      the same since the outage ended: what the server has to come back under
requests   sent for each call
recovered  from the end of the outage until load and success were normal for good
success    of the calls since the outage began, and how many were lost; median and 99 % are the times of those that succeeded

Turning a request away costs this server nothing. A real one pays for each, so that load far above its capacity is what keeps it down.";

/// The scenario, the table, and the load over time.
pub(super) fn words(scenario: &Scenario, reports: &[Report]) -> String {
    let chart = terminal::lines(&load(scenario, reports), terminal::WIDTH);
    [
        told(scenario),
        compared(reports),
        verdict(reports),
        LEGEND.to_owned(),
        chart,
    ]
    .join("\n\n")
}

/// Load and success over time.
pub(super) fn svg(scenario: &Scenario, reports: &[Report]) -> String {
    let (load, success) = (load(scenario, reports), success(scenario, reports));
    svg::document(
        "A fleet through an outage",
        &told(scenario),
        &[Panel::Lines(&load), Panel::Lines(&success)],
    )
}

fn told(scenario: &Scenario) -> String {
    let manner = match scenario.outage_kind {
        OutageKind::Refuse => "down",
        OutageKind::Hang => "hanging",
    };
    format!(
        "{} clients, {}/s normally, server of {}/s {manner} for {}, run of {}, seed {}",
        scenario.clients,
        readable::number(scenario.normal_load()),
        readable::number(scenario.capacity),
        readable::duration(scenario.outage),
        readable::duration(scenario.run_for),
        scenario.seed
    )
}

fn compared(reports: &[Report]) -> String {
    let header = [
        "policy",
        "peak",
        "after",
        "requests",
        "recovered",
        "success",
        "lost",
        "median",
        "99 %",
    ];
    let mut table = table(header, 1);
    for report in reports {
        let millis = |value: Option<f64>| value.map_or("–".to_owned(), |ms| readable::seconds(ms / 1e3));
        table.add_row([
            report.name.clone(),
            format!("{}×", readable::number(report.peak_load_x)),
            format!("{}×", readable::number(report.peak_after_x)),
            format!("{:.2}", report.amplification),
            report.recover_ms.map_or("never".to_owned(), |ms| {
                readable::duration(Duration::from_millis(ms))
            }),
            format!("{:.1} %", report.success_rate * 100.0),
            report.lost.to_string(),
            millis(report.latency_p50_ms),
            millis(report.latency_p99_ms),
        ]);
    }
    table.trim_fmt()
}

/// What each name stands for, and what the table shows.
fn verdict(reports: &[Report]) -> String {
    let widest = reports
        .iter()
        .map(|report| report.name.len())
        .max()
        .unwrap_or_default();
    let mut lines: Vec<String> = reports
        .iter()
        .map(|report| format!("{:widest$}  {}", report.name, report.pipeline))
        .collect();
    let after = |report: &&Report| report.peak_after_x;
    let gentlest = reports.iter().min_by(|a, b| after(a).total_cmp(&after(b)));
    let hardest = reports.iter().max_by(|a, b| after(a).total_cmp(&after(b)));
    if let (Some(gentlest), Some(hardest), 2..) = (gentlest, hardest, reports.len()) {
        lines.push(String::new());
        lines.push(format!(
            "The server comes back under {}× its capacity with {}, under {}× with {}, which sends {:.1} requests a call.",
            readable::number(gentlest.peak_after_x),
            gentlest.name,
            readable::number(hardest.peak_after_x),
            hardest.name,
            hardest.amplification,
        ));
    }
    lines.join("\n")
}

fn load(scenario: &Scenario, reports: &[Report]) -> Lines {
    let capacity = Mark {
        at: scenario.capacity,
        label: "capacity".to_owned(),
    };
    Lines {
        levels: vec![capacity],
        ..lines(scenario, reports, "Load on the server", "requests", |second| {
            second.load
        })
    }
}

fn success(scenario: &Scenario, reports: &[Report]) -> Lines {
    lines(scenario, reports, "Calls that succeed", "calls", |second| {
        second.succeeded
    })
}

fn lines(
    scenario: &Scenario,
    reports: &[Report],
    title: &str,
    label: &str,
    value: fn(&Second) -> u64,
) -> Lines {
    let series = |report: &Report| Series {
        name: report.name.clone(),
        points: report
            .series
            .iter()
            .enumerate()
            .map(|(second, counts)| (second as f64, value(counts) as f64))
            .collect(),
    };
    let outage = Span {
        from: scenario.outage_at.as_secs_f64(),
        to: (scenario.outage_at + scenario.outage).as_secs_f64(),
        label: "outage".to_owned(),
    };
    Lines {
        title: title.to_owned(),
        x: Axis {
            label: "time".to_owned(),
            measure: Measure::Time,
        },
        y: Axis {
            label: label.to_owned(),
            measure: Measure::PerSecond,
        },
        series: reports.iter().map(series).collect(),
        levels: Vec::new(),
        spans: vec![outage],
    }
}
