//! MariaDB (10.6 and newer) and MySQL (8.0.19 and newer).
//!
//! Writes run under READ COMMITTED, reads in one snapshot of REPEATABLE READ. Every time is the server's, in UTC.

use std::{
    borrow::Cow,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_core::future::BoxFuture;
use futures_util::future::{Either, select};
use mysql_async::{Conn, Opts, OptsBuilder, Pool, PoolConstraints, PoolOpts, prelude::Queryable};
use redeliver::clock::Timer;

use super::{
    Beat, Claimed, History, Lease, Membership, Names, Reader, Result, Settled, Settlement, Store, StoreError,
    StoreErrorKind, WorkerId,
};
use crate::{
    Held, NewHold,
    limits::{
        CACHED_STATEMENTS, CONNECT_TIMEOUT, LONGEST_TRANSACTION, MYSQL_CONNECTIONS, MYSQL_LOCK_WAIT,
        SERVER_PATIENCE,
    },
    store::desk::hold::act_of,
};

mod desk;
mod error;
mod fan_out;
mod lease;
mod literal;
mod reader;
mod row;
mod schema;
mod seen;
mod segments;
mod server;
mod settle;
mod work;
mod writers;

pub(crate) use error::store_error;
use work::Work;

/// An outbox in MariaDB or MySQL.
#[derive(Clone)]
pub struct MySqlStore {
    opts: Opts,
    pool: Arc<Mutex<Pool>>,
    patience: Duration,
    names: Arc<Names>,
    longest_transaction: Duration,
    history: History,
    /// Whether the tables were seen to be of this program's version.
    fits: Arc<AtomicBool>,
}

impl fmt::Debug for MySqlStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MySqlStore")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

impl MySqlStore {
    /// Connects once, to learn that the server is there and new enough. The tables need not exist yet.
    ///
    /// # Errors
    ///
    /// If the URL cannot be read, the server cannot be reached or does not let us in, or it is too old.
    pub async fn connect(url: &str, names: Names) -> Result<Self> {
        let opts = Opts::from_url(url).map_err(|error| store_error(error.into()))?;
        // The lower bound is how many are kept when nobody uses them, not how many are opened.
        let constraints = PoolConstraints::new(MYSQL_CONNECTIONS, MYSQL_CONNECTIONS).unwrap_or_default();
        // Only MariaDB can end a transaction whose process has been stopped in the middle. From 11.6.2 on it also refuses a row that was
        // changed after the statement's snapshot (error 1020), where READ COMMITTED takes the newest version.
        let session = format!(
            "SET SESSION sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', \
             innodb_lock_wait_timeout = {0}, autocommit = 1 /*M!100300, idle_transaction_timeout = {0} */ \
             /*M!110602, innodb_snapshot_isolation = 0 */",
            MYSQL_LOCK_WAIT.as_secs()
        );
        let opts = OptsBuilder::from_opts(opts)
            .init(vec![
                "SET NAMES utf8mb4".to_owned(),
                session,
                "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED".to_owned(),
            ])
            .stmt_cache_size(CACHED_STATEMENTS)
            .tcp_keepalive(Some(Duration::from_secs(15)))
            // A guarded UPDATE that finds its row counts it, changed or not.
            .client_found_rows(true)
            // The session is ours alone: setting it up again at each use would cost more than most statements.
            .pool_opts(
                PoolOpts::new()
                    .with_constraints(constraints)
                    .with_reset_connection(false),
            );
        let opts = Opts::from(opts);
        let store = Self {
            pool: Arc::new(Mutex::new(Pool::new(opts.clone()))),
            opts,
            patience: SERVER_PATIENCE,
            names: Arc::new(names),
            longest_transaction: LONGEST_TRANSACTION,
            history: History::default(),
            fits: Arc::new(AtomicBool::new(false)),
        };
        let mut connection = store.any_connection().await?;
        let version: Option<String> = connection
            .query_first("SELECT VERSION()")
            .await
            .map_err(store_error)?;
        check_version(&version.unwrap_or_default())?;
        Ok(store)
    }

    /// How long the server may take to answer before the connection counts as lost: 30 seconds if nothing is said.
    #[must_use]
    pub const fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How long a writer's transaction lasts at most, where the server does not let us see which ones are running (that takes the
    /// PROCESS privilege). A message whose transaction lasts longer is found when its shard changes hands.
    #[must_use]
    pub const fn with_longest_transaction(mut self, longest: Duration) -> Self {
        self.longest_transaction = longest;
        self
    }

    /// The same database, where this is kept of what arrived.
    #[must_use]
    pub const fn with_history(mut self, history: History) -> Self {
        self.history = history;
        self
    }

    /// Closes the connections.
    ///
    /// # Errors
    ///
    /// If one of them could not be closed in good order.
    pub async fn disconnect(self) -> Result<()> {
        self.pool().disconnect().await.map_err(store_error)
    }

    fn sql<'a>(&self, statement: &'a str) -> Cow<'a, str> {
        self.names.fill(statement)
    }

    fn pool(&self) -> Pool {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A connection, whatever the tables are like.
    async fn any_connection(&self) -> Result<Conn> {
        let connected = tokio::time::timeout(CONNECT_TIMEOUT, self.pool().get_conn()).await;
        connected
            .map_err(|_| {
                let what = "the database did not take a connection in time, or all of ours are in use";
                StoreError::new(StoreErrorKind::Unreachable, what).next("check its address and that it runs")
            })?
            .map_err(store_error)
    }

    /// A connection that was not used before, and is closed when it is dropped.
    async fn another_connection(&self) -> Result<Conn> {
        let connected = tokio::time::timeout(CONNECT_TIMEOUT, Conn::new(self.opts.clone())).await;
        connected
            .map_err(|_| error::silent(CONNECT_TIMEOUT))?
            .map_err(store_error)
    }

    /// A connection to tables that this program knows.
    async fn connection(&self) -> Result<Conn> {
        let mut connection = self.any_connection().await?;
        if !self.fits.load(Ordering::Relaxed) {
            schema::check(self, &mut connection).await?;
            self.fits.store(true, Ordering::Relaxed);
        }
        Ok(connection)
    }

    /// The work, given up when it takes too long. Its connection is one that hangs, and so may the others be: they are left behind
    /// with their pool, which would keep a place for each.
    async fn limited<T>(&self, work: impl Future<Output = Result<T>> + Send) -> Result<T> {
        match select(Box::pin(work), Timer::limit(self.patience)).await {
            Either::Left((result, _)) => result,
            Either::Right(_) => {
                *self.pool.lock().unwrap_or_else(PoisonError::into_inner) = Pool::new(self.opts.clone());
                Err(error::silent(self.patience))
            }
        }
    }

    /// Tables that were taken away are asked for again.
    fn failed(&self, error: mysql_async::Error) -> StoreError {
        self.noted(store_error(error))
    }

    fn noted(&self, error: StoreError) -> StoreError {
        if error.kind() == StoreErrorKind::NotMigrated {
            self.fits.store(false, Ordering::Relaxed);
        }
        error
    }
}

