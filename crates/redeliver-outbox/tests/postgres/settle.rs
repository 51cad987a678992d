use std::time::Duration;

use redeliver_outbox::{
    DeadReason, Timestamp,
    store::{AfterDeath, Lease, PostgresStore, Settlement, Store as _, Until, Verdict},
};
use tokio_postgres::Client;

use crate::database::{Database, attempted, delivered, id_of, insert, owner, scalar, worker};

const HOUR: Duration = Duration::from_secs(3600);

async fn one_message(lane: Option<&str>) -> (Database, PostgresStore, Client, Lease, i64) {
    let (database, store) = Database::migrated(1).await;
    let client = database.client().await;
    let number = insert(&client, lane, "{}").await;
    let lease = owner(&store, "w").await[0].lease;
    (database, store, client, lease, number)
}

/// Twice, as after a commit whose answer was lost.
async fn twice(store: &PostgresStore, lease: Lease, number: i64, verdict: Verdict) {
    let settlement = Settlement {
        lease,
        id: id_of(number),
        redrives: 0,
        verdict,
    };
    for _ in 0..2 {
        let settled = store
            .settle(&worker("w"), std::slice::from_ref(&settlement))
            .await
            .unwrap();
        assert!(settled.stale.is_empty());
    }
}

#[tokio::test]
async fn delivered_twice_is_sent_once() {
    let (_database, store, client, lease, number) = one_message(None).await;
    twice(&store, lease, number, Verdict::Delivered(attempted(1, ""))).await;
    assert_eq!(
        scalar(&client, "SELECT count(*) FROM redeliver_outbox").await,
        "0"
    );
    let sent = "SELECT count(*) || ' ' || min(attempts) || ' ' || min(took_ms) FROM redeliver_sent";
    assert_eq!(scalar(&client, sent).await, "1 1 7");
    assert_eq!(
        scalar(&client, "SELECT status FROM redeliver_messages").await,
        "sent"
    );
}

#[tokio::test]
async fn a_failure_is_counted_once_and_logged_once() {
    let (_database, store, client, lease, number) = one_message(None).await;
    let failed = |attempt| Verdict::Retry {
        attempted: attempted(attempt, "bro\0ken"),
        wait: HOUR,
    };
    twice(&store, lease, number, failed(1)).await;
    let row = "SELECT attempts || ' ' || last_error || ' ' || last_wait_ms || ' ' || (next_attempt_at > now() + interval '59 minutes')
               || ' ' || (last_attempt_at IS NOT NULL) FROM redeliver_outbox";
    assert_eq!(scalar(&client, row).await, "1 bro ken 3600000 true true");
    let log = "SELECT string_agg(attempt || class || error || worker, ',' ORDER BY attempt) FROM redeliver_attempts";
    assert_eq!(scalar(&client, log).await, "1transientbro kenw");
    twice(&store, lease, number, failed(2)).await;
    // An answer that comes too late, or for an attempt that cannot be, changes nothing.
    twice(&store, lease, number, failed(4)).await;
    twice(&store, lease, number, Verdict::Delivered(attempted(4, ""))).await;
    assert_eq!(
        scalar(&client, "SELECT attempts FROM redeliver_outbox").await,
        "2"
    );
    assert_eq!(
        scalar(&client, "SELECT count(*) FROM redeliver_attempts").await,
        "2"
    );
}

