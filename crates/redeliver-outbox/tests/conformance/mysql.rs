use std::sync::Arc;

use futures_core::future::BoxFuture;
use mysql_async::{Conn, Opts, OptsBuilder, Row, Value, prelude::Queryable};
use redeliver_outbox::{
    Timestamp,
    conformance::{Factory, Harness, OpenTransaction},
    conformance_tests,
    desk::JobDesk,
    store::{History, MySqlStore, Names, Result, Store},
};
use tokio::sync::Mutex;

use crate::{harness_error, server, unused_name};

conformance_tests!(Databases {
    server: "REDELIVER_TEST_MYSQL"
});

mod mariadb {
    use super::Databases;

    redeliver_outbox::conformance_tests!(Databases {
        server: "REDELIVER_TEST_MARIADB"
    });
}

/// Databases of their own on one server. The store's connections begin in another one, so that each name must say which.
struct Databases {
    /// The variable with the server's address.
    server: &'static str,
}

#[derive(Debug)]
struct Database {
    store: MySqlStore,
    names: Names,
    options: Opts,
    connection: Mutex<Conn>,
}

impl Database {
    async fn empty(variable: &str) -> Result<Self> {
        let address = server(variable)?;
        let name = unused_name();
        let names = Names::new(Some(&name), "shop_")?;
        let anywhere = OptsBuilder::from_opts(Opts::from_url(&address).map_err(harness_error)?);
        let mut connection = Conn::new(anywhere.clone()).await.map_err(harness_error)?;
        let statement = format!("CREATE DATABASE {name}");
        connection.query_drop(statement).await.map_err(harness_error)?;
        let options: Opts = anywhere
            .db_name(Some(name))
            .init(vec!["SET time_zone = '+00:00'".to_owned()])
            .into();
        Ok(Self {
            store: MySqlStore::connect(&address, names.clone()).await?,
            names,
            connection: Mutex::new(Conn::new(options.clone()).await.map_err(harness_error)?),
            options,
        })
    }
}

impl Factory for Databases {
    fn empty(&self) -> BoxFuture<'_, Result<Arc<dyn Harness>>> {
        Box::pin(async { Ok(Arc::new(Database::empty(self.server).await?) as Arc<dyn Harness>) })
    }
}

impl Harness for Database {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }

    fn store_keeping(&self, history: History) -> Result<Arc<dyn Store>> {
        Ok(Arc::new(self.store.clone().with_history(history)))
    }

    fn desk(&self) -> Arc<dyn JobDesk> {
        Arc::new(self.store.clone())
    }

    fn execute<'a>(&'a self, statement: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async {
            let mut connection = self.connection.lock().await;
            let statement = self.names.fill(statement);
            connection.query_drop(statement).await.map_err(harness_error)
        })
    }

    fn rows<'a>(&'a self, query: &'a str) -> BoxFuture<'a, Result<Vec<Vec<Option<String>>>>> {
        Box::pin(async {
            let mut connection = self.connection.lock().await;
            let rows: Vec<Row> = connection
                .query(self.names.fill(query))
                .await
                .map_err(harness_error)?;
            Ok(rows
                .into_iter()
                .map(|row| row.unwrap().into_iter().map(text).collect())
                .collect())
        })
    }

    fn begin(&self) -> BoxFuture<'_, Result<Box<dyn OpenTransaction>>> {
        Box::pin(async {
            let mut connection = Conn::new(self.options.clone()).await.map_err(harness_error)?;
            connection.query_drop("BEGIN").await.map_err(harness_error)?;
            let names = self.names.clone();
            Ok(Box::new(Writer { connection, names }) as Box<dyn OpenTransaction>)
        })
    }

    fn time(&self, time: Timestamp) -> String {
        let millis = time.as_millis();
        format!("FROM_UNIXTIME({}.{:03})", millis / 1000, millis % 1000)
    }

    fn one_writer(&self) -> bool {
        false
    }
}

/// A query without parameters returns texts only.
fn text(value: Value) -> Option<String> {
    match value {
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        _ => None,
    }
}

struct Writer {
    connection: Conn,
    names: Names,
}

impl OpenTransaction for Writer {
    fn execute<'a>(&'a mut self, statement: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async {
            let statement = self.names.fill(statement).into_owned();
            self.connection.query_drop(statement).await.map_err(harness_error)
        })
    }

    fn commit(mut self: Box<Self>) -> BoxFuture<'static, Result<()>> {
        Box::pin(async move { self.connection.query_drop("COMMIT").await.map_err(harness_error) })
    }

    fn roll_back(mut self: Box<Self>) -> BoxFuture<'static, Result<()>> {
        Box::pin(async move {
            self.connection
                .query_drop("ROLLBACK")
                .await
                .map_err(harness_error)
        })
    }
}
