//! The tables: which steps there are, which were taken, and taking them.

use std::fmt::Write as _;

use futures_core::future::BoxFuture;

use super::{
    SqliteStore,
    connection::{Done, Purpose, Session},
    error::{Failure, MIGRATE, not_migrated},
};
use crate::{
    desk::{Layout, Migration, Schema},
    store::{Names, Result, StoreError, StoreErrorKind},
};

struct Step {
    name: &'static str,
    up: &'static str,
    down: &'static str,
}

const STEPS: [Step; 2] = [
    Step {
        name: "outbox",
        up: include_str!("migrations/0001_outbox.up.sql"),
        down: include_str!("migrations/0001_outbox.down.sql"),
    },
    Step {
        name: "messages_view",
        up: MESSAGES_VIEW,
        down: include_str!("migrations/0002_messages_view.down.sql"),
    },
];
const NEWEST: u32 = STEPS.len() as u32;
const MESSAGES_VIEW: &str = include_str!("migrations/0002_messages_view.up.sql");

/// How the view asks for the time.
const VIEW_CLOCK: &str = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)";

impl Schema for SqliteStore {
    fn migrations(&self, layout: Layout) -> Vec<Migration> {
        migrations(&self.names, layout)
            .iter()
            .map(|step| by_hand(&self.names, step))
            .collect()
    }

    fn version(&self) -> BoxFuture<'_, Result<u32>> {
        self.run(Purpose::Schema, version)
    }

    fn migrate(&self, layout: Layout, to: Option<u32>) -> BoxFuture<'_, Result<Vec<u32>>> {
        self.run(Purpose::Schema, move |session| {
            migrate(session, layout, to.unwrap_or(NEWEST))
        })
    }

    /// One: SQLite has one writer at a time, so that more relays would only take turns.
    fn usual_layout(&self) -> Layout {
        Layout { shards: 1 }
    }
}

/// The rows of the view `redeliver_messages` at a time that the caller gives, where the view itself has only SQLite's clock.
pub(super) fn messages_at(time: &str) -> String {
    let body = MESSAGES_VIEW.split_once(" AS\n").map_or("", |(_, body)| body);
    body.trim_end().trim_end_matches(';').replace(VIEW_CLOCK, time)
}

/// Refuses tables that this program was not made for.
pub(super) fn require_current(session: &Session<'_>) -> Done<()> {
    let found: u32 = session.row(include_str!("sql/version.sql"), [], |row| row.get(0))?;
    if found == NEWEST {
        return Ok(());
    }
    if found == 0 {
        return Err(not_migrated().into());
    }
    if found > NEWEST {
        return Err(too_new(found));
    }
    let what = format!("the outbox's tables have version {found}, and this program needs {NEWEST}");
    Err(StoreError::new(StoreErrorKind::NotMigrated, what)
        .next(MIGRATE)
        .into())
}

fn too_new(found: u32) -> Failure {
    let what = format!("the outbox's tables have version {found}, and this program knows {NEWEST}");
    StoreError::new(StoreErrorKind::TooNew, what)
        .next("run a newer redeliver, or take the tables back with the one that made them")
        .into()
}

fn version(session: &Session<'_>) -> Done<u32> {
    let there: bool = session.row(include_str!("sql/has_migrations.sql"), [], |row| row.get(0))?;
    if !there {
        return Ok(0);
    }
    Ok(session.row(include_str!("sql/version.sql"), [], |row| row.get(0))?)
}

