use std::time::Duration;

use redeliver_outbox::{
    MessageId,
    desk::{Layout, Schema as _},
    store::{Store as _, StoreErrorKind},
};

use crate::database::{Database, owner, scalar, try_beat, worker};

const LAYOUT: Layout = Layout { shards: 4 };

#[tokio::test(flavor = "multi_thread")]
async fn several_migrate_at_once_and_one_does_it() {
    let database = Database::new().await;
    let stores: Vec<_> = (0..6).map(|_| database.store()).collect();
    let all = futures_util::future::join_all(stores.iter().map(|store| store.migrate(LAYOUT, None))).await;
    let mut taken: Vec<Vec<u32>> = all.into_iter().map(Result::unwrap).collect();
    taken.sort();
    let newest = *taken.last().unwrap().last().unwrap();
    assert_eq!(taken.pop().unwrap(), (1..=newest).collect::<Vec<_>>());
    assert!(taken.iter().all(Vec::is_empty), "{taken:?}");
    assert_eq!(stores[0].version().await.unwrap(), newest);
    let client = database.client().await;
    assert_eq!(
        scalar(
            &client,
            "SELECT string_agg(shard::text, ',' ORDER BY shard) FROM redeliver_shards"
        )
        .await,
        "0,1,2,3"
    );
}

#[tokio::test]
async fn every_step_can_be_taken_back_and_nothing_is_left() {
    let (database, store) = Database::migrated(4).await;
    let newest = store.version().await.unwrap();
    for version in (0..newest).rev() {
        assert_eq!(store.migrate(LAYOUT, Some(version)).await.unwrap(), [version + 1]);
    }
    let client = database.client().await;
    let left = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace";
    assert_eq!(scalar(&client, left).await, "0");
    assert_eq!(store.version().await.unwrap(), 0);
    assert_eq!(store.migrate(LAYOUT, None).await.unwrap().len(), newest as usize);
}

#[tokio::test]
async fn what_was_given_up_long_ago_is_found_by_its_time() {
    let (database, _store) = Database::migrated(4).await;
    let client = database.client().await;
    let retain = include_str!("../../src/store/postgres/sql/retain_discarded.sql");
    // In an empty table everything costs nothing.
    let planner = "SET enable_seqscan = off; SET enable_bitmapscan = off";
    client.batch_execute(planner).await.unwrap();
    let explain = format!("EXPLAIN {}", retain.replace("$1", "1").replace("$2", "10"));
    let plan = client.query(&explain, &[]).await.unwrap();
    let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
    let found = plan
        .iter()
        .any(|step| step.contains("Index Scan using redeliver_dead_discarded"));
    let sorted = plan.iter().any(|step| step.contains("Sort"));
    assert!(found && !sorted, "{plan:#?}");
}

#[tokio::test]
async fn missing_and_older_and_newer_tables_are_told_apart() {
    let database = Database::new().await;
    let store = database.store();
    let error = store.claim(&worker("w"), 1, 1).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotMigrated, "{error}");
    assert_eq!(error.next_step(), "run `redeliver migrate`");
    store.migrate(LAYOUT, Some(1)).await.unwrap();
    let error = store.claim(&worker("w"), 1, 1).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotMigrated, "{error}");
    store.migrate(LAYOUT, None).await.unwrap();
    store.claim(&worker("w"), 1, 1).await.unwrap();

    let client = database.client().await;
    client
        .batch_execute("INSERT INTO redeliver_migrations (version, name) VALUES (99, 'later')")
        .await
        .unwrap();
    let newer = database.store();
    let error = newer.claim(&worker("w"), 1, 1).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::TooNew, "{error}");
    assert_eq!(
        newer.migrate(LAYOUT, None).await.unwrap_err().kind(),
        StoreErrorKind::TooNew
    );

    // Dropped while the relay runs: it is told, and goes on once they are there again.
    client
        .batch_execute("DELETE FROM redeliver_migrations WHERE version = 99")
        .await
        .unwrap();
    store.migrate(LAYOUT, Some(0)).await.unwrap();
    let error = store.leave(&worker("w")).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotMigrated, "{error}");
}

