use std::collections::{BTreeMap, BTreeSet};

use mysql_async::{TxOpts, prelude::Queryable};
use redeliver_outbox::store::{Demand, LaneDemand};

use super::{SERVER, support::{Database, connect, insert, read, read_until, server}};

#[tokio::test]
async fn what_a_held_writer_commits_late_is_found_and_nothing_comes_twice() {
    let database = Database::with_shards(SERVER, 4).await;
    let (mut held, mut client) = (database.client().await, database.client().await);
    let (_, _, mut reader) = database.owner("w").await;
    held.query_drop("BEGIN").await.unwrap();
    let mut late = BTreeSet::new();
    for payload in ["a", "b", "c"] {
        late.insert(insert(&mut held, None, payload).await);
        insert(&mut client, None, "early").await;
    }
    let early = read_until(&mut reader, 3).await;
    assert!(
        early
            .iter()
            .all(|message| message.payload.as_text() == Some("early"))
    );
    // Long enough for the list of writers to have been asked for, with the writer on it.
    for _ in 0..150 {
        assert!(read(&mut reader).await.fresh.is_empty());
        redeliver::clock::sleep(std::time::Duration::from_millis(10)).await;
    }
    held.query_drop("COMMIT").await.unwrap();
    let found: BTreeSet<i64> = read_until(&mut reader, 3)
        .await
        .iter()
        .map(|message| message.number())
        .collect();
    assert_eq!(found, late);
    for _ in 0..20 {
        assert!(read(&mut reader).await.fresh.is_empty());
    }
}

#[tokio::test]
async fn a_list_of_writers_that_somebody_keeps_from_being_renewed_hides_nothing() {
    let database = Database::with_shards(SERVER, 2).await;
    let (mut held, mut client, mut watcher) = (
        database.client().await,
        database.client().await,
        database.client().await,
    );
    // The server makes no new list while one is asked for more than ten times a second.
    let watching = tokio::spawn(async move {
        loop {
            let _: Option<u64> = watcher
                .query_first("SELECT COUNT(*) FROM information_schema.innodb_trx")
                .await
                .unwrap();
            redeliver::clock::sleep(std::time::Duration::from_millis(20)).await;
        }
    });
    let (_, _, mut reader) = database.owner("w").await;
    held.query_drop("BEGIN").await.unwrap();
    let late = insert(&mut held, None, "late").await;
    insert(&mut client, None, "early").await;
    read_until(&mut reader, 1).await;
    for _ in 0..120 {
        assert!(read(&mut reader).await.fresh.is_empty());
        redeliver::clock::sleep(std::time::Duration::from_millis(10)).await;
    }
    held.query_drop("COMMIT").await.unwrap();
    assert_eq!(read_until(&mut reader, 1).await[0].number(), late);
    watching.abort();
}

#[tokio::test]
async fn a_late_head_is_never_overtaken_by_its_lane() {
    let database = Database::with_shards(SERVER, 1).await;
    let (mut held, mut client) = (database.client().await, database.client().await);
    let (_, _, mut reader) = database.owner("w").await;
    for round in 0..20 {
        held.query_drop("BEGIN").await.unwrap();
        let first = insert(&mut held, Some("lane"), "first").await;
        let other = insert(&mut client, Some("other"), "other").await;
        let passed = read_until(&mut reader, 1).await;
        assert_eq!(passed[0].number(), other);
        // The read just now has looked where `first` is to appear; the next one has no reason of its own to look there again.
        held.query_drop("COMMIT").await.unwrap();
        let second = insert(&mut client, Some("lane"), "second").await;
        let numbers: Vec<i64> = read_until(&mut reader, 2)
            .await
            .iter()
            .map(|message| message.number())
            .collect();
        assert_eq!(numbers, [first, second], "round {round}");
    }
}

#[tokio::test]
async fn with_little_room_late_rows_still_come_first() {
    let database = Database::with_shards(SERVER, 1).await;
    let (mut held, mut client) = (database.client().await, database.client().await);
    let (_, _, mut reader) = database.owner("w").await;
    held.query_drop("BEGIN").await.unwrap();
    let mut expected = Vec::new();
    for _ in 0..7 {
        expected.push(insert(&mut held, Some("lane"), "late").await);
    }
    insert(&mut client, None, "early").await;
    read_until(&mut reader, 1).await;
    held.query_drop("COMMIT").await.unwrap();
    expected.push(insert(&mut client, Some("lane"), "last").await);
    let mut found = Vec::new();
    while found.len() < 8 {
        let answer = reader.read(&super::support::demand(2)).await.unwrap();
        assert!(answer.fresh.len() <= 2);
        found.extend(answer.fresh.iter().map(|message| message.number()));
    }
    assert_eq!(found, expected);
}