#[tokio::test]
async fn an_attempt_counted_before_the_send_is_one_attempt() {
    let (_database, store, client, lease, number) = one_message(None).await;
    twice(&store, lease, number, Verdict::Counted { attempt: 1 }).await;
    let log = "SELECT string_agg(attempt || class || COALESCE(took_ms, -1), ',' ORDER BY attempt) FROM redeliver_attempts";
    assert_eq!(scalar(&client, log).await, "1interrupted-1");
    assert_eq!(
        scalar(&client, "SELECT attempts FROM redeliver_outbox").await,
        "1"
    );
    let retry = Verdict::Retry {
        attempted: attempted(1, "no"),
        wait: HOUR,
    };
    twice(&store, lease, number, retry).await;
    assert_eq!(scalar(&client, log).await, "1transient7");
    twice(&store, lease, number, Verdict::Counted { attempt: 2 }).await;
    twice(&store, lease, number, Verdict::Delivered(attempted(2, ""))).await;
    assert_eq!(scalar(&client, log).await, "1transient7", "it did end, and well");
    assert_eq!(scalar(&client, "SELECT attempts FROM redeliver_sent").await, "2");
}

#[tokio::test]
async fn a_dead_letter_parks_its_lane_and_its_delivery_sets_it_free() {
    let (_database, store, client, lease, number) = one_message(Some("k")).await;
    let behind = insert(&client, Some("k"), "{}").await;
    let dead = |lane| Verdict::Dead {
        attempted: Some(attempted(1, "gone")),
        reason: DeadReason::Permanent,
        error: "go\0ne".to_owned(),
        lane,
    };
    twice(&store, lease, number, dead(AfterDeath::Park)).await;
    let row = "SELECT reason || ' ' || attempts || ' ' || last_error || ' ' || gap FROM redeliver_dead";
    assert_eq!(scalar(&client, row).await, "permanent 1 go ne false");
    assert_eq!(
        scalar(&client, "SELECT head FROM redeliver_lanes").await,
        number.to_string()
    );
    let statuses = "SELECT string_agg(status, ',' ORDER BY number) FROM redeliver_messages";
    assert_eq!(scalar(&client, statuses).await, "dead_lettered,parked");

    // Somebody put it back.
    client
        .batch_execute(
            "INSERT INTO redeliver_outbox (number, salt, destination, lane, payload, redrives, next_attempt_at)
             SELECT number, salt, destination, lane, payload, 0, now() FROM redeliver_dead; DELETE FROM redeliver_dead",
        )
        .await
        .unwrap();
    let mut delivery = attempted(1, "");
    delivery.resumes_lane = true;
    let unfit = attempted(3, "");
    twice(
        &store,
        lease,
        number,
        Verdict::Delivered(redeliver_outbox::store::Attempted {
            resumes_lane: true,
            ..unfit
        }),
    )
    .await;
    assert_eq!(
        scalar(&client, "SELECT count(*) FROM redeliver_lanes").await,
        "1",
        "its head is still there"
    );
    twice(&store, lease, number, Verdict::Delivered(delivery)).await;
    assert_eq!(scalar(&client, "SELECT count(*) FROM redeliver_lanes").await, "0");
    twice(&store, lease, behind, dead(AfterDeath::Gap)).await;
    assert_eq!(scalar(&client, "SELECT gap FROM redeliver_dead").await, "t");
    assert_eq!(scalar(&client, "SELECT count(*) FROM redeliver_lanes").await, "0");
}

#[tokio::test]
async fn two_dead_heads_of_one_lane_in_one_batch_stop_nothing() {
    let (_database, store, client, lease, number) = one_message(Some("k")).await;
    let second = insert(&client, Some("k"), "{}").await;
    let dead = |number| Settlement {
        lease,
        id: id_of(number),
        redrives: 0,
        verdict: Verdict::Dead {
            attempted: None,
            reason: DeadReason::TooLarge,
            error: "x".to_owned(),
            lane: AfterDeath::Park,
        },
    };
    store
        .settle(&worker("w"), &[dead(second), dead(number)])
        .await
        .unwrap();
    assert_eq!(
        scalar(&client, "SELECT head FROM redeliver_lanes").await,
        number.to_string()
    );
    assert_eq!(
        scalar(&client, "SELECT sum(attempts) FROM redeliver_dead").await,
        "0"
    );
    assert_eq!(
        scalar(&client, "SELECT count(*) FROM redeliver_attempts").await,
        "0"
    );
}

