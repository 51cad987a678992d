//! Producers: transactions with messages, committed or rolled back.

use std::sync::Arc;

use redeliver::clock;
use redeliver_outbox::{
    NewMessage, Timestamp,
    desk::{Desk as _, Enqueued},
};
use rusqlite::Connection;

use super::{
    chance::Chance,
    history::Event,
    process::{Slots, running},
    record::Sent,
    scenario::{LONGEST_DELAY_MS, TOPIC},
    world::{State, World},
};

/// A message that is about to be inserted.
struct Draft {
    destination: String,
    key: Option<String>,
    payload: String,
    not_before: Option<Timestamp>,
    expires_at: Option<Timestamp>,
    salt: i64,
    poison: bool,
    broken: bool,
}

const INSERT: &str =
    "INSERT INTO redeliver_outbox (salt, destination, topic, lane, payload, not_before, expires_at, created_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING number, shard";

/// Writes its share of the messages over the storm.
pub(super) async fn produce(world: Arc<World>, slots: Slots, producer: usize) {
    let mut chance = Chance::new(world.scenario.seed ^ ((producer as u64) << 40), "producer");
    let share = world.scenario.messages.div_ceil(world.scenario.producers);
    let storm = u64::try_from(world.scenario.storm.as_millis()).unwrap_or(u64::MAX);
    let pace = (storm * 7 / 10) / (share as u64).max(1);
    let mut written = 0;
    while written < share {
        // Bursts, and silences between them.
        let pause = if chance.happens(0.7) {
            chance.between(0, pace / 2)
        } else {
            chance.between(0, pace * 4)
        };
        clock::sleep(std::time::Duration::from_millis(pause)).await;
        let size = if chance.happens(0.15) {
            chance.count(2, 12)
        } else {
            chance.count(1, 2)
        };
        let drafts: Vec<Draft> = (0..size)
            .map(|at| draft(&world, &mut chance, &format!("{producer}-{written}-{at}")))
            .collect();
        written += size;
        let commit = !chance.happens(0.12);
        if chance.happens(0.08) {
            enqueue_once(&world, &mut chance, &format!("{producer}-{written}")).await;
        }
        transact(&world, &drafts, commit);
        if commit && !chance.happens(world.scenario.faults.lost_hints) {
            for control in running(&slots) {
                control.wake();
            }
        }
    }
}

fn draft(world: &World, chance: &mut Chance, token: &str) -> Draft {
    let scenario = &world.scenario;
    if !scenario.interested.is_empty() && chance.happens(0.2) {
        return event(world, chance, token);
    }
    let unknown = chance.happens(0.01);
    let plan = chance.pick(&scenario.destinations).filter(|_| !unknown);
    let key = chance
        .happens(0.65)
        .then(|| format!("lane-{}", chance.between(1, scenario.lanes as u64)));
    let now = world.clocks.database();
    let broken_json = plan.is_some_and(|plan| plan.json) && chance.happens(0.03);
    let too_large = plan.is_some_and(|plan| plan.payload_limit < 1000) && chance.happens(0.03);
    let filler = if too_large { "x".repeat(400) } else { String::new() };
    let end = if broken_json { "" } else { "}" };
    Draft {
        destination: plan.map_or_else(|| "nowhere".to_owned(), |plan| plan.name.clone()),
        key,
        payload: format!("{{\"token\":\"{token}\",\"filler\":\"{filler}\"{end}"),
        not_before: chance
            .happens(0.1)
            .then(|| now.plus(chance.millis(0, LONGEST_DELAY_MS))),
        expires_at: chance.happens(0.1).then(|| now.plus(chance.millis(500, 90_000))),
        salt: chance.bits() as i64,
        poison: chance.happens(scenario.faults.poison),
        broken: broken_json || too_large,
    }
}

/// A message without a destination. It has a key, because the shards of messages without one depend on salts that the store draws by
/// itself for what it makes of an event.
fn event(world: &World, chance: &mut Chance, token: &str) -> Draft {
    let now = world.clocks.database();
    Draft {
        destination: String::new(),
        key: Some(format!("lane-{}", chance.between(1, world.scenario.lanes as u64))),
        payload: format!("{{\"event\":\"{token}\"}}"),
        not_before: chance
            .happens(0.1)
            .then(|| now.plus(chance.millis(0, LONGEST_DELAY_MS))),
        expires_at: chance.happens(0.1).then(|| now.plus(chance.millis(500, 90_000))),
        salt: chance.bits() as i64,
        poison: false,
        broken: false,
    }
}

