//! Each write, compared with the tables before and after: what belongs to a passed epoch changes nothing, and all else changes what the
//! state machine says and nothing more.

use std::collections::BTreeMap;

use redeliver_outbox::{
    Timestamp,
    state::{self, Place},
    store::{Settled, Settlement, Until, Verdict},
};
use rusqlite::Connection;

use super::{
    fan_out,
    leases::{self, Shards},
    verdicts,
};
use crate::verify::{
    history::{Event, Kind, ProcessId},
    look::{self, Seen},
    world::World,
};

/// The tables, as far as a write concerns them.
#[derive(Debug)]
pub(in crate::verify) struct Before {
    shards: Shards,
    places: BTreeMap<i64, Vec<Seen>>,
    totals: [i64; 4],
}

pub(in crate::verify) fn look(world: &World, settlements: &[Settlement]) -> Option<Before> {
    let shards = leases::look(world);
    world.look(|connection| {
        Ok(Before {
            shards,
            places: all_places(connection, settlements)?,
            totals: look::totals(connection)?,
        })
    })
}

fn all_places(
    connection: &Connection,
    settlements: &[Settlement],
) -> rusqlite::Result<BTreeMap<i64, Vec<Seen>>> {
    let numbers = settlements.iter().map(|settlement| settlement.number());
    numbers
        .map(|number| Ok((number, look::places(connection, number)?)))
        .collect()
}

pub(in crate::verify) fn check(
    world: &World,
    process: ProcessId,
    settlements: &[Settlement],
    settled: &Settled,
    before: Option<Before>,
) {
    let (Some(before), Some(after)) = (before, look(world, settlements)) else {
        return;
    };
    let mut moved = [0_i64; 3];
    for settlement in settlements {
        let number = settlement.number();
        let current = before.shards.get(&settlement.lease.shard).is_some_and(|shard| {
            shard.owner == Some(process.to_string()) && shard.epoch == settlement.lease.epoch
        });
        let stale = settled.stale.contains(&settlement.lease.shard);
        let verdict = kind(&settlement.verdict);
        world.tell(Event::Wrote {
            process,
            number,
            verdict,
            stale,
        });
        if stale == current {
            let what = format!("{process} was told stale: {stale}, and its epoch holds: {current}");
            world.object("fence", Some(number), what);
        }
        let (old, new) = (&before.places[&number], &after.places[&number]);
        if !current {
            if old != new {
                let what = format!(
                    "{process} does not own its shard any more, and changed it from {old:?} to {new:?}"
                );
                world.object("fence", Some(number), what);
            }
            continue;
        }
        check_one(world, process, settlement, old, new);
        if let (Verdict::FannedOut { .. }, true) = (&settlement.verdict, old != new) {
            moved[0] += fan_out::check(world, number);
        }
        for (place, count) in [(Place::Live, 0), (Place::Dead, 1), (Place::Sent, 2)] {
            let there =
                |places: &[Seen]| places.iter().filter(|seen| seen.state.place == place).count() as i64;
            moved[count] += there(new) - there(old);
        }
    }
    for (at, moved) in moved.into_iter().enumerate() {
        if after.totals[at] - before.totals[at] != moved {
            let what = format!(
                "{process} wrote {} verdicts, and the tables went from {:?} to {:?}",
                settlements.len(),
                before.totals,
                after.totals
            );
            world.object("writes", None, what);
        }
    }
}

fn check_one(world: &World, process: ProcessId, settlement: &Settlement, old: &[Seen], new: &[Seen]) {
    let number = settlement.number();
    let object = |what: String| world.object("writes", Some(number), what);
    let [old] = old else {
        object(format!("it was in {} places", old.len()));
        return;
    };
    let now = world.clocks.database();
    let same_life = settlement.redrives == old.state.redrives;
    let expected = if same_life {
        state::apply(old.state, event(&settlement.verdict, now), now)
    } else {
        Err(state::Refused)
    };
    let [new] = new else {
        object(format!(
            "{:?} left it in {} places: {new:?}",
            settlement.verdict,
            new.len()
        ));
        return;
    };
    let wanted = expected.unwrap_or(old.state);
    if new.state != wanted {
        object(format!(
            "{:?} made {:?} of {:?}; it should be {wanted:?}",
            settlement.verdict, new.state, old.state
        ));
    }
    if expected.is_ok() {
        check_log(world, settlement, old);
        verdicts::check(world, process, settlement, old, now);
        applied(world, settlement, old);
    }
}

