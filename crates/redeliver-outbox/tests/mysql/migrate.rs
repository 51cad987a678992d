use std::time::Duration;

use mysql_async::prelude::Queryable;
use redeliver_outbox::{
    MessageId,
    desk::{Layout, Schema},
    store::{Beat, MySqlStore, Names, Store, StoreErrorKind, WorkerId},
};

use super::{SERVER, support::{Database, count, insert}};

const LAYOUT: Layout = Layout { shards: 4 };

/// The versions of all steps, in their order.
fn steps(store: &MySqlStore) -> Vec<u32> {
    store.migrations(LAYOUT).iter().map(|step| step.version).collect()
}

#[tokio::test]
async fn several_processes_migrate_at_once_and_one_does() {
    let database = Database::empty(SERVER).await;
    let mut running = Vec::new();
    for _ in 0..6 {
        let store = MySqlStore::connect(&database.url, Names::default())
            .await
            .unwrap();
        running.push(tokio::spawn(
            async move { store.migrate(LAYOUT, None).await.unwrap() },
        ));
    }
    let mut taken = Vec::new();
    for run in running {
        taken.extend(run.await.unwrap());
    }
    let steps = steps(&database.store);
    assert_eq!(taken, steps);
    let mut client = database.client().await;
    assert_eq!(count(&mut client, "redeliver_shards").await, 4);
    assert_eq!(database.store.version().await.unwrap(), steps[steps.len() - 1]);
}

#[tokio::test]
async fn a_migration_that_was_cut_off_is_done_again_in_the_layout_that_it_began() {
    let database = Database::with_shards(SERVER, 4).await;
    let mut client = database.client().await;
    for sql in [
        "DELETE FROM redeliver_migrations",
        "DROP VIEW redeliver_messages",
        "DROP TABLE redeliver_sent",
        "DROP TABLE redeliver_lanes",
    ] {
        client.query_drop(sql).await.unwrap();
    }
    assert_eq!(database.store.version().await.unwrap(), 0);
    let taken = database.store.migrate(Layout { shards: 32 }, None).await.unwrap();
    assert_eq!(taken, steps(&database.store));
    assert_eq!(count(&mut client, "redeliver_shards").await, 4);
    for number in 0..50 {
        insert(&mut client, None, &number.to_string()).await;
    }
    let highest: i64 = client
        .query_first("SELECT MAX(shard) FROM redeliver_outbox")
        .await
        .unwrap()
        .unwrap();
    assert!(highest < 4, "{highest}");
    assert_eq!(count(&mut client, "redeliver_messages").await, 50);
}

#[tokio::test]
async fn down_and_up_again() {
    let database = Database::with_shards(SERVER, 2).await;
    let steps = steps(&database.store);
    let mut down = steps.clone();
    down.reverse();
    assert_eq!(database.store.migrate(LAYOUT, Some(0)).await.unwrap(), down);
    assert_eq!(database.store.version().await.unwrap(), 0);
    assert_eq!(database.store.migrate(LAYOUT, Some(1)).await.unwrap(), [1]);
    assert_eq!(database.store.migrate(LAYOUT, None).await.unwrap(), steps[1..]);
    assert_eq!(
        database.store.migrate(LAYOUT, None).await.unwrap(),
        Vec::<u32>::new()
    );
    let error = database.store.migrate(LAYOUT, Some(99)).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::BadInput);
}

#[tokio::test]
async fn missing_and_newer_tables_are_told_apart() {
    let database = Database::empty(SERVER).await;
    let worker = WorkerId("w".to_owned());
    let error = database.store.claim(&worker, 1, 1).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotMigrated);
    assert!(error.next_step().contains("redeliver migrate"));
    database.store.migrate(LAYOUT, None).await.unwrap();
    let mut client = database.client().await;
    client
        .query_drop("INSERT INTO redeliver_migrations VALUES (99, 'later', UTC_TIMESTAMP(3))")
        .await
        .unwrap();
    let error = database.store.claim(&worker, 1, 1).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::TooNew);
}

#[tokio::test]
async fn the_server_and_the_library_write_the_same_id() {
    let database = Database::with_shards(SERVER, 2).await;
    let mut client = database.client().await;
    let pairs = [
        (1_i64, 0),
        (42, -1),
        ((1 << 60) - 1, i64::MAX),
        (123_456_789_012, i64::MIN),
        (7, 0x1234_5678_9abc_def0),
    ];
    for (number, salt) in pairs {
        let sql = "INSERT INTO redeliver_outbox (number, salt, destination, payload) VALUES (?, ?, 'd', '')";
        client.exec_drop(sql, (number, salt)).await.unwrap();
    }
    let ids: Vec<(i64, i64, String)> = client
        .query("SELECT number, salt, id FROM redeliver_messages")
        .await
        .unwrap();
    assert_eq!(ids.len(), pairs.len());
    for (number, salt, id) in ids {
        assert_eq!(MessageId::new(number, salt).to_string(), id);
    }
}

