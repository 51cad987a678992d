//! How much is done, where, and in which order: all of it follows from the options and the seed.

use fastrand::Rng;

use super::{database::Kind, options::Options, torment::Torment};

/// What one arena has to go through: one database, the relays on it, their producers and their destination.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) database: Kind,
    /// Which of the arenas of its database it is.
    pub(super) index: usize,
    pub(super) relays: usize,
    pub(super) torments: Vec<Torment>,
    pub(super) seed: u64,
}

/// How often each torment is applied to one kind of database.
#[derive(Clone, Copy)]
struct Amounts {
    kills: u32,
    stops: u32,
    restarts: u32,
    cuts: u32,
    leaves: u32,
    /// Waiting for leases takes most of the time, so several databases of a kind go through it side by side.
    arenas: usize,
}

const USUAL_CYCLES: u32 = 200;

const fn usual(database: Kind) -> Amounts {
    match database {
        Kind::Sqlite => Amounts {
            kills: USUAL_CYCLES,
            stops: 8,
            restarts: 0,
            cuts: 0,
            leaves: 10,
            arenas: 4,
        },
        Kind::Postgres => Amounts {
            kills: 100,
            stops: 8,
            restarts: 14,
            cuts: 20,
            leaves: 10,
            arenas: 2,
        },
        Kind::Mariadb | Kind::Mysql => Amounts {
            kills: 30,
            stops: 4,
            restarts: 6,
            cuts: 10,
            leaves: 4,
            arenas: 1,
        },
    }
}

impl Plan {
    pub(super) fn all(options: &Options, seed: u64) -> Vec<Self> {
        let mut rng = Rng::with_seed(seed);
        let chosen = Kind::ALL
            .into_iter()
            .filter(|kind| options.database.includes(*kind));
        chosen
            .flat_map(|database| Self::of(database, options, &mut rng))
            .collect()
    }

    fn of(database: Kind, options: &Options, rng: &mut Rng) -> Vec<Self> {
        let usual = usual(database);
        let amount = |usual: u32, asked: Option<u32>| match (asked, options.cycles) {
            _ if usual == 0 => 0,
            (Some(asked), _) => asked,
            (None, Some(cycles)) => (u64::from(usual) * u64::from(cycles))
                .div_ceil(u64::from(USUAL_CYCLES))
                .try_into()
                .unwrap_or(u32::MAX),
            (None, None) => usual,
        };
        let mut torments: Vec<Torment> = [
            (Torment::Kill, amount(usual.kills, options.kills)),
            (Torment::Stop, amount(usual.stops, options.stops)),
            (Torment::Restart, amount(usual.restarts, options.restarts)),
            (Torment::Cut, amount(usual.cuts, options.cuts)),
            (Torment::Leave, amount(usual.leaves, options.leaves)),
        ]
        .into_iter()
        .flat_map(|(torment, amount)| std::iter::repeat_n(torment, amount as usize))
        .collect();
        rng.shuffle(&mut torments);
        let arenas = usual.arenas.min(torments.len().div_ceil(FEWEST)).max(1);
        let share = torments.len().div_ceil(arenas).max(1);
        let shares = torments.chunks(share).enumerate();
        shares
            .map(|(index, torments)| Self {
                database,
                index,
                // One relay alone must come back by itself; where there are two, the other takes over.
                relays: if database == Kind::Sqlite {
                    1 + index % 2
                } else {
                    2
                },
                torments: torments.to_vec(),
                seed: rng.u64(..),
            })
            .collect()
    }

    pub(super) fn name(&self) -> String {
        format!("{}-{}", self.database.as_str(), self.index)
    }
}

/// An arena for fewer torments than this takes longer to set up than it saves.
const FEWEST: usize = 3;

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn amounts(flags: &[&str], database: Kind) -> [usize; 5] {
        let options = Options::parse_from(["redeliver-crash"].iter().chain(flags));
        let plans = Plan::all(&options, 1);
        let plans = plans.iter().filter(|plan| plan.database == database);
        let torments: Vec<Torment> = plans.flat_map(|plan| plan.torments.clone()).collect();
        Torment::ALL.map(|kind| torments.iter().filter(|&&torment| torment == kind).count())
    }

    #[test]
    fn without_flags_as_much_is_done_as_is_promised() {
        assert_eq!(amounts(&[], Kind::Sqlite), [200, 8, 0, 0, 10]);
        assert_eq!(amounts(&[], Kind::Postgres), [100, 8, 14, 20, 10]);
        assert_eq!(amounts(&[], Kind::Mariadb), [30, 4, 6, 10, 4]);
        assert_eq!(amounts(&[], Kind::Mysql), [30, 4, 6, 10, 4]);
    }

    #[test]
    fn cycles_scale_everything_and_leave_something_of_each() {
        assert_eq!(amounts(&["--cycles", "10"], Kind::Sqlite), [10, 1, 0, 0, 1]);
        assert_eq!(amounts(&["--cycles", "10"], Kind::Postgres), [5, 1, 1, 1, 1]);
        assert_eq!(amounts(&["--cycles", "10"], Kind::Mariadb), [2, 1, 1, 1, 1]);
        assert_eq!(
            amounts(&["--cycles", "400"], Kind::Postgres),
            [200, 16, 28, 40, 20]
        );
    }

    #[test]
    fn a_kind_can_be_asked_for_by_itself() {
        let flags = [
            "--database",
            "postgres",
            "--kills",
            "0",
            "--stops",
            "0",
            "--cuts",
            "0",
            "--leaves",
            "0",
            "--restarts",
            "3",
        ];
        assert_eq!(amounts(&flags, Kind::Postgres), [0, 0, 3, 0, 0]);
        assert_eq!(amounts(&flags, Kind::Sqlite), [0, 0, 0, 0, 0]);
    }

    #[test]
    fn the_same_seed_is_the_same_plan() {
        let options = Options::parse_from(["redeliver-crash"]);
        let plan = |seed| format!("{:?}", Plan::all(&options, seed));
        assert_eq!(plan(3), plan(3));
        assert_ne!(plan(3), plan(4));
    }
}
