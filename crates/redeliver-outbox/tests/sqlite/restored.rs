//! A file that is replaced while a relay works on it, and numbers that are given again.

use std::{fs, time::Duration};

use redeliver_outbox::{
    Message,
    desk::{Desk as _, Grade, Layout, Schema as _},
    store::{Beat, Demand, Lease, Reader, Settlement, SqliteStore, Store as _, StoreErrorKind, Verdict},
};
use rusqlite::Connection;

use crate::bench::{Bench, Folder, attempted, open, worker};

fn demand() -> Demand {
    Demand {
        fresh: 100,
        due: 100,
        ..Demand::default()
    }
}

fn beat() -> Beat {
    Beat {
        worker: worker("w"),
        lease: Duration::from_secs(3600),
        in_flight: 0,
        destinations: redeliver_outbox::live::Live::new(),
    }
}

fn insert(connection: &Connection, payload: &str) -> i64 {
    let statement = "INSERT INTO redeliver_outbox (destination, payload) VALUES ('d', ?1)";
    connection.execute(statement, [payload]).unwrap();
    connection.last_insert_rowid()
}

fn count(connection: &Connection, table: &str) -> i64 {
    let count = format!("SELECT count(*) FROM redeliver_{table}");
    connection.query_row(&count, [], |row| row.get(0)).unwrap()
}

async fn owner(store: &SqliteStore) -> (Lease, Box<dyn Reader>) {
    store.beat(&beat()).await.unwrap();
    let lease = store.claim(&worker("w"), 1, 10).await.unwrap()[0].lease;
    let mut reader = store.reader();
    reader.own(lease);
    (lease, reader)
}

/// Reads and settles all that is there, and says which.
async fn deliver(store: &SqliteStore, reader: &mut Box<dyn Reader>, lease: Lease) -> Vec<i64> {
    let found = reader.read(&demand()).await.unwrap();
    let messages: Vec<&Message> = found.fresh.iter().chain(&found.due).collect();
    let settlements: Vec<Settlement> = messages
        .iter()
        .map(|message| Settlement::of(message, lease, Verdict::Delivered(attempted(1, "", ""))))
        .collect();
    let settled = store.settle(&worker("w"), &settlements).await.unwrap();
    assert!(settled.stale.is_empty());
    messages.iter().map(|message| message.number()).collect()
}

#[tokio::test]
async fn a_file_that_takes_the_place_of_another_is_used() {
    let folder = Folder::new();
    let (path, backup) = (folder.0.join("o.db"), folder.0.join("backup.db"));
    let store = open(&folder.url("o.db"));
    store.migrate(Layout { shards: 1 }, None).await.unwrap();
    let (lease, mut reader) = owner(&store).await;
    let application = Connection::open(&path).unwrap();
    let first = [insert(&application, "1"), insert(&application, "2")];
    application
        .execute("VACUUM INTO ?1", [backup.to_str().unwrap()])
        .unwrap();
    assert_eq!(deliver(&store, &mut reader, lease).await, first);
    insert(&application, "3");
    assert_eq!(deliver(&store, &mut reader, lease).await, [3]);
    assert_eq!(count(&application, "sent"), 3);
    drop(application);

    fs::rename(&backup, &path).unwrap();
    store.beat(&beat()).await.unwrap();
    assert_eq!(deliver(&store, &mut reader, lease).await, first);
    assert!(deliver(&store, &mut reader, lease).await.is_empty());
    let restored = Connection::open(&path).unwrap();
    assert_eq!((count(&restored, "outbox"), count(&restored, "sent")), (0, 2));
    insert(&restored, "another 3");
    assert_eq!(deliver(&store, &mut reader, lease).await, [3]);
    assert_eq!(count(&restored, "sent"), 3);
    let integrity: String = restored
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(integrity, "ok");
}

#[tokio::test]
async fn a_file_that_is_gone_is_told_and_used_again_when_it_is_back() {
    let folder = Folder::new();
    let (path, away) = (folder.0.join("o.db"), folder.0.join("away.db"));
    let store = open(&folder.url("o.db"));
    store.migrate(Layout { shards: 1 }, None).await.unwrap();
    let (lease, mut reader) = owner(&store).await;
    fs::rename(&path, &away).unwrap();
    let error = store.beat(&beat()).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unreachable, "{error}");
    assert!(reader.read(&demand()).await.is_err());
    assert!(!path.exists(), "no empty one is made in its place");
    fs::rename(&away, &path).unwrap();
    store.beat(&beat()).await.unwrap();
    store.with_connection(|connection| insert(connection, "1"));
    assert_eq!(deliver(&store, &mut reader, lease).await, [1]);
}

/// `sqlite_sequence` is set back: below the highest row, or with an empty table.
#[tokio::test]
async fn numbers_that_are_given_again_are_read() {
    let bench = Bench::new().await;
    let (_, mut reader) = owner(&bench.store).await;
    let lease = bench.store.beat(&beat()).await.unwrap().owned[0];
    let store = &bench.store;
    for _ in 0..5 {
        bench.insert("d", None);
    }
    assert_eq!(deliver(store, &mut reader, lease).await, [1, 2, 3, 4, 5]);
    bench.sql("DELETE FROM sqlite_sequence WHERE name = 'redeliver_outbox'");
    assert_eq!(bench.insert("d", None), 1);
    assert_eq!(deliver(store, &mut reader, lease).await, [1]);
    bench.sql(
        "INSERT INTO redeliver_outbox (number, destination, payload) VALUES (900, 'd', 'x');
         UPDATE sqlite_sequence SET seq = 7 WHERE name = 'redeliver_outbox'",
    );
    let finding = store.examine().await.unwrap();
    let finding = finding
        .iter()
        .find(|finding| finding.topic == "sequence")
        .unwrap();
    assert_eq!(finding.grade, Grade::Problem);
    assert_eq!(deliver(store, &mut reader, lease).await, [900]);
    assert!(deliver(store, &mut reader, lease).await.is_empty());
    assert_eq!(bench.insert("d", None), 8);
    assert_eq!(deliver(store, &mut reader, lease).await, [8]);
    bench.sql(finding.next.split('`').nth(1).unwrap());
    assert_eq!(bench.insert("d", None), 901);
    assert_eq!(deliver(store, &mut reader, lease).await, [901]);
}
