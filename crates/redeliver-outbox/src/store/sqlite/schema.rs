//! The tables: which steps there are, which were taken, and taking them.

use std::fmt::Write as _;

use futures_core::future::BoxFuture;

use super::{
    SqliteStore,
    connection::{Done, Purpose, Session},
    desk::issues,
};
use crate::{
    desk::{Layout, Migration, Schema},
    limits::MOST_SHARDS,
    store::{
        Names, Result,
        filter::PLACES,
        schema::{self, Notes, Step, by_hand, check_target, refuse_newer, require, steps},
    },
};

const STEPS: [Step; 13] = steps![
    "outbox": "0001_outbox",
    "messages_view": "0002_messages_view",
    "destinations": "0003_destinations",
    "topics": "0004_topics",
    "audit_chain": "0005_audit_chain",
    "issues": "0006_issues",
    "jobs": "0007_jobs",
    "lane_holds": "0008_lane_holds",
    "resumed_jobs": "0009_resumed_jobs",
    "discarded": "0010_discarded",
    "hardening": "0011_hardening",
    "scheduled_lanes": "0012_scheduled_lanes",
    "attempts_by_id": "0013_attempts_by_id",
];
const NEWEST: u32 = STEPS.len() as u32;
/// The step that made the view what it is.
const MESSAGES_VIEW: &str = include_str!("migrations/0011_hardening.up.sql");

/// How SQL asks for the time where nobody says it: understood by a SQLite older than 3.42 as well.
const VIEW_CLOCK: &str = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)";

impl Schema for SqliteStore {
    fn migrations(&self, layout: Layout) -> Vec<Migration> {
        let notes = Notes {
            begin: include_str!("sql/begin_migrations.sql").to_owned(),
            record: include_str!("sql/record_migration.sql"),
            forget: include_str!("sql/forget_migration.sql"),
            end: include_str!("sql/end_migrations.sql"),
        };
        by_hand(migrations(&self.names, layout), &notes, |note, step| {
            let note = note
                .replace("?1", &step.version.to_string())
                .replace("?2", &format!("'{}'", step.name))
                .replace("?3", VIEW_CLOCK);
            self.names.fill(&note).into_owned()
        })
    }

    fn version(&self) -> BoxFuture<'_, Result<u32>> {
        self.run(Purpose::Version, version)
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

/// The columns of the view, which its first part names.
const MESSAGES_COLUMNS: &str = "id, number, salt, shard, status, destination, topic, lane, attempts, redrives, created_at, next_attempt_at,
    last_attempt_at, last_error, locked_by, locked_at, dead_letter_reason, dead_lettered_at, sent_at, discarded_at, fanned_out_at, expires_at,
    content_type, headers, traceparent, payload, payload_binary, put_away, place, fingerprint";

/// These parts of the view `redeliver_messages` as a common table, at a time that the caller gives, where the view itself has only SQLite's
/// clock. SQLite looks through all parts that are there, and makes all columns of each row where there are several.
pub(super) fn messages_at(time: &str, places: &[&str]) -> String {
    let begin = "CREATE VIEW redeliver_messages AS\n";
    let body = MESSAGES_VIEW.split_once(begin).map_or("", |(_, body)| body);
    let (body, _) = body.split_once(';').unwrap_or((body, ""));
    let parts = body.split("\nUNION ALL\n");
    let asked: Vec<&str> = parts
        .zip(PLACES)
        .filter(|(_, place)| places.contains(place))
        .map(|(part, _)| part)
        .collect();
    let body = asked.join("\nUNION ALL\n").replace(VIEW_CLOCK, time);
    format!("redeliver_messages ({MESSAGES_COLUMNS}) AS ({body})")
}

/// Refuses tables that this program was not made for.
pub(super) fn require_current(session: &Session<'_>) -> Done<()> {
    let found = session.row(include_str!("sql/version.sql"), [], |row| row.get(0))?;
    Ok(require(found, NEWEST)?)
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
    check_target(to, NEWEST, layout.shards, MOST_SHARDS)?;
    let from = version(session)?;
    refuse_newer(from, NEWEST)?;
    // The shards are part of the hot table, which a later step makes anew.
    let layout = match from {
        0 => layout,
        _ => Layout {
            shards: session.row(include_str!("sql/count_shards.sql"), [], |row| row.get(0))?,
        },
    };
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
        // What is in the tables from before there were issues.
        while to == NEWEST && issues::group(session)? {}
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
    schema::migrations(&STEPS, |statements| {
        let filled = statements
            .replace("{shard_of_row}", &shard_of_row(layout.shards))
            .replace("{index_of_shards}", index_of_shards(layout.shards))
            .replace("{shards}", &layout.shards.to_string());
        names.fill(&filled).into_owned()
    })
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
        let table = messages_at("?1", &PLACES);
        assert!(!table.contains("julianday") && table.contains("owner.lease_until >= ?1"));
        for (place, named) in PLACES.into_iter().zip(["outbox", "dead", "sent", "events"]) {
            let part = messages_at("?1", &[place]);
            assert!(part.contains(&format!("FROM redeliver_{named}")), "{part}");
            assert!(
                part.contains(&format!("'{place}'")) && !part.contains("UNION"),
                "{part}"
            );
        }
    }

    #[test]
    fn every_column_of_the_view_has_its_name() {
        let (first, _) = MESSAGES_VIEW
            .split_once("CREATE VIEW")
            .map(|(_, view)| view.split_once("FROM").unwrap())
            .unwrap();
        let named: Vec<&str> = MESSAGES_COLUMNS.split(',').map(str::trim).collect();
        let lines = first
            .lines()
            .map(|line| line.trim_end_matches(','))
            .filter_map(|line| {
                let alone = line
                    .strip_prefix("    message.")
                    .filter(|name| !name.contains(' '));
                line.rsplit_once(" AS ").map(|(_, name)| name).or(alone)
            });
        let names: Vec<&str> = lines.filter(|name| !name.is_empty()).collect();
        assert_eq!(named, names);
    }
}
