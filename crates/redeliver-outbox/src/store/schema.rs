//! What the steps of the tables have in common, whatever the database.

use super::{Result, StoreError, StoreErrorKind};
use crate::desk::Migration;

/// The next step whenever the tables are not what this program needs.
pub(super) const MIGRATE: &str = "run `redeliver migrate`";

/// A step as its files say it.
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) up: &'static str,
    pub(super) down: &'static str,
}

/// The steps of the folder `migrations` beside the caller.
macro_rules! steps {
    ($($name:literal: $file:literal),* $(,)?) => {
        [$($crate::store::schema::Step {
            name: $name,
            up: include_str!(concat!("migrations/", $file, ".up.sql")),
            down: include_str!(concat!("migrations/", $file, ".down.sql")),
        }),*]
    };
}
pub(super) use steps;

/// The steps with their names and numbers filled in.
pub(super) fn migrations(steps: &[Step], fill: impl Fn(&str) -> String) -> Vec<Migration> {
    (1..)
        .zip(steps)
        .map(|(version, step)| Migration {
            version,
            name: step.name,
            up: fill(step.up),
            down: fill(step.down),
        })
        .collect()
}

/// The statements that note which steps were taken.
pub(super) struct Notes {
    pub(super) begin: String,
    pub(super) record: &'static str,
    pub(super) forget: &'static str,
    pub(super) end: &'static str,
}

/// The steps with what notes that they were taken, for whoever runs the statements without this program. `fill` writes a step's number
/// and its name into one of the notes.
pub(super) fn by_hand(
    steps: Vec<Migration>,
    notes: &Notes,
    fill: impl Fn(&str, &Migration) -> String,
) -> Vec<Migration> {
    let note = |statement: &str, step: &Migration| format!("{};\n", fill(statement.trim_end(), step));
    steps
        .into_iter()
        .map(|step| {
            let (mut begin, mut end) = (String::new(), String::new());
            if step.version == 1 {
                begin = note(&notes.begin, &step);
                end = note(notes.end, &step);
            }
            Migration {
                up: format!("{begin}{}{}", step.up, note(notes.record, &step)),
                down: format!("{}{}{end}", step.down, note(notes.forget, &step)),
                ..step
            }
        })
        .collect()
}

/// The tables are missing.
pub(super) fn not_migrated() -> StoreError {
    let what = "the outbox's tables are not there yet";
    StoreError::new(StoreErrorKind::NotMigrated, what).next(MIGRATE)
}

/// Refuses tables that this program was not made for.
pub(super) fn require(found: u32, newest: u32) -> Result<()> {
    if found == 0 {
        return Err(not_migrated());
    }
    refuse_newer(found, newest)?;
    if found == newest {
        return Ok(());
    }
    let what = format!("the outbox's tables have version {found}, and this program needs {newest}");
    Err(StoreError::new(StoreErrorKind::NotMigrated, what).next(MIGRATE))
}

pub(super) fn refuse_newer(found: u32, newest: u32) -> Result<()> {
    if found <= newest {
        return Ok(());
    }
    let what = format!("the outbox's tables have version {found}, and this program knows {newest}");
    Err(StoreError::new(StoreErrorKind::TooNew, what)
        .next("run a newer redeliver, or take the tables back with the one that made them"))
}

/// Refuses to go where there is nothing.
pub(super) fn check_target(to: u32, newest: u32, shards: u16, most_shards: u16) -> Result<()> {
    if !(1..=most_shards).contains(&shards) {
        let what = format!("an outbox cannot have {shards} shards");
        return Err(StoreError::new(StoreErrorKind::BadInput, what).next(format!("use 1 to {most_shards}")));
    }
    if to > newest {
        let what = format!("there is no version {to} of the tables; the newest is {newest}");
        let next = "name an older one, or none for the newest";
        return Err(StoreError::new(StoreErrorKind::BadInput, what).next(next));
    }
    Ok(())
}