fn check_version(version: &str) -> Result<()> {
    let mut numbers = version
        .split(|c: char| !c.is_ascii_digit())
        .map(|part| part.parse::<u32>().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    let found = (next(), next(), next());
    let needed = if version.contains("MariaDB") {
        (10, 6, 0)
    } else {
        (8, 0, 19)
    };
    if found >= needed {
        return Ok(());
    }
    let shown: String = version.chars().take(40).collect();
    Err(StoreError::new(
        StoreErrorKind::Unsupported,
        format!("the server's version {shown} is too old"),
    )
    .next("use MariaDB 10.6, MySQL 8.0.19 or newer"))
}

impl Store for MySqlStore {
    fn beat<'a>(&'a self, beat: &'a Beat) -> BoxFuture<'a, Result<Membership>> {
        Box::pin(self.limited(lease::beat(self, beat)))
    }

    fn claim<'a>(
        &'a self,
        worker: &'a WorkerId,
        at_most: usize,
        window: u32,
    ) -> BoxFuture<'a, Result<Vec<Claimed>>> {
        Box::pin(self.limited(lease::claim(self, worker, at_most, window)))
    }

    fn release<'a>(
        &'a self,
        worker: &'a WorkerId,
        leases: &'a [Lease],
        clean: bool,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.limited(lease::release(self, worker, leases, clean)))
    }

    fn hold<'a>(&'a self, worker: &'a WorkerId, hold: &'a NewHold) -> BoxFuture<'a, Result<Held>> {
        Box::pin(self.limited(async move {
            let act = act_of(worker, hold);
            desk::hold::begin(self, hold, &act).await
        }))
    }

    fn leave<'a>(&'a self, worker: &'a WorkerId) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.limited(lease::leave(self, worker)))
    }

    fn unpark<'a>(
        &'a self,
        shards: &'a [u16],
        destination: &'a str,
        at_most: usize,
    ) -> BoxFuture<'a, Result<usize>> {
        Box::pin(self.limited(lease::unpark(self, shards, destination, at_most)))
    }

    fn unpark_others<'a>(
        &'a self,
        shards: &'a [u16],
        known: &'a [String],
        at_most: usize,
    ) -> BoxFuture<'a, Result<usize>> {
        Box::pin(self.limited(lease::unpark_others(self, shards, known, at_most)))
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(reader::MySqlReader::new(self.clone()))
    }

    fn settle<'a>(
        &'a self,
        worker: &'a WorkerId,
        settlements: &'a [Settlement],
    ) -> BoxFuture<'a, Result<Settled>> {
        Box::pin(self.limited(settle::settle(self, worker, settlements)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_servers_are_refused() {
        for good in [
            "10.11.19-MariaDB-0+deb12u1",
            "10.6.0-MariaDB",
            "11.4.2-MariaDB",
            "8.0.19",
            "8.4.3-commercial",
            "9.1.0",
        ] {
            assert!(check_version(good).is_ok(), "{good}");
        }
        for bad in ["10.5.27-MariaDB", "8.0.18", "5.7.44-log", ""] {
            assert!(check_version(bad).is_err(), "{bad}");
        }
    }
}
