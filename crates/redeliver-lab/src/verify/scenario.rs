use std::time::Duration;

use redeliver::{Jitter, Policy};
use redeliver_outbox::destination::LanePolicy;

use super::chance::Chance;

/// All that a seed decides before anything happens.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) seed: u64,
    pub(super) shards: u16,
    pub(super) processes: usize,
    pub(super) producers: usize,
    pub(super) messages: usize,
    pub(super) lanes: usize,
    /// How long faults go on.
    pub(super) storm: Duration,
    pub(super) relay: RelayLimits,
    pub(super) destinations: Vec<DestinationPlan>,
    pub(super) faults: Faults,
    /// Where events go, by name; none if there are no events.
    pub(super) interested: Vec<String>,
}

/// What every event is about.
pub(super) const TOPIC: &str = "things.changed";

/// The relay's limits: small, so that they are met.
#[derive(Clone, Copy, Debug)]
pub(super) struct RelayLimits {
    pub(super) lease: Duration,
    pub(super) window: usize,
    pub(super) lane_window: usize,
    pub(super) read_batch: usize,
    pub(super) settle_batch: usize,
    pub(super) settle_linger: Duration,
    pub(super) poll_soonest: Duration,
    pub(super) poll_latest: Duration,
    pub(super) shutdown: Duration,
}

/// A destination: its treatment, and its temper.
#[derive(Clone, Debug)]
pub(super) struct DestinationPlan {
    pub(super) name: String,
    pub(super) policy: Policy,
    pub(super) lane: LanePolicy,
    pub(super) timeout: Duration,
    pub(super) concurrency: usize,
    pub(super) idempotent: bool,
    pub(super) json: bool,
    pub(super) payload_limit: usize,
    pub(super) temper: Temper,
    /// Processes that start from then on, in milliseconds from the beginning, have a configuration without it.
    pub(super) leaves: Option<u64>,
}

/// How a destination behaves while the storm lasts. Each figure is the likelihood of one answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Temper {
    pub(super) fails: f64,
    pub(super) throttles: f64,
    pub(super) rejects: f64,
    /// Takes the message, and says that it does not know whether it did.
    pub(super) ambiguous: f64,
    /// Takes the message, and never answers.
    pub(super) silent: f64,
    /// The longest way there and back.
    pub(super) latency_ms: u64,
    /// Refuses everything in this part of the storm, in milliseconds from the beginning.
    pub(super) dead: Option<(u64, u64)>,
    /// Says in this part of the storm that it is gone for good.
    pub(super) gone: Option<(u64, u64)>,
}

/// Which faults there are, and how likely. Zero switches one off.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Faults {
    /// The usual time between two acts against processes, in milliseconds.
    pub(super) every_ms: u64,
    pub(super) crashes: bool,
    pub(super) pauses: bool,
    pub(super) stops: bool,
    pub(super) clock_steps: bool,
    pub(super) outages: bool,
    pub(super) refused: f64,
    pub(super) unknown_commits: f64,
    pub(super) slow: f64,
    pub(super) slowest_ms: u64,
    pub(super) lost_hints: f64,
    pub(super) poison: f64,
    pub(super) operator: bool,
    /// Destinations are paused and resumed.
    pub(super) holds: bool,
    /// Lanes are parked and resumed by hand.
    pub(super) parks: bool,
}

/// The largest sum of all steps of the database's clock, one way or the other.
pub(super) const LARGEST_STEP_MS: i64 = 15_000;
/// Longer than this no message is put off by its sender.
pub(super) const LONGEST_DELAY_MS: u64 = 60_000;

impl Scenario {
    pub(super) fn of(seed: u64) -> Self {
        let mut chance = Chance::new(seed, "scenario");
        let processes = chance.count(2, 4);
        let destinations: Vec<DestinationPlan> = (0..chance.count(1, 4))
            .map(|at| DestinationPlan::draw(at, &mut chance))
            .collect();
        let names: Vec<String> = destinations.iter().map(|plan| plan.name.clone()).collect();
        let mut scenario = Self {
            seed,
            shards: u16::try_from(chance.between(1, 8)).unwrap_or(1),
            processes,
            producers: chance.count(1, 3),
            messages: chance.count(30, 200),
            lanes: chance.count(1, 10),
            storm: chance.millis(60_000, 240_000),
            relay: RelayLimits::draw(&mut chance),
            destinations,
            faults: Faults::draw(&mut chance),
            interested: Vec::new(),
        };
        if chance.happens(0.6) {
            scenario.interested = names.into_iter().filter(|_| chance.happens(0.8)).collect();
        }
        scenario.draw_holds(&mut Chance::new(seed, "holds"));
        scenario.faults.parks = Chance::new(seed, "parks").happens(0.5);
        scenario.draw_leaving(&mut Chance::new(seed, "leaving"));
        scenario
    }

