//! What is drawn.

use std::{iter, time::Duration};

use redeliver_policy::Wait;

use super::{UNNAMED, report::Report};
use crate::chart::{
    Axis, Lines, Mark, Measure, Range, Ranges, Series,
    svg::{self, Panel},
};

/// More rows than this are not looked at in a drawing.
const ROWS: usize = 40;

/// The wait after each attempt; those that are alike in one row.
pub(super) fn waits(report: &Report) -> Ranges {
    let alike = |one: &Wait, other: &Wait| {
        (one.shortest, one.mean, one.longest) == (other.shortest, other.mean, other.longest)
    };
    let runs = report.waits.chunk_by(alike);
    let rows: Vec<Range> = runs.take(ROWS).filter_map(|run| row_of(report, run)).collect();
    Ranges {
        title: "The wait after each attempt".to_owned(),
        measure: Measure::Time,
        rows,
        from_zero: true,
        marks: Vec::new(),
    }
}

fn row_of(report: &Report, run: &[Wait]) -> Option<Range> {
    let (first, last) = (run.first()?, run.last()?);
    let goes_on = report.waits_in_all() != Some(last.retry) && report.waits.last() == Some(last);
    let label = match (run.len(), goes_on) {
        (1, _) => first.retry.to_string(),
        (_, true) => format!("{} …", first.retry),
        (_, false) => format!("{} – {}", first.retry, last.retry),
    };
    Some(Range {
        label,
        low: first.shortest.as_secs_f64(),
        mean: first.mean.as_secs_f64(),
        high: first.longest.as_secs_f64(),
    })
}

/// When each attempt begins, if the attempts themselves take no time.
fn starts(report: &Report) -> Ranges {
    let row = |wait: &Wait| Range {
        label: (u64::from(wait.retry) + 1).to_string(),
        low: wait.total_shortest.as_secs_f64(),
        mean: wait.total_mean.as_secs_f64(),
        high: wait.total_longest.as_secs_f64(),
    };
    let rows: Vec<Range> = report.waits.iter().take(ROWS).map(row).collect();
    let end = rows.last().map_or(0.0, |row| row.high);
    // A deadline far beyond the last attempt would only squeeze the rest together.
    let near = |deadline: &Duration| deadline.as_secs_f64() <= end * 1.25;
    let mark = |deadline: Duration| Mark {
        at: deadline.as_secs_f64(),
        label: "deadline".to_owned(),
    };
    Ranges {
        title: titled("When each attempt begins", report),
        measure: Measure::Time,
        rows,
        from_zero: false,
        marks: report
            .policy
            .deadline
            .filter(near)
            .map(mark)
            .into_iter()
            .collect(),
    }
}

/// The time waited until each retry, on average, of several policies.
pub(super) fn comparison(reports: &[Report]) -> Lines {
    let series = |report: &Report| Series {
        name: report.name.clone(),
        points: iter::once((0.0, 0.0))
            .chain(
                report
                    .waits
                    .iter()
                    .map(|wait| (f64::from(wait.retry), wait.total_mean.as_secs_f64())),
            )
            .collect(),
    };
    Lines {
        title: "When each retry begins, on average".to_owned(),
        x: Axis {
            label: "retry".to_owned(),
            measure: Measure::Count,
        },
        y: Axis {
            label: "since the first attempt".to_owned(),
            measure: Measure::Time,
        },
        series: reports.iter().map(series).collect(),
        levels: Vec::new(),
        spans: Vec::new(),
    }
}

/// One policy as a picture.
pub(super) fn one(report: &Report) -> String {
    let (waits, starts) = (waits(report), starts(report));
    svg::document(
        &heading(report),
        &report.policy.to_string(),
        &[Panel::Ranges(&waits), Panel::Ranges(&starts)],
    )
}

/// Several policies in one picture.
pub(super) fn several(reports: &[Report]) -> String {
    let names: Vec<&str> = reports.iter().map(|report| report.name.as_str()).collect();
    let chart = comparison(reports);
    svg::document(
        "Retry policies side by side",
        &names.join(", "),
        &[Panel::Lines(&chart)],
    )
}

fn heading(report: &Report) -> String {
    if report.name == UNNAMED {
        return "Retry policy".to_owned();
    }
    format!("Retry policy: {}", report.name)
}

fn titled(title: &str, report: &Report) -> String {
    let drawn = report.waits.len().min(ROWS);
    if report.waits_in_all() == Some(drawn as u32) {
        title.to_owned()
    } else {
        format!("{title} (the first {drawn} retries)")
    }
}
