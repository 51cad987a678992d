use std::time::Duration;

use redeliver_outbox::store::{Beat, Lease, Left, Settlement, Store as _, Until, Verdict};

use crate::database::{Database, beat, id_of, insert, numbers, owner, read, scalar, until, worker};

const LONG: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn shards_are_claimed_once_and_by_the_living() {
    let (_database, store) = Database::migrated(8).await;
    beat(&store, "a", LONG).await;
    beat(&store, "b", LONG).await;
    assert_eq!(store.claim(&worker("a"), 5, 10).await.unwrap().len(), 5);
    assert_eq!(store.claim(&worker("b"), 5, 10).await.unwrap().len(), 3);
    assert!(store.claim(&worker("a"), 5, 10).await.unwrap().is_empty());
    let membership = store
        .beat(&Beat {
            worker: worker("a"),
            lease: LONG,
            in_flight: 3,
            destinations: redeliver_outbox::live::Live::new(),
        })
        .await
        .unwrap();
    assert_eq!(
        (membership.workers, membership.shards, membership.claimable),
        (2, 8, 0)
    );
    assert_eq!(membership.owned.len(), 5);
    assert!(membership.owned.iter().all(|lease| lease.epoch == 1));
    let expiry = membership.next_expiry.unwrap();
    assert!(expiry <= LONG && expiry > LONG / 2, "{expiry:?}");

    store.leave(&worker("b")).await.unwrap();
    let membership = store
        .beat(&Beat {
            worker: worker("a"),
            lease: LONG,
            in_flight: 0,
            destinations: redeliver_outbox::live::Live::new(),
        })
        .await
        .unwrap();
    assert_eq!(
        (membership.workers, membership.claimable, membership.next_expiry),
        (1, 3, None)
    );
    let taken = store.claim(&worker("a"), 9, 10).await.unwrap();
    assert_eq!(taken.len(), 3);
    assert!(
        taken
            .iter()
            .all(|claimed| claimed.left == Left::Crashed { window: 10 }),
        "b left without a word"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn many_who_claim_at_once_get_different_shards() {
    let (database, store) = Database::migrated(64).await;
    let names: Vec<String> = (0..8).map(|worker| format!("w{worker}")).collect();
    for name in &names {
        beat(&store, name, LONG).await;
    }
    let claims = names.iter().map(|name| {
        let store = database.store();
        let name = worker(name);
        async move { store.claim(&name, 64, 1).await.unwrap() }
    });
    let mut all: Vec<u16> = futures_util::future::join_all(claims)
        .await
        .into_iter()
        .flatten()
        .map(|claimed| claimed.lease.shard)
        .collect();
    all.sort_unstable();
    assert_eq!(all, (0..64).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_clean_end_is_told_from_a_crash() {
    let (_database, store) = Database::migrated(2).await;
    let claimed = owner(&store, "a").await;
    assert!(
        claimed
            .iter()
            .all(|claimed| claimed.left == Left::Clean && claimed.lease.epoch == 1)
    );
    let stale = Lease {
        epoch: 0,
        ..claimed[1].lease
    };
    store
        .release(&worker("a"), &[claimed[0].lease, stale], true)
        .await
        .unwrap();
    store
        .release(&worker("b"), &[claimed[1].lease], true)
        .await
        .unwrap();
    let taken = owner(&store, "b").await;
    assert_eq!(
        taken.len(),
        1,
        "only what its owner released in its own epoch is free"
    );
    assert_eq!((taken[0].lease.shard, taken[0].left), (0, Left::Clean));
    store
        .release(&worker("a"), &[claimed[1].lease], false)
        .await
        .unwrap();
    assert_eq!(owner(&store, "b").await[0].left, Left::Crashed { window: 100 });
}

#[tokio::test]
async fn a_new_owner_is_told_what_waits() {
    let (database, store) = Database::migrated(1).await;
    let client = database.client().await;
    let first = insert(&client, Some("k"), "{}").await;
    let unkeyed = insert(&client, None, "{}").await;
    let last = insert(&client, Some("k"), "{}").await;
    beat(&store, "a", Duration::ZERO).await;
    let claimed = store.claim(&worker("a"), 1, 1).await.unwrap();
    assert_eq!(claimed[0].highest, last);
    let postponed = |number| Settlement {
        lease: claimed[0].lease,
        id: id_of(number),
        redrives: 0,
        verdict: Verdict::Postponed(Until::After(LONG)),
    };
    store
        .settle(&worker("a"), &[postponed(first), postponed(unkeyed)])
        .await
        .unwrap();
    client
        .batch_execute(&format!(
            "INSERT INTO redeliver_lanes (shard, destination, lane, head, parked_at, resumed_at)
             VALUES (0, 'd', 'p', 1, now(), NULL), (0, 'd', 'r', {last}, now(), now())"
        ))
        .await
        .unwrap();
    let taken = owner(&store, "b").await;
    assert_eq!(taken[0].parked.len(), 1);
    assert_eq!(
        (taken[0].parked[0].lane.key.as_str(), taken[0].parked[0].head),
        ("p", 1)
    );
    let mut reader = store.reader();
    reader.own(taken[0].lease);
    let found = read(&mut reader).await;
    assert_eq!(numbers(&found.fresh), [last]);
    assert!(
        found.resumed.is_empty(),
        "a lane that was set free before is no news"
    );
    assert_eq!(
        scalar(&client, "SELECT string_agg(lane, ',') FROM redeliver_lanes").await,
        "p"
    );
    client
        .batch_execute("UPDATE redeliver_lanes SET resumed_at = now()")
        .await
        .unwrap();
    assert_eq!(read(&mut reader).await.resumed[0].1.lane.key, "p");
    assert!(read(&mut reader).await.resumed.is_empty(), "told once");
}

/// The trap: an owner that was away renews its lease and reads what it owns, while somebody who found the lease ended takes it.
#[tokio::test]
async fn an_owner_that_is_coming_back_keeps_its_shards() {
    let (database, store) = Database::migrated(2).await;
    beat(&store, "old", Duration::ZERO).await;
    assert_eq!(store.claim(&worker("old"), 9, 100).await.unwrap().len(), 2);
    let returning = database.client().await;
    returning
        .batch_execute("BEGIN; UPDATE redeliver_workers SET lease_until = now() + interval '1 hour' WHERE worker = 'old'")
        .await
        .unwrap();
    assert!(owner(&store, "new").await.is_empty(), "while it is coming back");
    returning.batch_execute("COMMIT").await.unwrap();
    assert!(owner(&store, "new").await.is_empty(), "and when it is back");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_comes_back_during_a_takeover_learns_of_it() {
    let (database, store) = Database::migrated(2).await;
    beat(&store, "old", Duration::ZERO).await;
    assert_eq!(store.claim(&worker("old"), 9, 100).await.unwrap().len(), 2);
    let (blocker, client) = (database.client().await, database.client().await);
    // The claim is stopped when it has taken the shards and reads what belongs to them.
    blocker
        .batch_execute("BEGIN; LOCK TABLE redeliver_lanes IN ACCESS EXCLUSIVE MODE")
        .await
        .unwrap();
    let waiting = |count| {
        format!(
            "SELECT count(*) >= {count} FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
    };
    let taking = tokio::spawn({
        let store = store.clone();
        async move { owner(&store, "new").await }
    });
    until(&client, &waiting(1)).await;
    let returning = tokio::spawn({
        let store = store.clone();
        let (worker, lease, in_flight) = (worker("old"), LONG, 0);
        async move {
            let beat = Beat {
                worker,
                lease,
                in_flight,
                destinations: redeliver_outbox::live::Live::new(),
            };
            store.beat(&beat).await.unwrap()
        }
    });
    until(&client, &waiting(2)).await;
    blocker.batch_execute("COMMIT").await.unwrap();
    assert_eq!(taking.await.unwrap().len(), 2);
    assert_eq!(returning.await.unwrap().owned, []);
}

/// The claim began before the other worker's first beat was there to see, and comes to the shard after that worker has taken it.
#[tokio::test(flavor = "multi_thread")]
async fn a_shard_of_a_worker_that_has_just_begun_is_not_claimed() {
    let (database, store) = Database::migrated(2).await;
    let client = database.client().await;
    client
        .batch_execute(
            "CREATE FUNCTION wait_for_the_lock() RETURNS trigger LANGUAGE plpgsql AS
                 'BEGIN PERFORM pg_advisory_xact_lock(7); RETURN new; END';
             CREATE TRIGGER slow BEFORE UPDATE ON redeliver_shards
                 FOR EACH ROW WHEN (new.owner = 'slow') EXECUTE FUNCTION wait_for_the_lock();
             SELECT pg_advisory_lock(7)",
        )
        .await
        .unwrap();
    beat(&store, "slow", LONG).await;
    let slow = tokio::spawn({
        let store = store.clone();
        async move { store.claim(&worker("slow"), 2, 10).await.unwrap() }
    });
    until(
        &client,
        "SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'",
    )
    .await;
    let new = owner(&store, "new").await;
    assert_eq!(new.len(), 1, "the other is locked");
    client
        .batch_execute("SELECT pg_advisory_unlock(7)")
        .await
        .unwrap();
    let slow = slow.await.unwrap();
    assert_eq!(slow.len(), 1, "{slow:?}");
    assert_ne!(slow[0].lease.shard, new[0].lease.shard);
}

/// An owner that nobody knows, whose shards were taken longer ago than a lease, is gone.
#[tokio::test]
async fn a_shard_of_an_unknown_owner_is_claimed_after_a_lease() {
    let (database, store) = Database::migrated(1).await;
    let client = database.client().await;
    beat(&store, "a", LONG).await;
    for (taken_at, claimable) in [
        ("now()", 0),
        ("now() - interval '59 minutes'", 0),
        ("now() - interval '61 minutes'", 1),
        ("NULL", 1),
    ] {
        let statement = format!("UPDATE redeliver_shards SET owner = 'nobody', taken_at = {taken_at}");
        client.batch_execute(&statement).await.unwrap();
        let membership = store.beat(&beat_of("a")).await.unwrap();
        assert_eq!(membership.claimable, claimable, "{taken_at}");
        let claimed = store.claim(&worker("a"), 9, 10).await.unwrap();
        assert_eq!(claimed.len(), claimable, "{taken_at}");
    }
}

fn beat_of(name: &str) -> Beat {
    Beat {
        worker: worker(name),
        lease: LONG,
        in_flight: 0,
        destinations: redeliver_outbox::live::Live::new(),
    }
}
