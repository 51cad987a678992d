//! Outboxes with a long history.

use std::path::PathBuf;

use redeliver_outbox::{
    Timestamp,
    desk::{Layout, Schema as _},
    store::{Names, SqliteStore},
};

use crate::Outcome;

/// An SQLite outbox in a file of its own.
pub(crate) struct SqliteOutbox {
    pub(crate) store: SqliteStore,
    file: PathBuf,
}

impl SqliteOutbox {
    pub(crate) fn remove(self) -> Outcome<()> {
        drop(self.store);
        for end in ["", "-wal", "-shm"] {
            let file = format!("{}{end}", self.file.display());
            if std::fs::exists(&file)? {
                std::fs::remove_file(file)?;
            }
        }
        Ok(())
    }
}

pub(crate) async fn sqlite(rows: i64) -> Outcome<SqliteOutbox> {
    let file = std::env::temp_dir().join(format!("redeliver-desk-{}.db", std::process::id()));
    let store = SqliteStore::open(&format!("sqlite://{}", file.display()), Names::default())?;
    store.migrate(Layout { shards: 1 }, None).await?;
    let statements = include_str!("fill_sqlite.sql")
        .replace("{rows}", &rows.to_string())
        .replace("{now}", &Timestamp::wall().as_millis().to_string());
    store.with_connection(|connection| connection.execute_batch(&statements))?;
    Ok(SqliteOutbox { store, file })
}

/// A PostgreSQL outbox in a schema of its own.
#[cfg(feature = "postgres")]
pub(crate) struct PostgresOutbox {
    pub(crate) store: redeliver_outbox::store::PostgresStore,
    client: tokio_postgres::Client,
    schema: String,
}

#[cfg(feature = "postgres")]
impl PostgresOutbox {
    pub(crate) async fn remove(self) -> Outcome<()> {
        let statement = format!("DROP SCHEMA {} CASCADE", self.schema);
        Ok(self.client.batch_execute(&statement).await?)
    }
}

#[cfg(feature = "postgres")]
pub(crate) async fn postgres(address: &str, rows: i64) -> Outcome<PostgresOutbox> {
    use redeliver_outbox::store::{PostgresOptions, PostgresStore};

    let schema = format!("desk_{}", std::process::id());
    let names = Names::new(Some(&schema), "redeliver_")?;
    let (client, connection) = tokio_postgres::connect(address, tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    let options = PostgresOptions {
        names: names.clone(),
        ..PostgresOptions::default()
    };
    let store = PostgresStore::new(address, options)?;
    store.migrate(Layout { shards: 64 }, None).await?;
    let statements = include_str!("fill_postgres.sql").replace("{rows}", &rows.to_string());
    client.batch_execute(&names.fill(&statements)).await?;
    for table in ["outbox", "sent", "dead", "lanes", "shards"] {
        let statement = format!("VACUUM ANALYZE {schema}.redeliver_{table}");
        client.batch_execute(&statement).await?;
    }
    Ok(PostgresOutbox {
        store,
        client,
        schema,
    })
}
