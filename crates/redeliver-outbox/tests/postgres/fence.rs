//! A verdict of an owner that is none any more is refused, wherever the takeover is.

use std::time::Duration;

use redeliver_outbox::store::{Lease, Left, Store as _};

use crate::database::{Database, beat, delivered, id_of, insert, owner, read, room, scalar, until, worker};

const WAITS: &str = "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

async fn two_owners() -> (Database, redeliver_outbox::store::PostgresStore, Lease, i64) {
    let (database, store) = Database::migrated(1).await;
    let number = insert(&database.client().await, None, "{}").await;
    beat(&store, "old", Duration::ZERO).await;
    let lease = store.claim(&worker("old"), 9, 100).await.unwrap()[0].lease;
    (database, store, lease, number)
}

#[tokio::test]
async fn refused_after_a_takeover() {
    let (database, store, lease, number) = two_owners().await;
    let taken = owner(&store, "new").await;
    assert_eq!(taken[0].lease.epoch, lease.epoch + 1);
    let settled = store
        .settle(&worker("old"), &[delivered(lease, id_of(number))])
        .await
        .unwrap();
    assert_eq!(settled.stale, [0]);
    let client = database.client().await;
    assert_eq!(
        scalar(&client, "SELECT count(*) FROM redeliver_outbox").await,
        "1"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_after_a_takeover_that_was_in_progress() {
    let (database, store, lease, number) = two_owners().await;
    let (taker, client) = (database.client().await, database.client().await);
    taker
        .batch_execute("BEGIN; UPDATE redeliver_shards SET owner = 'new', epoch = epoch + 1")
        .await
        .unwrap();
    let settle = tokio::spawn({
        let store = store.clone();
        async move {
            store
                .settle(&worker("old"), &[delivered(lease, id_of(number))])
                .await
        }
    });
    until(&client, WAITS).await;
    taker.batch_execute("COMMIT").await.unwrap();
    assert_eq!(settle.await.unwrap().unwrap().stale, [0]);
    assert_eq!(
        scalar(&client, "SELECT count(*) FROM redeliver_outbox").await,
        "1"
    );
}

/// A settle that has passed its fence ends before the shard changes hands: the new owner does not read what it settles.
#[tokio::test(flavor = "multi_thread")]
async fn a_takeover_does_not_overtake_a_settle() {
    let (database, store, lease, number) = two_owners().await;
    let (blocker, client) = (database.client().await, database.client().await);
    // The settle is stopped between its fence and its write by somebody who holds the message's row.
    blocker
        .batch_execute(&format!(
            "BEGIN; SELECT FROM redeliver_outbox WHERE number = {number} FOR KEY SHARE"
        ))
        .await
        .unwrap();
    let settle = tokio::spawn({
        let store = store.clone();
        async move {
            store
                .settle(&worker("old"), &[delivered(lease, id_of(number))])
                .await
        }
    });
    until(&client, WAITS).await;
    assert!(
        owner(&store, "new").await.is_empty(),
        "the shard is not to be had yet"
    );
    blocker.batch_execute("COMMIT").await.unwrap();
    assert!(settle.await.unwrap().unwrap().stale.is_empty());
    let taken = owner(&store, "new").await;
    assert_eq!(taken.len(), 1);
    assert_eq!(taken[0].left, Left::Crashed { window: 100 });
    let mut reader = store.reader();
    reader.own(taken[0].lease);
    assert!(read(&mut reader).await.fresh.is_empty());
}

#[tokio::test]
async fn what_belongs_to_other_shards_is_written() {
    let (database, store) = Database::migrated(2).await;
    let client = database.client().await;
    for _ in 0..4 {
        insert(&client, None, "{}").await;
    }
    let claimed = owner(&store, "w").await;
    let mut reader = store.reader();
    claimed.iter().for_each(|claimed| reader.own(claimed.lease));
    let found = reader.read(&room(9)).await.unwrap().fresh;
    let mut settlements: Vec<_> = found
        .iter()
        .map(|message| delivered(claimed[usize::from(message.shard)].lease, message.id))
        .collect();
    for settlement in settlements.iter_mut().filter(|of| of.lease.shard == 1) {
        settlement.lease.epoch -= 1;
    }
    let settled = store.settle(&worker("w"), &settlements).await.unwrap();
    assert_eq!(settled.stale, [1]);
    assert_eq!(
        scalar(
            &client,
            "SELECT string_agg(DISTINCT shard::text, ',') FROM redeliver_outbox"
        )
        .await,
        "1"
    );
    assert_eq!(
        scalar(
            &client,
            "SELECT string_agg(DISTINCT shard::text, ',') FROM redeliver_sent"
        )
        .await,
        "0"
    );
    // Somebody else's word counts as little as an old one, in whichever epoch.
    settlements
        .iter_mut()
        .for_each(|of| of.lease.epoch = claimed[0].lease.epoch);
    let settled = store.settle(&worker("stranger"), &settlements).await.unwrap();
    assert_eq!(settled.stale, [0, 1]);
}
