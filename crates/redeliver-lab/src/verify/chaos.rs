//! What befalls processes while the storm lasts.

use std::{sync::Arc, time::Duration};

use redeliver::clock;

use super::{
    chance::Chance,
    history::Event,
    process::{Control, Slots, running},
    scenario::LARGEST_STEP_MS,
    world::World,
};

#[derive(Clone, Copy)]
enum Blow {
    Crash,
    CrashSoon,
    Pause,
    Stop,
    ClockStep,
    Outage,
}

/// Harms processes until it is told to stop.
pub(super) async fn rage(world: Arc<World>, slots: Slots) {
    let faults = world.scenario.faults;
    let mut chance = Chance::new(world.scenario.seed, "chaos");
    let mut ahead = 0;
    let blows: Vec<Blow> = [
        (faults.crashes, Blow::Crash),
        (faults.crashes, Blow::CrashSoon),
        (faults.pauses, Blow::Pause),
        (faults.stops, Blow::Stop),
        (faults.clock_steps, Blow::ClockStep),
        (faults.outages, Blow::Outage),
    ]
    .into_iter()
    .filter_map(|(enabled, blow)| enabled.then_some(blow))
    .collect();
    if blows.is_empty() {
        return;
    }
    loop {
        clock::sleep(chance.millis(faults.every_ms / 4, faults.every_ms * 2)).await;
        if world.is_calm() {
            return;
        }
        let living = running(&slots);
        let (Some(blow), Some(control)) = (chance.pick(&blows).copied(), chance.pick(&living)) else {
            continue;
        };
        strike(&world, control, blow, &mut chance, &mut ahead);
    }
}

fn strike(world: &World, control: &Arc<Control>, blow: Blow, chance: &mut Chance, ahead: &mut i64) {
    let process = control.process;
    let lease = u64::try_from(world.scenario.relay.lease.as_millis()).unwrap_or(u64::MAX);
    match blow {
        Blow::Crash => control.crash("killed"),
        Blow::CrashSoon => control.crash_after(chance.between(0, 60)),
        Blow::Pause => {
            // Half of them outlast the lease.
            let longest = if chance.happens(0.5) { lease } else { 3 * lease };
            control.pause(Duration::from_millis(chance.between(200, longest)));
        }
        Blow::Stop => {
            world.tell(Event::AskedToStop(process));
            control.stop();
        }
        Blow::ClockStep => {
            let size = i64::try_from(chance.between(100, 6_000)).unwrap_or(0);
            let step = if chance.happens(0.5) { size } else { -size };
            if (*ahead + step).abs() <= LARGEST_STEP_MS {
                *ahead += step;
                world.clocks.step(step);
                world.tell(Event::ClockStepped { millis: step });
                let now = world.now();
                world.state().records.steps.push((now, step));
            }
        }
        Blow::Outage => {
            let millis = chance.between(500, 2 * lease);
            control.cut_off_until(world.now() + millis);
            world.tell(Event::Outage { process, millis });
        }
    }
}
