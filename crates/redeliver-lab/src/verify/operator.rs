//! An operator who mends, puts back and gives up dead letters, in the middle of everything.

use std::sync::Arc;

use redeliver::clock;
use redeliver_outbox::{
    DeadReason, MessageId, Payload,
    desk::{Act, Desk as _, Edit, Filter, MessageRef},
    state,
    store::{LaneId, StoreError},
};

use super::{
    chance::Chance,
    checks::{
        acts::{self, Before},
        parks,
    },
    history::Event,
    look,
    world::World,
};

/// So often a message is put back; then it is given up.
const MOST_REDRIVES: u32 = 2;

/// Works through the dead letters while the storm lasts.
pub(super) async fn work(world: Arc<World>) {
    if !world.scenario.faults.operator {
        return;
    }
    let mut chance = Chance::new(world.scenario.seed, "operator");
    let mut together = Chance::new(world.scenario.seed, "redrives of lanes");
    loop {
        clock::sleep(chance.millis(1_000, 20_000)).await;
        if world.is_calm() {
            return;
        }
        let letters = dead_letters(&world);
        let Some(&(number, redrives)) = chance.pick(&letters) else {
            continue;
        };
        if redrives >= MOST_REDRIVES || chance.happens(0.2) {
            discard(&world, number).await;
        } else if chance.happens(0.15) {
            redrive_some(&world, chance.count(1, 5)).await;
        } else if together.happens(0.3) {
            redrive_lane(&world, number).await;
        } else {
            if is_broken(&world, number) && chance.happens(0.7) {
                mend(&world, number).await;
            }
            redrive(&world, number).await;
        }
    }
}

/// Pauses destinations and lets them go on, those among them that said that they are gone.
pub(super) async fn hold(world: Arc<World>) {
    let scenario = &world.scenario;
    let some_gone = scenario
        .destinations
        .iter()
        .any(|plan| plan.temper.gone.is_some());
    if !scenario.faults.holds && !some_gone {
        return;
    }
    let mut chance = Chance::new(scenario.seed, "holder");
    loop {
        // Often: a hold and a beat that knows nothing of it yet meet seldom.
        clock::sleep(chance.millis(200, 5_000)).await;
        if world.is_calm() {
            return;
        }
        let Some(plan) = chance.pick(&scenario.destinations) else {
            return;
        };
        if scenario.faults.holds && chance.happens(0.4) {
            pause(&world, &plan.name).await;
        } else {
            let_go(&world, &plan.name).await;
        }
    }
}

/// Parks lanes and lets them go on, those among them that stand still for a dead letter.
pub(super) async fn lanes(world: Arc<World>) {
    if !world.scenario.faults.parks {
        return;
    }
    let mut chance = Chance::new(world.scenario.seed, "lanes");
    loop {
        clock::sleep(chance.millis(200, 8_000)).await;
        if world.is_calm() {
            return;
        }
        let park = chance.happens(0.5);
        let sql = match park {
            true => {
                "SELECT DISTINCT destination, lane FROM redeliver_outbox WHERE lane IS NOT NULL AND destination <> '' ORDER BY 1, 2"
            }
            false => {
                "SELECT destination, lane FROM redeliver_lanes WHERE resumed_at IS NULL ORDER BY destination, lane"
            }
        };
        let lanes = lanes_of(&world, sql);
        match chance.pick(&lanes) {
            Some(lane) if park => park_lane(&world, lane).await,
            Some(lane) => resume_lane(&world, lane).await,
            None => {}
        }
    }
}

fn lanes_of(world: &World, sql: &str) -> Vec<LaneId> {
    let found = world.look(|connection| {
        let lane = |row: &rusqlite::Row<'_>| {
            Ok(LaneId {
                destination: row.get(0)?,
                key: row.get(1)?,
            })
        };
        connection.prepare_cached(sql)?.query_map([], lane)?.collect()
    });
    found.unwrap_or_default()
}

