use std::time::Duration;

use redeliver_outbox::{
    DeadReason,
    store::{AfterDeath, Demand, Lease, Left, ParkedLane, Store, Until, Verdict},
};

use crate::bench::{Bench, LEASE, lane, worker};

#[tokio::test]
async fn a_shard_changes_hands_only_when_its_owner_is_silent_or_gives_it_back() {
    let bench = Bench::with_shards(3).await;
    let (one, two) = (worker("one"), worker("two"));
    let membership = bench.beat(&one).await;
    assert_eq!(
        (membership.workers, membership.shards, membership.claimable),
        (1, 3, 3)
    );
    let first = bench.store.claim(&one, 2, 7).await.unwrap();
    assert_eq!(first.len(), 2);
    assert!(first.iter().all(|claimed| claimed.left == Left::Clean));
    let membership = bench.beat(&two).await;
    assert_eq!((membership.workers, membership.claimable), (2, 1));
    assert_eq!(membership.next_expiry, Some(LEASE + Duration::from_millis(1)));
    assert_eq!(bench.store.claim(&two, 9, 7).await.unwrap().len(), 1);

    bench.pass(LEASE);
    assert_eq!(bench.beat(&two).await.claimable, 0);
    bench.pass(Duration::from_millis(1));
    assert_eq!(bench.beat(&two).await.claimable, 2);
    let taken = bench.store.claim(&two, 1, 7).await.unwrap();
    assert_eq!(taken[0].left, Left::Crashed { window: 7 });
    assert_eq!(
        taken[0].lease,
        Lease {
            shard: first[0].lease.shard,
            epoch: first[0].lease.epoch + 1
        }
    );
    // Of what it had, the silent one can only give back what is still its own.
    let leases: Vec<Lease> = first.iter().map(|claimed| claimed.lease).collect();
    bench.store.release(&one, &leases, true).await.unwrap();
    bench.store.leave(&one).await.unwrap();
    let membership = bench.beat(&two).await;
    assert_eq!((membership.owned.len(), membership.claimable), (2, 1));
    let last = bench.store.claim(&two, 9, 7).await.unwrap();
    assert_eq!((last.len(), last[0].left), (1, Left::Clean));
    bench.store.release(&two, &[last[0].lease], false).await.unwrap();
    let again = bench.store.claim(&two, 9, 8).await.unwrap();
    assert_eq!(again[0].left, Left::Crashed { window: 7 });
}

#[tokio::test]
async fn a_new_owner_hears_of_parked_lanes() {
    let bench = Bench::new().await;
    let (worker, lease) = bench.owner("one").await;
    let (dead, waiting) = (bench.insert("d", Some("k")), bench.insert("d", Some("w")));
    let behind = bench.insert("d", Some("k"));
    let verdict = Verdict::Dead {
        attempted: None,
        reason: DeadReason::TooLarge,
        error: "large".to_owned(),
        lane: AfterDeath::Park,
    };
    bench.settle(&worker, lease, dead, verdict).await;
    bench
        .settle(&worker, lease, waiting, Verdict::Postponed(Until::After(LEASE)))
        .await;
    bench.store.release(&worker, &[lease], true).await.unwrap();
    let claimed = bench.store.claim(&worker, 1, 1).await.unwrap().remove(0);
    assert_eq!((claimed.left, claimed.highest), (Left::Clean, behind));
    let parked = ParkedLane {
        lane: lane("d", "k"),
        head: dead,
    };
    assert_eq!(claimed.parked, std::slice::from_ref(&parked));

    let mut reader = bench.store.reader();
    reader.own(claimed.lease);
    let demand = Demand::default();
    assert!(reader.read(&demand).await.unwrap().resumed.is_empty());
    bench.sql("UPDATE redeliver_lanes SET resumed_at = 5");
    assert_eq!(reader.read(&demand).await.unwrap().resumed, [(0, parked)]);
    assert!(reader.read(&demand).await.unwrap().resumed.is_empty());
    bench.sql("UPDATE redeliver_lanes SET resumed_at = 6");
    assert_eq!(reader.read(&demand).await.unwrap().resumed.len(), 1);
}

#[tokio::test]
async fn many_shards_share_the_rows_and_keep_a_lane_together() {
    let bench = Bench::with_shards(8).await;
    bench.sql(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 800)
         INSERT INTO redeliver_outbox (destination, lane, payload)
         SELECT 'd', CASE WHEN i % 2 THEN 'order-' || (i % 400) END, '' FROM n",
    );
    for condition in ["lane IS NULL", "lane IS NOT NULL"] {
        let least = bench.number(&format!(
            "SELECT MIN(n) FROM (SELECT COUNT(*) AS n FROM redeliver_outbox WHERE {condition} GROUP BY shard)"
        ));
        assert!(least > 10, "{condition}: {least}");
        let shards = format!("SELECT COUNT(DISTINCT shard) FROM redeliver_outbox WHERE {condition}");
        assert_eq!(bench.number(&shards), 8);
    }
    for odd in ["''", "'a'", "'🦀'", "'🦀b'"] {
        bench.sql(&format!(
            "INSERT INTO redeliver_outbox (destination, lane, payload) VALUES ('d', {odd}, '')"
        ));
    }
    let worker = worker("one");
    bench.beat(&worker).await;
    let mut reader = bench.store.reader();
    for claimed in bench.store.claim(&worker, 8, 1).await.unwrap() {
        reader.own(claimed.lease);
    }
    let (mut seen, demand) = (
        Vec::new(),
        Demand {
            fresh: 100,
            due: 1,
            lanes: Vec::new(),
            ..Demand::default()
        },
    );
    loop {
        let found = reader.read(&demand).await.unwrap();
        seen.extend(found.fresh.iter().map(|message| message.number()));
        if !found.more {
            break;
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, (1..=804).collect::<Vec<i64>>());
}

#[tokio::test]
async fn a_shard_of_an_unknown_owner_is_claimed_after_a_lease() {
    let bench = Bench::new().await;
    let one = worker("one");
    bench.beat(&one).await;
    let taken = bench.now().as_millis();
    bench.sql(&format!(
        "UPDATE redeliver_shards SET owner = 'nobody', taken_at = {taken}"
    ));
    for (passes, claimable) in [(Duration::ZERO, 0), (LEASE, 0), (Duration::from_millis(1), 1)] {
        bench.pass(passes);
        assert_eq!(bench.beat(&one).await.claimable, claimable);
        let claimed = bench.store.claim(&one, 9, 7).await.unwrap();
        assert_eq!(claimed.len(), claimable);
    }
}
