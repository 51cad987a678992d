use redeliver_outbox::{
    desk::Desk as _,
    store::{Lease, PostgresStore, Result, Settled, Store as _, StoreErrorKind},
};
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use crate::database::{
    Database, connect, delivered, id_of, insert, numbers, owning_reader, read, room, scalar, until, worker,
};

const END: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'redeliver'";

#[tokio::test]
async fn a_lost_connection_is_told_and_the_next_one_works() {
    let (database, store) = Database::migrated(2).await;
    let client = database.client().await;
    let (mut reader, leases) = owning_reader(&store).await;
    let number = insert(&client, None, "{}").await;
    for _ in 0..5 {
        assert_ne!(scalar(&client, END).await, "0");
        // Either the pool has noticed and connects again, or the read is told.
        match reader.read(&room(0)).await {
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error.kind(), StoreErrorKind::Unreachable, "{error}");
                reader.read(&room(0)).await.unwrap();
            }
        }
    }
    let found = read(&mut reader).await;
    assert_eq!(numbers(&found.fresh), [number]);
    let lease = leases[usize::from(found.fresh[0].shard)];
    store
        .settle(&worker("w"), &[delivered(lease, id_of(number))])
        .await
        .unwrap();
}

const SETTLE_WAITS: &str = "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

/// A settle that waits for somebody else's lock in the middle of its transaction.
struct Held {
    /// Whose database is removed at the end.
    _database: Database,
    store: PostgresStore,
    blocker: Client,
    client: Client,
    lease: Lease,
    number: i64,
    settle: JoinHandle<Result<Settled>>,
}

impl Held {
    async fn new() -> Self {
        let (database, store) = Database::migrated(1).await;
        let (blocker, client) = (database.client().await, database.client().await);
        let number = insert(&client, None, "{}").await;
        let (_, leases) = owning_reader(&store).await;
        let lease = leases[0];
        blocker
            .batch_execute("BEGIN; SELECT FROM redeliver_outbox FOR KEY SHARE")
            .await
            .unwrap();
        let settle = tokio::spawn({
            let store = store.clone();
            async move {
                store
                    .settle(&worker("w"), &[delivered(lease, id_of(number))])
                    .await
            }
        });
        until(&client, SETTLE_WAITS).await;
        Self {
            _database: database,
            store,
            blocker,
            client,
            lease,
            number,
            settle,
        }
    }
}

/// The connection is cut while a settle waits: nothing of it counts, and it can be done again.
#[tokio::test(flavor = "multi_thread")]
async fn a_settle_that_was_cut_off_can_be_done_again() {
    let held = Held::new().await;
    scalar(&held.client, END).await;
    let error = held.settle.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unreachable, "{error}");
    held.blocker.batch_execute("COMMIT").await.unwrap();
    let left = "SELECT count(*) FROM redeliver_outbox";
    assert_eq!(scalar(&held.client, left).await, "1");
    let again = [delivered(held.lease, id_of(held.number))];
    held.store.settle(&worker("w"), &again).await.unwrap();
    let sent = "SELECT count(*) FROM redeliver_sent";
    assert_eq!(scalar(&held.client, sent).await, "1");
}

/// A future that is dropped in the middle of a transaction leaves no open transaction behind on a connection that is used again.
#[tokio::test(flavor = "multi_thread")]
async fn a_settle_that_is_dropped_leaves_nothing_locked() {
    let held = Held::new().await;
    held.settle.abort();
    assert!(held.settle.await.unwrap_err().is_cancelled());
    held.blocker.batch_execute("COMMIT").await.unwrap();
    let none_open = "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'redeliver' AND state LIKE 'idle in%'";
    until(&held.client, none_open).await;
    let again = [delivered(held.lease, id_of(held.number))];
    held.store.settle(&worker("w"), &again).await.unwrap();
    let left = "SELECT count(*) FROM redeliver_outbox";
    assert_eq!(scalar(&held.client, left).await, "0");
}

/// Sessions that began while nobody could write stay so; none of them is kept for when everybody can again.
#[tokio::test]
async fn a_connection_that_can_only_read_is_used_once() {
    let (database, store) = Database::migrated(2).await;
    let owner = database.client().await;
    let name = database.name();
    let close = format!("ALTER DATABASE {name} SET default_transaction_read_only = on");
    owner.batch_execute(&close).await.unwrap();
    assert_ne!(scalar(&owner, END).await, "0");
    until(&owner, &format!("SELECT ({END}) = 0")).await;
    let (one, other) = (worker("one"), worker("other"));
    let look = || store.holds();
    tokio::try_join!(look(), look(), look()).unwrap();
    let refused = store.leave(&one).await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::ReadOnly, "{refused}");
    tokio::try_join!(look(), look(), look()).unwrap();
    let open = format!("ALTER DATABASE {name} RESET default_transaction_read_only");
    owner.batch_execute(&open).await.unwrap();
    for _ in 0..3 {
        tokio::try_join!(store.leave(&one), store.leave(&other)).unwrap();
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_the_password() {
    let options = redeliver_outbox::store::PostgresOptions::default();
    let url = "postgres://u:hunter2@127.0.0.1:1/d";
    let store = PostgresStore::new(url, options.clone()).unwrap();
    let error = store.leave(&worker("w")).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unreachable, "{error}");
    assert!(!format!("{error} {error:?} {store:?}").contains("hunter2"));

    let (database, _store) = Database::migrated(1).await;
    let absent = database
        .url
        .replace(database.name(), "redeliver_no_such_database");
    let store = PostgresStore::new(&absent, options).unwrap();
    let error = store.leave(&worker("w")).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Denied, "{error}");
    drop(connect(&database.url).await);
}
