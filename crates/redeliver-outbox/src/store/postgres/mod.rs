//! The outbox on PostgreSQL, 13 or newer.
//!
//! It works behind a pooler that gives every transaction another connection: no statement is prepared for longer than it runs, and
//! every setting ends with its transaction.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime, Timeouts};
use futures_core::future::BoxFuture;
use futures_util::future::{Either, select};
use redeliver::clock::Timer;

use super::{
    Beat, Claimed, History, Lease, Membership, Names, Reader, Result, Settled, Settlement, Store, StoreError,
    StoreErrorKind, WorkerId,
};
use crate::{
    Held, NewHold, limits,
    store::desk::{hold::act_of, sweep::Sweeps},
};

mod desk;
mod error;
mod fan_out;
mod lease;
mod migrate;
mod moment;
mod read_only;
mod reader;
mod row;
mod schema;
mod segments;
mod session;
mod settle;
mod tls;
mod value;

pub(crate) use error::of as interpret;
use session::Session;
pub(crate) use tls::configure;

/// How a [`PostgresStore`] connects.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// What the tables are called.
    pub names: Names,
    /// What is kept of messages that arrived.
    pub history: History,
    /// The most connections that are open at a time.
    pub connections: usize,
    /// How long making a connection, or waiting for a free one, may take.
    pub connect_timeout: Duration,
    /// How long anything else may take before the connection counts as lost.
    pub patience: Duration,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            names: Names::default(),
            history: History::default(),
            connections: limits::POSTGRES_CONNECTIONS,
            connect_timeout: limits::CONNECT_TIMEOUT,
            patience: limits::SERVER_PATIENCE,
        }
    }
}

/// The outbox on PostgreSQL. Clones share their connections.
#[derive(Clone)]
pub struct PostgresStore(Arc<Inner>);

struct Inner {
    pool: Pool,
    names: Names,
    history: History,
    patience: Duration,
    /// Whether the tables were of this program's version when that was last checked.
    fits: AtomicBool,
    sweeps: Sweeps,
}

impl PostgresStore {
    /// The database at `url`, as libpq writes it: `postgres://user:password@host:5432/database?sslmode=verify-full`.
    ///
    /// `sslmode` has libpq's meaning: `disable`, `prefer` (the default) and `require` check no certificate, `verify-ca` and
    /// `verify-full` check it and the host's name, against the certificates in `sslrootcert` or else the usual authorities.
    /// No connection is made yet.
    ///
    /// # Errors
    ///
    /// If the URL cannot be understood, or its `sslrootcert` not be read.
    pub fn new(url: &str, options: PostgresOptions) -> Result<Self> {
        let (mut config, tls) = configure(url)?;
        config.connect_timeout(options.connect_timeout);
        config.tcp_user_timeout(options.patience);
        config.keepalives_idle(options.patience);
        if config.get_application_name().is_none() {
            config.application_name("redeliver");
        }
        let recycling_method = RecyclingMethod::Fast;
        let manager = Manager::from_config(config, tls, ManagerConfig { recycling_method });
        let limit = Some(options.connect_timeout);
        let [on_create, on_reuse] = read_only::hooks();
        let pool = Pool::builder(manager)
            .max_size(options.connections.max(1))
            .post_create(on_create)
            .pre_recycle(on_reuse)
            .runtime(Runtime::Tokio1)
            .timeouts(Timeouts {
                wait: limit,
                create: limit,
                recycle: limit,
            })
            .build()
            .map_err(|error| StoreError::new(StoreErrorKind::Other, error.to_string()))?;
        Ok(Self(Arc::new(Inner {
            pool,
            names: options.names,
            history: options.history,
            patience: options.patience,
            fits: AtomicBool::new(false),
            sweeps: Sweeps::default(),
        })))
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("names", &self.0.names)
            .field("pool", &self.0.pool.status())
            .finish()
    }
}

impl Inner {
    /// A connection to a database whose tables fit.
    async fn session(&self) -> Result<Session<'_>> {
        let session = self.connect().await?;
        if !self.fits.load(Ordering::Relaxed) {
            schema::check(&session).await?;
            self.fits.store(true, Ordering::Relaxed);
        }
        Ok(session)
    }

    /// A connection, whatever the tables are like.
    async fn connect(&self) -> Result<Session<'_>> {
        let client = self.pool.get().await.map_err(error::of_pool)?;
        Ok(Session::new(client, &self.names))
    }

    /// The work, given up when it takes too long: a connection that hangs is then closed with it.
    async fn limited<T>(&self, work: impl Future<Output = Result<T>> + Send) -> Result<T> {
        let result = match select(Box::pin(work), Timer::limit(self.patience)).await {
            Either::Left((result, _)) => result,
            Either::Right(_) => Err(error::silent(self.patience)),
        };
        if matches!(&result, Err(error) if error.kind() == StoreErrorKind::NotMigrated) {
            self.check_again();
        }
        result
    }

    /// Lets the next piece of work check the version of the tables.
    fn check_again(&self) {
        self.fits.store(false, Ordering::Relaxed);
    }
}

impl Store for PostgresStore {
    fn beat<'a>(&'a self, beat: &'a Beat) -> BoxFuture<'a, Result<Membership>> {
        Box::pin(self.0.limited(lease::beat(&self.0, beat)))
    }

    fn claim<'a>(
        &'a self,
        worker: &'a WorkerId,
        at_most: usize,
        window: u32,
    ) -> BoxFuture<'a, Result<Vec<Claimed>>> {
        Box::pin(self.0.limited(lease::claim(&self.0, worker, at_most, window)))
    }

    fn release<'a>(
        &'a self,
        worker: &'a WorkerId,
        leases: &'a [Lease],
        clean: bool,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.0.limited(lease::release(&self.0, worker, leases, clean)))
    }

    fn hold<'a>(&'a self, worker: &'a WorkerId, hold: &'a NewHold) -> BoxFuture<'a, Result<Held>> {
        Box::pin(self.0.limited(async move {
            let act = act_of(worker, hold);
            desk::hold::begin(&self.0, hold, &act).await
        }))
    }

    fn leave<'a>(&'a self, worker: &'a WorkerId) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.0.limited(lease::leave(&self.0, worker)))
    }

    fn unpark<'a>(
        &'a self,
        shards: &'a [u16],
        destination: &'a str,
        at_most: usize,
    ) -> BoxFuture<'a, Result<usize>> {
        Box::pin(
            self.0
                .limited(lease::unpark(&self.0, shards, destination, at_most)),
        )
    }

    fn unpark_others<'a>(
        &'a self,
        shards: &'a [u16],
        known: &'a [String],
        at_most: usize,
    ) -> BoxFuture<'a, Result<usize>> {
        Box::pin(
            self.0
                .limited(lease::unpark_others(&self.0, shards, known, at_most)),
        )
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(reader::PostgresReader::new(Arc::clone(&self.0)))
    }

    fn settle<'a>(
        &'a self,
        worker: &'a WorkerId,
        settlements: &'a [Settlement],
    ) -> BoxFuture<'a, Result<Settled>> {
        Box::pin(self.0.limited(settle::settle(&self.0, worker, settlements)))
    }
}
