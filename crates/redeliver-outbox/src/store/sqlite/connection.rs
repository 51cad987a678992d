use std::{
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rusqlite::{CachedStatement, Connection, MAIN_DB, OpenFlags, Transaction, config::DbConfig};

use super::{
    error::{Failure, interpret, interpret_opening},
    file::{Generation, NamedFile},
    row::SqliteColumns,
    writer::Writer,
};
use crate::{
    Timestamp,
    limits::{CACHED_STATEMENTS, SQLITE_LOCK_WAIT},
    store::{Names, Result, StoreError, StoreErrorKind, columns::Columns},
};

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The relay looks: one snapshot, beside any writer.
    Read,
    /// An operator looks: the relay does not wait for it.
    Look,
    /// Everything is counted, for however long it takes: nobody else who looks waits for it.
    Count,
    /// Writing: the lock is taken at the beginning, because a snapshot that began as a reader's cannot always become a writer's.
    Write,
    /// Making or changing the tables, whatever version they have.
    Schema,
    /// Looking which version they have.
    Version,
}

/// The open connections to one database.
#[derive(Debug)]
pub(super) struct Database {
    write: Mutex<Opened>,
    /// None in memory, where a second connection would be another database.
    readers: Option<Readers>,
    /// Where the writing connection is used; none in memory.
    writer: Option<Writer>,
}

/// Connections that only look, and the file that all are to.
#[derive(Debug)]
struct Readers {
    file: NamedFile,
    relay: Mutex<Opened>,
    operator: Mutex<Opened>,
    counter: Mutex<Opened>,
}

/// A connection, and which file it is to.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) generation: Generation,
}

impl Opened {
    fn first(connection: Connection) -> Mutex<Self> {
        let generation = Generation::FIRST;
        Mutex::new(Self {
            connection,
            generation,
        })
    }
}

impl Database {
    pub(super) fn in_memory() -> Result<Self> {
        let connection = Connection::open_in_memory().map_err(interpret)?;
        prepare(&connection).map_err(interpret)?;
        Ok(Self {
            write: Opened::first(connection),
            readers: None,
            writer: None,
        })
    }

    pub(super) fn open(path: &Path) -> Result<Self> {
        check(path)?;
        let write = connect(path)?;
        if write.is_readonly(MAIN_DB).map_err(interpret)? {
            let what = format!("the file {} cannot be written to", path.display());
            return Err(StoreError::new(StoreErrorKind::ReadOnly, what)
                .next("let this user write to it and to its folder"));
        }
        let file = NamedFile::new(path)?;
        let read = || -> Result<Mutex<Opened>> { Ok(Opened::first(connect_to_read(path)?)) };
        Ok(Self {
            write: Opened::first(write),
            readers: Some(Readers {
                relay: read()?,
                operator: read()?,
                counter: read()?,
                file,
            }),
            writer: Some(Writer::start()?),
        })
    }

    /// The thread for this purpose, if it has one of its own.
    pub(super) fn writer(&self, purpose: Purpose) -> Option<&Writer> {
        let writer = self.writer.as_ref();
        writer.filter(|_| matches!(purpose, Purpose::Write | Purpose::Schema))
    }

    /// Whether statements run where they are awaited, instead of on a thread that may block.
    pub(super) const fn inline(&self) -> bool {
        self.readers.is_none()
    }

    /// The connection for this purpose, to the file that has the name now.
    pub(super) fn current(&self, purpose: Purpose) -> Result<MutexGuard<'_, Opened>> {
        let mut opened = self.connection(purpose);
        if let Some(readers) = &self.readers {
            let generation = readers.file.generation()?;
            if opened.generation != generation {
                // Its last words would go to the log of the file that has the name now.
                let config = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
                opened.connection.set_db_config(config, true).map_err(interpret)?;
                opened.connection = match purpose {
                    Purpose::Write | Purpose::Schema => connect(readers.file.path())?,
                    _ => connect_to_read(readers.file.path())?,
                };
                opened.generation = generation;
            }
        }
        Ok(opened)
    }

    /// A panic in the middle of a transaction has rolled it back: the connection is as good as before.
    pub(super) fn connection(&self, purpose: Purpose) -> MutexGuard<'_, Opened> {
        let connection = match (&self.readers, purpose) {
            (Some(readers), Purpose::Read) => &readers.relay,
            (Some(readers), Purpose::Look | Purpose::Version) => &readers.operator,
            (Some(readers), Purpose::Count) => &readers.counter,
            _ => &self.write,
        };
        connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn connect_to_read(path: &Path) -> Result<Connection> {
    let read = connect(path)?;
    read.pragma_update(None, "query_only", true).map_err(interpret)?;
    Ok(read)
}

