//! What is in the database, as it was last counted.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use redeliver_outbox::desk::{Figures, StatusReport};

use super::{labels::Names, page::Page};

/// What was counted, and how long ago.
#[derive(Debug)]
pub(super) struct Counts<'a> {
    pub(super) report: &'a StatusReport,
    pub(super) age: Duration,
    /// The destinations of the configuration, which are told even if nothing is there for them.
    pub(super) configured: BTreeSet<&'a str>,
    /// Lanes that stand still, by destination, if they are known.
    pub(super) lanes: Option<&'a BTreeMap<String, u64>>,
}

/// Nothing but whether it can be reached, if it was not counted yet or could not be.
pub(super) fn write(page: &mut Page, counts: Result<Option<Counts<'_>>, ()>, names: &Names) {
    let mut up = page.gauge(
        "redeliver_database_up",
        "1 if the last count of the figures of the database worked, 0 if it failed; left out before the first.",
    );
    match &counts {
        Ok(Some(_)) => up.count(&[], 1),
        Ok(None) => {}
        Err(()) => up.count(&[], 0),
    }
    let counts = counts.ok().flatten();
    let mut age = page.gauge(
        "redeliver_database_figures_age_seconds",
        "How old the figures of the database are that follow; a database that is slow to count is counted less often.",
    );
    if let Some(counts) = &counts {
        age.seconds(&[], counts.age);
    }
    let destinations = counts.as_ref().map(|counts| by_destination(counts, names));
    figures(page, &destinations.unwrap_or_default());
    lanes(page, counts.as_ref(), names);
    attempts(page, counts.as_ref());
    workers(page, counts.as_ref());
}

fn by_destination<'a>(counts: &Counts<'a>, names: &Names) -> BTreeMap<&'a str, Figures> {
    let mut all: BTreeMap<&str, Figures> = BTreeMap::new();
    let configured = counts.configured.iter();
    let nothing = configured.map(|&name| (name, Figures::default()));
    let counted = counts.report.destinations.iter();
    let counted = counted.map(|(name, figures)| (name.as_str(), *figures));
    for (name, figures) in nothing.chain(counted).chain([("", counts.report.events)]) {
        let sum = all.entry(names.label(name)).or_default();
        sum.due_now += figures.due_now;
        sum.waiting += figures.waiting;
        sum.put_away += figures.put_away;
        sum.parked += figures.parked;
        sum.dead += figures.dead;
        sum.oldest_lag = sum.oldest_lag.max(figures.oldest_lag);
    }
    all
}

fn figures(page: &mut Page, destinations: &BTreeMap<&str, Figures>) {
    type Count = fn(&Figures) -> u64;
    let counts: [(&'static str, &str, Count); 5] = [
        (
            "redeliver_due_messages",
            "Messages that are due, held back by nothing but the relay's pace.",
            |figures| figures.due_now,
        ),
        (
            "redeliver_waiting_messages",
            "Messages that wait for their time.",
            |figures| figures.waiting,
        ),
        (
            "redeliver_put_away_messages",
            "Messages put away until their destination takes something again.",
            |figures| figures.put_away,
        ),
        (
            "redeliver_parked_messages",
            "Messages in lanes that stand still until somebody acts.",
            |figures| figures.parked,
        ),
        (
            "redeliver_dead_letters",
            "Dead letters that nobody has redriven or discarded.",
            |figures| figures.dead,
        ),
    ];
    for (name, help, count) in counts {
        let mut family = page.gauge(name, help);
        for (destination, figures) in destinations {
            family.count(&[("destination", destination)], count(figures));
        }
    }
    let mut family = page.gauge(
        "redeliver_oldest_due_age_seconds",
        "How long the oldest message that is due has been due; 0 if none is.",
    );
    for (destination, figures) in destinations {
        let lag = figures.oldest_lag.unwrap_or_default();
        family.seconds(&[("destination", destination)], lag);
    }
}

fn lanes(page: &mut Page, counts: Option<&Counts<'_>>, names: &Names) {
    let mut family = page.gauge(
        "redeliver_parked_lanes",
        "Lanes that stand still until somebody redrives or discards the dead letter at their head.",
    );
    let Some((counts, lanes)) = counts.and_then(|counts| Some((counts, counts.lanes?))) else {
        return;
    };
    let mut all: BTreeMap<&str, u64> = BTreeMap::new();
    let nothing = counts.configured.iter().map(|&name| (name, 0));
    for (name, count) in nothing.chain(lanes.iter().map(|(name, &count)| (name.as_str(), count))) {
        *all.entry(names.label(name)).or_default() += count;
    }
    for (destination, count) in all {
        family.count(&[("destination", destination)], count);
    }
}

/// How often live messages have been attempted, by the fewest of each range.
const ATTEMPTS: [(u32, &str); 5] = [(0, "0"), (1, "1"), (2, "2-4"), (5, "5-9"), (10, "10+")];

fn attempts(page: &mut Page, counts: Option<&Counts<'_>>) {
    let mut family = page.gauge(
        "redeliver_live_messages",
        "Messages that are not yet delivered or dead, by how often they have been attempted.",
    );
    let Some(counts) = counts else { return };
    for (place, (from, range)) in ATTEMPTS.iter().enumerate() {
        let behind = ATTEMPTS.get(place + 1).map_or(u32::MAX, |(from, _)| *from);
        let count = counts
            .report
            .attempts
            .range(from..&behind)
            .map(|(_, count)| count);
        family.count(&[("attempts", range)], count.sum());
    }
}

fn workers(page: &mut Page, counts: Option<&Counts<'_>>) {
    let report = counts.map(|counts| counts.report);
    let mut gauge = |name, help, count: fn(&StatusReport) -> u64| {
        let mut family = page.gauge(name, help);
        if let Some(report) = report {
            family.count(&[], count(report));
        }
    };
    gauge(
        "redeliver_workers_alive",
        "Relays of any process whose lease holds.",
        |report| report.workers.iter().filter(|worker| worker.alive).count() as u64,
    );
    gauge("redeliver_shards", "Shards that there are.", |report| {
        u64::from(report.shards)
    });
    gauge(
        "redeliver_shards_without_owner",
        "Shards that no relay alive owns: what is in them waits.",
        |report| u64::from(report.shards_without_owner),
    );
}
