//! Nothing of a lane begins to be sent that the relay knows to be parked by an operator: by the last read that it has heard of.

use std::collections::{BTreeMap, BTreeSet};

use redeliver_outbox::{
    Message, MessageId,
    desk::ResumedLane,
    store::{LaneId, Lease},
};

use crate::verify::{
    history::{LeaseSeen, ProcessId},
    world::World,
};

/// The lanes that operators have parked, in the shards that a reader owns.
#[derive(Clone, Debug, Default)]
pub(in crate::verify) struct Known(BTreeMap<LeaseSeen, BTreeSet<(String, String)>>);

/// What a read of these shards should tell, by our own look at the table.
pub(in crate::verify) fn look(world: &World, owned: impl Iterator<Item = Lease>) -> Known {
    let looked = world.look(|connection| {
        let mut statement = connection.prepare_cached(
            "SELECT destination, lane FROM redeliver_lanes WHERE shard = ?1 AND head = 0 AND resumed_at IS NULL",
        )?;
        let mut known = BTreeMap::new();
        for lease in owned {
            let lanes = statement.query_map([lease.shard], |row| Ok((row.get(0)?, row.get(1)?)))?;
            known.insert(lease.into(), lanes.collect::<rusqlite::Result<_>>()?);
        }
        Ok(known)
    });
    Known(looked.unwrap_or_default())
}

/// The process hears what the read has found.
pub(in crate::verify) fn heard(world: &World, process: ProcessId, known: Known) {
    world.state().records.life(process).parks = known;
}

/// A send begins.
pub(in crate::verify) fn check(world: &World, process: ProcessId, message: &Message, lease: LeaseSeen) {
    let Some(key) = message.key.clone() else { return };
    let lane = (message.destination.clone(), key);
    let mut state = world.state();
    let parks = &state.records.life(process).parks;
    let parked = parks.0.get(&lease).is_some_and(|lanes| lanes.contains(&lane));
    drop(state);
    if parked {
        let what = format!("{process} sent it, and knew that an operator had parked its lane");
        world.object("parks", Some(message.number()), what);
    }
}

/// An operator has let a lane go on: it does, and what it goes on without is still a dead letter, with its gap.
pub(in crate::verify) fn check_resumed(world: &World, resumed: &ResumedLane) {
    let LaneId { destination, key } = &resumed.lane;
    let standing = world.look(|connection| {
        let sql = "SELECT COUNT(*) FROM redeliver_lanes WHERE destination = ?1 AND lane = ?2 AND resumed_at IS NULL";
        connection.query_row(sql, (destination, key), |row| row.get(0))
    });
    if standing != Some(0_i64) {
        let what = format!("the lane {destination} / {key} was let go on, and stands still");
        world.object("parks", None, what);
    }
    let Some(number) = resumed.without.map(MessageId::number) else {
        return;
    };
    let kept = world.look(|connection| {
        let sql = "SELECT COUNT(*) FROM redeliver_dead WHERE number = ?1 AND gap = 1";
        connection.query_row(sql, [number], |row| row.get(0))
    });
    if kept != Some(1_i64) {
        let what = "its lane goes on without it, and it is no dead letter with a gap";
        world.object("parks", Some(number), what.to_owned());
    }
}