/// Others wait for the write lock that this transaction began with, and find it done.
fn migrate(session: &Session<'_>, layout: Layout, to: u32) -> Done<Vec<u32>> {
    let refuse = |what: String, next: &'static str| {
        Err(StoreError::new(StoreErrorKind::BadInput, what).next(next).into())
    };
    if layout.shards == 0 {
        return refuse("an outbox cannot have 0 shards".to_owned(), "use 1 or more");
    }
    if to > NEWEST {
        let what = format!("there is no version {to} of the tables; the newest is {NEWEST}");
        return refuse(what, "name an older one, or none for the newest");
    }
    let from = version(session)?;
    if from > NEWEST {
        return Err(too_new(from));
    }
    let steps = migrations(session.names, layout);
    let mut taken = Vec::new();
    if from < to {
        session.execute(include_str!("sql/begin_migrations.sql"), [])?;
        for step in steps
            .iter()
            .filter(|step| step.version > from && step.version <= to)
        {
            session.transaction.execute_batch(&step.up)?;
            session.execute(
                include_str!("sql/record_migration.sql"),
                (step.version, step.name, session.now.as_millis()),
            )?;
            taken.push(step.version);
        }
    } else {
        for step in steps
            .iter()
            .rev()
            .filter(|step| step.version > to && step.version <= from)
        {
            session.transaction.execute_batch(&step.down)?;
            session.execute(include_str!("sql/forget_migration.sql"), [step.version])?;
            taken.push(step.version);
        }
        if to == 0 && from > 0 {
            session.execute(include_str!("sql/end_migrations.sql"), [])?;
        }
    }
    Ok(taken)
}

fn migrations(names: &Names, layout: Layout) -> Vec<Migration> {
    let up = |step: &Step| {
        let filled = step
            .up
            .replace("{shard_of_row}", &shard_of_row(layout.shards))
            .replace("{index_of_shards}", index_of_shards(layout.shards))
            .replace("{shards}", &layout.shards.to_string());
        names.fill(&filled).into_owned()
    };
    (1..)
        .zip(&STEPS)
        .map(|(version, step)| Migration {
            version,
            name: step.name,
            up: up(step),
            down: names.fill(step.down).into_owned(),
        })
        .collect()
}

/// The step with what notes that it was taken, for whoever runs the statements without this program.
fn by_hand(names: &Names, step: &Migration) -> Migration {
    let Migration { version, name, .. } = *step;
    let noted = |statement: &str| {
        let values = [
            ("?1", version.to_string()),
            ("?2", format!("'{name}'")),
            ("?3", "CAST(unixepoch('subsec') * 1000 AS INTEGER)".to_owned()),
        ];
        let filled = values.iter().fold(statement.to_owned(), |text, (place, value)| {
            text.replace(place, value)
        });
        format!("{};\n", names.fill(filled.trim_end()))
    };
    let (mut begin, mut end) = (String::new(), String::new());
    if version == 1 {
        begin = noted(include_str!("sql/begin_migrations.sql"));
        end = noted(include_str!("sql/end_migrations.sql"));
    }
    let (record, forget) = (
        noted(include_str!("sql/record_migration.sql")),
        noted(include_str!("sql/forget_migration.sql")),
    );
    Migration {
        version,
        name,
        up: format!("{begin}{}{record}", step.up),
        down: format!("{}{forget}{end}", step.down),
    }
}

/// The shard of a row, of nothing but the row: a lane is in one shard for ever. SQLite has no hash function, so the ends of keys,
/// which are where keys differ, are weighed with primes.
fn shard_of_row(shards: u16) -> String {
    if shards == 1 {
        return "0".to_owned();
    }
    let mut weighed = "length(lane) * 17".to_owned();
    for (back, prime) in [(1, 1), (2, 11), (3, 131), (4, 1571)] {
        let _ = write!(
            weighed,
            " + coalesce(unicode(substr(lane, -{back}, 1)), 0) * {prime}"
        );
    }
    format!("CASE WHEN lane IS NULL THEN abs(salt % {shards}) ELSE ({weighed}) % {shards} END")
}

const fn index_of_shards(shards: u16) -> &'static str {
    if shards == 1 {
        ""
    } else {
        "CREATE INDEX local_redeliver_outbox_shard ON redeliver_outbox (shard);\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_desk_reads_the_view_by_the_clock_of_the_store() {
        let body = messages_at("?1");
        assert!(body.starts_with("SELECT"));
        assert!(!body.contains("julianday") && body.contains("owner.lease_until >= ?1"));
    }
}
