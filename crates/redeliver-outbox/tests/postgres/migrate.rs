//! Migrations beside producers.

use std::time::Duration;

use redeliver_outbox::{
    desk::{Layout, Schema as _},
    store::{PostgresOptions, PostgresStore},
};
use tokio_postgres::Client;

use crate::database::{Database, scalar, until};

const LAYOUT: Layout = Layout { shards: 4 };
/// The lock timeout of a migration, and as much again for a machine that is busy.
const SOON: Duration = Duration::from_secs(3);
const QUEUED: &str = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)";
const INSERT: &str = "INSERT INTO redeliver_outbox (salt, destination, payload) VALUES (0, 'd', '{}')";

/// Tables of an older version, and a transaction that uses them.
async fn held() -> (Database, PostgresStore, Client) {
    let (database, store) = Database::migrated(4).await;
    store.migrate(LAYOUT, Some(2)).await.unwrap();
    let holder = database.client().await;
    holder.batch_execute(&format!("BEGIN; {INSERT}")).await.unwrap();
    (database, store, holder)
}

async fn insert(producer: &Client) {
    let inserted = tokio::time::timeout(SOON, producer.batch_execute(INSERT)).await;
    inserted.expect("an INSERT waits for a migration").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn producers_get_through_while_a_migration_waits() {
    let (database, store, holder) = held().await;
    let migration = {
        let store = store.clone();
        tokio::spawn(async move { store.migrate(LAYOUT, None).await })
    };
    let (watcher, producer) = (database.client().await, database.client().await);
    for _ in 0..3 {
        until(&watcher, QUEUED).await;
        insert(&producer).await;
    }
    holder.batch_execute("COMMIT").await.unwrap();
    let taken = migration.await.unwrap().unwrap();
    assert_eq!(taken.first(), Some(&3));
    assert_eq!(taken.last().copied(), Some(store.version().await.unwrap()));
    assert_eq!(
        scalar(&watcher, "SELECT count(*) FROM redeliver_outbox").await,
        "4"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_is_given_up_leaves_nothing_queued() {
    let (database, store, _holder) = held().await;
    let migration = tokio::spawn(async move { store.migrate(LAYOUT, None).await });
    let watcher = database.client().await;
    until(&watcher, QUEUED).await;
    migration.abort();
    assert!(migration.await.unwrap_err().is_cancelled());
    until(
        &watcher,
        "SELECT NOT EXISTS (SELECT FROM pg_locks WHERE NOT granted)",
    )
    .await;
    insert(&watcher).await;
    assert_eq!(
        scalar(&watcher, "SELECT max(version) FROM redeliver_migrations").await,
        "2"
    );
}

/// Every statement that changes a table takes this long from now on.
async fn slow_down(database: &Database, seconds: f32) {
    let slow = format!(
        "CREATE FUNCTION slow() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep({seconds}); END';
         CREATE EVENT TRIGGER slow ON ddl_command_end EXECUTE FUNCTION slow()"
    );
    database.client().await.batch_execute(&slow).await.unwrap();
}

#[tokio::test]
async fn a_migration_takes_as_long_as_it_takes() {
    let database = Database::new().await;
    slow_down(&database, 0.1).await;
    let options = PostgresOptions {
        patience: Duration::from_secs(1),
        ..PostgresOptions::default()
    };
    let store = PostgresStore::new(&database.url, options).unwrap();
    let taken = store.migrate(LAYOUT, None).await.unwrap();
    assert_eq!(taken.last().copied(), Some(store.version().await.unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_is_given_up_at_work_is_undone() {
    let (database, store) = Database::migrated(4).await;
    store.migrate(LAYOUT, Some(2)).await.unwrap();
    slow_down(&database, 600.0).await;
    let migration = tokio::spawn(async move { store.migrate(LAYOUT, None).await });
    let watcher = database.client().await;
    let asleep = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database())";
    until(&watcher, asleep).await;
    migration.abort();
    assert!(migration.await.unwrap_err().is_cancelled());
    until(&watcher, &format!("SELECT NOT ({asleep})")).await;
    insert(&watcher).await;
}
