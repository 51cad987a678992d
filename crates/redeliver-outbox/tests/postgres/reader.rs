use std::collections::{BTreeSet, HashMap};

use redeliver_outbox::store::{Demand, LaneDemand, Settlement, Store as _, Until, Verdict};

use crate::database::{
    Database, delivered, id_of, insert, numbers, owning_reader, read, room, scalar, until, worker,
};

#[tokio::test]
async fn a_row_that_commits_late_is_found_once() {
    let (database, store) = Database::migrated(1).await;
    let (mut reader, _) = owning_reader(&store).await;
    let (held, quick) = (database.client().await, database.client().await);
    held.batch_execute("BEGIN").await.unwrap();
    let late = insert(&held, None, "late").await;
    let early = insert(&quick, None, "early").await;
    assert!(late < early);
    assert_eq!(numbers(&read(&mut reader).await.fresh), [early]);
    let next = insert(&quick, None, "next").await;
    assert_eq!(numbers(&read(&mut reader).await.fresh), [next]);
    assert!(read(&mut reader).await.fresh.is_empty());
    held.batch_execute("COMMIT").await.unwrap();
    // Both others are still there, and not fresh any more.
    assert_eq!(numbers(&read(&mut reader).await.fresh), [late]);
    assert!(read(&mut reader).await.fresh.is_empty());
}

/// The sequence has not moved since the last read and no stretch waits for the writer: the idle check must see it all the same.
#[tokio::test]
async fn the_idle_check_hides_no_row_ahead_of_the_cursor() {
    let (database, store) = Database::migrated(1).await;
    let (mut reader, _) = owning_reader(&store).await;
    let held = database.client().await;
    held.batch_execute("BEGIN").await.unwrap();
    let late = insert(&held, None, "late").await;
    assert!(read(&mut reader).await.fresh.is_empty());
    assert!(read(&mut reader).await.fresh.is_empty());
    held.batch_execute("COMMIT").await.unwrap();
    assert_eq!(numbers(&read(&mut reader).await.fresh), [late]);
}

/// The first number of a sequence does not change what it says of itself. Again and again, because transactions of other tests that
/// end meanwhile make a reader look too.
#[tokio::test]
async fn the_first_message_of_all_is_found() {
    let (database, store) = Database::migrated(1).await;
    let client = database.client().await;
    let (_, leases) = owning_reader(&store).await;
    for _ in 0..50 {
        client
            .batch_execute("TRUNCATE redeliver_outbox RESTART IDENTITY")
            .await
            .unwrap();
        let mut reader = store.reader();
        reader.own(leases[0]);
        assert!(read(&mut reader).await.fresh.is_empty());
        assert_eq!(insert(&client, None, "{}").await, 1);
        assert_eq!(numbers(&read(&mut reader).await.fresh), [1]);
    }
}

/// Everything that a read returns is of one moment: what commits in the middle of it comes with the next one, late rows and the rows
/// before them alike.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_sees_one_moment() {
    let (database, store) = Database::migrated(1).await;
    let (held, quick, blocker) = (
        database.client().await,
        database.client().await,
        database.client().await,
    );
    let (mut reader, _) = owning_reader(&store).await;
    held.batch_execute("BEGIN").await.unwrap();
    let first = insert(&held, Some("k"), "1").await;
    let passed = insert(&quick, Some("o"), "x").await;
    assert_eq!(numbers(&read(&mut reader).await.fresh), [passed]);
    let ahead = insert(&quick, Some("o"), "y").await;
    // The read is stopped after it has learned which transactions run. (The table itself it has locked before that.)
    blocker
        .batch_execute("BEGIN; REINDEX INDEX redeliver_lanes_pkey")
        .await
        .unwrap();
    let stopped = tokio::spawn(async move {
        let found = read(&mut reader).await;
        (reader, found)
    });
    until(&quick, "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").await;
    held.batch_execute("COMMIT").await.unwrap();
    let second = insert(&quick, Some("k"), "2").await;
    blocker.batch_execute("COMMIT").await.unwrap();
    let (mut reader, found) = stopped.await.unwrap();
    assert_eq!(numbers(&found.fresh), [ahead]);
    assert_eq!(numbers(&read(&mut reader).await.fresh), [first, second]);
}

