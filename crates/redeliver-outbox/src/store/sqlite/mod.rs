//! The outbox in an SQLite database: a file beside the application, or memory.

use std::{fmt, path::PathBuf, sync::Arc};

use futures_core::future::BoxFuture;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::{
    Beat, Claimed, History, Lease, Membership, Names, Reader, Result, Settled, Settlement, Store, WorkerId,
};
use crate::{
    Held, NewHold, Timestamp,
    store::{
        StoreError, StoreErrorKind,
        desk::{hold::act_of, sweep::Sweeps},
    },
};

mod connection;
mod desk;
mod error;
mod fan_out;
mod file;
mod lease;
mod reader;
mod row;
mod schema;
mod settle;
mod writer;

pub(crate) use connection::path_of;
use connection::{Database, Done, Purpose, Session};
pub(crate) use error::{interpret, interpret_opening};

/// Where the store takes the time from: SQLite has no server whose clock could rule.
type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// An outbox in an SQLite database. Clones share its connections.
#[derive(Clone)]
pub struct SqliteStore {
    database: Arc<Database>,
    names: Arc<Names>,
    clock: Clock,
    history: History,
    sweeps: Arc<Sweeps>,
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("names", &self.names)
            .field("inline", &self.database.inline())
            .finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens the database that the URL names: `sqlite://path/to/file`, `sqlite:file`, or `sqlite::memory:`. A file that does not
    /// exist is created; its folder is not.
    ///
    /// # Errors
    ///
    /// If the URL is none of these, if the file is no database or cannot be written to, or if the names name a schema.
    pub fn open(url: &str, names: Names) -> Result<Self> {
        if let Some(schema) = names.schema() {
            let what = format!("SQLite has no schemas, and one named {schema:?} was asked for");
            return Err(StoreError::new(StoreErrorKind::BadInput, what)
                .next("leave the schema out, and set a table prefix if the names clash"));
        }
        let database = match path_of(url)? {
            Some(path) => Database::open(&path)?,
            None => Database::in_memory()?,
        };
        Ok(Self {
            database: Arc::new(database),
            names: Arc::new(names),
            clock: Arc::new(Timestamp::wall),
            history: History::default(),
            sweeps: Arc::default(),
        })
    }

    /// The file that the URL names; none for a database in memory, or if it is no such URL.
    pub(super) fn file_of(url: &str) -> Option<PathBuf> {
        path_of(url).ok().flatten()
    }

    /// Whether there is nothing in it at all.
    pub(super) fn is_empty(&self) -> BoxFuture<'static, Result<bool>> {
        self.run(Purpose::Version, |session| {
            Ok(session.row(include_str!("sql/is_empty.sql"), [], |row| row.get(0))?)
        })
    }

    /// An empty database in memory, which lives as long as the last clone of this store. Its statements run right where they are
    /// awaited, so that what a simulator does is the same every time.
    ///
    /// # Errors
    ///
    /// If there is no memory for it.
    pub fn in_memory() -> Result<Self> {
        Self::open("sqlite::memory:", Names::default())
    }

    /// The same database by another clock.
    #[must_use]
    pub fn with_clock(&self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self {
            clock: Arc::new(clock),
            ..self.clone()
        }
    }

    /// The same database, where this is kept of what arrived.
    #[must_use]
    pub const fn with_history(mut self, history: History) -> Self {
        self.history = history;
        self
    }

    /// Runs SQL beside the store, on its writing connection: for tests, and for checkers that look at every write.
    #[doc(hidden)]
    pub fn with_connection<T>(&self, work: impl FnOnce(&Connection) -> T) -> T {
        work(&self.database.connection(Purpose::Write).connection)
    }

    /// Does a piece of work in a transaction of its own.
    fn run<T: Send + 'static>(
        &self,
        purpose: Purpose,
        work: impl FnOnce(&Session<'_>) -> Done<T> + Send + 'static,
    ) -> BoxFuture<'static, Result<T>> {
        let store = self.clone();
        let database = Arc::clone(&self.database);
        let transact = move || store.transact(purpose, work).map_err(StoreError::from);
        Box::pin(async move {
            if database.inline() {
                return transact();
            }
            let done = match database.writer(purpose) {
                Some(writer) => writer.run(transact).await,
                None => tokio::task::spawn_blocking(transact).await.ok(),
            };
            done.unwrap_or_else(|| {
                let what = "the thread that works on the SQLite database ended";
                Err(StoreError::new(StoreErrorKind::Other, what))
            })
        })
    }

    fn transact<T>(&self, purpose: Purpose, work: impl FnOnce(&Session<'_>) -> Done<T>) -> Done<T> {
        let behavior = match purpose {
            Purpose::Read | Purpose::Look | Purpose::Count | Purpose::Version => {
                TransactionBehavior::Deferred
            }
            Purpose::Write | Purpose::Schema => TransactionBehavior::Immediate,
        };
        let opened = self.database.current(purpose)?;
        let session = Session {
            transaction: Transaction::new_unchecked(&opened.connection, behavior)?,
            file: opened.generation.number(),
            names: &self.names,
            now: (self.clock)(),
        };
        if !matches!(purpose, Purpose::Schema | Purpose::Version) {
            schema::require_current(&session)?;
        }
        let value = work(&session)?;
        session.transaction.commit()?;
        Ok(value)
    }
}