#[tokio::test]
async fn a_prefix_keeps_two_outboxes_apart() {
    let database = Database::with_shards(SERVER, 2).await;
    let other = MySqlStore::connect(&database.url, Names::new(None, "second_").unwrap())
        .await
        .unwrap();
    assert_eq!(other.migrate(LAYOUT, None).await.unwrap(), steps(&other));
    let mut client = database.client().await;
    assert_eq!(count(&mut client, "second_shards").await, 4);
    assert_eq!(count(&mut client, "redeliver_shards").await, 2);
    let worker = WorkerId("w".to_owned());
    assert_eq!(other.claim(&worker, 9, 1).await.unwrap().len(), 4);
}

/// The lock timeout of a migration, and as much again for a machine that is busy.
const SOON: Duration = Duration::from_secs(3);
const INSERT: &str = "INSERT INTO redeliver_outbox (destination, payload) VALUES ('d', '{}')";

#[tokio::test(flavor = "multi_thread")]
async fn producers_get_through_while_a_migration_waits() {
    let database = Database::with_shards(SERVER, 4).await;
    let store = database.store.clone();
    store.migrate(LAYOUT, Some(2)).await.unwrap();
    let mut holder = database.client().await;
    holder.query_drop("BEGIN").await.unwrap();
    holder.query_drop(INSERT).await.unwrap();
    let migration = tokio::spawn(async move { store.migrate(LAYOUT, None).await });
    let (mut watcher, mut producer) = (database.client().await, database.client().await);
    for _ in 0..3 {
        until_queued(&mut watcher).await;
        let inserted = tokio::time::timeout(SOON, producer.query_drop(INSERT)).await;
        inserted.expect("an INSERT waits for a migration").unwrap();
    }
    holder.query_drop("COMMIT").await.unwrap();
    let taken = migration.await.unwrap().unwrap();
    assert_eq!(
        taken.last().copied(),
        Some(database.store.version().await.unwrap())
    );
    assert_eq!(count(&mut producer, "redeliver_outbox").await, 4);
}

async fn until_queued(watcher: &mut mysql_async::Conn) {
    // MySQL cannot list statements of others that have characters beyond the basic plane, and MariaDB has no list of such locks.
    let queued = match SERVER {
        "REDELIVER_TEST_MYSQL" => {
            "SELECT COUNT(*) FROM performance_schema.metadata_locks
             WHERE lock_status = 'PENDING' AND object_schema = DATABASE() AND lock_type <> 'SHARED_WRITE'"
        }
        _ => {
            "SELECT COUNT(*) FROM information_schema.processlist
             WHERE state = 'Waiting for table metadata lock' AND db = DATABASE() AND info NOT LIKE 'INSERT%'"
        }
    };
    let mut asked = 0;
    while watcher.query_first::<u64, _>(queued).await.unwrap() == Some(0) {
        asked += 1;
        assert!(asked < 5_000, "the migration never waits for the producer");
        redeliver::clock::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_worker_that_runs_notices_other_tables_at_its_next_beat() {
    let database = Database::with_shards(SERVER, 4).await;
    let (store, worker) = (&database.store, WorkerId("w".to_owned()));
    database.beat(&worker, Duration::from_secs(60)).await;
    let newest = store.version().await.unwrap();
    let insert = |version: u32| {
        format!("INSERT INTO redeliver_migrations (version, name, applied_at) VALUES ({version}, 'later', UTC_TIMESTAMP(3))")
    };
    let newer = insert(99);
    let older = format!("DELETE FROM redeliver_migrations WHERE version >= {newest}");
    let same = insert(newest);
    let beat = Beat {
        worker: worker.clone(),
        lease: Duration::from_secs(60),
        in_flight: 0,
        destinations: redeliver_outbox::live::Live::new(),
    };
    let mut client = database.client().await;
    for (change, kind) in [
        (newer, StoreErrorKind::TooNew),
        (older, StoreErrorKind::NotMigrated),
    ] {
        client.query_drop(change).await.unwrap();
        let error = store.beat(&beat).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        let error = store.claim(&worker, 1, 1).await.unwrap_err();
        assert_eq!(error.kind(), kind, "every statement after that: {error}");
    }
    client.query_drop(same).await.unwrap();
    store.beat(&beat).await.unwrap();
    store.claim(&worker, 1, 1).await.unwrap();
}