async fn park_lane(world: &World, lane: &LaneId) {
    match world.store.park_lane(lane, &holder()).await {
        Ok(parked) if parked.new => world.tell(Event::LaneParked {
            destination: lane.destination.clone(),
            key: lane.key.clone(),
        }),
        Ok(_) => {}
        Err(error) => world.object("acts", None, format!("parking a lane failed by itself: {error}")),
    }
}

async fn resume_lane(world: &World, lane: &LaneId) {
    match world.store.resume_lane(lane, None, &holder()).await {
        Ok(Some(resumed)) => {
            world.tell(Event::LaneResumed {
                destination: lane.destination.clone(),
                key: lane.key.clone(),
                without: resumed.without.map(MessageId::number),
            });
            parks::check_resumed(world, &resumed);
        }
        Ok(None) => {}
        Err(error) => world.object(
            "acts",
            None,
            format!("letting a lane go on failed by itself: {error}"),
        ),
    }
}

async fn pause(world: &World, destination: &str) {
    match world.store.pause(destination, &holder()).await {
        Ok(held) if held.new => world.tell(Event::Held {
            destination: destination.to_owned(),
        }),
        Ok(_) => {}
        Err(error) => world.object("acts", None, format!("a pause failed by itself: {error}")),
    }
}

async fn let_go(world: &World, destination: &str) {
    match world.store.resume(destination, None, &holder()).await {
        Ok(Some(_)) => world.tell(Event::LetGo {
            destination: destination.to_owned(),
        }),
        Ok(None) => {}
        Err(error) => world.object("acts", None, format!("a resume failed by itself: {error}")),
    }
}

fn holder() -> Act {
    Act {
        who: "operator".to_owned(),
        why: "to see what happens".to_owned(),
    }
}

/// After the storm: destinations and lanes that stand still are set going, one way or the other.
pub(super) async fn tidy(world: &World) {
    for plan in &world.scenario.destinations {
        let_go(world, &plan.name).await;
    }
    let by_hand = "SELECT destination, lane FROM redeliver_lanes WHERE resumed_at IS NULL AND head = 0 ORDER BY destination, lane";
    for lane in lanes_of(world, by_hand) {
        resume_lane(world, &lane).await;
    }
    let heads = world.look(|connection| {
        let sql = "SELECT dead.number, dead.redrives FROM redeliver_lanes AS lane
                   JOIN redeliver_dead AS dead ON dead.number = lane.head
                   WHERE lane.resumed_at IS NULL AND dead.discarded_at IS NULL ORDER BY dead.number";
        letters(connection, sql)
    });
    for (number, redrives) in heads.unwrap_or_default() {
        if redrives >= MOST_REDRIVES {
            discard(world, number).await;
        } else {
            redrive(world, number).await;
        }
    }
}

