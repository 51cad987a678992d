//! Transactions that stay open for a long stretch.

use std::sync::Arc;

use crate::{
    ledger::Ledger,
    server::{Conflict, Server},
    writer::{HELD_KEYS, Transaction},
};

/// From and to how many percent of all rows a writing transaction is open, and whether it commits.
const WRITING: [(u64, u64, bool); 4] = [(5, 50, true), (52, 58, false), (60, 85, true), (88, 97, true)];
/// The same for a snapshot.
const READING: (u64, u64) = (20, 75);

/// Each time, the messages that come next in the held lanes are committed right behind it.
pub(crate) async fn write(server: Arc<dyn Server>, ledger: Arc<Ledger>) -> Result<(), Conflict> {
    let mut session = server.connect().await;
    for (from, to, commits) in WRITING {
        ledger.percent(from).await;
        let mut held = Transaction::new(session.as_mut(), ledger.begin());
        held.begin().await?;
        for key in HELD_KEYS {
            held.insert(None, 2).await?;
            held.insert(Some(key), 3).await?;
        }
        ledger.percent(to).await;
        held.end(&ledger, commits).await;
        for key in HELD_KEYS {
            let mut next = Transaction::new(session.as_mut(), ledger.begin());
            next.begin().await?;
            next.insert(Some(key), 1).await?;
            next.end(&ledger, true).await;
        }
    }
    Ok(())
}

pub(crate) async fn read(server: Arc<dyn Server>, ledger: Arc<Ledger>) -> Result<(), Conflict> {
    let mut session = server.connect().await;
    ledger.percent(READING.0).await;
    session.query(server.begin_snapshot()).await?;
    let newest = "SELECT COALESCE(MAX(number), 0) FROM redeliver_outbox";
    let before = session.query(newest).await?;
    ledger.percent(READING.1).await;
    assert_eq!(session.query(newest).await?, before, "this was no snapshot");
    session.query("COMMIT").await.map(drop)
}
