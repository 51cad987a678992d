//! A consumer's side of delivering at least once: each message's work is done once.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use redeliver_outbox::{Inbox, Seen, Timestamp, enqueue::Dialect, store::StoreError};
use rusqlite::{Connection, TransactionBehavior};

use crate::exit::BadInput;

const CONSUMER: &str = "redeliver-listen";
/// Another process may be writing.
const BUSY: Duration = Duration::from_secs(5);

const HAS_TABLE: &str =
    "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'redeliver_inbox'";
const MAKE_WORK: &str = "CREATE TABLE IF NOT EXISTS redeliver_listen (
    message_id  TEXT NOT NULL,
    received_at TEXT NOT NULL,
    body        BLOB NOT NULL
)";
const WORK: &str = "INSERT INTO redeliver_listen (message_id, received_at, body) VALUES (?1, ?2, ?3)";

#[derive(Clone)]
pub(super) struct Consumer {
    database: Arc<Mutex<Connection>>,
    inbox: Inbox,
}

/// Why the work was not done.
#[derive(Debug, thiserror::Error)]
pub(super) enum Undone {
    #[error("{0}")]
    Database(#[from] rusqlite::Error),
    #[error("{0}")]
    Inbox(#[from] StoreError),
    #[error("the work was cut short")]
    Cut,
}

impl Consumer {
    pub(super) fn open(file: &Path) -> Result<Self, BadInput> {
        let wrong = |error: rusqlite::Error| {
            let file = file.display();
            BadInput(format!(
                "--inbox {file}: {error}; name an SQLite file that can be written"
            ))
        };
        let inbox = Inbox::new(CONSUMER);
        let mut database = Connection::open(file).map_err(wrong)?;
        make(&mut database, &inbox).map_err(wrong)?;
        Ok(Self {
            database: Arc::new(Mutex::new(database)),
            inbox,
        })
    }

    /// Notes the id and does the work in one transaction, unless the id is known.
    pub(super) async fn work(&self, id: String, body: Vec<u8>) -> Result<Seen, Undone> {
        let consumer = self.clone();
        let done = tokio::task::spawn_blocking(move || consumer.work_now(&id, &body));
        done.await.unwrap_or(Err(Undone::Cut))
    }

    fn work_now(&self, id: &str, body: &[u8]) -> Result<Seen, Undone> {
        let mut database = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let seen = self.inbox.once(&transaction, id)?;
        if seen == Seen::First {
            let now = Timestamp::wall().to_string();
            transaction.execute(WORK, (id, now, body))?;
        }
        transaction.commit()?;
        Ok(seen)
    }
}

fn make(database: &mut Connection, inbox: &Inbox) -> rusqlite::Result<()> {
    database.busy_timeout(BUSY)?;
    let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let there: u32 = transaction.query_row(HAS_TABLE, (), |row| row.get(0))?;
    if there == 0 {
        for statement in inbox.create_table_sql(Dialect::Sqlite) {
            transaction.execute_batch(&statement)?;
        }
    }
    transaction.execute_batch(MAKE_WORK)?;
    transaction.commit()
}