fn connect(path: &Path) -> Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags).and_then(|connection| {
        prepare(&connection)?;
        Ok(connection)
    });
    opened.map_err(|error| interpret_opening(error, path))
}

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(SQLITE_LOCK_WAIT)?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    // Without it SQLite prepares a statement again whenever a value is bound that the planner has looked at: two thirds of a read.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", false)
}

/// What SQLite would only call "unable to open".
fn check(path: &Path) -> Result<()> {
    let refuse =
        |what: String, next: &'static str| Err(StoreError::new(StoreErrorKind::BadInput, what).next(next));
    if path.is_dir() {
        let what = format!("{} is a folder, and the database is a file", path.display());
        return refuse(what, "add the name of a file");
    }
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) if !folder.is_dir() => {
            let what = format!("there is no folder {}", folder.display());
            refuse(what, "create it, or name another one")
        }
        _ => Ok(()),
    }
}

/// Where a URL says that the database is; none for one in memory.
pub(crate) fn path_of(url: &str) -> Result<Option<PathBuf>> {
    let refuse = |what: String| {
        let next = "use sqlite://path/to/file, sqlite:file or sqlite::memory:";
        Err(StoreError::new(StoreErrorKind::BadInput, what).next(next))
    };
    let Some(rest) = url.strip_prefix("sqlite:") else {
        // The URL of a server holds a password: none of it is shown but its scheme.
        let scheme: String = url
            .split_once(':')
            .map_or("", |(scheme, _)| scheme)
            .chars()
            .take(20)
            .collect();
        return refuse(format!(
            "a URL that begins with {scheme:?} names no SQLite database"
        ));
    };
    let path = rest.strip_prefix("//").unwrap_or(rest);
    match path {
        ":memory:" => Ok(None),
        "" => refuse("the URL names no file".to_owned()),
        // What follows may be a password, as in the URL of a server.
        path if path.contains("://") => refuse("what follows sqlite: is no path, but another URL".to_owned()),
        path => match path.split_once(['?', '#', '\0']) {
            Some((path, _)) => refuse(format!(
                "the URL of the SQLite database holds more than a path, behind {path:?}"
            )),
            None => Ok(Some(PathBuf::from(path))),
        },
    }
}

/// A transaction in which a piece of work is done, and all that it needs to know.
pub(super) struct Session<'a> {
    pub(super) transaction: Transaction<'a>,
    pub(super) names: &'a Names,
    pub(super) now: Timestamp,
    /// Which file it is of, of those that had the name one after the other.
    pub(super) file: u64,
}

/// What a piece of work ends with.
pub(super) type Done<T> = std::result::Result<T, Failure>;

impl Session<'_> {
    /// The statement with its names filled in, prepared once a connection.
    pub(super) fn prepare(&self, statement: &str) -> rusqlite::Result<CachedStatement<'_>> {
        self.transaction.prepare_cached(&self.names.fill(statement))
    }

    /// Runs it and returns how many rows it changed.
    pub(super) fn execute(&self, statement: &str, values: impl rusqlite::Params) -> rusqlite::Result<usize> {
        self.prepare(statement)?.execute(values)
    }

    /// All rows of it.
    pub(super) fn rows<T>(
        &self,
        statement: &str,
        values: impl rusqlite::Params,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        self.prepare(statement)?.query_map(values, read)?.collect()
    }

    /// All rows of it, read from left to right.
    pub(super) fn read<T>(
        &self,
        statement: &str,
        values: impl rusqlite::Params,
        mut read: impl FnMut(&mut dyn Columns) -> Result<T>,
    ) -> Done<Vec<T>> {
        let mut statement = self.prepare(statement)?;
        let mut rows = statement.query(values)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(read(&mut SqliteColumns::of(row))?);
        }
        Ok(all)
    }

    /// Its one row.
    pub(super) fn row<T>(
        &self,
        statement: &str,
        values: impl rusqlite::Params,
        read: impl FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        self.prepare(statement)?.query_row(values, read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_understood_or_refused_without_their_secrets() {
        let path = |url| path_of(url).unwrap();
        assert_eq!(path("sqlite::memory:"), None);
        assert_eq!(path("sqlite://:memory:"), None);
        assert_eq!(path("sqlite:///var/x.db"), Some(PathBuf::from("/var/x.db")));
        assert_eq!(path("sqlite://data/x.db"), Some(PathBuf::from("data/x.db")));
        assert_eq!(path("sqlite:x.db"), Some(PathBuf::from("x.db")));
        for url in ["sqlite:", "sqlite://", "x.db", "sqlite:x.db?mode=ro"] {
            assert_eq!(
                path_of(url).unwrap_err().kind(),
                StoreErrorKind::BadInput,
                "{url}"
            );
        }
        let error = path_of("postgres://me:secret@host/db").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("secret"));
    }
}