#[tokio::test]
async fn a_wait_without_end_is_no_error() {
    let (_database, store, client, lease, number) = one_message(None).await;
    twice(
        &store,
        lease,
        number,
        Verdict::Postponed(Until::After(Duration::MAX)),
    )
    .await;
    assert_eq!(
        scalar(
            &client,
            "SELECT next_attempt_at > now() + interval '90 years' FROM redeliver_outbox"
        )
        .await,
        "t"
    );
    twice(
        &store,
        lease,
        number,
        Verdict::Postponed(Until::At(Timestamp::from_millis(i64::MAX))),
    )
    .await;
    assert_eq!(
        scalar(&client, "SELECT next_attempt_at FROM redeliver_outbox").await,
        "infinity"
    );
    let at = Timestamp::from_millis(1_800_000_000_123);
    twice(&store, lease, number, Verdict::Postponed(Until::At(at))).await;
    let millis = "SELECT (extract(epoch FROM next_attempt_at) * 1000)::bigint FROM redeliver_outbox";
    assert_eq!(scalar(&client, millis).await, "1800000000123");
    assert_eq!(
        scalar(&client, "SELECT attempts FROM redeliver_outbox").await,
        "0"
    );
}

/// A range would take a late row along that nobody has read.
#[tokio::test]
async fn only_what_was_named_is_settled() {
    let (_database, store, client, lease, first) = one_message(None).await;
    let between = insert(&client, None, "{}").await;
    let last = insert(&client, None, "{}").await;
    store
        .settle(
            &worker("w"),
            &[delivered(lease, id_of(last)), delivered(lease, id_of(first))],
        )
        .await
        .unwrap();
    assert_eq!(
        scalar(
            &client,
            "SELECT string_agg(number::text, ',') FROM redeliver_outbox"
        )
        .await,
        between.to_string()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn settles_that_meet_the_same_rows_do_not_deadlock() {
    let (_database, store, client, lease, _) = one_message(None).await;
    for _ in 0..200 {
        insert(&client, None, "{}").await;
    }
    let retry = |number: i64| Settlement {
        lease,
        id: id_of(number),
        redrives: 0,
        verdict: Verdict::Retry {
            attempted: attempted(1, "x"),
            wait: HOUR,
        },
    };
    let forth: Vec<Settlement> = (1..=201).map(retry).collect();
    let back: Vec<Settlement> = (1..=201).rev().map(retry).collect();
    let name = worker("w");
    let both = (0..8).map(|turn| store.settle(&name, if turn % 2 == 0 { &forth } else { &back }));
    for settled in futures_util::future::join_all(both).await {
        settled.unwrap();
    }
}

/// A batch that is refused comes again in parts: each that is refused, too, would cost a new connection.
#[tokio::test]
async fn a_refused_settle_keeps_its_connection() {
    let (_database, store, client, lease, number) = one_message(None).await;
    client
        .batch_execute("ALTER TABLE redeliver_sent ADD CONSTRAINT refused CHECK (attempts > 1)")
        .await
        .unwrap();
    let backends = "SELECT string_agg(pid::text, ' ' ORDER BY pid) FROM pg_stat_activity
                     WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let before = scalar(&client, backends).await;
    for _ in 0..3 {
        let settlement = delivered(lease, id_of(number));
        store.settle(&worker("w"), &[settlement]).await.unwrap_err();
        assert_eq!(scalar(&client, backends).await, before);
    }
    client
        .batch_execute("ALTER TABLE redeliver_sent DROP CONSTRAINT refused")
        .await
        .unwrap();
    let settlement = delivered(lease, id_of(number));
    store.settle(&worker("w"), &[settlement]).await.unwrap();
    let sent = "SELECT count(*)::text FROM redeliver_sent";
    assert_eq!(scalar(&client, sent).await, "1");
}
