//! Each attempt, as it begins: by the owner, in turn, in time, and counted first where the one before may have been deadly.

use redeliver_outbox::{Message, state::Place};

use crate::verify::{
    checks::{holds, parks},
    history::{LeaseSeen, ProcessId},
    look::{self, Seen, ShardSeen},
    world::World,
};

pub(in crate::verify) fn check(
    world: &World,
    process: ProcessId,
    message: &Message,
    attempt: u32,
    lease: LeaseSeen,
) {
    let number = message.number();
    let Some((places, shard)) = world.look(|connection| {
        Ok((
            look::places(connection, number)?,
            look::shard(connection, lease.shard)?,
        ))
    }) else {
        return;
    };
    let object = |checker, what| world.object(checker, Some(number), what);
    within_limits(world, process, message);
    holds::check(world, process, message);
    parks::check(world, process, message, lease);
    if let Some(why) = not_owner(world, process, lease, &shard) {
        if !was_stepped(world) {
            object(
                "lease",
                format!("{process} sent it as owner of {lease}, and {why}"),
            );
        }
        return;
    }
    let live = match places.as_slice() {
        [seen] if seen.state.place == Place::Live => seen,
        _ => {
            object(
                "endings",
                "it was sent, and had reached its end before".to_owned(),
            );
            return;
        }
    };
    if let Some(what) = out_of_time(world, message, live) {
        object("time", what);
    }
    if let Some(what) = miscounted(world, message, attempt, lease, live) {
        object("attempts", what);
    }
    out_of_order(world, message);
    let broken = world
        .state()
        .records
        .messages
        .get(&number)
        .is_some_and(|sent| sent.broken);
    if broken && world.scenario.destination(&message.destination).is_some() {
        object(
            "payloads",
            "it was sent, and is not what its destination expects".to_owned(),
        );
    }
}

fn within_limits(world: &World, process: ProcessId, message: &Message) {
    let mut state = world.state();
    let flying = state
        .records
        .life(process)
        .flying
        .get(&message.destination)
        .copied()
        .unwrap_or(0);
    drop(state);
    let most = world
        .scenario
        .destination(&message.destination)
        .map_or(0, |plan| plan.concurrency);
    if flying >= most {
        let what =
            format!("{process} sent it while {flying} others were on their way, and at most {most} may be");
        world.object("limits", Some(message.number()), what);
    }
}

fn not_owner(world: &World, process: ProcessId, lease: LeaseSeen, shard: &ShardSeen) -> Option<String> {
    let owner = shard.owner.as_deref().unwrap_or("nobody");
    if shard.epoch != lease.epoch || owner != process.to_string() {
        return Some(format!("the shard was {owner}'s in epoch {}", shard.epoch));
    }
    let now = world.clocks.database().as_millis();
    let ended = shard.lease_until.is_none_or(|until| until < now);
    ended.then(|| "its lease had ended".to_owned())
}

/// The database's clock ends leases. A process counts on its own, which cannot know that the other was set.
fn was_stepped(world: &World) -> bool {
    let now = world.now();
    let lease = u64::try_from(world.scenario.relay.lease.as_millis()).unwrap_or(u64::MAX);
    world
        .state()
        .records
        .stepped_between(now.saturating_sub(2 * lease), now)
}

fn out_of_time(world: &World, message: &Message, live: &Seen) -> Option<String> {
    let latest = world.clocks.latest();
    let due = [
        live.state.next_attempt_at,
        live.not_before.filter(|_| live.state.redrives == 0),
    ];
    if let Some(due) = due.into_iter().flatten().find(|&due| due > latest) {
        return Some(format!("it was sent at {latest}, and is due at {due}"));
    }
    let expires = live.expires_at.filter(|_| message.redrives == 0)?;
    let now = world.clocks.database();
    let late = now.since(expires);
    let now_ms = world.now();
    let stepped = world
        .state()
        .records
        .stepped_between(now_ms.saturating_sub(60_000), now_ms);
    let behind = std::time::Duration::from_millis(50 + 2 * world.scenario.faults.slowest_ms);
    (!stepped && late > behind).then(|| format!("it was sent at {now}, and had expired at {expires}"))
}

fn miscounted(
    world: &World,
    message: &Message,
    attempt: u32,
    lease: LeaseSeen,
    live: &Seen,
) -> Option<String> {
    let state = world.state();
    let sent = state.records.messages.get(&message.number())?;
    let counted = sent.counted == Some((live.state.redrives, attempt)) && live.state.attempts == attempt;
    if !counted && attempt != live.state.attempts + 1 {
        let attempts = live.state.attempts;
        return Some(format!("attempt {attempt} was begun, and {attempts} are counted"));
    }
    let plan = world.scenario.destination(&message.destination)?;
    if !counted && !plan.idempotent {
        return Some(format!(
            "attempt {attempt} was begun without being counted first, and it must not arrive twice"
        ));
    }
    let most = plan.policy.max_attempts?;
    if attempt > most {
        return Some(format!(
            "attempt {attempt} was begun, and at most {most} are allowed"
        ));
    }
    let claimed = state.records.claims.get(&lease)?;
    let unheard = sent.attempts.iter().find(|earlier| {
        let same_life = earlier.redrive == live.state.redrives;
        same_life && !earlier.written && earlier.lease.epoch < lease.epoch && earlier.began <= claimed.at
    });
    // Whether a scheduled message was attempted since the takeover is told by the database's clock, which must not have been set back.
    let told = |began: u64| !state.records.steps.iter().any(|&(at, by)| by < 0 && at >= began);
    match unheard {
        Some(earlier) if !counted && !claimed.clean && told(earlier.began) => Some(format!(
            "it was on its way when {} lost {}, and attempt {attempt} was begun without being counted first",
            earlier.process, earlier.lease
        )),
        Some(earlier) if claimed.clean => Some(format!(
            "it was on its way when {} gave back {} as clean",
            earlier.process, earlier.lease
        )),
        _ => None,
    }
}

fn out_of_order(world: &World, message: &Message) {
    let Some(key) = &message.key else { return };
    let number = message.number();
    let Some((before, head)) = world.look(|connection| {
        Ok((
            look::predecessors(connection, &message.destination, key, number)?,
            look::parked(connection, &message.destination, key)?,
        ))
    }) else {
        return;
    };
    let overtaken = before
        .into_iter()
        .find(|&before| comes_first(world, before, number));
    if let Some(before) = overtaken {
        let what = format!("it was sent before message {before} of its lane had its end");
        world.object_to_both("order", Some(number), Some(before), what);
    }
    // Once the head was redriven, what was redriven and is before it goes first.
    let stands = |&(head, live): &(i64, bool)| head < number || (head > number && !live);
    if let Some((head, _)) = head.filter(stands) {
        let what = format!("it was sent while its lane stands still for message {head}");
        world.object_to_both("order", Some(number), Some(head), what);
    }
}

/// Whether an earlier message of a lane is to be sent first: unless it was redriven after the other one was live.
fn comes_first(world: &World, before: i64, number: i64) -> bool {
    let state = world.state();
    let messages = &state.records.messages;
    let act = |number: i64| messages.get(&number).map_or(0, |message| message.redriven_by);
    let (first, second) = (act(before), act(number));
    // By a clock that was set back, the second act was the first.
    first == second || (first < second && state.records.steps.is_empty())
}