#[tokio::test]
async fn a_worker_that_runs_notices_other_tables_at_its_next_beat() {
    let (database, store) = Database::migrated(4).await;
    let lease = Duration::from_secs(60);
    assert_eq!(owner(&store, "w").await.len(), 4);
    let client = database.client().await;
    let newest = store.version().await.unwrap();
    let newer = "INSERT INTO redeliver_migrations (version, name) VALUES (99, 'later')".to_owned();
    let older = format!("DELETE FROM redeliver_migrations WHERE version >= {newest}");
    let same = format!("INSERT INTO redeliver_migrations (version, name) VALUES ({newest}, 'same')");
    for (change, kind) in [
        (newer, StoreErrorKind::TooNew),
        (older, StoreErrorKind::NotMigrated),
    ] {
        client.batch_execute(&change).await.unwrap();
        let error = try_beat(&store, "w", lease).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        let error = store.claim(&worker("w"), 1, 1).await.unwrap_err();
        assert_eq!(error.kind(), kind, "every statement after that: {error}");
    }
    client.batch_execute(&same).await.unwrap();
    try_beat(&store, "w", lease).await.unwrap();
    store.claim(&worker("w"), 1, 1).await.unwrap();
}

#[tokio::test]
async fn two_outboxes_live_in_one_database() {
    let database = Database::new().await;
    let stores = [
        database.named(None, "redeliver_"),
        database.named(Some("app"), "ob_"),
        database.named(None, "ob_"),
    ];
    for store in &stores {
        store.migrate(LAYOUT, None).await.unwrap();
    }
    for store in &stores {
        assert_eq!(owner(store, "w").await.len(), 4);
    }
    let client = database.client().await;
    assert_eq!(scalar(&client, "SELECT count(*) FROM app.ob_messages").await, "0");
}

#[tokio::test]
async fn the_view_says_the_id_that_the_program_says() {
    let (database, _store) = Database::migrated(4).await;
    let client = database.client().await;
    let salts = [0, 1, -1, i64::MIN, i64::MAX, 1 << 61, 0x0123_4567_89ab_cdef];
    let given = [
        1,
        4095,
        4096,
        1 << 28,
        (1 << 28) + 1,
        123_456_789_012,
        (1 << 60) - 1,
    ];
    for (number, salt) in given.into_iter().zip(salts) {
        let statement =
            "INSERT INTO redeliver_outbox (number, salt, destination, payload) VALUES ($1, $2, 'd', '{}')";
        client.execute(statement, &[&number, &salt]).await.unwrap();
        let row = client
            .query_one("SELECT id FROM redeliver_messages WHERE number = $1", &[&number])
            .await
            .unwrap();
        assert_eq!(row.get::<_, String>(0), MessageId::new(number, salt).to_string());
    }
    for number in [0_i64, -1, 1 << 60] {
        let statement = "INSERT INTO redeliver_outbox (number, destination, payload) VALUES ($1, 'd', '{}')";
        assert!(client.execute(statement, &[&number]).await.is_err(), "{number}");
    }
}

/// A number that is given before its transaction has an id would be invisible to a reader that asks which transactions run.
#[tokio::test]
async fn a_number_is_given_to_a_transaction_that_has_its_id() {
    let (database, _store) = Database::migrated(4).await;
    let client = database.client().await;
    let default = "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef
                    WHERE adrelid = 'redeliver_outbox'::regclass
                      AND adnum = (SELECT attnum FROM pg_attribute WHERE attrelid = adrelid AND attname = 'number')";
    let default = scalar(&client, default).await;
    // The sequence itself asks for an id once in 32 numbers.
    for _ in 0..40 {
        client
            .batch_execute(&format!("BEGIN; SELECT {default}"))
            .await
            .unwrap();
        assert_eq!(
            scalar(&client, "SELECT pg_current_xact_id_if_assigned() IS NOT NULL").await,
            "t"
        );
        client.batch_execute("COMMIT").await.unwrap();
    }
    let cached = "SELECT cache_size FROM pg_sequences WHERE sequencename = 'redeliver_outbox_number'";
    assert_eq!(
        scalar(&client, cached).await,
        "1",
        "a session must not keep numbers for later"
    );
}
