use std::{
    fs,
    future::ready,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_core::future::BoxFuture;
use redeliver_outbox::{
    Timestamp,
    conformance::{Factory, Harness, OpenTransaction},
    conformance_tests,
    desk::JobDesk,
    store::{History, Names, Result, SqliteStore, Store},
};
use rusqlite::{Connection, types::Value};

use crate::{harness_error, unused_name};

conformance_tests!(Files);

/// Databases in files of their own, because another program's transaction needs another connection.
struct Files;

#[derive(Debug)]
struct File {
    store: SqliteStore,
    names: Names,
    folder: PathBuf,
    connection: Mutex<Connection>,
}

impl File {
    fn empty() -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("redeliver-{}", unused_name()));
        fs::create_dir_all(&folder).map_err(harness_error)?;
        let path = folder.join("outbox.db");
        let names = Names::new(None, "shop_")?;
        Ok(Self {
            store: SqliteStore::open(&format!("sqlite://{}", path.display()), names.clone())?,
            names,
            connection: Mutex::new(connect(&path).map_err(harness_error)?),
            folder,
        })
    }

    fn with<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        work(&self.connection.lock().unwrap_or_else(PoisonError::into_inner)).map_err(harness_error)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn connect(path: &std::path::Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(20))?;
    Ok(connection)
}

impl Factory for Files {
    fn empty(&self) -> BoxFuture<'_, Result<Arc<dyn Harness>>> {
        Box::pin(ready(
            File::empty().map(|file| Arc::new(file) as Arc<dyn Harness>),
        ))
    }
}

impl Harness for File {
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
        Box::pin(ready(self.with(|connection| {
            connection.execute_batch(&self.names.fill(statement))
        })))
    }

    fn rows<'a>(&'a self, query: &'a str) -> BoxFuture<'a, Result<Vec<Vec<Option<String>>>>> {
        Box::pin(ready(self.with(|connection| {
            let mut statement = connection.prepare(&self.names.fill(query))?;
            let columns = statement.column_count();
            let rows = statement.query_map([], |row| {
                (0..columns).map(|index| row.get(index).map(text)).collect()
            })?;
            rows.collect()
        })))
    }

    fn begin(&self) -> BoxFuture<'_, Result<Box<dyn OpenTransaction>>> {
        let begun = connect(&self.folder.join("outbox.db"))
            .and_then(|connection| connection.execute_batch("BEGIN IMMEDIATE").map(|()| connection))
            .map_err(harness_error);
        Box::pin(ready(begun.map(|connection| {
            let names = self.names.clone();
            Box::new(Writer { connection, names }) as Box<dyn OpenTransaction>
        })))
    }

    fn time(&self, time: Timestamp) -> String {
        time.as_millis().to_string()
    }

    fn one_writer(&self) -> bool {
        true
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Integer(number) => Some(number.to_string()),
        Value::Real(number) => Some(number.to_string()),
        Value::Text(text) => Some(text),
        Value::Blob(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

struct Writer {
    connection: Connection,
    names: Names,
}

impl OpenTransaction for Writer {
    fn execute<'a>(&'a mut self, statement: &'a str) -> BoxFuture<'a, Result<()>> {
        let done = self.connection.execute_batch(&self.names.fill(statement));
        Box::pin(ready(done.map_err(harness_error)))
    }

    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<()>> {
        Box::pin(ready(
            self.connection.execute_batch("COMMIT").map_err(harness_error),
        ))
    }

    fn roll_back(self: Box<Self>) -> BoxFuture<'static, Result<()>> {
        Box::pin(ready(
            self.connection.execute_batch("ROLLBACK").map_err(harness_error),
        ))
    }
}