/// The trap: a transaction that begins after the last one that ended is in no snapshot's list of running ones. Other tests end
/// transactions all the time, so this is done until nobody has interfered.
#[tokio::test]
async fn a_writer_beyond_the_snapshot_is_waited_for() {
    let (database, store) = Database::migrated(1).await;
    let (mut reader, _) = owning_reader(&store).await;
    let (first, second) = (database.client().await, database.client().await);
    for _ in 0..1_000 {
        first.batch_execute("BEGIN").await.unwrap();
        let early = insert(&first, None, "early").await;
        second.batch_execute("BEGIN").await.unwrap();
        let late = insert(&second, None, "late").await;
        let last = insert(&first, None, "last").await;
        assert!(early < late && late < last);
        first.batch_execute("COMMIT").await.unwrap();
        assert_eq!(numbers(&read(&mut reader).await.fresh), [early, last]);
        let beyond = "SELECT pg_current_xact_id() >= pg_snapshot_xmax(pg_current_snapshot())";
        let met = scalar(&second, beyond).await == "t";
        second.batch_execute("COMMIT").await.unwrap();
        assert_eq!(numbers(&read(&mut reader).await.fresh), [late]);
        if met {
            return;
        }
    }
    panic!("the situation that this test is about never came up");
}

#[tokio::test]
async fn a_savepoint_is_no_end() {
    let (database, store) = Database::migrated(1).await;
    let (mut reader, _) = owning_reader(&store).await;
    let (held, quick) = (database.client().await, database.client().await);
    held.batch_execute("BEGIN; SAVEPOINT a").await.unwrap();
    let late = insert(&held, None, "late").await;
    held.batch_execute("RELEASE a; SAVEPOINT b; ROLLBACK TO b")
        .await
        .unwrap();
    let early = insert(&quick, None, "early").await;
    assert_eq!(numbers(&read(&mut reader).await.fresh), [early]);
    insert(&quick, None, "other").await;
    read(&mut reader).await;
    held.batch_execute("COMMIT").await.unwrap();
    assert_eq!(numbers(&read(&mut reader).await.fresh), [late]);
}

/// A late row and its lane's next one, which became visible together, come together and in order.
#[tokio::test]
async fn a_late_row_does_not_come_after_its_successor() {
    let (database, store) = Database::migrated(1).await;
    let (mut reader, _) = owning_reader(&store).await;
    let (held, quick) = (database.client().await, database.client().await);
    held.batch_execute("BEGIN").await.unwrap();
    let first = insert(&held, Some("k"), "1").await;
    let other = insert(&quick, Some("o"), "x").await;
    assert_eq!(numbers(&read(&mut reader).await.fresh), [other]);
    held.batch_execute("COMMIT").await.unwrap();
    let second = insert(&quick, Some("k"), "2").await;
    let found = reader.read(&room(1)).await.unwrap();
    assert_eq!(
        numbers(&found.fresh),
        [first],
        "the room goes to the late one first"
    );
    assert!(found.more);
    assert_eq!(numbers(&reader.read(&room(1)).await.unwrap().fresh), [second]);
}

#[tokio::test]
async fn late_rows_that_find_no_room_come_with_the_next_reads() {
    let (database, store) = Database::migrated(2).await;
    let (mut reader, _) = owning_reader(&store).await;
    let (held, quick) = (database.client().await, database.client().await);
    held.batch_execute("BEGIN").await.unwrap();
    let mut late = BTreeSet::new();
    for _ in 0..7 {
        late.insert(insert(&held, None, "late").await);
    }
    for _ in 0..4 {
        insert(&quick, None, "early").await;
    }
    let early = numbers(&read(&mut reader).await.fresh);
    assert_eq!(early.len(), 4);
    held.batch_execute("COMMIT").await.unwrap();
    late.insert(insert(&quick, None, "ahead").await);
    let mut found = Vec::new();
    for _ in 0..20 {
        found.extend(numbers(&reader.read(&room(2)).await.unwrap().fresh));
    }
    assert_eq!(found.len(), 8, "{found:?}");
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), late);
}

