//! Events: each becomes exactly one message for each destination that is interested, in the order of their names.

use crate::verify::{history::Event, look, record::Sent, world::World};

/// An event has just been written as fanned out: its messages are known from now on. Says how many there are.
pub(in crate::verify) fn check(world: &World, event: i64) -> i64 {
    let Some(made) = world.look(|connection| look::made_of(connection, event)) else {
        return 0;
    };
    object_to(world, event, &made);
    let now = world.now();
    let mut state = world.state();
    let Some(origin) = state.records.messages.get(&event).cloned() else {
        return 0;
    };
    for (number, destination, shard) in &made {
        // As old as the event: deadlines count from the insert.
        let sent = Sent {
            destination: destination.clone(),
            shard: shard.unwrap_or(origin.shard),
            ..origin.clone()
        };
        let key = origin.key.as_deref().unwrap_or_default();
        let lane = format!("{destination} {key}, shard {}, of event {event}", sent.shard);
        state.history.push(
            now,
            Event::Committed {
                number: *number,
                lane,
            },
        );
        state.records.messages.insert(*number, sent);
    }
    i64::try_from(made.len()).unwrap_or(i64::MAX)
}

/// At the end there are no more and no fewer.
pub(in crate::verify) fn check_again(world: &World, event: i64) {
    if let Some(made) = world.look(|connection| look::made_of(connection, event)) {
        object_to(world, event, &made);
    }
}

fn object_to(world: &World, event: i64, made: &[(i64, String, Option<u16>)]) {
    let destinations: Vec<&String> = made.iter().map(|(_, destination, _)| destination).collect();
    let interested: Vec<&String> = world.scenario.interested.iter().collect();
    if destinations != interested {
        let what = format!("it became messages to {destinations:?}, and {interested:?} are interested");
        world.object("fan-out", Some(event), what);
    }
    if let Some((number, ..)) = made.iter().find(|(number, ..)| *number <= event) {
        world.object(
            "fan-out",
            Some(event),
            format!("it became message {number}, which is older"),
        );
    }
}
