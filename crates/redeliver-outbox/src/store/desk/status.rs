//! The figures, from the rows that tell them.

use super::{examine::Shards, overview::in_flight};
use crate::{
    Hold,
    desk::{Figures, StatusReport, WorkerRecord},
    store::{
        Result,
        columns::{Columns, Known as _},
    },
};

/// A report that begins with `shards.sql`.
pub(in crate::store) fn begin(shards: &Shards) -> StatusReport {
    StatusReport {
        now: shards.now,
        shards: shards.all,
        shards_without_owner: shards.without_owner,
        ..StatusReport::default()
    }
}

/// A row of `figures_live.sql`: messages that are alike.
pub(in crate::store) fn live(report: &mut StatusReport, row: &mut dyn Columns) -> Result<()> {
    let destination = row.known_text()?;
    let attempts = row.count()?;
    let held = row.known_text()?;
    let count: u64 = row.count()?;
    let due = row.time()?;
    let mut figures = Figures::default();
    match held.as_str() {
        "parked" => figures.parked = count,
        "away" => figures.put_away = count,
        "waiting" => figures.waiting = count,
        _ => {
            figures.due_now = count;
            figures.oldest_lag = due.map(|due| report.now.since(due));
        }
    }
    add(report, destination, &figures);
    *report.attempts.entry(attempts).or_default() += count;
    Ok(())
}

/// What has no destination is an event.
fn of(report: &mut StatusReport, destination: String) -> &mut Figures {
    if destination.is_empty() {
        return &mut report.events;
    }
    report.destinations.entry(destination).or_default()
}

/// Figures of some messages to this destination.
pub(in crate::store) fn add(report: &mut StatusReport, destination: String, figures: &Figures) {
    let known = of(report, destination);
    *known = sum(*known, figures);
}

/// A row of `figures_ended.sql`.
pub(in crate::store) fn ended(report: &mut StatusReport, row: &mut dyn Columns) -> Result<()> {
    let figures = of(report, row.known_text()?);
    figures.sent += row.count::<u64>()?;
    figures.dead += row.count::<u64>()?;
    Ok(())
}

/// The sums, once everything else is there.
pub(in crate::store) fn finish(
    mut report: StatusReport,
    workers: Vec<WorkerRecord>,
    holds: Vec<Hold>,
) -> StatusReport {
    report.in_flight = in_flight(&workers);
    // An event that became messages is counted as those.
    let events = Figures {
        sent: 0,
        ..report.events
    };
    report.total = report.destinations.values().fold(events, sum);
    report.workers = workers;
    report.holds = holds;
    report
}

fn sum(total: Figures, one: &Figures) -> Figures {
    Figures {
        due_now: total.due_now + one.due_now,
        waiting: total.waiting + one.waiting,
        put_away: total.put_away + one.put_away,
        parked: total.parked + one.parked,
        sent: total.sent + one.sent,
        dead: total.dead + one.dead,
        oldest_lag: total.oldest_lag.max(one.oldest_lag),
    }
}