fn check_log(world: &World, settlement: &Settlement, old: &Seen) {
    let (attempt, class) = match &settlement.verdict {
        Verdict::Retry { attempted, .. }
        | Verdict::Dead {
            attempted: Some(attempted),
            ..
        } => (attempted.attempt, Some(attempted.class)),
        Verdict::Counted { attempt } => (*attempt, Some("interrupted")),
        Verdict::Delivered(attempted) => (attempted.attempt, None),
        Verdict::Uncounted { attempt } => (*attempt, None),
        _ => return,
    };
    let number = settlement.number();
    let logged =
        world.look(|connection| look::logged(connection, settlement.id, old.state.redrives, attempt));
    let Some(logged) = logged else { return };
    let right = match (&logged, class) {
        (Some((logged, timed)), Some(class)) => logged == class && *timed == (class != "interrupted"),
        (logged, None) => logged.as_ref().is_none_or(|(class, _)| class != "interrupted"),
        (None, Some(_)) => false,
    };
    if !right {
        let what = format!(
            "the log of attempts has {logged:?} for attempt {attempt} after {:?}",
            settlement.verdict
        );
        world.object("attempts", Some(number), what);
    }
}

/// What is written is known from now on, whether or not the relay hears of it.
fn applied(world: &World, settlement: &Settlement, old: &Seen) {
    let mut state = world.state();
    let Some(message) = state.records.messages.get_mut(&settlement.number()) else {
        return;
    };
    if let Verdict::Counted { attempt } = settlement.verdict {
        message.counted = Some((old.state.redrives, attempt));
        return;
    }
    if let Verdict::Uncounted { .. } = settlement.verdict {
        message.counted = None;
        return;
    }
    message.died |= matches!(settlement.verdict, Verdict::Dead { .. });
    // What is written accounts for every attempt of this life so far.
    for attempt in &mut message.attempts {
        attempt.written |= attempt.redrive == old.state.redrives;
    }
}

fn event(verdict: &Verdict, now: Timestamp) -> state::Event {
    match verdict {
        Verdict::Delivered(attempted) => state::Event::Delivered {
            attempt: attempted.attempt,
        },
        Verdict::Retry { attempted, wait } => state::Event::Retry {
            attempt: attempted.attempt,
            wait: *wait,
        },
        Verdict::Dead {
            attempted, reason, ..
        } => state::Event::Dead {
            attempt: attempted.as_ref().map(|attempted| attempted.attempt),
            reason: *reason,
        },
        Verdict::Postponed(Until::At(until)) => state::Event::Postponed { until: *until },
        Verdict::Postponed(Until::After(wait)) => state::Event::Postponed {
            until: now.plus(*wait),
        },
        Verdict::Postponed(Until::Recovered) => state::Event::Postponed {
            until: Timestamp::PARKED,
        },
        Verdict::Counted { attempt } => state::Event::Counted { attempt: *attempt },
        Verdict::Uncounted { attempt } => state::Event::Uncounted { attempt: *attempt },
        Verdict::FannedOut { .. } => state::Event::FannedOut,
    }
}

const fn kind(verdict: &Verdict) -> Kind {
    match verdict {
        Verdict::Delivered(_) => Kind::Delivered,
        Verdict::Retry { .. } => Kind::Retry,
        Verdict::Dead { .. } => Kind::Dead,
        Verdict::Postponed(_) => Kind::Postponed,
        Verdict::Counted { .. } => Kind::Counted,
        Verdict::Uncounted { .. } => Kind::Uncounted,
        Verdict::FannedOut { .. } => Kind::FannedOut,
    }
}
