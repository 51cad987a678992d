//! A cluster whose two nodes both take writes: the store reads one, and the writer is on the other.

use std::{collections::BTreeSet, time::Duration};

use mysql_async::prelude::Queryable as _;
use redeliver_outbox::{
    desk::{Desk as _, Grade},
    live::Live,
    store::{Beat, Reader, Store as _, StoreErrorKind, WorkerId},
};

use crate::support::{Database, catch_up, insert, read, read_until};

const NODE: &str = "REDELIVER_TEST_NODE1";
const OTHER_NODE: &str = "REDELIVER_TEST_NODE2";

/// Reads for longer than a reader waits for a transaction that its own server does not list.
async fn read_for_a_while(reader: &mut Box<dyn Reader>) {
    for _ in 0..300 {
        assert!(read(reader).await.fresh.is_empty());
        redeliver::clock::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
#[ignore = "needs a cluster: ./test servers galera group"]
async fn what_another_node_commits_late_is_found_and_nothing_comes_twice() {
    let database = Database::with_shards(NODE, 4).await;
    let (mut held, mut client) = (database.client_of(OTHER_NODE).await, database.client().await);
    let (_, _, mut reader) = database.owner("w").await;
    held.query_drop("BEGIN").await.unwrap();
    let mut late = BTreeSet::new();
    for payload in ["a", "b", "c"] {
        late.insert(insert(&mut held, None, payload).await);
    }
    // Each node gives numbers of its own: until those of every shard are beyond the held ones.
    let mut early = 1;
    while insert(&mut client, None, "early").await < late.last().unwrap() + 100 {
        early += 1;
    }
    read_until(&mut reader, early).await;
    read_for_a_while(&mut reader).await;
    held.query_drop("COMMIT").await.unwrap();
    let found = read_until(&mut reader, 3).await;
    let found: BTreeSet<i64> = found.iter().map(|message| message.number()).collect();
    assert_eq!(found, late);
    for _ in 0..20 {
        assert!(read(&mut reader).await.fresh.is_empty());
    }
}

#[tokio::test]
#[ignore = "needs a cluster: ./test servers galera group"]
async fn a_late_head_from_another_node_is_never_overtaken_by_its_lane() {
    let database = Database::with_shards(NODE, 1).await;
    let (mut held, mut client) = (database.client_of(OTHER_NODE).await, database.client().await);
    let (_, _, mut reader) = database.owner("w").await;
    for round in 0..10 {
        held.query_drop("BEGIN").await.unwrap();
        let first = insert(&mut held, Some("lane"), "first").await;
        let mut others = 1;
        while insert(&mut client, Some("other"), "other").await < first {
            others += 1;
        }
        read_until(&mut reader, others).await;
        held.query_drop("COMMIT").await.unwrap();
        // Whoever writes after a message of the same lane has seen it.
        catch_up(&mut client).await;
        let second = insert(&mut client, Some("lane"), "second").await;
        let found = read_until(&mut reader, 2).await;
        let numbers: Vec<i64> = found.iter().map(|message| message.number()).collect();
        assert_eq!(numbers, [first, second], "round {round}");
    }
}

#[tokio::test]
#[ignore = "needs a cluster: ./test servers galera group"]
async fn a_row_that_another_node_wrote_first_is_busy() {
    let database = Database::with_shards(NODE, 1).await;
    let mut client = database.client_of(OTHER_NODE).await;
    let beat = Beat {
        worker: WorkerId("w".to_owned()),
        lease: Duration::from_secs(60),
        in_flight: 0,
        destinations: Live::new(),
    };
    database.store.beat(&beat).await.unwrap();
    catch_up(&mut client).await;
    let mut refused = 0;
    for _ in 0..500 {
        let other = client.query_drop("UPDATE redeliver_workers SET in_flight = in_flight + 1");
        // One of the two, either or neither, is refused.
        let (beaten, _) = tokio::join!(database.store.beat(&beat), other);
        if let Err(error) = beaten {
            assert_eq!(error.kind(), StoreErrorKind::Busy, "{error:?}");
            refused += 1;
        }
        if refused == 5 {
            return;
        }
    }
    panic!("{refused} of 500 writes met one of the other node");
}

#[tokio::test]
#[ignore = "needs a cluster: ./test servers galera group"]
async fn the_doctor_names_the_cluster() {
    let database = Database::with_shards(NODE, 1).await;
    let findings = database.store.examine().await.unwrap();
    let primary = findings
        .iter()
        .find(|finding| finding.topic == "primary")
        .unwrap();
    assert_eq!(primary.grade, Grade::Advice, "{primary:?}");
}
