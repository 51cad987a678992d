use std::time::Duration;

use mysql_async::{Conn, prelude::Queryable};
use redeliver_outbox::store::{Beat, Left, Store, WorkerId};

use super::{SERVER, support::{Database, insert}};

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn shards_are_shared_and_given_back() {
    let database = Database::with_shards(SERVER, 4).await;
    let (one, two) = (WorkerId("one".to_owned()), WorkerId("two".to_owned()));
    let member = database.beat(&one, LONG).await;
    assert_eq!((member.workers, member.shards, member.claimable), (1, 4, 4));
    assert_eq!(member.next_expiry, None);
    let first = database.store.claim(&one, 2, 10).await.unwrap();
    assert_eq!(first.len(), 2);
    assert!(
        first
            .iter()
            .all(|claimed| claimed.left == Left::Clean && claimed.lease.epoch == 1)
    );
    let member = database.beat(&two, LONG).await;
    assert_eq!((member.workers, member.claimable), (2, 2));
    assert!(
        member
            .next_expiry
            .is_some_and(|expiry| expiry <= LONG && expiry > LONG / 2)
    );
    assert_eq!(database.store.claim(&two, 9, 10).await.unwrap().len(), 2);
    assert_eq!(database.store.claim(&two, 9, 10).await.unwrap().len(), 0);

    database
        .store
        .release(&two, &[first[0].lease], true)
        .await
        .unwrap();
    assert_eq!(
        database.beat(&two, LONG).await.claimable,
        0,
        "only the owner gives back"
    );
    database
        .store
        .release(&one, &[first[0].lease], true)
        .await
        .unwrap();
    database
        .store
        .release(&one, &[first[1].lease], false)
        .await
        .unwrap();
    let taken = database.store.claim(&two, 9, 10).await.unwrap();
    assert_eq!(taken[0].left, Left::Clean);
    assert_eq!(taken[1].left, Left::Crashed { window: 10 });
    assert!(taken.iter().all(|claimed| claimed.lease.epoch == 2));
    database
        .store
        .release(&one, &[first[0].lease], true)
        .await
        .unwrap();
    assert_eq!(
        database.beat(&two, LONG).await.owned.len(),
        4,
        "an old epoch gives nothing back"
    );
}

#[tokio::test]
async fn a_silent_worker_loses_its_shards_and_leaves_its_schedule() {
    let database = Database::with_shards(SERVER, 2).await;
    let mut client = database.client().await;
    let number = insert(&mut client, Some("k"), "1").await;
    let other = insert(&mut client, None, "2").await;
    client
        .exec_drop(
            "UPDATE redeliver_outbox SET next_attempt_at = '2999-01-01' WHERE number = ?",
            (number,),
        )
        .await
        .unwrap();
    client
        .query_drop("INSERT INTO redeliver_lanes (shard, digest, destination, lane, head, parked_at) VALUES (1, REPEAT('x', 32), 'd', 'l', 5, UTC_TIMESTAMP(3))")
        .await
        .unwrap();
    let (silent, heir) = (WorkerId("silent".to_owned()), WorkerId("heir".to_owned()));
    database.beat(&silent, LONG).await;
    assert_eq!(database.store.claim(&silent, 9, 77).await.unwrap().len(), 2);
    database.beat(&heir, LONG).await;
    assert_eq!(database.store.claim(&heir, 9, 5).await.unwrap().len(), 0);
    client
        .query_drop("UPDATE redeliver_workers SET lease_until = UTC_TIMESTAMP(3) WHERE worker = 'silent'")
        .await
        .unwrap();
    let taken = database.store.claim(&heir, 9, 5).await.unwrap();
    assert_eq!(taken.len(), 2);
    assert!(
        taken
            .iter()
            .all(|claimed| claimed.left == Left::Crashed { window: 77 })
    );
    assert_eq!(taken.iter().map(|claimed| claimed.highest).max(), Some(other));
    assert_eq!(taken[1].parked[0].head, 5);
    database.store.leave(&heir).await.unwrap();
    assert_eq!(database.beat(&silent, LONG).await.claimable, 2);
}

