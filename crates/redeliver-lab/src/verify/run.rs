//! One history: a storm, then calm, then a look at what is left.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use redeliver::clock;
use redeliver_outbox::{
    desk::{Layout, Schema as _},
    plants::{self, Plant},
    store::SqliteStore,
};
use tokio::task::JoinSet;

use super::{
    chaos,
    checks::{duplicates, endings},
    clock::Clocks,
    history::Event,
    look, operator,
    process::{self, Slots, running},
    producer,
    report::{Cause, Counts, Outcome, Violation},
    scenario::Scenario,
    world::World,
};

/// After the last fault everything has to reach its end within this time.
const PATIENCE: Duration = Duration::from_secs(900);

/// A history that could not be run.
#[derive(Debug, thiserror::Error)]
pub enum CannotVerify {
    /// The runtime could not be made.
    #[error("the simulator's runtime could not be made: {0}")]
    Runtime(#[from] std::io::Error),
    /// The database could not be made.
    #[error("the simulator's database could not be made: {0}")]
    Database(#[from] redeliver_outbox::store::StoreError),
}

/// Runs the history of a seed, with a planted bug if there is to be one.
///
/// # Errors
///
/// If there is no runtime or no database for it.
pub fn run_seed(seed: u64, plant: Option<Plant>) -> Result<Outcome, CannotVerify> {
    let _planted = plants::plant(plant);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()?;
    runtime.block_on(history(Scenario::of(seed)))
}

async fn history(scenario: Scenario) -> Result<Outcome, CannotVerify> {
    let clocks = Arc::new(Clocks::start());
    let ticking = Arc::clone(&clocks);
    let store = SqliteStore::in_memory()?.with_clock(move || ticking.database());
    store
        .migrate(
            Layout {
                shards: scenario.shards,
            },
            None,
        )
        .await?;
    let world = Arc::new(World::new(scenario, clocks, store));
    let mut objected = Box::pin(world.over.notified());
    let objected = tokio::select! {
        () = &mut objected => true,
        () = storm_and_calm(&world) => false,
    };
    if !objected {
        endings::check(&world);
    }
    let causes = duplicates::check(&world);
    Ok(outcome(&world, &causes))
}

async fn storm_and_calm(world: &Arc<World>) {
    let slots: Slots = Arc::new(Mutex::new(vec![None; world.scenario.processes]));
    let closing = Arc::new(AtomicBool::new(false));
    let mut producers = JoinSet::new();
    for producer in 0..world.scenario.producers {
        producers.spawn(producer::produce(Arc::clone(world), Arc::clone(&slots), producer));
    }
    let mut processes = JoinSet::new();
    for slot in 0..world.scenario.processes {
        processes.spawn(process::supervise(
            Arc::clone(world),
            Arc::clone(&slots),
            slot,
            Arc::clone(&closing),
        ));
    }
    let mut others = JoinSet::new();
    others.spawn(chaos::rage(Arc::clone(world), Arc::clone(&slots)));
    others.spawn(operator::work(Arc::clone(world)));
    others.spawn(operator::hold(Arc::clone(world)));
    others.spawn(operator::lanes(Arc::clone(world)));
    clock::sleep(world.scenario.storm).await;
    while producers.join_next().await.is_some() {}
    world.calm_down();
    let calm_since = world.now();
    let patience = u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX);
    while !endings::is_quiet(world) {
        clock::sleep(Duration::from_secs(2)).await;
        operator::tidy(world).await;
        let waited = world.now() - calm_since;
        if waited > patience {
            endings::check_stuck(world, waited);
            return;
        }
    }
    // A lease or two more, in which nothing may come back to life.
    clock::sleep(2 * world.scenario.relay.lease).await;
    closing.store(true, Ordering::Relaxed);
    for control in running(&slots) {
        world.tell(Event::AskedToStop(control.process));
        control.stop();
    }
    while processes.join_next().await.is_some() {}
}

fn outcome(world: &World, causes: &[Cause]) -> Outcome {
    let dead = world.look(|connection| {
        let numbers = look::numbers(connection, "SELECT number FROM redeliver_dead", [])?;
        Ok(numbers.len() as u64)
    });
    let state = world.state();
    let mut counts = Counts {
        seeds: 1,
        simulated_ms: world.now(),
        dead: dead.unwrap_or(0),
        ..Counts::default()
    };
    for (_, event) in state.history.entries() {
        let counter = match event {
            Event::Committed { .. } => &mut counts.messages,
            Event::RolledBack { .. } => &mut counts.rolled_back,
            Event::Sending { .. } => &mut counts.attempts,
            Event::Crashed { .. } => &mut counts.crashes,
            Event::Paused { .. } => &mut counts.pauses,
            Event::AskedToStop(_) => &mut counts.stops,
            Event::Trouble { what, .. } if what.starts_with("refused") => &mut counts.refused_calls,
            Event::Trouble { .. } => &mut counts.lost_commits,
            Event::ClockStepped { .. } => &mut counts.clock_steps,
            Event::Owned { .. } => &mut counts.takeovers,
            Event::Wrote { stale: true, .. } => &mut counts.fenced,
            Event::Redriven { .. } => &mut counts.redriven,
            Event::Discarded { .. } => &mut counts.discarded,
            Event::Held { .. } => &mut counts.holds,
            Event::LaneParked { .. } => &mut counts.parks,
            _ => continue,
        };
        *counter += 1;
    }
    counts.delivered = state
        .records
        .messages
        .values()
        .filter(|message| message.attempts.iter().any(|attempt| attempt.taken))
        .count() as u64;
    for &cause in causes {
        *counts.duplicates.entry(cause).or_default() += 1;
    }
    let violation = state.objection.as_ref().map(|objection| {
        let numbers: Vec<i64> = objection.number.into_iter().chain(objection.other).collect();
        let shard = objection
            .number
            .and_then(|number| state.records.messages.get(&number))
            .map(|message| message.shard);
        Violation {
            seed: world.scenario.seed,
            checker: objection.checker,
            what: objection.what.clone(),
            message: objection.number,
            history: state.history.of(&numbers, shard),
        }
    });
    Outcome {
        counts,
        fingerprint: state.history.fingerprint(),
        violation,
    }
}
