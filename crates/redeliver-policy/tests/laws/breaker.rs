//! The breaker against a model that keeps every call in a list and knows nothing of phases, slices or generations.

use std::time::Duration;

use proptest::prelude::*;
use redeliver_policy::{BreakerCore, BreakerRule, BreakerState, Moment, Permit, Verdict};

use crate::strategies::{any_duration, any_float};

#[derive(Clone, Debug)]
enum Op {
    Pass(u64),
    Admit(u64),
    Settle(prop::sample::Index, Verdict),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let verdict = prop_oneof![
        3 => Just(Verdict::Failed),
        3 => Just(Verdict::Healthy),
        1 => Just(Verdict::Abandoned),
    ];
    let op = prop_oneof![
        2 => (0u64..400).prop_map(Op::Pass),
        1 => (0u64..6_000).prop_map(Op::Pass),
        6 => any::<u64>().prop_map(Op::Admit),
        6 => (any::<prop::sample::Index>(), verdict).prop_map(|(which, verdict)| Op::Settle(which, verdict)),
    ];
    prop::collection::vec(op, 1..250)
}

fn rule() -> impl Strategy<Value = BreakerRule> {
    (1u32..=100, 1u32..8, 1u32..4, 0u64..3_000).prop_map(|(percent, calls, probes, slow)| {
        BreakerRule::DEFAULT
            .failure_rate(f64::from(percent) / 100.0)
            .minimum_calls(calls)
            .probes(probes)
            .window(Duration::from_secs(2))
            .open_for(Duration::from_secs(1))
            .slow_start(Duration::from_millis(slow))
    })
}

/// What an outsider can know: which permits are out and from which era, and every verdict since the era began.
struct Model {
    rule: BreakerRule,
    era: u32,
    stage: Stage,
    verdicts: Vec<(u64, Verdict)>,
    /// When the first verdict of all was counted: tenths of the window begin there.
    first: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Serving { since: u64 },
    Down { until: u64 },
    Probing { healthy: u32 },
}

impl Model {
    fn millis(duration: Duration) -> u64 {
        u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
    }

    fn turn(&mut self, stage: Stage) {
        self.era += 1;
        self.stage = stage;
        self.verdicts.clear();
    }

    fn state(&self, now: u64) -> BreakerState {
        match self.stage {
            Stage::Serving { since } if self.era > 0 && now < since + Self::millis(self.rule.slow_start) => {
                BreakerState::Recovering
            }
            Stage::Serving { .. } => BreakerState::Closed,
            Stage::Down { until } if now < until => BreakerState::Open,
            Stage::Down { .. } | Stage::Probing { .. } => BreakerState::HalfOpen,
        }
    }

    fn verdict(&mut self, now: u64, verdict: Verdict) {
        let down = Stage::Down {
            until: now + Self::millis(self.rule.open_for),
        };
        match (self.stage, verdict) {
            (_, Verdict::Abandoned) | (Stage::Down { .. }, _) => {}
            (Stage::Probing { .. }, Verdict::Failed) => self.turn(down),
            (Stage::Probing { healthy }, Verdict::Healthy) if healthy + 1 == self.rule.probes => {
                self.turn(Stage::Serving { since: now });
            }
            (Stage::Probing { healthy }, Verdict::Healthy) => {
                self.stage = Stage::Probing { healthy: healthy + 1 }
            }
            (Stage::Serving { .. }, verdict) => {
                self.verdicts.push((now, verdict));
                self.first.get_or_insert(now);
                if verdict == Verdict::Failed && self.rate_is_reached(now) {
                    self.turn(down);
                }
            }
        }
    }

    /// The window is counted in tenths, of which the running one counts in whole.
    fn rate_is_reached(&self, now: u64) -> bool {
        let tenth = Self::millis(self.rule.window) / 10;
        let first = self.first.unwrap_or(now);
        let slice = |time: u64| (time - first) / tenth;
        let counted = || {
            self.verdicts
                .iter()
                .filter(|&&(at, _)| slice(at) + 10 > slice(now))
        };
        let failed = counted()
            .filter(|(_, verdict)| *verdict == Verdict::Failed)
            .count();
        let percent = (self.rule.failure_rate * 100.0).round() as usize;
        counted().count() >= self.rule.minimum_calls as usize && failed * 100 >= percent * counted().count()
    }
}

