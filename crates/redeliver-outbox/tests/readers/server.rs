//! What the databases differ in.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use mysql_async::{Conn, prelude::Queryable as _};
use redeliver_outbox::store::{PostgresStore, Store};
use tokio_postgres::{Client, SimpleQueryMessage, error::SqlState};

use crate::{database, support};

pub(crate) const SHARDS: u16 = 8;

pub(crate) trait Server: Send + Sync {
    fn store(&self) -> Arc<dyn Store>;
    /// A writer's connection.
    fn connect(&self) -> BoxFuture<'_, Box<dyn Session>>;
    /// A connection to the server that the store reads.
    fn connect_beside(&self) -> BoxFuture<'_, Box<dyn Session>> {
        self.connect()
    }
    /// Begins a transaction that reads what is there now, however long it lasts.
    fn begin_snapshot(&self) -> &'static str;
}

/// The server has ended the transaction: a deadlock, for one.
#[derive(Debug)]
pub(crate) struct Conflict;

pub(crate) trait Session: Send {
    /// The first column of what the statement returns, if it returns anything.
    fn query<'a>(&'a mut self, sql: &'a str) -> BoxFuture<'a, Result<Vec<i64>, Conflict>>;
}

pub(crate) struct Postgres {
    database: database::Database,
    store: PostgresStore,
}

impl Postgres {
    pub(crate) async fn start() -> Self {
        let (database, store) = database::Database::migrated(SHARDS).await;
        Self { database, store }
    }
}

impl Server for Postgres {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }

    fn connect(&self) -> BoxFuture<'_, Box<dyn Session>> {
        Box::pin(async { Box::new(self.database.client().await) as Box<dyn Session> })
    }

    fn begin_snapshot(&self) -> &'static str {
        "BEGIN ISOLATION LEVEL REPEATABLE READ"
    }
}

impl Session for Client {
    fn query<'a>(&'a mut self, sql: &'a str) -> BoxFuture<'a, Result<Vec<i64>, Conflict>> {
        Box::pin(async move {
            let messages = match self.simple_query(sql).await {
                Ok(messages) => messages,
                Err(error) => match error.code() {
                    Some(&SqlState::T_R_DEADLOCK_DETECTED | &SqlState::T_R_SERIALIZATION_FAILURE) => {
                        return Err(Conflict);
                    }
                    _ => panic!("{error:?}: {sql}"),
                },
            };
            let numbers = messages.iter().filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap().parse().unwrap()),
                _ => None,
            });
            Ok(numbers.collect())
        })
    }
}

/// MariaDB or MySQL.
pub(crate) struct MySql(support::Database);

impl MySql {
    pub(crate) async fn start(variable: &str) -> Self {
        Self(support::Database::with_shards(variable, SHARDS).await)
    }
}

impl Server for MySql {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.0.store.clone())
    }

    fn connect(&self) -> BoxFuture<'_, Box<dyn Session>> {
        Box::pin(async { Box::new(self.0.client().await) as Box<dyn Session> })
    }

    fn begin_snapshot(&self) -> &'static str {
        "START TRANSACTION WITH CONSISTENT SNAPSHOT"
    }
}

impl Session for Conn {
    fn query<'a>(&'a mut self, sql: &'a str) -> BoxFuture<'a, Result<Vec<i64>, Conflict>> {
        const DEADLOCK: u16 = 1213;
        const LOCK_WAIT: u16 = 1205;
        /// Another node of a cluster wrote the same row first.
        const NOT_CERTIFIED: [u16; 2] = [1180, 3101];
        Box::pin(async move {
            match mysql_async::prelude::Queryable::query(self, sql).await {
                Ok(numbers) => Ok(numbers),
                Err(mysql_async::Error::Server(error))
                    if matches!(error.code, DEADLOCK | LOCK_WAIT) || NOT_CERTIFIED.contains(&error.code) =>
                {
                    self.query_drop("ROLLBACK").await.unwrap();
                    Err(Conflict)
                }
                Err(error) => panic!("{error:?}: {sql}"),
            }
        })
    }
}
