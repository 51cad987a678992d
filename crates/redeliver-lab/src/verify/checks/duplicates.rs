//! Every message that arrived twice has a cause that befell this message, or the owner of its shard, at the time.

use crate::verify::{
    history::Kind,
    record::{Attempt, Records},
    report::Cause,
    world::World,
};

/// The causes of all duplicates; an objection for each that has none.
pub(in crate::verify) fn check(world: &World) -> Vec<Cause> {
    let lease = u64::try_from(world.scenario.relay.lease.as_millis()).unwrap_or(u64::MAX);
    let state = world.state();
    let mut causes = Vec::new();
    let mut unexplained = Vec::new();
    let mut twice = Vec::new();
    for (&number, message) in &state.records.messages {
        let taken: Vec<&Attempt> = message.attempts.iter().filter(|attempt| attempt.taken).collect();
        for pair in taken.windows(2) {
            let plan = world.scenario.destination(&message.destination);
            let once = plan.is_some_and(|plan| !plan.idempotent);
            match cause(&state.records, pair[0], pair[1], lease) {
                Some(cause) if once && !excuses(cause, pair[0]) => {
                    twice.push((number, pair[0].number, pair[1].number, cause));
                }
                Some(cause) => causes.push(cause),
                None => unexplained.push((number, pair[0].number, pair[1].number)),
            }
        }
    }
    drop(state);
    for (number, first, second) in unexplained {
        let what =
            format!("it was taken by attempt {first} and again by attempt {second}, and nothing explains it");
        world.object("duplicates", Some(number), what);
    }
    for (number, first, second, cause) in twice {
        let what = format!(
            "it was taken by attempt {first} and again by attempt {second} ({cause:?}), and must not arrive twice"
        );
        world.object("duplicates", Some(number), what);
    }
    causes
}

/// What may be sent a second time though it must not arrive twice: an operator wants it, or the destination said that it did not take it.
fn excuses(cause: Cause, first: &Attempt) -> bool {
    let refused = matches!(first.heard, Some((Kind::Retry | Kind::Throttled, _)));
    cause == Cause::Redrive || refused
}

fn cause(records: &Records, first: &Attempt, second: &Attempt, lease: u64) -> Option<Cause> {
    if second.redrive != first.redrive {
        return Some(Cause::Redrive);
    }
    let heard = first
        .heard
        .filter(|&(_, at)| at <= second.began)
        .map(|(kind, _)| kind);
    if matches!(
        heard,
        Some(Kind::Ambiguous | Kind::Open | Kind::Retry | Kind::Throttled)
    ) {
        return Some(Cause::LostAnswer);
    }
    if second.lease.epoch == first.lease.epoch {
        return None;
    }
    let life = records.lives.get(&first.process)?;
    let meanwhile = |at: u64| at >= first.began && at <= second.began;
    let around = |at: u64| at + lease >= first.began && at <= second.began;
    if life.crashed.is_some_and(meanwhile) {
        return Some(Cause::Crash);
    }
    if life
        .pauses
        .iter()
        .any(|&(from, to)| from <= second.began && to >= first.began)
    {
        return Some(Cause::Pause);
    }
    if life.stopped_unclean.is_some_and(meanwhile) {
        return Some(Cause::Shutdown);
    }
    if records.steps.iter().any(|&(at, by)| by > 0 && around(at)) {
        return Some(Cause::ClockStep);
    }
    let troubled = life.troubles.iter().any(|&at| around(at));
    troubled.then_some(Cause::LeaseExpiry)
}
