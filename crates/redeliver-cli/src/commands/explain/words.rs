//! What is printed for a person.

use std::time::Duration;

use redeliver_policy::{Backoff, Policy};

use super::{picture, report::Report};
use crate::{chart::terminal, readable::duration, table::table};

/// One policy: restated, its waits, the drawing, and what is odd about it.
pub(super) fn one(report: &Report) -> String {
    let mut parts = vec![report.policy.to_string()];
    if !report.waits.is_empty() {
        parts.push(waits(report));
    }
    parts.push(in_all(report));
    if !report.waits.is_empty() {
        parts.push(terminal::ranges(&picture::waits(report), terminal::WIDTH));
    }
    parts.push(lints(report));
    parts.join("\n\n")
}

/// Several policies, a line each, and their waiting drawn to one scale.
pub(super) fn several(reports: &[Report], drawn: bool) -> String {
    let mut parts = vec![side_by_side(reports)];
    if drawn {
        let chart = picture::comparison(reports);
        parts.push(terminal::lines(&chart, terminal::WIDTH));
    }
    parts.join("\n\n")
}

fn waits(report: &Report) -> String {
    let header = [
        "after
attempt",
        "shortest
wait",
        "mean
wait",
        "longest
wait",
        "shortest
total",
        "mean
total",
        "longest
total",
    ];
    let mut table = table(header, 0);
    for wait in &report.waits {
        table.add_row([
            wait.retry.to_string(),
            duration(wait.shortest),
            duration(wait.mean),
            duration(wait.longest),
            duration(wait.total_shortest),
            duration(wait.total_mean),
            duration(wait.total_longest),
        ]);
    }
    table.trim_fmt()
}

fn in_all(report: &Report) -> String {
    let (totals, shown) = (&report.totals, report.waits.len());
    let which = match report.waits_in_all() {
        Some(0) => return "One attempt, so there is nothing to wait for.".to_owned(),
        None => format!("No limit on attempts. The {shown} waits shown take"),
        Some(1) => "The only wait takes".to_owned(),
        Some(all) if all as usize == shown => format!("The {all} waits take"),
        Some(all) if all == totals.covered => format!("{shown} of {all} waits shown. All {all} take"),
        Some(all) => format!("{shown} of {all} waits shown. The first {} take", totals.covered),
    };
    let times = if totals.shortest == totals.longest {
        format!("exactly {}", duration(totals.longest))
    } else {
        format!(
            "{} at the shortest, {} on average, {} at the longest",
            duration(totals.shortest),
            duration(totals.mean),
            duration(totals.longest)
        )
    };
    let cut = report.policy.deadline.map(|deadline| cut_off(report, deadline));
    format!("{which} {times}.{}", cut.unwrap_or_default())
}

/// How many of the waits shown the deadline leaves room for, by luck.
fn cut_off(report: &Report, deadline: Duration) -> String {
    let fewest = report
        .waits
        .iter()
        .filter(|wait| wait.total_longest < deadline)
        .count();
    let most = report
        .waits
        .iter()
        .filter(|wait| wait.total_shortest < deadline)
        .count();
    let limit = duration(deadline);
    let open = if most == report.waits.len() && Some(most as u32) != report.waits_in_all() {
        " or more"
    } else {
        ""
    };
    if fewest == most {
        format!("\nThe deadline of {limit} has room for {most}{open} of them, if attempts take no time.")
    } else {
        format!(
            "\nThe deadline of {limit} has room for {fewest} to {most}{open} of them, if attempts take no time."
        )
    }
}

fn lints(report: &Report) -> String {
    if report.lints.is_empty() {
        return "Nothing odd about it.".to_owned();
    }
    let lines: Vec<String> = report
        .lints
        .iter()
        .map(|lint| format!("  {}: {}", lint.rule, lint.message))
        .collect();
    format!("Worth a look:\n{}", lines.join("\n"))
}

fn side_by_side(reports: &[Report]) -> String {
    let header = [
        "policy",
        "growth",
        "jitter",
        "base",
        "cap",
        "attempts",
        "shortest
total",
        "mean
total",
        "longest
total",
    ];
    let mut table = table(header, 3);
    for report in reports {
        let policy = &report.policy;
        let attempts = policy.max_attempts.map(|most| most.to_string());
        let total = |total: Duration| match policy.max_attempts {
            Some(_) => duration(total),
            None => "no end".to_owned(),
        };
        table.add_row([
            report.name.clone(),
            growth(policy),
            policy.jitter.to_string(),
            duration(policy.backoff.base()),
            duration(policy.max_delay),
            attempts.unwrap_or_else(|| "no limit".to_owned()),
            total(report.totals.shortest),
            total(report.totals.mean),
            total(report.totals.longest),
        ]);
    }
    table.trim_fmt()
}

fn growth(policy: &Policy) -> String {
    match &policy.backoff {
        Backoff::Exponential { multiplier, .. } => format!("×{multiplier}"),
        Backoff::Linear { step, .. } => format!("+{}", duration(*step)),
        other => other.as_str().to_owned(),
    }
}