#[tokio::test]
async fn a_limit_over_all_shards_moves_each_cursor_only_to_what_was_returned() {
    let (database, store) = Database::migrated(8).await;
    let client = database.client().await;
    let mut all = BTreeSet::new();
    for _ in 0..50 {
        all.insert(insert(&client, None, "{}").await);
    }
    let (mut reader, _) = owning_reader(&store).await;
    let mut found = Vec::new();
    loop {
        let read = reader.read(&room(3)).await.unwrap();
        assert!(read.fresh.len() <= 3);
        assert!(read.fresh.is_sorted_by_key(|message| (message.shard, message.id)));
        found.extend(numbers(&read.fresh));
        if !read.more {
            break;
        }
    }
    assert_eq!(found.len(), 50);
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), all);
}

#[tokio::test]
async fn a_read_that_fails_moves_nothing() {
    let (database, store) = Database::migrated(2).await;
    let client = database.client().await;
    let (mut reader, _) = owning_reader(&store).await;
    let number = insert(&client, None, "{}").await;
    client
        .batch_execute("ALTER TABLE redeliver_outbox RENAME COLUMN last_wait_ms TO hidden")
        .await
        .unwrap();
    reader.read(&room(10)).await.unwrap_err();
    client
        .batch_execute("ALTER TABLE redeliver_outbox RENAME COLUMN hidden TO last_wait_ms")
        .await
        .unwrap();
    assert_eq!(numbers(&read(&mut reader).await.fresh), [number]);
}

#[tokio::test]
async fn what_was_postponed_comes_when_it_is_due_and_never_as_fresh() {
    let (database, store) = Database::migrated(1).await;
    let client = database.client().await;
    let (mut reader, leases) = owning_reader(&store).await;
    let number = insert(&client, Some("k"), "{}").await;
    assert_eq!(numbers(&read(&mut reader).await.fresh), [number]);
    let hour = std::time::Duration::from_secs(3600);
    let verdict = Verdict::Postponed(Until::After(hour));
    let postponed = Settlement {
        lease: leases[0],
        id: id_of(number),
        redrives: 0,
        verdict,
    };
    store.settle(&worker("w"), &[postponed]).await.unwrap();
    let found = read(&mut reader).await;
    assert!(found.due.is_empty() && found.fresh.is_empty());
    let next_due = found.next_due.unwrap();
    assert!(next_due <= hour && next_due > hour / 2, "{next_due:?}");
    client
        .batch_execute("UPDATE redeliver_outbox SET next_attempt_at = now() - interval '1 second'")
        .await
        .unwrap();
    let found = read(&mut reader).await;
    assert_eq!((numbers(&found.due), found.fresh.len()), (vec![number], 0));
}

#[tokio::test]
async fn a_lane_is_read_on_from_where_it_was_let_go() {
    let (database, store) = Database::migrated(1).await;
    let client = database.client().await;
    let mut lane = Vec::new();
    for _ in 0..5 {
        lane.push(insert(&client, Some("k"), "{}").await);
        insert(&client, Some("other"), "{}").await;
    }
    let (mut reader, _) = owning_reader(&store).await;
    assert_eq!(read(&mut reader).await.fresh.len(), 10);
    let beyond = insert(&client, Some("k"), "{}").await;
    let demand = Demand {
        fresh: 10,
        due: 0,
        lanes: vec![LaneDemand {
            shard: 0,
            destination: "d".to_owned(),
            key: Some("k".to_owned()),
            from: lane[1],
            limit: 3,
        }],
        ..Demand::default()
    };
    let found = reader.read(&demand).await.unwrap();
    assert_eq!(numbers(&found.lanes[0].messages), lane[1..4]);
    assert!(!found.lanes[0].complete);
    assert_eq!(
        numbers(&found.fresh),
        [beyond],
        "what is ahead is fresh, not part of the lane's answer"
    );
}

/// A late row that a lane's answer brings is not fresh as well.
#[tokio::test]
async fn a_row_comes_by_one_way_only() {
    let (database, store) = Database::migrated(1).await;
    let (held, client) = (database.client().await, database.client().await);
    let (mut reader, _) = owning_reader(&store).await;
    held.batch_execute("BEGIN").await.unwrap();
    let late = insert(&held, Some("k"), "late").await;
    let second = insert(&client, Some("k"), "{}").await;
    assert_eq!(numbers(&read(&mut reader).await.fresh), [second]);
    held.batch_execute("COMMIT").await.unwrap();
    let demand = Demand {
        fresh: 10,
        due: 0,
        lanes: vec![LaneDemand {
            shard: 0,
            destination: "d".to_owned(),
            key: Some("k".to_owned()),
            from: 0,
            limit: 10,
        }],
        ..Demand::default()
    };
    let found = reader.read(&demand).await.unwrap();
    assert_eq!(numbers(&found.lanes[0].messages), [late, second]);
    assert!(found.lanes[0].complete);
    assert!(found.fresh.is_empty());
    assert!(read(&mut reader).await.fresh.is_empty());
}

