//! Watches whether the database can be written to at all: where it cannot for a good part of a lease, no relay keeps its own.

use std::{sync::Arc, time::Duration};

use redeliver::clock;
use tokio::sync::RwLock;

use super::{
    database::{Connection, Family, Home},
    record::Record,
};

const PAUSE: Duration = Duration::from_millis(40);
/// A relay renews every third of its lease.
const SLOW: Duration = Duration::from_millis(300);

/// Takes and gives back the right to write, for as long as the trial lasts.
pub(super) async fn watch(record: Arc<Record>, home: Arc<RwLock<Home>>) {
    let mut open: Option<(String, Connection)> = None;
    loop {
        clock::sleep(PAUSE).await;
        let begun = clock::now();
        let (name, family, connected) = {
            let home = home.read().await;
            let connected = match open.take().filter(|(name, _)| *name == home.name) {
                Some((_, connection)) => Ok(connection),
                None => home.connect().await,
            };
            (home.name.clone(), home.family(), connected)
        };
        if let Ok(mut connection) = connected
            && write(&mut connection, family).await
        {
            open = Some((name, connection));
        }
        let ended = clock::now();
        if ended.since(begun) > SLOW {
            record.stalled(begun, ended);
        }
    }
}

/// Says whether the connection can be used again.
async fn write(connection: &mut Connection, family: Family) -> bool {
    let sql = match family {
        Family::Sqlite => "BEGIN IMMEDIATE; ROLLBACK",
        Family::Postgres => "SELECT pg_current_xact_id()",
        Family::Mysql => "SELECT 1",
    };
    connection.execute(sql).await.is_ok()
}