fn transact(world: &World, drafts: &[Draft], commit: bool) {
    let created = world.clocks.database();
    let Some(inserted) = world.look(|connection| insert(connection, drafts, created, commit)) else {
        return;
    };
    let now = world.now();
    let mut state = world.state();
    if !commit {
        state
            .records
            .never
            .extend(drafts.iter().map(|draft| draft.payload.clone()));
        state.history.push(
            now,
            Event::RolledBack {
                messages: drafts.len(),
            },
        );
        return;
    }
    for (draft, (number, shard)) in drafts.iter().zip(inserted) {
        record(&mut state, now, draft, number, shard);
    }
}

fn record(state: &mut State, now: u64, draft: &Draft, number: i64, shard: u16) {
    let lane = match &draft.key {
        Some(key) => format!("{} {key}, shard {shard}", draft.destination),
        None => format!("{}, shard {shard}", draft.destination),
    };
    state.history.push(now, Event::Committed { number, lane });
    let sent = Sent {
        destination: draft.destination.clone(),
        key: draft.key.clone(),
        payloads: vec![draft.payload.clone()],
        committed: now,
        poison: draft.poison,
        broken: draft.broken,
        id: None,
        shard,
        attempts: Vec::new(),
        counted: None,
        died: false,
        redriven_by: 0,
    };
    state.records.messages.insert(number, sent);
}

/// By way of the desk, with a de-duplication key that may have been used before.
async fn enqueue_once(world: &World, chance: &mut Chance, token: &str) {
    let Some(plan) = chance.pick(&world.scenario.destinations) else {
        return;
    };
    // The desk draws the salt by itself, and the shard of a message without a key depends on it: that would be another history.
    let key = format!("lane-{}", chance.between(1, world.scenario.lanes as u64));
    let once = format!("once-{}", chance.between(1, 5));
    let payload = format!("{{\"token\":\"once-{token}\"}}");
    let message = NewMessage::to(plan.name.clone())
        .key(key.clone())
        .payload(payload.clone())
        .deduplication_key(once.clone());
    let enqueued = world.store.enqueue(&[message]).await;
    let before = world.state().records.keys.get(&once).copied();
    match (enqueued.as_deref(), before) {
        (Ok([Enqueued::New(id)]), None) => {
            let number = id.number();
            let shard = world.look(|connection| {
                let sql = "SELECT shard FROM redeliver_outbox WHERE number = ?1";
                connection.query_row(sql, [number], |row| row.get(0))
            });
            let draft = Draft {
                destination: plan.name.clone(),
                key: Some(key),
                payload,
                not_before: None,
                expires_at: None,
                salt: 0,
                poison: false,
                broken: false,
            };
            let now = world.now();
            let mut state = world.state();
            state.records.keys.insert(once, number);
            record(&mut state, now, &draft, number, shard.unwrap_or(0));
        }
        (Ok([Enqueued::Duplicate(Some(id))]), Some(number)) if id.number() == number => {}
        (enqueued, before) => {
            let what = format!("{once} stands for {before:?}, and enqueueing it came to {enqueued:?}");
            world.object("de-duplication", before, what);
        }
    }
}

fn insert(
    connection: &Connection,
    drafts: &[Draft],
    created: Timestamp,
    commit: bool,
) -> rusqlite::Result<Vec<(i64, u16)>> {
    let transaction = connection.unchecked_transaction()?;
    let mut inserted = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let values = (
            draft.salt,
            &draft.destination,
            draft.destination.is_empty().then_some(TOPIC),
            &draft.key,
            &draft.payload,
            draft.not_before.map(Timestamp::as_millis),
            draft.expires_at.map(Timestamp::as_millis),
            created.as_millis(),
        );
        let row = transaction
            .prepare_cached(INSERT)?
            .query_row(values, |row| Ok((row.get(0)?, row.get(1)?)))?;
        inserted.push(row);
    }
    if commit {
        transaction.commit()?;
    } else {
        transaction.rollback()?;
    }
    Ok(inserted)
}
