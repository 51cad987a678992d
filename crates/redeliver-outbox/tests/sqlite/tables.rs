use redeliver_outbox::{
    MessageId,
    desk::Schema,
    store::{Names, SqliteStore, Store, StoreErrorKind},
};

use crate::bench::{Bench, Folder, open, worker};

#[tokio::test]
async fn the_view_writes_ids_as_the_program_does() {
    let bench = Bench::new().await;
    for (number, salt) in [
        (1, 0),
        (42, -1),
        ((1 << 60) - 1, i64::MIN),
        (123_456_789_012, 0x1234_5678_9abc),
    ] {
        bench.sql(&format!(
            "INSERT INTO redeliver_outbox (number, salt, destination, payload) VALUES ({number}, {salt}, 'd', '')"
        ));
        let id: String = bench
            .store
            .with_connection(|connection| {
                connection.query_row(
                    "SELECT id FROM redeliver_messages WHERE number = ?1",
                    [number],
                    |row| row.get(0),
                )
            })
            .unwrap();
        assert_eq!(id, MessageId::new(number, salt).to_string());
    }
}

/// The versions of all steps, in their order.
fn steps(store: &SqliteStore) -> Vec<u32> {
    let steps = store.migrations(store.usual_layout());
    steps.iter().map(|step| step.version).collect()
}

#[tokio::test]
async fn tables_go_up_down_and_up_again() {
    let folder = Folder::new();
    let store = SqliteStore::open(&folder.url("x.db"), Names::new(None, "ob_").unwrap()).unwrap();
    let layout = store.usual_layout();
    let steps = steps(&store);
    assert_eq!(store.version().await.unwrap(), 0);
    let error = store.leave(&worker("w")).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotMigrated);
    assert_eq!(error.next_step(), "run `redeliver migrate`");
    assert_eq!(store.migrate(layout, Some(1)).await.unwrap(), [1]);
    let error = store.leave(&worker("w")).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotMigrated);
    assert_eq!(store.migrate(layout, None).await.unwrap(), steps[1..]);
    store.leave(&worker("w")).await.unwrap();
    assert_eq!(store.migrate(layout, None).await.unwrap(), [0_u32; 0]);
    let down: Vec<u32> = steps.iter().rev().copied().collect();
    assert_eq!(store.migrate(layout, Some(0)).await.unwrap(), down);
    let left: i64 = store.with_connection(|connection| {
        connection
            .query_row(
                "SELECT COUNT(*) FROM sqlite_schema WHERE name LIKE 'ob%'",
                [],
                |row| row.get(0),
            )
            .unwrap()
    });
    assert_eq!(left, 0);
    assert_eq!(store.migrate(layout, None).await.unwrap(), steps);
    store
        .with_connection(|connection| {
            connection.execute_batch("INSERT INTO ob_migrations VALUES (99, 'later', 0)")
        })
        .unwrap();
    assert_eq!(
        store.leave(&worker("w")).await.unwrap_err().kind(),
        StoreErrorKind::TooNew
    );
    assert_eq!(
        store.migrate(layout, None).await.unwrap_err().kind(),
        StoreErrorKind::TooNew
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_that_migrate_at_once_one_does() {
    let folder = Folder::new();
    let migrating: Vec<_> = (0..4)
        .map(|_| {
            let store = open(&folder.url("x.db"));
            tokio::spawn(async move { store.migrate(store.usual_layout(), None).await.unwrap() })
        })
        .collect();
    let mut taken = Vec::new();
    for one in migrating {
        taken.extend(one.await.unwrap());
    }
    assert_eq!(taken, steps(&open(&folder.url("x.db"))));
}

#[tokio::test]
async fn what_cannot_be_opened_is_named() {
    let folder = Folder::new();
    let refused = |url: &str| SqliteStore::open(url, Names::default()).unwrap_err();
    let error = refused(&format!("sqlite://{}", folder.0.display()));
    assert!(error.to_string().contains("is a folder"), "{error}");
    let error = refused(&folder.url("missing/x.db"));
    assert!(error.to_string().contains("no folder"), "{error}");
    std::fs::write(folder.0.join("letter.txt"), "Dear reader, ".repeat(100)).unwrap();
    let error = refused(&folder.url("letter.txt"));
    assert_eq!(error.kind(), StoreErrorKind::BadInput, "{error}");
    assert!(error.to_string().contains("letter.txt"), "{error}");
    let names = Names::new(Some("app"), "redeliver_").unwrap();
    assert!(SqliteStore::open("sqlite::memory:", names).is_err());
}

#[tokio::test]
async fn a_full_database_says_so_and_nothing_is_half_written() {
    let folder = Folder::new();
    let store = open(&folder.url("x.db"));
    store.with_connection(|connection| connection.pragma_update(None, "max_page_count", 8).unwrap());
    let error = store.migrate(store.usual_layout(), None).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::ReadOnly);
    assert!(error.to_string().contains("full"), "{error}");
    assert_eq!(store.version().await.unwrap(), 0);
}

#[tokio::test]
async fn a_page_of_the_view_is_read_by_number_and_nothing_is_gathered_first() {
    let bench = Bench::new().await;
    let page = "EXPLAIN QUERY PLAN SELECT * FROM redeliver_messages WHERE status = 'sent' ORDER BY number DESC LIMIT 20";
    let plan: Vec<String> = bench.store.with_connection(|connection| {
        let mut statement = connection.prepare(page).unwrap();
        let steps = statement.query_map([], |row| row.get(3)).unwrap();
        steps.map(Result::unwrap).collect()
    });
    assert!(plan.iter().any(|step| step.starts_with("MERGE")), "{plan:?}");
    assert!(!plan.iter().any(|step| step.contains("B-TREE")), "{plan:?}");
}

#[tokio::test]
async fn what_was_given_up_long_ago_is_found_by_its_time() {
    let bench = Bench::new().await;
    let old = include_str!("../../src/store/sqlite/sql/old_discarded.sql");
    let plan: Vec<String> = bench.store.with_connection(|connection| {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {old}")).unwrap();
        let steps = statement.query_map([1, 10], |row| row.get(3)).unwrap();
        steps.map(Result::unwrap).collect()
    });
    assert_eq!(plan.len(), 1, "{plan:?}");
    assert!(
        plan[0].starts_with("SEARCH") && plan[0].contains("redeliver_dead_discarded"),
        "{plan:?}"
    );
}

#[tokio::test]
async fn a_number_that_no_id_has_room_for_is_refused() {
    let bench = Bench::new().await;
    for number in [0, -5, 1 << 60, i64::MAX - 1] {
        let inserted = bench.store.with_connection(|connection| {
            let insert = "INSERT INTO redeliver_outbox (number, destination, payload) VALUES (?1, 'd', '')";
            connection.execute(insert, [number])
        });
        assert!(inserted.is_err(), "{number}");
    }
    assert_eq!(bench.insert("d", None), 1, "the count goes on where it was");
}
