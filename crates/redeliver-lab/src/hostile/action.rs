//! What is done to tables, servers and relays while producers and relays work.

use fastrand::Rng;

use super::database::Family;

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
            // Elsewhere that harms the copy: MySQL loads it table by table, and whoever closes a replaced SQLite file last
            // removes the log of the new one.
            "switch" if family == Family::Postgres => Self::Switch,
            "switch" => Self::Restore,
            _ => Self::Rows(rng.u32(3..20)),
        }
    }
}

const fn maintenance(family: Family) -> &'static [&'static str] {
    match family {
        Family::Sqlite => &[
            "VACUUM",
            "REINDEX",
            "ANALYZE",
            "PRAGMA wal_checkpoint(TRUNCATE)",
            "PRAGMA optimize",
        ],
        Family::Postgres => &[
            "VACUUM FULL redeliver_outbox",
            "VACUUM FULL",
            "VACUUM (FREEZE, ANALYZE) redeliver_outbox",
            "CLUSTER redeliver_outbox USING redeliver_outbox_pkey",
            "REINDEX TABLE redeliver_outbox",
            "REINDEX TABLE CONCURRENTLY redeliver_outbox",
            "ANALYZE",
        ],
        Family::Mysql => &[
            "OPTIMIZE TABLE redeliver_outbox",
            "OPTIMIZE TABLE redeliver_sent, redeliver_dead, redeliver_shards",
            "ANALYZE TABLE redeliver_outbox",
            "ALTER TABLE redeliver_outbox FORCE",
            "ALTER TABLE redeliver_outbox ENGINE = InnoDB, ALGORITHM = COPY",
            "FLUSH TABLES",
        ],
    }
}

/// Statements in the words of each database.
impl Family {
    pub(super) const fn rewrite(self) -> &'static str {
        match self {
            Self::Sqlite => {
                "ALTER TABLE redeliver_outbox ADD COLUMN hostile_mark TEXT DEFAULT 'mark'; VACUUM"
            }
            Self::Postgres => {
                "ALTER TABLE redeliver_outbox ADD COLUMN hostile_mark uuid DEFAULT gen_random_uuid()"
            }
            Self::Mysql => {
                "ALTER TABLE redeliver_outbox ADD COLUMN hostile_mark CHAR(36) DEFAULT (UUID()), ALGORITHM = COPY"
            }
        }
    }

    /// A rewrite that takes as long as that of a large table, once the column is there.
    pub(super) const fn slow_rewrite(self) -> &'static str {
        match self {
            Self::Sqlite => "VACUUM",
            Self::Postgres => {
                "ALTER TABLE redeliver_outbox ALTER COLUMN hostile_mark TYPE text USING pg_sleep(0.05)::text"
            }
            Self::Mysql => {
                "ALTER TABLE redeliver_outbox MODIFY COLUMN hostile_mark BIGINT NULL, ALGORITHM = COPY"
            }
        }
    }

    pub(super) const fn add_column(self) -> &'static str {
        match self {
            Self::Sqlite | Self::Postgres => "ALTER TABLE redeliver_outbox ADD COLUMN hostile_mark INTEGER",
            Self::Mysql => "ALTER TABLE redeliver_outbox ADD COLUMN hostile_mark INT NULL",
        }
    }

    pub(super) fn empty(self, table: &str) -> String {
        match self {
            Self::Sqlite => format!("DELETE FROM {table}"),
            Self::Postgres | Self::Mysql => format!("TRUNCATE TABLE {table}"),
        }
    }

    pub(super) fn numbers_back(self, by: u32) -> String {
        match self {
            Self::Sqlite => {
                format!("UPDATE sqlite_sequence SET seq = max(0, seq - {by}) WHERE name = 'redeliver_outbox'")
            }
            Self::Postgres => format!(
                "SELECT setval('redeliver_outbox_number', GREATEST(1, (SELECT last_value FROM redeliver_outbox_number) - {by}))"
            ),
            // The server takes the next one after the highest that is there.
            Self::Mysql => "ALTER TABLE redeliver_outbox AUTO_INCREMENT = 1".to_owned(),
        }
    }

    pub(super) fn numbers_forward(self, by: u32) -> String {
        match self {
            Self::Sqlite => {
                format!("UPDATE sqlite_sequence SET seq = seq + {by} WHERE name = 'redeliver_outbox'")
            }
            Self::Postgres => format!(
                "SELECT setval('redeliver_outbox_number', (SELECT last_value FROM redeliver_outbox_number) + {by})"
            ),
            Self::Mysql => format!(
                "ALTER TABLE redeliver_outbox AUTO_INCREMENT = {}",
                10_000_000 + by
            ),
        }
    }

    /// The number of the first row of a crowd.
    pub(super) const fn above_all(self) -> &'static str {
        match self {
            Self::Sqlite => "SELECT seq + 5000000 FROM sqlite_sequence WHERE name = 'redeliver_outbox'",
            Self::Postgres => "SELECT last_value + 5000000 FROM redeliver_outbox_number",
            Self::Mysql => "SELECT COALESCE(MAX(number), 0) + 5000000 FROM redeliver_outbox",
        }
    }

    /// How a table is locked, and how it is given back, on one connection.
    pub(super) fn lock(self, table: &str) -> (String, &'static str) {
        match self {
            Self::Sqlite => ("BEGIN EXCLUSIVE".to_owned(), "ROLLBACK"),
            Self::Postgres => (format!("BEGIN; LOCK TABLE {table}"), "ROLLBACK"),
            Self::Mysql => (format!("LOCK TABLES {table} WRITE"), "UNLOCK TABLES"),
        }
    }

    pub(super) fn refuse(self, refusal: Refusal) -> Vec<String> {
        let Refusal {
            table,
            event,
            divisor,
            ..
        } = refusal;
        let row = if event == "DELETE" { "OLD" } else { "NEW" };
        let trigger = format!("CREATE TRIGGER hostile_refusal BEFORE {event} ON {table}");
        let refused = format!("{row}.number % {divisor} = 0");
        match self {
            Self::Sqlite => vec![format!(
                "{trigger} WHEN {refused} BEGIN SELECT RAISE(ABORT, 'refused by the operator'); END"
            )],
            Self::Postgres => vec![
                "CREATE OR REPLACE FUNCTION hostile_refusal() RETURNS trigger LANGUAGE plpgsql AS \
                 $$ BEGIN RAISE EXCEPTION 'refused by the operator'; END $$"
                    .to_owned(),
                format!("{trigger} FOR EACH ROW WHEN ({refused}) EXECUTE FUNCTION hostile_refusal()"),
            ],
            Self::Mysql => vec![format!(
                "{trigger} FOR EACH ROW IF {refused} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused by the operator'; END IF"
            )],
        }
    }

    pub(super) fn allow(self, refusal: Refusal) -> String {
        match self {
            Self::Sqlite | Self::Mysql => "DROP TRIGGER hostile_refusal".to_owned(),
            Self::Postgres => format!("DROP TRIGGER hostile_refusal ON {}", refusal.table),
        }
    }
}

pub(super) const DROP_COLUMN: &str = "ALTER TABLE redeliver_outbox DROP COLUMN hostile_mark";