fn at(millis: u64) -> Moment {
    Moment::from_millis(millis)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn it_does_what_the_model_does(rule in rule(), ops in ops()) {
        let mut breaker = BreakerCore::new(rule);
        let mut model = Model { rule, era: 0, stage: Stage::Serving { since: 0 }, verdicts: Vec::new(), first: None, };
        let mut out: Vec<(u32, Permit)> = Vec::new();
        let mut now = 0;
        for op in ops {
            match op {
                Op::Pass(millis) => now += millis,
                Op::Admit(entropy) => {
                    let before = model.state(now);
                    if before == BreakerState::HalfOpen && matches!(model.stage, Stage::Down { .. }) {
                        model.turn(Stage::Probing { healthy: 0 });
                    }
                    let probing = out.iter().filter(|(era, _)| *era == model.era).count() as u32;
                    match (before, breaker.admit(at(now), entropy)) {
                        (BreakerState::Open, admitted) => prop_assert!(admitted.is_err(), "let through while open"),
                        (BreakerState::Closed, admitted) => {
                            prop_assert!(admitted.is_ok(), "refused while closed");
                            out.extend(admitted.map(|permit| (model.era, permit)));
                        }
                        (BreakerState::HalfOpen, admitted) => {
                            let Stage::Probing { healthy } = model.stage else { unreachable!() };
                            prop_assert_eq!(admitted.is_ok(), probing + healthy < rule.probes);
                            out.extend(admitted.map(|permit| (model.era, permit)));
                            prop_assert!(out.iter().filter(|(era, _)| *era == model.era).count() as u32 <= rule.probes);
                        }
                        (BreakerState::Recovering, admitted) => {
                            // A tenth at least from the first moment on.
                            prop_assert!(admitted.is_ok() || entropy > u64::MAX / 10);
                            out.extend(admitted.map(|permit| (model.era, permit)));
                        }
                    }
                }
                Op::Settle(which, verdict) if !out.is_empty() => {
                    let (era, permit) = out.swap_remove(which.index(out.len()));
                    breaker.settle(at(now), permit, verdict);
                    if era == model.era {
                        model.verdict(now, verdict);
                    }
                }
                Op::Settle(..) => {}
            }
            prop_assert_eq!(breaker.state(at(now)), model.state(now), "at {} ms", now);
        }
    }

    #[test]
    fn no_rule_and_no_clock_makes_it_panic_or_stay_shut_for_ever(
        rate in any_float(), minimum in any::<u32>(), window in any_duration(), open_for in any_duration(), slow in any_duration(),
        probes in any::<u32>(), steps in prop::collection::vec((any::<u64>(), any::<u64>(), 0usize..3), 1..60),
    ) {
        let rule = BreakerRule::DEFAULT.failure_rate(rate).minimum_calls(minimum).window(window).open_for(open_for)
            .slow_start(slow).probes(probes);
        let mut breaker = BreakerCore::new(rule);
        let mut out = Vec::new();
        for (time, entropy, verdict) in steps {
            let now = Moment::from_nanos(time);
            match breaker.admit(now, entropy) {
                Ok(permit) => out.push(permit),
                Err(rejected) => prop_assert!(rejected.retry_after <= open_for.max(slow)),
            }
            if entropy % 2 == 0 && let Some(permit) = out.pop() {
                breaker.settle(now, permit, [Verdict::Failed, Verdict::Healthy, Verdict::Abandoned][verdict]);
            }
        }
        // Once every call is accounted for and time has come to its end, it lets a probe through.
        for permit in out {
            breaker.settle(Moment::ZERO, permit, Verdict::Abandoned);
        }
        prop_assert!(breaker.admit(Moment::FAR_FUTURE, 0).is_ok());
    }
}
