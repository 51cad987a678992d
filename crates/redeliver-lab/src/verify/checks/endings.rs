//! The end: everything that was committed has exactly one end, in order, and nobody who is gone owns anything.

use std::collections::BTreeMap;

use redeliver_outbox::state::{Place, State};

use super::fan_out;
use crate::verify::{
    look,
    record::{Records, Sent},
    world::World,
};

/// Whether nothing is left to do.
pub(in crate::verify) fn is_quiet(world: &World) -> bool {
    world.look(look::totals).is_some_and(|totals| totals[0] == 0)
}

/// What is still live, for whoever asks why.
pub(in crate::verify) fn check_stuck(world: &World, after_ms: u64) {
    let left = world.look(|connection| {
        look::pairs(
            connection,
            "SELECT number, printf('shard %d, %s, lane %s, attempts %d, next attempt %s', shard, destination,
                    coalesce(lane, 'none'), attempts, coalesce(next_attempt_at, 'at once'))
             FROM redeliver_outbox ORDER BY number LIMIT 5",
        )
    });
    for (number, what) in left.unwrap_or_default() {
        let what = format!("it is still live {after_ms} ms after the last fault: {what}");
        world.object("liveness", Some(number), what);
    }
}

pub(in crate::verify) fn check(world: &World) {
    let numbers: Vec<i64> = world.state().records.messages.keys().copied().collect();
    let mut ends: BTreeMap<i64, State> = BTreeMap::new();
    for number in numbers {
        let Some(places) = world.look(|connection| look::places(connection, number)) else {
            return;
        };
        match places.as_slice() {
            [seen] => {
                ends.insert(number, seen.state);
            }
            [] => world.object(
                "lost",
                Some(number),
                "it was committed, and is nowhere".to_owned(),
            ),
            _ => world.object(
                "endings",
                Some(number),
                format!("it is in several places: {places:?}"),
            ),
        }
    }
    let state = world.state();
    let objections: Vec<(&'static str, i64, String)> = ends
        .iter()
        .filter_map(|(number, end)| {
            let message = state.records.messages.get(number)?;
            wrong_end(message, *end).map(|(checker, what)| (checker, *number, what))
        })
        .chain(out_of_order(&state.records))
        .collect();
    drop(state);
    for (checker, number, what) in objections {
        world.object(checker, Some(number), what);
    }
    for (number, _) in ends.iter().filter(|(_, end)| end.place == Place::FannedOut) {
        fan_out::check_again(world, *number);
    }
    check_strangers(world, &ends);
    check_owners(world);
}

fn wrong_end(message: &Sent, end: State) -> Option<(&'static str, String)> {
    let taken = message.attempts.iter().any(|attempt| attempt.taken);
    match end.place {
        Place::Live => Some(("endings", "it has no end".to_owned())),
        Place::Sent if !taken => Some(("lost", "it is called sent, and never arrived".to_owned())),
        Place::Sent if message.poison => Some((
            "endings",
            "it is called sent, and kills whoever sends it".to_owned(),
        )),
        _ => None,
    }
}

/// The first time that each message of a lane was taken goes with its number, but for those that were ever dead letters.
fn out_of_order(records: &Records) -> Option<(&'static str, i64, String)> {
    let mut latest: BTreeMap<(&str, &str), (u64, i64)> = BTreeMap::new();
    for (&number, message) in &records.messages {
        let Some(key) = &message.key else { continue };
        let taken = message
            .attempts
            .iter()
            .filter(|attempt| attempt.taken)
            .filter_map(|attempt| attempt.arrived);
        let Some(first) = taken.min().filter(|_| !message.died) else {
            continue;
        };
        let lane = (message.destination.as_str(), key.as_str());
        if let Some(&(time, before)) = latest.get(&lane)
            && first < time
        {
            return Some((
                "order",
                number,
                format!("it arrived before message {before} of its lane"),
            ));
        }
        latest.insert(lane, (first, number));
    }
    None
}

fn check_strangers(world: &World, ends: &BTreeMap<i64, State>) {
    let all = world.look(|connection| {
        look::numbers(
            connection,
            "SELECT number FROM redeliver_outbox UNION SELECT number FROM redeliver_dead UNION SELECT number FROM redeliver_sent",
            [],
        )
    });
    if let Some(number) = all
        .unwrap_or_default()
        .into_iter()
        .find(|number| !ends.contains_key(number))
    {
        world.object(
            "endings",
            Some(number),
            "it is in the tables, and nobody committed it".to_owned(),
        );
    }
}

fn check_owners(world: &World) {
    let owned = world.look(|connection| {
        look::pairs(
            connection,
            "SELECT shard, owner FROM redeliver_shards WHERE owner IS NOT NULL ORDER BY shard",
        )
    });
    if let Some((shard, owner)) = owned.unwrap_or_default().first() {
        world.object(
            "lease",
            None,
            format!("all relays have stopped, and shard {shard} is still {owner}'s"),
        );
    }
}
