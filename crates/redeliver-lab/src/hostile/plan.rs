//! What one trial does: all of it follows from the seed and the kind of database.

use std::time::Duration;

use fastrand::Rng;

use super::{action::Action, configuration::Limits, database::Family, options::Options};
use crate::crash::database::Kind;

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) database: Kind,
    pub(super) seed: u64,
    pub(super) relays: usize,
    pub(super) limits: Limits,
    /// Each after a pause.
    pub(super) actions: Vec<(Duration, Action)>,
    /// What every later draw of the trial begins with.
    pub(super) chance: u64,
}

/// So many trials have their server alone, and crash it.
const SERVER_WIDE_EVERY: u64 = 10;

impl Plan {
    pub(super) fn draw(database: Kind, seed: u64, options: &Options) -> Self {
        // The databases of one seed differ.
        let mut rng = Rng::with_seed(seed.wrapping_mul(31).wrapping_add(database as u64));
        let family = Family::of(database);
        let count = rng.usize(2..=5);
        let mut actions: Vec<(Duration, Action)> = (0..count)
            .map(|_| {
                let pause = Duration::from_millis(rng.u64(30..400));
                (pause, Action::draw(family, &mut rng))
            })
            .collect();
        if seed.is_multiple_of(SERVER_WIDE_EVERY) {
            let at = rng.usize(..=actions.len());
            let pause = Duration::from_millis(rng.u64(100..500));
            actions.insert(at, (pause, Action::server_wide(family, &mut rng)));
        }
        let relays = rng.usize(1..=2);
        let limits = Limits {
            window: [32, 64, 1024][rng.usize(..3)],
            window_bytes: [1, 4, 64][rng.usize(..3)],
        };
        actions.retain(|(_, action)| options.wants(action.name()));
        Self {
            database,
            seed,
            relays,
            limits,
            actions,
            chance: rng.u64(..),
        }
    }

    pub(super) fn name(&self) -> String {
        format!("{}-{}", self.database.as_str(), self.seed)
    }

    pub(super) fn is_server_wide(&self) -> bool {
        self.actions.iter().any(|(_, action)| action.is_server_wide())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser as _;

    use super::*;

    #[test]
    fn the_same_seed_is_the_same_plan() {
        let options = Options::parse_from(["redeliver-hostile"]);
        let plan = |seed| format!("{:?}", Plan::draw(Kind::Postgres, seed, &options));
        assert_eq!(plan(3), plan(3));
        assert_ne!(plan(3), plan(4));
    }

    #[test]
    fn two_hundred_seeds_do_everything() {
        let options = Options::parse_from(["redeliver-hostile"]);
        for database in Kind::ALL {
            let plans = (1..=200).map(|seed| Plan::draw(database, seed, &options));
            let done: BTreeSet<&str> = plans
                .flat_map(|plan| {
                    plan.actions
                        .into_iter()
                        .map(|(_, action)| action.name())
                        .collect::<Vec<_>>()
                })
                .collect();
            let missing: Vec<_> = Action::NAMES
                .iter()
                .filter(|name| !done.contains(*name))
                .collect();
            let expected: &[&str] = match Family::of(database) {
                Family::Sqlite => &["switch", "kill-backend", "restart-server"],
                Family::Postgres => &[],
                Family::Mysql => &["switch", "kill-backend"],
            };
            assert_eq!(missing, expected.iter().collect::<Vec<_>>(), "{database:?}");
        }
    }

    #[test]
    fn actions_can_be_chosen() {
        let without = Options::parse_from(["redeliver-hostile", "--without", "rewrite,late-commit"]);
        let only = Options::parse_from(["redeliver-hostile", "--only", "rows"]);
        for seed in 1..100 {
            let names = |options| {
                let actions = Plan::draw(Kind::Postgres, seed, options).actions;
                actions
                    .into_iter()
                    .map(|(_, action)| action.name())
                    .collect::<Vec<_>>()
            };
            assert!(!names(&without).contains(&"late-commit"));
            assert!(names(&only).iter().all(|name| *name == "rows"));
        }
    }
}
