use std::sync::Arc;

use futures_core::future::BoxFuture;
use redeliver_outbox::{
    Timestamp,
    conformance::{Factory, Harness, OpenTransaction},
    conformance_tests,
    desk::JobDesk,
    store::{History, Names, PostgresOptions, PostgresStore, Result, Store},
};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::{harness_error, server, unused_name};

conformance_tests!(Schemas {
    store: "REDELIVER_TEST_POSTGRES"
});

/// The same through a pooler that gives every transaction another connection.
mod pgbouncer {
    use super::Schemas;

    redeliver_outbox::conformance_tests!(Schemas {
        store: "REDELIVER_TEST_PGBOUNCER"
    });
}

/// Schemas of their own in one database.
struct Schemas {
    /// The variable with the address that the store connects to; everybody else goes to the server itself.
    store: &'static str,
}

#[derive(Debug)]
struct Schema {
    store: PostgresStore,
    /// Where the store connects to.
    pooled: String,
    names: Names,
    address: String,
    client: Client,
}

impl Schemas {
    async fn schema(&self) -> Result<Schema> {
        let address = server("REDELIVER_TEST_POSTGRES")?;
        let name = unused_name();
        let names = Names::new(Some(&name), "shop_")?;
        let client = connect(&address).await?;
        let statement = format!("CREATE SCHEMA {name}");
        client.batch_execute(&statement).await.map_err(harness_error)?;
        let pooled = server(self.store)?;
        Ok(Schema {
            store: store(&pooled, &names, History::default())?,
            pooled,
            names,
            address,
            client,
        })
    }
}

fn store(address: &str, names: &Names, history: History) -> Result<PostgresStore> {
    let options = PostgresOptions {
        names: names.clone(),
        history,
        ..PostgresOptions::default()
    };
    PostgresStore::new(address, options)
}

async fn connect(address: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(address, NoTls)
        .await
        .map_err(harness_error)?;
    tokio::spawn(connection);
    Ok(client)
}

impl Factory for Schemas {
    fn empty(&self) -> BoxFuture<'_, Result<Arc<dyn Harness>>> {
        Box::pin(async { Ok(Arc::new(self.schema().await?) as Arc<dyn Harness>) })
    }
}

impl Harness for Schema {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }

    fn store_keeping(&self, history: History) -> Result<Arc<dyn Store>> {
        Ok(Arc::new(store(&self.pooled, &self.names, history)?))
    }

    fn desk(&self) -> Arc<dyn JobDesk> {
        Arc::new(self.store.clone())
    }

    fn execute<'a>(&'a self, statement: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async {
            let statement = self.names.fill(statement);
            self.client.batch_execute(&statement).await.map_err(harness_error)
        })
    }

    fn rows<'a>(&'a self, query: &'a str) -> BoxFuture<'a, Result<Vec<Vec<Option<String>>>>> {
        Box::pin(async {
            let query = self.names.fill(query);
            let messages = self.client.simple_query(&query).await.map_err(harness_error)?;
            let rows = messages.iter().filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => {
                    let values = (0..row.len()).map(|index| row.get(index).map(ToOwned::to_owned));
                    Some(values.collect())
                }
                _ => None,
            });
            Ok(rows.collect())
        })
    }

    fn begin(&self) -> BoxFuture<'_, Result<Box<dyn OpenTransaction>>> {
        Box::pin(async {
            let client = connect(&self.address).await?;
            client.batch_execute("BEGIN").await.map_err(harness_error)?;
            let names = self.names.clone();
            Ok(Box::new(Writer { client, names }) as Box<dyn OpenTransaction>)
        })
    }

    fn time(&self, time: Timestamp) -> String {
        format!("to_timestamp({} / 1000.0)", time.as_millis())
    }

    fn one_writer(&self) -> bool {
        false
    }
}

struct Writer {
    client: Client,
    names: Names,
}

impl OpenTransaction for Writer {
    fn execute<'a>(&'a mut self, statement: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async {
            let statement = self.names.fill(statement);
            self.client.batch_execute(&statement).await.map_err(harness_error)
        })
    }

    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<()>> {
        Box::pin(async move { self.client.batch_execute("COMMIT").await.map_err(harness_error) })
    }

    fn roll_back(self: Box<Self>) -> BoxFuture<'static, Result<()>> {
        Box::pin(async move { self.client.batch_execute("ROLLBACK").await.map_err(harness_error) })
    }
}
