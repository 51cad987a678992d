//! MariaDB (10.6 and newer) and MySQL (8.0.19 and newer).
//!
//! Writes run under READ COMMITTED, reads in one snapshot of REPEATABLE READ. Every time is the server's, in UTC.

use std::{
    borrow::Cow,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_core::future::BoxFuture;
use mysql_async::{
    Conn, IsolationLevel, Opts, OptsBuilder, Pool, PoolConstraints, PoolOpts, Row, Transaction, TxOpts,
    prelude::Queryable,
};

use super::{
    Beat, Claimed, Lease, Membership, Names, Reader, Result, Settled, Settlement, Store, StoreError,
    StoreErrorKind, WorkerId,
};

mod desk;
mod error;
mod lease;
mod reader;
mod row;
mod schema;
mod seen;
mod segments;
mod settle;
mod writers;

use error::store_error;
use row::Columns;

/// The most connections to the server.
const CONNECTIONS: usize = 8;
/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a statement waits for a lock before it gives up, to be tried again.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// How long a transaction of a writer lasts at most, where the server does not let us see which ones are running.
const LONGEST_TRANSACTION: Duration = Duration::from_secs(300);
const STATEMENTS: usize = 128;

/// An outbox in MariaDB or MySQL.
#[derive(Clone)]
pub struct MySqlStore {
    pool: Pool,
    names: Arc<Names>,
    longest_transaction: Duration,
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
        let constraints = PoolConstraints::new(CONNECTIONS, CONNECTIONS).unwrap_or_default();
        let session = format!(
            "SET SESSION sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', \
             innodb_lock_wait_timeout = {}, autocommit = 1",
            LOCK_WAIT.as_secs()
        );
        let opts = OptsBuilder::from_opts(opts)
            .init(vec![
                "SET NAMES utf8mb4".to_owned(),
                session,
                "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED".to_owned(),
            ])
            .stmt_cache_size(STATEMENTS)
            .tcp_keepalive(Some(Duration::from_secs(15)))
            // A guarded UPDATE that finds its row counts it, changed or not.
            .client_found_rows(true)
            // The session is ours alone: setting it up again at each use would cost more than most statements.
            .pool_opts(
                PoolOpts::new()
                    .with_constraints(constraints)
                    .with_reset_connection(false),
            );
        let store = Self {
            pool: Pool::new(opts),
            names: Arc::new(names),
            longest_transaction: LONGEST_TRANSACTION,
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

    /// How long a writer's transaction lasts at most, where the server does not let us see which ones are running (that takes the
    /// PROCESS privilege). A message whose transaction lasts longer is found when its shard changes hands.
    #[must_use]
    pub const fn with_longest_transaction(mut self, longest: Duration) -> Self {
        self.longest_transaction = longest;
        self
    }

    /// Closes the connections.
    ///
    /// # Errors
    ///
    /// If one of them could not be closed in good order.
    pub async fn disconnect(self) -> Result<()> {
        self.pool.disconnect().await.map_err(store_error)
    }

    fn sql<'a>(&self, statement: &'a str) -> Cow<'a, str> {
        self.names.fill(statement)
    }

    /// A connection, whatever the tables are like.
    async fn any_connection(&self) -> Result<Conn> {
        let connected = tokio::time::timeout(CONNECT_TIMEOUT, self.pool.get_conn()).await;
        connected
            .map_err(|_| {
                let what = "the database did not take a connection in time, or all of ours are in use";
                StoreError::new(StoreErrorKind::Unreachable, what).next("check its address and that it runs")
            })?
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

    /// Tables that were taken away are asked for again.
    fn failed(&self, error: mysql_async::Error) -> StoreError {
        let error = store_error(error);
        if error.kind() == StoreErrorKind::NotMigrated {
            self.fits.store(false, Ordering::Relaxed);
        }
        error
    }
}

/// One transaction and the statements in it.
struct Work<'a> {
    store: &'a MySqlStore,
    transaction: Transaction<'a>,
}

impl<'a> Work<'a> {
    /// A transaction that writes.
    async fn begin(store: &'a MySqlStore, connection: &'a mut Conn) -> Result<Self> {
        Self::with(store, connection, TxOpts::default()).await
    }

    /// A transaction whose statements all see the database as it is now.
    async fn snapshot(store: &'a MySqlStore, connection: &'a mut Conn) -> Result<Self> {
        let mut options = TxOpts::new();
        options
            .with_isolation_level(IsolationLevel::RepeatableRead)
            .with_readonly(true)
            .with_consistent_snapshot(true);
        Self::with(store, connection, options).await
    }

    async fn with(store: &'a MySqlStore, connection: &'a mut Conn, options: TxOpts) -> Result<Self> {
        let transaction = connection.start_transaction(options).await;
        Ok(Self {
            store,
            transaction: transaction.map_err(|error| store.failed(error))?,
        })
    }

    async fn rows(
        &mut self,
        statement: &str,
        values: impl Into<mysql_async::Params> + Send,
    ) -> Result<Vec<Columns>> {
        let sql = self.store.sql(statement).into_owned();
        let rows: Vec<Row> = self
            .transaction
            .exec(sql, values.into())
            .await
            .map_err(|error| self.store.failed(error))?;
        Ok(rows.into_iter().map(Columns::of).collect())
    }

    async fn row(
        &mut self,
        statement: &str,
        values: impl Into<mysql_async::Params> + Send,
    ) -> Result<Option<Columns>> {
        Ok(self.rows(statement, values).await?.into_iter().next())
    }

    /// Runs it and says how many rows it met.
    async fn run(&mut self, statement: &str, values: impl Into<mysql_async::Params> + Send) -> Result<u64> {
        let sql = self.store.sql(statement).into_owned();
        self.transaction
            .exec_drop(sql, values.into())
            .await
            .map_err(|error| self.store.failed(error))?;
        Ok(self.transaction.affected_rows())
    }

    /// The number that the last insert was given.
    fn given(&self) -> i64 {
        let id = self.transaction.last_insert_id();
        id.and_then(|id| i64::try_from(id).ok()).unwrap_or(0)
    }

    async fn commit(self) -> Result<()> {
        let store = self.store;
        self.transaction
            .commit()
            .await
            .map_err(|error| store.failed(error))
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
        Box::pin(lease::beat(self, beat))
    }

    fn claim<'a>(
        &'a self,
        worker: &'a WorkerId,
        at_most: usize,
        window: u32,
    ) -> BoxFuture<'a, Result<Vec<Claimed>>> {
        Box::pin(lease::claim(self, worker, at_most, window))
    }

    fn release<'a>(
        &'a self,
        worker: &'a WorkerId,
        leases: &'a [Lease],
        clean: bool,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(lease::release(self, worker, leases, clean))
    }

    fn leave<'a>(&'a self, worker: &'a WorkerId) -> BoxFuture<'a, Result<()>> {
        Box::pin(lease::leave(self, worker))
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(reader::MySqlReader::new(self.clone()))
    }

    fn settle<'a>(
        &'a self,
        worker: &'a WorkerId,
        settlements: &'a [Settlement],
    ) -> BoxFuture<'a, Result<Settled>> {
        Box::pin(settle::settle(self, worker, settlements))
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
