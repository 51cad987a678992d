//! What the relays of this process count.

use std::{collections::BTreeMap, sync::Arc};

use redeliver_outbox::{
    DeadReason,
    live::{self, LiveState},
    relay::{CLASSES, DestinationFigures, ENDINGS, Figures, Spread},
};

use super::{
    Counting,
    labels::{Names, OTHER},
    page::Page,
};

/// Every state that a destination may be in.
const STATES: [LiveState; 8] = [
    LiveState::Well,
    LiveState::Throttled,
    LiveState::Ramping,
    LiveState::Resting,
    LiveState::Probing,
    LiveState::Open,
    LiveState::Paused,
    LiveState::Disabled,
];

pub(super) fn write(page: &mut Page, relays: &Counting, names: &Names) {
    let destinations = by_destination(relays, names);
    attempts(page, &destinations);
    messages(page, &destinations);
    treatment(page, &relays.now, names);
    work(page, relays);
    leases(page, relays);
}

fn by_destination<'f>(relays: &'f Counting, names: &Names) -> BTreeMap<&'f str, DestinationFigures> {
    let mut all: BTreeMap<&str, DestinationFigures> = BTreeMap::new();
    for (name, figures) in relays.all().flat_map(Figures::destinations) {
        let sum = all
            .entry(name.map_or(OTHER, |name| names.label(name)))
            .or_default();
        *sum = sum.plus(&figures);
    }
    all
}

fn attempts(page: &mut Page, destinations: &BTreeMap<&str, DestinationFigures>) {
    let mut family = page.counter(
        "redeliver_attempts_total",
        "Attempts that have ended, by how: delivered, a failure that is tried again by its class, rejected for good, or the destination is gone.",
    );
    for (name, figures) in destinations {
        for (outcome, count) in ENDINGS.iter().zip(figures.ended) {
            family.count(&[("destination", name), ("outcome", outcome)], count);
        }
    }
    let mut family = page.histogram(
        "redeliver_attempt_duration_seconds",
        "How long attempts took, whatever came of them.",
    );
    for (name, figures) in destinations {
        family.spread(&[("destination", name)], &figures.took);
    }
    let mut family = page.gauge("redeliver_in_flight_attempts", "Attempts on their way now.");
    for (name, figures) in destinations {
        family.count(&[("destination", name)], figures.in_flight);
    }
}

fn messages(page: &mut Page, destinations: &BTreeMap<&str, DestinationFigures>) {
    let mut family = page.counter(
        "redeliver_delivered_total",
        "Messages that arrived, counted when that is in the database.",
    );
    for (name, figures) in destinations {
        family.count(&[("destination", name)], figures.delivered);
    }
    let mut family = page.counter(
        "redeliver_retries_total",
        "Messages put off after an attempt that failed, by the class of the failure.",
    );
    for (name, figures) in destinations {
        for (class, count) in CLASSES.iter().zip(figures.retried) {
            family.count(&[("destination", name), ("class", class)], count);
        }
    }
    let mut family = page.counter(
        "redeliver_dead_lettered_total",
        "Messages that became dead letters, by the reason; reasons that never occurred are left out.",
    );
    for (name, figures) in destinations {
        for (reason, count) in DeadReason::ALL.iter().zip(figures.dead) {
            if count > 0 {
                family.count(&[("destination", name), ("reason", reason.as_str())], count);
            }
        }
    }
    let mut family = page.counter(
        "redeliver_postponed_total",
        "Messages put off without an attempt: not due yet, or their destination takes nothing now.",
    );
    for (name, figures) in destinations {
        family.count(&[("destination", name)], figures.postponed);
    }
}

