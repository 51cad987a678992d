//! Why a destination gets nothing, in words.

use redeliver_outbox::{
    Hold, HoldCause, Timestamp,
    live::{Failures, LiveFigures, LiveState, StuckVerdict},
};

use super::super::when::{both, relative};
use crate::readable;

/// What is the matter with a destination, and the next step, as it continues "billing is …"; none if it takes what there is.
pub(crate) fn trouble_of(hold: Option<&Hold>, live: Option<&LiveFigures>, now: Timestamp) -> Option<String> {
    hold.map(|hold| held(hold, now))
        .or_else(|| live.and_then(|live| unwell(live, now)))
}

/// What the database refuses to record for a destination, and the next step; none if it records all.
pub(crate) fn refused(name: &str, live: Option<&LiveFigures>, now: Timestamp) -> Option<String> {
    let live = live.filter(|live| live.stuck > 0)?;
    let what = match live.stuck {
        1 => "1 verdict".to_owned(),
        count => format!("{count} verdicts"),
    };
    let of = match name {
        "" => "events".to_owned(),
        name => readable::line(name, 80),
    };
    let first = live.stuck_verdicts.iter().min_by_key(|stuck| stuck.since);
    let first = first.map_or(String::new(), |stuck| {
        let (number, since) = (stuck.id.number(), both(stuck.since, now));
        let reason = readable::line(&stuck.reason, 400);
        format!("; message {number} since {since}: {reason}")
    });
    Some(format!(
        "the database refuses {what} on messages of {of}, which wait for it while all others go on{first}"
    ))
}

/// The same of one message, as a sentence.
pub(super) fn refused_verdict(stuck: &StuckVerdict, now: Timestamp) -> String {
    let (since, reason) = (both(stuck.since, now), readable::line(&stuck.reason, 400));
    format!(
        " The database refuses its verdict since {since}: {reason}. The relay does not send it again, and writes the verdict once the \
         database takes it."
    )
}

/// What failed attempts met, the most frequent first: `5xx 12, timeout 3`; none if none failed.
pub(super) fn met(failures: &Failures) -> Option<String> {
    let met = failures.met();
    let words: Vec<String> = met
        .iter()
        .map(|(class, count)| format!("{} {count}", class.as_str()))
        .collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn held(hold: &Hold, now: Timestamp) -> String {
    let name = readable::line(&hold.destination, 80);
    let who = readable::line(&hold.who, 80);
    let why = match hold.detail.as_str() {
        "" => String::new(),
        detail => format!(": {}", readable::line(detail, 400)),
    };
    let since = relative(hold.since, now);
    let begun = format!("{} since {} ({since}) by", hold.kind, hold.since);
    match hold.cause {
        HoldCause::Hand => format!("{begun} {who}{why}; `redeliver destination resume {name}` lets it go on"),
        HoldCause::Surge => format!(
            "{begun} the worker {who}{why}; mend what is rejected, then `redeliver destination resume {name}`, and \
             `redeliver dead redrive --to {name}` for what was rejected before"
        ),
        HoldCause::Gone => format!(
            "{begun} the worker {who}, to which it said that it is gone{why}; once it is back, or the configuration names where it went, \
             `redeliver destination enable {name}`"
        ),
    }
}

/// What the workers that are alive have met. A pause that is over in the table, or not there yet, is told by the table alone.
fn unwell(live: &LiveFigures, now: Timestamp) -> Option<String> {
    let why = match live.detail.as_str() {
        "" => String::new(),
        detail => format!(" (\"{}\")", readable::line(detail, 200)),
    };
    let since = live.since.map_or(String::new(), |since| {
        format!(" since {since} ({})", relative(since, now))
    });
    let down = format!("down: its circuit is open{since} after repeated failures{why}");
    // What is over by the clock is over at the worker's next beat.
    let next = live.until.filter(|until| *until > now);
    let next = next.map_or("soon".to_owned(), |until| both(until, now));
    match live.state {
        LiveState::Open => Some(format!("{down}; its messages are deferred, next probe {next}")),
        LiveState::Probing => Some(format!(
            "{down}; its messages are deferred, and one of them probes it now"
        )),
        LiveState::Resting => Some(format!(
            "resting, because it asked for that{why}; it goes on {next}"
        )),
        _ => None,
    }
}
