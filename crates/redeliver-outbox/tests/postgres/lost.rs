use redeliver_outbox::store::{Store as _, StoreErrorKind};

use crate::database::{
    Database, connect, delivered, insert, numbers, owning_reader, read, room, scalar, worker,
};

const END: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'redeliver'";

#[tokio::test]
async fn a_lost_connection_is_told_and_the_next_one_works() {
    let (database, store) = Database::migrated(2).await;
    let client = database.client().await;
    let (mut reader, leases) = owning_reader(&store).await;
    let number = insert(&client, None, "{}").await;
    let mut told = 0;
    for _ in 0..5 {
        assert_ne!(scalar(&client, END).await, "0");
        // Either the pool has noticed and connects again, or the read is told.
        match reader.read(&room(0)).await {
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error.kind(), StoreErrorKind::Unreachable, "{error}");
                told += 1;
                reader.read(&room(0)).await.unwrap();
            }
        }
    }
    assert!(told <= 5);
    let found = read(&mut reader).await;
    assert_eq!(numbers(&found.fresh), [number]);
    let lease = leases[usize::from(found.fresh[0].shard)];
    store
        .settle(&worker("w"), &[delivered(lease, number)])
        .await
        .unwrap();
}

/// The connection is cut while a settle waits in the middle of its transaction: nothing of it counts, and it can be done again.
#[tokio::test(flavor = "multi_thread")]
async fn a_settle_that_was_cut_off_can_be_done_again() {
    let (database, store) = Database::migrated(1).await;
    let (blocker, client) = (database.client().await, database.client().await);
    let number = insert(&client, None, "{}").await;
    let (_, leases) = owning_reader(&store).await;
    blocker
        .batch_execute("BEGIN; SELECT FROM redeliver_outbox FOR KEY SHARE")
        .await
        .unwrap();
    let settle = tokio::spawn({
        let (store, lease) = (store.clone(), leases[0]);
        async move { store.settle(&worker("w"), &[delivered(lease, number)]).await }
    });
    let waits = "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    crate::database::until(&client, waits).await;
    scalar(&client, END).await;
    let error = settle.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unreachable, "{error}");
    blocker.batch_execute("COMMIT").await.unwrap();
    assert_eq!(
        scalar(&client, "SELECT count(*) FROM redeliver_outbox").await,
        "1"
    );
    store
        .settle(&worker("w"), &[delivered(leases[0], number)])
        .await
        .unwrap();
    assert_eq!(scalar(&client, "SELECT count(*) FROM redeliver_sent").await, "1");
}

/// A future that is dropped in the middle of a transaction leaves no open transaction behind on a connection that is used again.
#[tokio::test(flavor = "multi_thread")]
async fn a_settle_that_is_dropped_leaves_nothing_locked() {
    let (database, store) = Database::migrated(1).await;
    let (blocker, client) = (database.client().await, database.client().await);
    let number = insert(&client, None, "{}").await;
    let (_, leases) = owning_reader(&store).await;
    blocker
        .batch_execute("BEGIN; SELECT FROM redeliver_outbox FOR KEY SHARE")
        .await
        .unwrap();
    let settle = tokio::spawn({
        let (store, lease) = (store.clone(), leases[0]);
        async move { store.settle(&worker("w"), &[delivered(lease, number)]).await }
    });
    let waits = "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    crate::database::until(&client, waits).await;
    settle.abort();
    assert!(settle.await.unwrap_err().is_cancelled());
    blocker.batch_execute("COMMIT").await.unwrap();
    let none_open = "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'redeliver' AND state LIKE 'idle in%'";
    crate::database::until(&client, none_open).await;
    store
        .settle(&worker("w"), &[delivered(leases[0], number)])
        .await
        .unwrap();
    assert_eq!(
        scalar(&client, "SELECT count(*) FROM redeliver_outbox").await,
        "0"
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_the_password() {
    let options = redeliver_outbox::store::PostgresOptions::default();
    let url = "postgres://u:hunter2@127.0.0.1:1/d";
    let store = redeliver_outbox::store::PostgresStore::new(url, options.clone()).unwrap();
    let error = store.leave(&worker("w")).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unreachable, "{error}");
    assert!(!format!("{error} {error:?} {store:?}").contains("hunter2"));

    let (database, _store) = Database::migrated(1).await;
    let absent = database
        .url
        .replace(database.name(), "redeliver_no_such_database");
    let store = redeliver_outbox::store::PostgresStore::new(&absent, options).unwrap();
    let error = store.leave(&worker("w")).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Denied, "{error}");
    drop(connect(&database.url).await);
}
