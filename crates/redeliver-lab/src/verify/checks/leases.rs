//! Leases: only what is free is taken, every owner has an epoch of its own and is told what it must know, and only what is at rest is
//! given back as clean.

use std::collections::{BTreeMap, BTreeSet};

use redeliver_outbox::store::{Claimed, LaneId, Lease, Left, Membership, WorkerId};

use crate::verify::{
    history::{Event, LeaseSeen, ProcessId},
    look::{self, ShardSeen},
    record::Claim,
    world::World,
};

/// All shards' rows.
pub(in crate::verify) type Shards = BTreeMap<u16, ShardSeen>;

pub(in crate::verify) fn look(world: &World) -> Shards {
    let shards = world.look(|connection| {
        (0..world.scenario.shards)
            .map(|shard| Ok((shard, look::shard(connection, shard)?)))
            .collect::<rusqlite::Result<Shards>>()
    });
    shards.unwrap_or_default()
}

pub(in crate::verify) fn check_membership(world: &World, worker: &WorkerId, membership: &Membership) {
    let owned: BTreeSet<Lease> = look(world)
        .iter()
        .filter(|(_, seen)| seen.owner.as_deref() == Some(worker.0.as_str()))
        .map(|(&shard, seen)| Lease {
            shard,
            epoch: seen.epoch,
        })
        .collect();
    if membership.owned.iter().copied().collect::<BTreeSet<_>>() != owned {
        let what = format!(
            "{worker} was told that it owns {:?}, and it owns {owned:?}",
            membership.owned
        );
        world.object("lease", None, what);
    }
}

pub(in crate::verify) fn check_claim(
    world: &World,
    process: ProcessId,
    before: &Shards,
    claimed: &[Claimed],
    at_most: usize,
) {
    let now = world.clocks.database().as_millis();
    let after = look(world);
    let object = |what: String| world.object("lease", None, what);
    if claimed.len() > at_most {
        object(format!(
            "{process} claimed {} shards, and asked for {at_most}",
            claimed.len()
        ));
    }
    for claim in claimed {
        let (lease, shard) = (LeaseSeen::from(claim.lease), claim.lease.shard);
        let (Some(old), Some(new)) = (before.get(&shard), after.get(&shard)) else {
            object(format!("{process} claimed shard {shard}, which does not exist"));
            continue;
        };
        if old.owner.is_some() && old.lease_until.is_some_and(|until| until >= now) {
            object(format!(
                "{process} took shard {shard} from {:?}, whose lease holds",
                old.owner
            ));
        }
        if new.epoch != old.epoch + 1 || new.epoch != lease.epoch || new.owner != Some(process.to_string()) {
            object(format!(
                "{process} claimed {lease}, and the tables had {old:?} before and have {new:?} after"
            ));
        }
        if (claim.left == Left::Clean) != old.clean {
            object(format!(
                "{process} was told that {lease} was left {:?}, and the tables had {old:?}",
                claim.left
            ));
        }
        check_told(world, claim);
        let at = world.now();
        let mut state = world.state();
        let clean = claim.left == Left::Clean;
        state.history.push(
            at,
            Event::Owned {
                process,
                lease,
                clean,
            },
        );
        state.records.claims.insert(lease, Claim { at, clean });
    }
    for (shard, old) in before {
        let was_claimed = claimed.iter().any(|claim| claim.lease.shard == *shard);
        if !was_claimed && after.get(shard) != Some(old) {
            object(format!(
                "shard {shard} changed while {process} claimed others: {old:?} became {:?}",
                after.get(shard)
            ));
        }
    }
}

/// Which lanes are parked has to be known before anything of the shard is sent.
fn check_told(world: &World, claim: &Claimed) {
    let shard = claim.lease.shard;
    let lane = |row: &rusqlite::Row<'_>| {
        let id = LaneId {
            destination: row.get(1)?,
            key: row.get(2)?,
        };
        Ok((row.get::<_, i64>(0)?, id))
    };
    let Some(parked) = world.look(|connection| {
        let parked: Vec<(i64, LaneId)> = connection
            .prepare_cached(
                "SELECT head, destination, lane FROM redeliver_lanes WHERE shard = ?1 AND resumed_at IS NULL ORDER BY head",
            )?
            .query_map([shard], lane)?
            .collect::<rusqlite::Result<_>>()?;
        Ok(parked)
    }) else {
        return;
    };
    let mut told: Vec<(i64, LaneId)> = claim.parked.iter().map(|at| (at.head, at.lane.clone())).collect();
    told.sort();
    if told != parked {
        let what = format!(
            "the new owner of shard {shard} was told of the parked {told:?}, and there are {parked:?}"
        );
        world.object("lease", None, what);
    }
}

pub(in crate::verify) fn check_release(
    world: &World,
    process: ProcessId,
    before: &Shards,
    leases: &[Lease],
    clean: bool,
) {
    let after = look(world);
    for lease in leases {
        let seen = LeaseSeen::from(*lease);
        let (Some(old), Some(new)) = (before.get(&lease.shard), after.get(&lease.shard)) else {
            continue;
        };
        let owned = old.owner == Some(process.to_string()) && old.epoch == lease.epoch;
        if !owned && old != new {
            world.object(
                "lease",
                None,
                format!("{process} gave back {seen}, which was not its own: {old:?}, {new:?}"),
            );
        }
        if !owned {
            continue;
        }
        if new.owner.is_some() || new.epoch != old.epoch || new.clean != clean {
            world.object(
                "lease",
                None,
                format!("{process} gave back {seen}, clean: {clean}, and the tables have {new:?}"),
            );
        }
        world.tell(Event::Released {
            process,
            lease: seen,
            clean,
        });
        if clean {
            check_at_rest(world, process, seen);
        }
    }
}

fn check_at_rest(world: &World, process: ProcessId, lease: LeaseSeen) {
    let state = world.state();
    let under_way = state.records.messages.iter().find(|(_, message)| {
        let mut attempts = message.attempts.iter();
        attempts.any(|attempt| attempt.process == process && attempt.lease == lease && !attempt.written)
    });
    let number = under_way.map(|(&number, _)| number);
    drop(state);
    if number.is_some() {
        let what = format!("{process} gave back {lease} as clean while what came of it was not written");
        world.object("lease", number, what);
    }
}