/// Of destinations that share a label nobody could say which one is meant: they are left out.
fn treatment(page: &mut Page, relays: &[Arc<Figures>], names: &Names) {
    let told: Vec<_> = relays.iter().map(|relay| relay.live()).collect();
    let mut live = live::sum(&told);
    live.retain(|name, _| !name.is_empty() && names.label(name) == name);
    let mut family = page.gauge(
        "redeliver_destination_state",
        "1 for the state that the destination is in, 0 for the others, as of the last beat.",
    );
    for (name, figures) in &live {
        for state in STATES {
            let labels = [("destination", name.as_str()), ("state", state.as_str())];
            family.count(&labels, u64::from(figures.state == state));
        }
    }
    let mut family = page.gauge(
        "redeliver_destination_limit",
        "How many attempts may be on their way at a time just now, as of the last beat.",
    );
    for (name, figures) in &live {
        family.count(&[("destination", name)], figures.limit);
    }
    let mut family = page.gauge(
        "redeliver_destination_ceiling",
        "How many attempts may be on their way at a time at best.",
    );
    for (name, figures) in &live {
        family.count(&[("destination", name)], figures.ceiling);
    }
    let mut family = page.gauge(
        "redeliver_held_messages",
        "Messages in memory, on their way or about to be, as of the last beat.",
    );
    for (name, figures) in &live {
        family.count(&[("destination", name)], figures.held);
    }
}

fn work(page: &mut Page, relays: &Counting) {
    let sum = |count: fn(&Figures) -> u64| relays.all().map(count).sum::<u64>();
    let spread = |spread: fn(&Figures) -> Spread| {
        let spreads = relays.all().map(spread);
        spreads.fold(Spread::default(), |sum, one| sum.plus(&one))
    };
    page.counter(
        "redeliver_events_fanned_out_total",
        "Events that became a message for each destination of their topic.",
    )
    .count(&[], sum(Figures::fanned_out));
    page.counter(
        "redeliver_messages_read_total",
        "Messages read from the database, some of them more than once.",
    )
    .count(&[], sum(Figures::read));
    let newest = relays.all().map(Figures::highest).max().unwrap_or(0);
    let mut family = page.gauge(
        "redeliver_newest_message_number",
        "The number of the newest message that was read; it grows with every insert. Left out before the first.",
    );
    if newest > 0 {
        family.count(&[], newest);
    }
    page.histogram(
        "redeliver_read_duration_seconds",
        "How long it took to read a batch of messages.",
    )
    .spread(&[], &spread(Figures::reading));
    page.counter(
        "redeliver_settled_total",
        "Verdicts on messages that were written.",
    )
    .count(&[], sum(Figures::settled));
    page.histogram(
        "redeliver_settle_duration_seconds",
        "How long it took to write a batch of verdicts.",
    )
    .spread(&[], &spread(Figures::settling));
    page.gauge(
        "redeliver_stuck_verdicts",
        "Verdicts that the database refuses now; each is written by itself, again and again.",
    )
    .count(&[], sum(Figures::stuck));
    let mut family = page.counter(
        "redeliver_store_errors_total",
        "Statements that failed, by what they were for; each is tried again.",
    );
    let mut troubles: BTreeMap<&str, u64> = BTreeMap::new();
    for (statement, count) in relays.all().flat_map(Figures::troubles) {
        *troubles.entry(statement).or_default() += count;
    }
    for (statement, count) in troubles {
        family.count(&[("statement", statement)], count);
    }
}

fn leases(page: &mut Page, relays: &Counting) {
    let sum = |count: fn(&Figures) -> u64| relays.all().map(count).sum::<u64>();
    page.gauge("redeliver_relays", "Relays that this process runs.")
        .count(&[], relays.now.len() as u64);
    page.gauge(
        "redeliver_owned_shards",
        "Shards that the relays of this process own.",
    )
    .count(&[], sum(Figures::shards));
    let mut family = page.counter(
        "redeliver_lease_renewals_total",
        "Renewals of a relay's lease: in_time, or late, so that nothing was sent until then.",
    );
    family.count(&[("result", "in_time")], sum(Figures::renewed));
    family.count(&[("result", "late")], sum(Figures::renewed_late));
    page.counter(
        "redeliver_lost_shards_total",
        "Shards that were somebody else's before they were given back: what was on its way is sent again there.",
    )
    .count(&[], sum(Figures::lost));
}