fn letters(connection: &rusqlite::Connection, sql: &str) -> rusqlite::Result<Vec<(i64, u32)>> {
    connection
        .prepare_cached(sql)?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

fn dead_letters(world: &World) -> Vec<(i64, u32)> {
    let sql = "SELECT number, redrives FROM redeliver_dead WHERE discarded_at IS NULL ORDER BY number";
    world
        .look(|connection| letters(connection, sql))
        .unwrap_or_default()
}

fn is_broken(world: &World, number: i64) -> bool {
    let state = world.state();
    state
        .records
        .messages
        .get(&number)
        .is_some_and(|message| message.broken)
}

fn only(number: i64) -> Filter {
    Filter {
        messages: vec![MessageRef::Number(number)],
        ..Filter::default()
    }
}

fn act(world: &World, before: &Before) -> Act {
    Act {
        who: "operator".to_owned(),
        why: format!("act {} of seed {}", before.acts(), world.scenario.seed),
    }
}

async fn redrive(world: &World, number: i64) {
    let before = acts::look(world, &[number]);
    let act = act(world, &before);
    let done = world.store.redrive(&only(number), 1, &act).await;
    finish(world, &before, &act, "redrive", state::Event::Redriven, done);
}

/// Whatever matches, the oldest first.
async fn redrive_some(world: &World, at_most: usize) {
    let filter = Filter {
        reason: Some(DeadReason::AttemptsExhausted),
        ..Filter::default()
    };
    let numbers = world.look(|connection| {
        let sql = "SELECT number FROM redeliver_dead
                   WHERE discarded_at IS NULL AND reason = 'attempts_exhausted' ORDER BY number LIMIT ?1";
        look::numbers(connection, sql, [i64::try_from(at_most).unwrap_or(i64::MAX)])
    });
    let before = acts::look(world, &numbers.unwrap_or_default());
    let act = act(world, &before);
    let done = world.store.redrive(&filter, at_most, &act).await;
    finish(world, &before, &act, "redrive", state::Event::Redriven, done);
}

/// The dead letters of a lane, in one act.
async fn redrive_lane(world: &World, number: i64) {
    let numbers = world.look(|connection| {
        let sql = "SELECT dead.number FROM redeliver_dead AS dead
                   JOIN redeliver_dead AS one ON one.destination = dead.destination AND one.lane = dead.lane
                   WHERE one.number = ?1 AND dead.discarded_at IS NULL ORDER BY dead.number";
        look::numbers(connection, sql, [number])
    });
    let numbers = numbers.filter(|numbers| !numbers.is_empty());
    let numbers = numbers.unwrap_or_else(|| vec![number]);
    let filter = Filter {
        messages: numbers.iter().copied().map(MessageRef::Number).collect(),
        ..Filter::default()
    };
    let before = acts::look(world, &numbers);
    let act = act(world, &before);
    let done = world.store.redrive(&filter, numbers.len(), &act).await;
    finish(world, &before, &act, "redrive", state::Event::Redriven, done);
}

async fn discard(world: &World, number: i64) {
    let before = acts::look(world, &[number]);
    let act = act(world, &before);
    let done = world.store.discard(&only(number), 1, &act).await;
    finish(world, &before, &act, "discard", state::Event::Discarded, done);
}

/// Gives it a payload that its destination takes.
async fn mend(world: &World, number: i64) {
    let payload = format!("{{\"mended\":{number}}}");
    let edit = Edit {
        payload: Some(Payload::from(payload.as_str())),
        ..Edit::default()
    };
    let before = acts::look(world, &[number]);
    let act = act(world, &before);
    let done = world.store.edit(MessageRef::Number(number), &edit, &act).await;
    if let Some(message) = world.state().records.messages.get_mut(&number) {
        message.payloads.push(payload);
        message.broken = false;
    }
    let done = done.map(|()| before.ids());
    finish(world, &before, &act, "edit", state::Event::Edited, done);
}

fn finish(
    world: &World,
    before: &Before,
    act: &Act,
    action: &'static str,
    event: state::Event,
    done: Result<Vec<MessageId>, StoreError>,
) {
    let ids = match done {
        Ok(ids) => ids,
        Err(error) => {
            world.object("acts", None, format!("{action} failed by itself: {error}"));
            return;
        }
    };
    if event == state::Event::Redriven {
        note_redrive(world, &ids, before.acts() + 1);
    }
    for id in &ids {
        let number = id.number();
        world.tell(match event {
            state::Event::Redriven => Event::Redriven { number },
            state::Event::Discarded => Event::Discarded { number },
            _ => Event::Edited { number },
        });
    }
    acts::check(world, before, act, action, event, &ids);
}

fn note_redrive(world: &World, ids: &[MessageId], by: i64) {
    let mut state = world.state();
    for id in ids {
        if let Some(message) = state.records.messages.get_mut(&id.number()) {
            message.redriven_by = by;
        }
    }
}