impl Store for SqliteStore {
    fn beat<'a>(&'a self, beat: &'a Beat) -> BoxFuture<'a, Result<Membership>> {
        let beat = beat.clone();
        self.run(Purpose::Write, move |session| lease::beat(session, &beat))
    }

    fn claim<'a>(
        &'a self,
        worker: &'a WorkerId,
        at_most: usize,
        window: u32,
    ) -> BoxFuture<'a, Result<Vec<Claimed>>> {
        let worker = worker.clone();
        self.run(Purpose::Write, move |session| {
            lease::claim(session, &worker, at_most, window)
        })
    }

    fn release<'a>(
        &'a self,
        worker: &'a WorkerId,
        leases: &'a [Lease],
        clean: bool,
    ) -> BoxFuture<'a, Result<()>> {
        let (worker, leases) = (worker.clone(), leases.to_vec());
        self.run(Purpose::Write, move |session| {
            lease::release(session, &worker, &leases, clean)
        })
    }

    fn unpark<'a>(
        &'a self,
        shards: &'a [u16],
        destination: &'a str,
        at_most: usize,
    ) -> BoxFuture<'a, Result<usize>> {
        let (shards, destination) = (shards.to_vec(), destination.to_owned());
        self.run(Purpose::Write, move |session| {
            lease::unpark(session, &shards, &destination, at_most)
        })
    }

    fn unpark_others<'a>(
        &'a self,
        shards: &'a [u16],
        known: &'a [String],
        at_most: usize,
    ) -> BoxFuture<'a, Result<usize>> {
        let (shards, known) = (shards.to_vec(), known.to_vec());
        self.run(Purpose::Write, move |session| {
            lease::unpark_others(session, &shards, &known, at_most)
        })
    }

    fn hold<'a>(&'a self, worker: &'a WorkerId, hold: &'a NewHold) -> BoxFuture<'a, Result<Held>> {
        let (hold, act) = (hold.clone(), act_of(worker, hold));
        self.run(Purpose::Write, move |session| {
            desk::hold::begin(session, &hold, &act)
        })
    }

    fn leave<'a>(&'a self, worker: &'a WorkerId) -> BoxFuture<'a, Result<()>> {
        let worker = worker.clone();
        self.run(Purpose::Write, move |session| lease::leave(session, &worker))
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(reader::SqliteReader::new(self.clone()))
    }

    fn settle<'a>(
        &'a self,
        worker: &'a WorkerId,
        settlements: &'a [Settlement],
    ) -> BoxFuture<'a, Result<Settled>> {
        let (worker, settlements, history) = (worker.clone(), settlements.to_vec(), self.history);
        self.run(Purpose::Write, move |session| {
            settle::settle(session, &worker, &settlements, history)
        })
    }
}