    fn draw_holds(&mut self, chance: &mut Chance) {
        self.faults.holds = chance.happens(0.4);
        for plan in &mut self.destinations {
            let begin = chance.between(0, 60_000);
            let end = begin + chance.between(2_000, 40_000);
            plan.temper.gone = chance.happens(0.3).then_some((begin, end));
        }
    }

    /// Seldom, and one at most: what leaves is quarantined, and whatever else could be found in it is not.
    fn draw_leaving(&mut self, chance: &mut Chance) {
        if chance.happens(0.15)
            && let Some(plan) = self.destinations.last_mut()
        {
            plan.leaves = Some(chance.between(10_000, 100_000));
        }
    }

    pub(super) fn destination(&self, name: &str) -> Option<&DestinationPlan> {
        self.destinations.iter().find(|plan| plan.name == name)
    }

    /// For how many milliseconds the database refuses the verdicts on a message, if it does: one in thirty in every second history.
    pub(super) const fn refuses(&self, number: i64) -> Option<u64> {
        let mixed = (number.cast_unsigned() ^ self.seed << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        if self.seed.is_multiple_of(2) && mixed.is_multiple_of(30) {
            Some(mixed / 30 % 20_000)
        } else {
            None
        }
    }
}

impl RelayLimits {
    fn draw(chance: &mut Chance) -> Self {
        let poll_soonest = chance.millis(20, 100);
        Self {
            lease: chance.millis(3_000, 10_000),
            window: chance.count(2, 40),
            lane_window: chance.count(1, 6),
            read_batch: chance.count(1, 24),
            settle_batch: chance.count(1, 12),
            settle_linger: chance.millis(0, 20),
            poll_soonest,
            poll_latest: poll_soonest + chance.millis(200, 2_000),
            shutdown: chance.millis(200, 6_000),
        }
    }
}

impl DestinationPlan {
    fn draw(at: usize, chance: &mut Chance) -> Self {
        let base = chance.millis(100, 2_000);
        let mut policy = Policy::exponential(base, chance.millis(4_000, 20_000))
            .max_attempts(u32::try_from(chance.between(2, 6)).unwrap_or(2))
            .retry_after_max(Duration::from_secs(25));
        if chance.happens(0.6) {
            policy = policy.jitter(Jitter::None);
        }
        if chance.happens(0.25) {
            policy = policy.deadline(chance.millis(40_000, 150_000));
        }
        let lanes = [
            LanePolicy::Block,
            LanePolicy::Block,
            LanePolicy::Park,
            LanePolicy::Skip,
        ];
        Self {
            name: format!("destination-{at}"),
            policy,
            lane: chance.pick(&lanes).copied().unwrap_or_default(),
            timeout: chance.millis(500, 4_000),
            concurrency: chance.count(1, 8),
            idempotent: chance.happens(0.9),
            json: chance.happens(0.5),
            payload_limit: if chance.happens(0.3) { 200 } else { 1 << 20 },
            temper: Temper::draw(chance),
            leaves: None,
        }
    }

    /// Whether a configuration that is read now does not have it any more.
    pub(super) fn has_left(&self, now: u64) -> bool {
        self.leaves.is_some_and(|leaves| now >= leaves)
    }
}

impl Temper {
    fn draw(chance: &mut Chance) -> Self {
        let begin = chance.between(0, 60_000);
        let end = begin + chance.between(5_000, 60_000);
        Self {
            fails: chance.sometimes(0.5, 0.05, 0.6),
            throttles: chance.sometimes(0.3, 0.05, 0.5),
            rejects: chance.sometimes(0.3, 0.02, 0.3),
            ambiguous: chance.sometimes(0.3, 0.02, 0.3),
            silent: chance.sometimes(0.25, 0.02, 0.2),
            latency_ms: *chance.pick(&[2, 10, 50, 400, 3_000, 9_000]).unwrap_or(&2),
            dead: chance.happens(0.25).then_some((begin, end)),
            gone: None,
        }
    }
}

impl Faults {
    /// Swarm: each seed has a subset, because faults hide each other.
    fn draw(chance: &mut Chance) -> Self {
        let calm = chance.happens(0.1);
        if calm {
            return Self {
                every_ms: 10_000,
                operator: chance.happens(0.5),
                ..Self::default()
            };
        }
        Self {
            every_ms: chance.between(1_500, 15_000),
            crashes: chance.happens(0.6),
            pauses: chance.happens(0.4),
            stops: chance.happens(0.4),
            clock_steps: chance.happens(0.2),
            outages: chance.happens(0.25),
            refused: chance.sometimes(0.35, 0.005, 0.15),
            unknown_commits: chance.sometimes(0.4, 0.005, 0.15),
            slow: chance.sometimes(0.35, 0.01, 0.3),
            slowest_ms: *chance.pick(&[20, 200, 1_500]).unwrap_or(&20),
            lost_hints: chance.sometimes(0.6, 0.2, 1.0),
            poison: chance.sometimes(0.2, 0.005, 0.02),
            operator: chance.happens(0.6),
            holds: false,
            parks: false,
        }
    }
}
