//! What is done to tables, servers and relays while producers and relays work.

use fastrand::Rng;

use super::{database::Family, statements::maintenance};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// So many hostile rows, one by one.
    Rows(u32),
    /// Rows with numbers far above those that the database gives.
    Crowd(u32),
    /// So many rows of several MiB.
    Large(u32),
    NumbersBack,
    NumbersForward,
    /// A change that writes the table anew.
    Rewrite,
    /// The same, queued behind a transaction that commits late.
    LateCommit,
    AddColumn,
    /// A statement of maintenance.
    Maintain(&'static str),
    /// Empties a side table.
    Empty(&'static str),
    /// A trigger or constraint of the operator's refuses for a while.
    Refuse(Refusal),
    /// The operator holds the lock of a table.
    Lock(&'static str),
    Kill,
    /// Asks a relay to stop, and replaces it.
    Leave,
    /// Dump and restore with everything stopped.
    Restore,
    /// Restores an older copy.
    RestoreOlder,
    /// Replaces the tables by a copy under running relays.
    Switch,
    /// SIGKILL for a process of the server: all of it recovers.
    KillBackend,
    RestartServer,
}

/// What the operator's trigger refuses: every row whose number this divides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) table: &'static str,
    pub(super) event: &'static str,
    pub(super) divisor: u32,
    /// Long enough to see whether anything waits for it.
    pub(super) is_long: bool,
}

const REFUSED: [(&str, &str); 5] = [
    ("redeliver_sent", "INSERT"),
    ("redeliver_dead", "INSERT"),
    ("redeliver_attempts", "INSERT"),
    ("redeliver_outbox", "DELETE"),
    ("redeliver_outbox", "UPDATE"),
];
const LOCKED: [&str; 4] = [
    "redeliver_outbox",
    "redeliver_shards",
    "redeliver_workers",
    "redeliver_sent",
];
const SIDE_TABLES: [&str; 5] = [
    "redeliver_attempts",
    "redeliver_sent",
    "redeliver_deduplication",
    "redeliver_events",
    "redeliver_workers",
];

impl Action {
    /// The names that `--only` and `--without` take.
    pub(super) const NAMES: [&'static str; 19] = [
        "rows",
        "crowd",
        "large",
        "numbers-back",
        "numbers-forward",
        "rewrite",
        "late-commit",
        "add-column",
        "maintain",
        "empty",
        "refuse",
        "lock",
        "kill",
        "leave",
        "restore",
        "restore-older",
        "switch",
        "kill-backend",
        "restart-server",
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Rows(_) => "rows",
            Self::Crowd(_) => "crowd",
            Self::Large(_) => "large",
            Self::NumbersBack => "numbers-back",
            Self::NumbersForward => "numbers-forward",
            Self::Rewrite => "rewrite",
            Self::LateCommit => "late-commit",
            Self::AddColumn => "add-column",
            Self::Maintain(_) => "maintain",
            Self::Empty(_) => "empty",
            Self::Refuse(_) => "refuse",
            Self::Lock(_) => "lock",
            Self::Kill => "kill",
            Self::Leave => "leave",
            Self::Restore => "restore",
            Self::RestoreOlder => "restore-older",
            Self::Switch => "switch",
            Self::KillBackend => "kill-backend",
            Self::RestartServer => "restart-server",
        }
    }

    /// Whether it disturbs every trial on the server.
    pub(super) const fn is_server_wide(self) -> bool {
        matches!(self, Self::KillBackend | Self::RestartServer)
    }

    /// Each name as likely as the next, but for rows, which every other action is.
    pub(super) fn draw(family: Family, rng: &mut Rng) -> Self {
        let name = match rng.u32(0..10) {
            0..4 => "rows",
            _ => Self::NAMES[rng.usize(..Self::NAMES.len() - 2)],
        };
        Self::named(name, family, rng)
    }

    pub(super) fn server_wide(family: Family, rng: &mut Rng) -> Self {
        match family {
            Family::Postgres if rng.bool() => Self::KillBackend,
            Family::Postgres | Family::Mysql => Self::RestartServer,
            Family::Sqlite => Self::Kill,
        }
    }

    fn named(name: &str, family: Family, rng: &mut Rng) -> Self {
        let mut choose = |of: &[&'static str]| of[rng.usize(..of.len())];
        match name {
            "crowd" => Self::Crowd(rng.u32(64..400)),
            "large" => Self::Large(rng.u32(10..30)),
            "numbers-back" => Self::NumbersBack,
            "numbers-forward" => Self::NumbersForward,
            "rewrite" => Self::Rewrite,
            "late-commit" => Self::LateCommit,
            "add-column" => Self::AddColumn,
            "maintain" => Self::Maintain(choose(maintenance(family))),
            "empty" => Self::Empty(choose(&SIDE_TABLES)),
            "refuse" => {
                let (table, event) = REFUSED[rng.usize(..REFUSED.len())];
                let divisor = [1, 2, 7][rng.usize(..3)];
                Self::Refuse(Refusal {
                    table,
                    event,
                    divisor,
                    is_long: divisor > 1 && rng.u32(0..4) == 0,
                })
            }
            "lock" => Self::Lock(choose(&LOCKED)),
            "kill" => Self::Kill,
            "leave" => Self::Leave,
            "restore" => Self::Restore,
            "restore-older" => Self::RestoreOlder,
            // Elsewhere that harms the copy: MySQL loads it table by table, and the last process to close a replaced
            // SQLite file removes the log of the new one.
            "switch" if family == Family::Postgres => Self::Switch,
            "switch" => Self::Restore,
            _ => Self::Rows(rng.u32(3..20)),
        }
    }
}