/// A plan made for a small table must not become a walk through a large one: no statement of the relay scans the hot table.
#[tokio::test]
async fn the_hot_table_is_never_scanned() {
    let (database, store) = Database::migrated(4).await;
    let client = database.client().await;
    client.batch_execute("ANALYZE").await.unwrap();
    for _ in 0..20 {
        insert(&client, Some("k"), "{}").await;
    }
    let (mut reader, leases) = owning_reader(&store).await;
    let found = read(&mut reader).await;
    let settlements: Vec<Settlement> = found
        .fresh
        .iter()
        .map(|message| delivered(leases[usize::from(message.shard)], message.id))
        .collect();
    store.settle(&worker("w"), &settlements).await.unwrap();
    drop((reader, store));
    // A connection tells what it did when it ends at the latest.
    let gone = "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'redeliver' AND datname = current_database()";
    until(&client, gone).await;
    let scans = scalar(
        &client,
        "SELECT idx_scan > 0, seq_scan FROM pg_stat_user_tables WHERE relname = 'redeliver_outbox'",
    )
    .await;
    assert_eq!(scans, "t", "the figures are not there yet");
    let scans = scalar(
        &client,
        "SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'redeliver_outbox'",
    )
    .await;
    // Making the table's indexes scanned it, empty, and so did the step that gave it topics: what is in it, and whether that may be.
    let made = scalar(
        &client,
        "SELECT count(*) FROM pg_index WHERE indrelid = 'redeliver_outbox'::regclass",
    )
    .await;
    assert!(
        scans.parse::<u32>().unwrap() <= made.parse::<u32>().unwrap() + 2,
        "{scans} scans"
    );
}

/// Writers that commit and roll back in any order, each key's own in order; a reader beside them.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_and_every_key_keeps_its_order_under_churn() {
    const WRITERS: usize = 6;
    const TRANSACTIONS: usize = 60;
    let (database, store) = Database::migrated(4).await;
    let (mut reader, leases) = owning_reader(&store).await;
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let url = database.url.clone();
            tokio::spawn(async move {
                let client = crate::database::connect(&url).await;
                for turn in 0..TRANSACTIONS {
                    client.batch_execute("BEGIN").await.unwrap();
                    for part in 0..3 {
                        insert(
                            &client,
                            Some(&format!("k{writer}")),
                            &format!("{}", turn * 3 + part),
                        )
                        .await;
                        tokio::task::yield_now().await;
                    }
                    let end = if turn % 7 == writer { "ROLLBACK" } else { "COMMIT" };
                    client.batch_execute(end).await.unwrap();
                }
            })
        })
        .collect();
    let all = async move {
        for writer in writers {
            writer.await.unwrap();
        }
    };
    let mut all = std::pin::pin!(futures_util::FutureExt::fuse(all));
    let (mut done, mut idle) = (false, 0);
    let mut lanes: HashMap<String, Vec<i64>> = HashMap::new();
    while !done || idle < 3 {
        if !done {
            done = futures_util::FutureExt::now_or_never(&mut all).is_some();
        }
        let found = reader.read(&room(40)).await.unwrap();
        idle = if found.fresh.is_empty() { idle + 1 } else { 0 };
        let mut settlements = Vec::new();
        for message in &found.fresh {
            let text = message.payload.as_text().unwrap().parse().unwrap();
            lanes.entry(message.key.clone().unwrap()).or_default().push(text);
            settlements.push(delivered(leases[usize::from(message.shard)], message.id));
        }
        store.settle(&worker("w"), &settlements).await.unwrap();
    }
    let client = database.client().await;
    assert_eq!(
        scalar(&client, "SELECT count(*) FROM redeliver_outbox").await,
        "0"
    );
    assert_eq!(lanes.len(), WRITERS);
    for (lane, delivered) in lanes {
        assert!(delivered.is_sorted_by(|a, b| a < b), "{lane}: {delivered:?}");
        assert!(delivered.len() >= (TRANSACTIONS - TRANSACTIONS.div_ceil(7)) * 3);
    }
}