#[tokio::test]
async fn many_writers_and_bulk_inserts_lose_nothing_and_keep_the_order_of_a_key() {
    let database = Database::with_shards(SERVER, 4).await;
    let mut setup = database.client().await;
    setup
        .query_drop("CREATE TABLE aggregate (id INT PRIMARY KEY, n INT NOT NULL)")
        .await
        .unwrap();
    setup
        .query_drop("INSERT INTO aggregate VALUES (0, 0), (1, 0), (2, 0), (3, 0), (4, 0)")
        .await
        .unwrap();
    let mut writers = Vec::new();
    for writer in 0..6_u64 {
        let mut connection = database.client().await;
        writers.push(tokio::spawn(async move {
            for turn in 0..60_u64 {
                let mut work = connection.start_transaction(TxOpts::default()).await.unwrap();
                let aggregate = (writer + turn) % 5;
                // Whoever writes for a key serialises on its row, as everyone must who wants an order.
                let n: u64 = work
                    .exec_first("SELECT n FROM aggregate WHERE id = ? FOR UPDATE", (aggregate,))
                    .await
                    .unwrap()
                    .unwrap();
                work.exec_drop("UPDATE aggregate SET n = n + 1 WHERE id = ?", (aggregate,)).await.unwrap();
                let sql = "INSERT INTO redeliver_outbox (destination, lane, payload) VALUES ('d', ?, ?)";
                work.exec_drop(sql, (format!("k{aggregate}"), n.to_string())).await.unwrap();
                if turn % 10 == 0 {
                    let bulk = "INSERT INTO redeliver_outbox (destination, payload) SELECT 'd', 'bulk' FROM information_schema.collations LIMIT 50";
                    work.query_drop(bulk).await.unwrap();
                }
                work.commit().await.unwrap();
            }
        }));
    }
    let (_, _, mut reader) = database.owner("w").await;
    let found = read_until(&mut reader, 6 * 60 + 6 * 6 * 50).await;
    for writer in writers {
        writer.await.unwrap();
    }
    let numbers: BTreeSet<i64> = found.iter().map(|message| message.number()).collect();
    assert_eq!(numbers.len(), found.len(), "nothing comes twice");
    let mut by_key: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for message in found {
        if let Some(key) = message.key {
            let n = message.payload.as_text().unwrap().parse().unwrap();
            by_key.entry(key).or_default().push(n);
        }
    }
    for (key, order) in by_key {
        assert!(order.is_sorted(), "{key}: {order:?}");
        assert_eq!(order.len(), 72);
    }
}

#[tokio::test]
async fn without_the_privilege_to_see_writers_late_rows_come_all_the_same() {
    let database = Database::with_shards(SERVER, 2).await;
    let name = database
        .url
        .rsplit('/')
        .next()
        .unwrap()
        .split('?')
        .next()
        .unwrap()
        .to_owned();
    let mut root = connect(&format!("{}/mysql", server(SERVER))).await;
    root.query_drop(format!("CREATE USER {name}@'127.0.0.1' IDENTIFIED BY 'pw'"))
        .await
        .unwrap();
    root.query_drop(format!("GRANT ALL ON {name}.* TO {name}@'127.0.0.1'"))
        .await
        .unwrap();
    let host = server(SERVER)
        .rsplit('@')
        .next()
        .unwrap()
        .trim_start_matches("mysql://")
        .to_owned();
    let url = format!("mysql://{name}:pw@{host}/{name}?prefer_socket=false");
    let store = redeliver_outbox::store::MySqlStore::connect(&url, redeliver_outbox::store::Names::default())
        .await
        .unwrap();
    let plain = Database { store, url };
    let (mut held, mut client) = (plain.client().await, plain.client().await);
    let (_, _, mut reader) = plain.owner("w").await;
    held.query_drop("BEGIN").await.unwrap();
    let late = insert(&mut held, None, "late").await;
    insert(&mut client, None, "early").await;
    read_until(&mut reader, 1).await;
    for _ in 0..150 {
        assert!(read(&mut reader).await.fresh.is_empty());
        redeliver::clock::sleep(std::time::Duration::from_millis(10)).await;
    }
    held.query_drop("COMMIT").await.unwrap();
    assert_eq!(read_until(&mut reader, 1).await[0].number(), late);
}

#[tokio::test]
async fn a_lane_is_read_on_and_told_from_one_with_a_trailing_blank() {
    let database = Database::with_shards(SERVER, 1).await;
    let mut client = database.client().await;
    let (_, claimed, mut reader) = database.owner("w").await;
    let mut expected = Vec::new();
    for turn in 0..5 {
        expected.push(insert(&mut client, Some("k"), &turn.to_string()).await);
        insert(&mut client, Some("k "), "other").await;
    }
    read_until(&mut reader, 10).await;
    let unread = insert(&mut client, Some("k"), "not yet passed").await;
    let mut wanted = LaneDemand {
        shard: claimed[0].lease.shard,
        destination: "billing".to_owned(),
        key: Some("k".to_owned()),
        from: expected[1],
        limit: 3,
    };
    let mut lanes = Vec::new();
    for (limit, complete) in [(3, false), (4, true), (9, true)] {
        wanted.limit = limit;
        let demand = Demand {
            lanes: vec![wanted.clone()],
            ..Demand::default()
        };
        let found = reader.read(&demand).await.unwrap();
        assert!(found.fresh.is_empty());
        assert_eq!(found.lanes[0].complete, complete);
        lanes = found.lanes[0]
            .messages
            .iter()
            .map(|message| message.number())
            .collect();
    }
    assert_eq!(lanes, expected[1..]);
    assert_eq!(read_until(&mut reader, 1).await[0].number(), unread);
}
