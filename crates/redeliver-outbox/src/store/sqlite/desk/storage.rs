//! How much room everything takes. SQLite keeps no figures of its tables: what would cost a walk through all of a table is not told.

use super::{Done, Session, examine};
use crate::{
    desk::{Known, Storage, TableStorage},
    store::desk::storage::TABLES,
};

/// Up to here rows are counted.
const COUNTED: i64 = 10_000;

pub(super) fn storage(session: &Session<'_>) -> Done<Storage> {
    let mut tables = Vec::with_capacity(TABLES.len());
    for table in TABLES {
        let (rows, known) = rows(session, table)?;
        tables.push(TableStorage {
            name: session.names.fill(table).into_owned(),
            rows: rows.unsigned_abs(),
            known,
            ..TableStorage::default()
        });
    }
    let page_size: i64 = examine::pragma(session, "page_size")?;
    let bytes = |pages: i64| Some((pages * page_size).unsigned_abs());
    Ok(Storage {
        tables,
        database_bytes: bytes(examine::pragma(session, "page_count")?),
        wal_bytes: Some(examine::wal_bytes(session)),
        free_bytes: bytes(examine::pragma(session, "freelist_count")?),
        ..Storage::default()
    })
}

fn rows(session: &Session<'_>, table: &str) -> rusqlite::Result<(i64, Known)> {
    let count = format!("SELECT COUNT(*) FROM (SELECT 1 FROM {table} LIMIT ?1)");
    let counted: i64 = session.row(&count, [COUNTED + 1], |row| row.get(0))?;
    if counted <= COUNTED {
        return Ok((counted, Known::Exactly));
    }
    if !numbered(table) {
        return Ok((COUNTED, Known::AtLeast));
    }
    let span = format!("SELECT (SELECT MAX(number) FROM {table}) - (SELECT MIN(number) FROM {table}) + 1");
    Ok((session.row(&span, [], |row| row.get(0))?, Known::AtMost))
}

/// Whether the table is found by a number that no two rows have.
fn numbered(table: &str) -> bool {
    let numbered = ["outbox", "dead", "sent", "events", "audit"];
    numbered.iter().any(|name| table.ends_with(name))
}
