//! The health of the database.

use super::{Done, Session, look};
use crate::{
    Timestamp,
    desk::{Finding, Grade},
    limits::CLOCK_TOLERANCE,
    store::desk::examine::numbers,
};

/// Before this version a checkpoint that meets a writer can damage a database in WAL mode.
const SAFE_VERSION: i32 = 3_051_003;
/// Free pages are nothing to mind below this many.
const FREE_PAGES: i64 = 10_000;
/// A WAL file as large as this has not been checkpointed to its end for long.
const LARGE_WAL: u64 = 256 << 20;

pub(super) fn examine(session: &Session<'_>) -> Done<Vec<Finding>> {
    Ok(vec![
        version(),
        journal(session)?,
        synchronous(session)?,
        integrity(session)?,
        look::shards(session)?.finding(),
        sequence(session)?,
        space(session)?,
        wal(session),
        clock(session)?,
    ])
}

pub(super) fn pragma<T: rusqlite::types::FromSql>(session: &Session<'_>, name: &str) -> rusqlite::Result<T> {
    session
        .transaction
        .pragma_query_value(None, name, |row| row.get(0))
}

fn version() -> Finding {
    let what = format!("SQLite is {}", rusqlite::version());
    if rusqlite::version_number() >= SAFE_VERSION {
        return Finding::new(Grade::Good, "version", what, "");
    }
    let next = "use a build with SQLite 3.51.3 or later: older ones can damage a database in WAL mode";
    Finding::new(Grade::Problem, "version", what, next)
}

fn journal(session: &Session<'_>) -> rusqlite::Result<Finding> {
    let mode: String = pragma(session, "journal_mode")?;
    let (grade, next) = match mode.as_str() {
        "wal" => (Grade::Good, ""),
        "memory" => (
            Grade::Advice,
            "name a file: what is in memory is gone with the process",
        ),
        _ => (
            Grade::Advice,
            "run PRAGMA journal_mode = wal: readers and the writer wait for each other now",
        ),
    };
    Ok(Finding::new(
        grade,
        "journal",
        format!("the journal mode is {mode}"),
        next,
    ))
}

fn synchronous(session: &Session<'_>) -> rusqlite::Result<Finding> {
    let level: i64 = pragma(session, "synchronous")?;
    Ok(if level >= 2 {
        let what = "a commit is on the disk when it returns".to_owned();
        Finding::new(Grade::Good, "synchronous", what, "")
    } else {
        let what = format!("synchronous is {level}: a commit may be lost when the machine stops");
        Finding::new(
            Grade::Problem,
            "synchronous",
            what,
            "set PRAGMA synchronous = full",
        )
    })
}

fn integrity(session: &Session<'_>) -> rusqlite::Result<Finding> {
    let answer: String = session.row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok(if answer == "ok" {
        Finding::new(Grade::Good, "integrity", "the file is sound".to_owned(), "")
    } else {
        let what = format!("the file is damaged: {answer}");
        Finding::new(Grade::Problem, "integrity", what, "restore it from a backup")
    })
}

fn sequence(session: &Session<'_>) -> rusqlite::Result<Finding> {
    let (highest, last): (i64, i64) =
        session.row(include_str!("../sql/examine_sequence.sql"), [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    if highest > last {
        let name = session.names.fill("redeliver_outbox");
        let set = format!(
            "run `DELETE FROM sqlite_sequence WHERE name = '{name}'; INSERT INTO sqlite_sequence VALUES ('{name}', {highest})`"
        );
        return Ok(numbers(highest, last, &set));
    }
    let what = format!("no message has a number above {last}, the last that was given");
    Ok(Finding::good("sequence", what))
}

fn space(session: &Session<'_>) -> rusqlite::Result<Finding> {
    let (free, pages): (i64, i64) = (pragma(session, "freelist_count")?, pragma(session, "page_count")?);
    let what = format!("{free} of {pages} pages are free");
    Ok(if free > FREE_PAGES && free > pages / 2 {
        let next = "run VACUUM while little happens, if the disk needs the room";
        Finding::new(Grade::Advice, "space", what, next)
    } else {
        Finding::new(Grade::Good, "space", what, "")
    })
}

/// The size of the write-ahead log; nothing in memory.
pub(super) fn wal_bytes(session: &Session<'_>) -> u64 {
    let path = session.transaction.path().filter(|path| !path.is_empty());
    path.and_then(|path| std::fs::metadata(format!("{path}-wal")).ok())
        .map_or(0, |file| file.len())
}

fn wal(session: &Session<'_>) -> Finding {
    let size = wal_bytes(session);
    let what = format!("the write-ahead log has {size} bytes");
    if size > LARGE_WAL {
        let next = "end the reading transaction that is held open elsewhere: the log grows until it ends";
        return Finding::new(Grade::Advice, "wal", what, next);
    }
    Finding::new(Grade::Good, "wal", what, "")
}

fn clock(session: &Session<'_>) -> rusqlite::Result<Finding> {
    let latest: Timestamp = session.row(include_str!("../sql/latest_time.sql"), [], |row| {
        row.get(0).map(Timestamp::from_millis)
    })?;
    let ahead = latest.since(session.now);
    Ok(if ahead > CLOCK_TOLERANCE {
        let what = format!("the newest time in the tables is {ahead:?} ahead of this machine's clock");
        let next = "set the clocks of all machines and containers that write here";
        Finding::new(Grade::Problem, "clock", what, next)
    } else {
        let what = format!("the clock says {}", session.now);
        Finding::new(Grade::Good, "clock", what, "")
    })
}
