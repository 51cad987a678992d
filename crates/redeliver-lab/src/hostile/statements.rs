//! The statements behind the actions, in the words of each database.

use super::{action::Refusal, database::Family};

/// Statements of maintenance.
pub(super) const fn maintenance(family: Family) -> &'static [&'static str] {
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