#[tokio::test]
async fn many_claim_at_once_and_no_shard_is_taken_twice() {
    let database = Database::with_shards(SERVER, 16).await;
    let mut running = Vec::new();
    for name in 0..8 {
        let store = database.store.clone();
        let worker = WorkerId(format!("w{name}"));
        database.beat(&worker, LONG).await;
        running.push(tokio::spawn(
            async move { store.claim(&worker, 3, 1).await.unwrap() },
        ));
    }
    let mut shards = Vec::new();
    for run in running {
        shards.extend(run.await.unwrap().into_iter().map(|claimed| claimed.lease.shard));
    }
    let count = shards.len();
    shards.sort_unstable();
    shards.dedup();
    assert_eq!(shards.len(), count);
    assert!(count > 0);
}

/// The trap: an owner that was away renews its lease and reads what it owns, while somebody who found the lease ended takes it.
#[tokio::test]
async fn an_owner_that_is_coming_back_keeps_its_shards() {
    let database = Database::with_shards(SERVER, 2).await;
    let (old, new) = (WorkerId("old".to_owned()), WorkerId("new".to_owned()));
    database.beat(&old, Duration::ZERO).await;
    assert_eq!(database.store.claim(&old, 9, 10).await.unwrap().len(), 2);
    let mut returning = database.client().await;
    returning.query_drop("BEGIN").await.unwrap();
    returning
        .query_drop("UPDATE redeliver_workers SET lease_until = '2100-01-01' WHERE worker = 'old'")
        .await
        .unwrap();
    let taken = database.store.claim(&new, 9, 10).await.unwrap();
    assert!(taken.is_empty(), "while it is coming back: {taken:?}");
    returning.query_drop("COMMIT").await.unwrap();
    let taken = database.store.claim(&new, 9, 10).await.unwrap();
    assert!(taken.is_empty(), "and when it is back: {taken:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_comes_back_during_a_takeover_learns_of_it() {
    let database = Database::with_shards(SERVER, 2).await;
    let (old, new) = (WorkerId("old".to_owned()), WorkerId("new".to_owned()));
    database.beat(&old, Duration::ZERO).await;
    assert_eq!(database.store.claim(&old, 9, 10).await.unwrap().len(), 2);
    let (mut blocker, mut client) = (database.client().await, database.client().await);
    // The claim is stopped when it has taken the shards and reads what belongs to them.
    blocker
        .query_drop("LOCK TABLES redeliver_lanes WRITE")
        .await
        .unwrap();
    let store = database.store.clone();
    let taking = tokio::spawn(async move { store.claim(&new, 9, 10).await.unwrap() });
    wait_for(
        &mut client,
        "FROM information_schema.processlist WHERE db = DATABASE() AND state LIKE '%metadata lock'",
    )
    .await;
    let store = database.store.clone();
    let returning = tokio::spawn(async move {
        let beat = Beat {
            worker: old,
            lease: LONG,
            in_flight: 0,
            destinations: redeliver_outbox::live::Live::new(),
        };
        store.beat(&beat).await.unwrap()
    });
    wait_for(
        &mut client,
        "FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE 'INSERT INTO redeliver_workers%'",
    )
    .await;
    blocker.query_drop("UNLOCK TABLES").await.unwrap();
    assert_eq!(taking.await.unwrap().len(), 2);
    assert_eq!(returning.await.unwrap().owned, []);
}

async fn wait_for(client: &mut Conn, rows: &str) {
    while client
        .query_first::<u64, _>(format!("SELECT COUNT(*) {rows}"))
        .await
        .unwrap()
        == Some(0)
    {
        redeliver::clock::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn shards_of_a_worker_whose_first_beat_is_not_seen_yet_are_left_to_it() {
    let database = Database::with_shards(SERVER, 2).await;
    let mut client = database.client().await;
    let worker = WorkerId("w".to_owned());
    database.beat(&worker, Duration::from_secs(60)).await;
    for (age, claimed) in [(1, 0), (59, 0), (61, 2)] {
        // As another connection's snapshot shows them: what it took, and not its beat.
        let take = format!(
            "UPDATE redeliver_shards SET owner = 'new', taken_at = UTC_TIMESTAMP(3) - INTERVAL {age} SECOND"
        );
        client.query_drop(take).await.unwrap();
        let found = database.store.claim(&worker, 10, 10).await.unwrap();
        assert_eq!(found.len(), claimed, "taken {age} s ago");
    }
}

#[tokio::test]
async fn shards_of_a_worker_that_left_are_free_at_once() {
    let database = Database::with_shards(SERVER, 2).await;
    let (first, claimed, _) = database.owner("first").await;
    assert_eq!(claimed.len(), 2);
    database.store.leave(&first).await.unwrap();
    let (_, claimed, _) = database.owner("second").await;
    assert_eq!(claimed.len(), 2);
}
