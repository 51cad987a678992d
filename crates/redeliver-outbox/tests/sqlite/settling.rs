use std::time::Duration;

use redeliver_outbox::{
    DeadReason, MessageId, Timestamp,
    store::{AfterDeath, Settlement, Store, Until, Verdict},
};

use crate::bench::{Bench, LEASE, attempted};

#[tokio::test]
async fn a_settle_of_an_epoch_that_has_passed_changes_nothing() {
    let bench = Bench::new().await;
    let number = bench.insert("d", None);
    let (one, lease) = bench.owner("one").await;
    bench.pass(LEASE * 2);
    let (two, newer) = bench.owner("two").await;
    let before = bench.dump();
    for verdict in [
        Verdict::Delivered(attempted(1, "", "")),
        Verdict::Counted { attempt: 1 },
        Verdict::Postponed(Until::After(LEASE)),
    ] {
        assert_eq!(bench.settle(&one, lease, number, verdict).await, [0]);
    }
    assert_eq!(
        bench
            .settle(&one, newer, number, Verdict::Counted { attempt: 1 })
            .await,
        [0]
    );
    assert_eq!(bench.dump(), before);
    let stale = bench
        .settle(&two, newer, number, Verdict::Delivered(attempted(1, "", "")))
        .await;
    assert!(stale.is_empty());
    assert_eq!(
        bench.number("SELECT COUNT(*) FROM redeliver_sent WHERE attempts = 1"),
        1
    );
}

#[tokio::test]
async fn a_destination_that_is_no_text_is_buried_like_any_other() {
    let bench = Bench::new().await;
    bench.sql("INSERT INTO redeliver_outbox (destination, payload) VALUES (CAST(x'61ff' AS TEXT), '{}')");
    let number = bench.number("SELECT MAX(number) FROM redeliver_outbox");
    let (worker, lease) = bench.owner("one").await;
    let dead = Verdict::Dead {
        attempted: None,
        reason: DeadReason::UnknownDestination,
        error: "nobody".to_owned(),
        lane: AfterDeath::Gap,
    };
    assert!(bench.settle(&worker, lease, number, dead).await.is_empty());
    assert_eq!(
        bench.number("SELECT COUNT(*) FROM redeliver_dead WHERE destination = CAST(x'61ff' AS TEXT)"),
        1
    );
}

#[tokio::test]
async fn settling_twice_is_settling_once() {
    let bench = Bench::new().await;
    let (worker, lease) = bench.owner("one").await;
    let dead = |attempted, lane| Verdict::Dead {
        attempted,
        reason: DeadReason::Permanent,
        error: "no".to_owned(),
        lane,
    };
    let verdicts = [
        Verdict::Delivered(attempted(1, "", "")),
        Verdict::Retry {
            attempted: attempted(1, "transient", "503"),
            wait: Duration::from_micros(1_500_001),
        },
        dead(Some(attempted(1, "permanent", "404")), AfterDeath::Park),
        dead(None, AfterDeath::Gap),
        Verdict::Postponed(Until::At(Timestamp::from_millis(77))),
        Verdict::Counted { attempt: 1 },
    ];
    let settlements: Vec<Settlement> = verdicts
        .into_iter()
        .enumerate()
        .map(|(at, verdict)| Settlement {
            lease,
            id: MessageId::new(bench.insert("d", Some(&format!("k{at}"))), 0),
            redrives: 0,
            verdict,
        })
        .collect();
    bench.store.settle(&worker, &settlements).await.unwrap();
    let once = bench.dump();
    bench.store.settle(&worker, &settlements).await.unwrap();
    assert_eq!(bench.dump(), once);
    for (sql, expected) in [
        ("SELECT number FROM redeliver_sent", 1),
        (
            "SELECT next_attempt_at FROM redeliver_outbox WHERE number = 2 AND last_wait_ms = 1501",
            1_001_501,
        ),
        ("SELECT head FROM redeliver_lanes WHERE lane = 'k2'", 3),
        ("SELECT COUNT(*) FROM redeliver_lanes", 1),
        (
            "SELECT gap FROM redeliver_dead WHERE number = 3 AND attempts = 1",
            0,
        ),
        (
            "SELECT gap FROM redeliver_dead WHERE number = 4 AND attempts = 0",
            1,
        ),
        (
            "SELECT next_attempt_at FROM redeliver_outbox WHERE number = 5",
            77,
        ),
        (
            "SELECT COUNT(*) FROM redeliver_attempts WHERE number = 6 AND class = 'interrupted'",
            1,
        ),
        ("SELECT COUNT(*) FROM redeliver_attempts", 3),
        ("SELECT COUNT(*) FROM redeliver_outbox", 3),
    ] {
        assert_eq!(bench.number(sql), expected, "{sql}");
    }
}

#[tokio::test]
async fn an_attempt_that_was_counted_before_is_known_by_what_came_of_it() {
    let bench = Bench::new().await;
    let (worker, lease) = bench.owner("one").await;
    let (arrives, fails) = (bench.insert("d", None), bench.insert("d", None));
    for number in [arrives, fails] {
        bench
            .settle(&worker, lease, number, Verdict::Counted { attempt: 1 })
            .await;
    }
    let delivered = Verdict::Delivered(attempted(1, "", ""));
    bench.settle(&worker, lease, arrives, delivered).await;
    let retry = Verdict::Retry {
        attempted: attempted(1, "transient", "503"),
        wait: LEASE,
    };
    bench.settle(&worker, lease, fails, retry).await;
    bench
        .settle(&worker, lease, fails, Verdict::Counted { attempt: 1 })
        .await;
    assert_eq!(
        bench.number("SELECT COUNT(*) FROM redeliver_attempts WHERE class = 'transient'"),
        1
    );
    assert_eq!(bench.number("SELECT COUNT(*) FROM redeliver_attempts"), 1);
    // An attempt that was skipped, or is long past, does not fit.
    let before = bench.dump();
    for attempt in [0, 3] {
        let retry = Verdict::Retry {
            attempted: attempted(attempt, "transient", "503"),
            wait: LEASE,
        };
        bench.settle(&worker, lease, fails, retry).await;
    }
    assert_eq!(bench.dump(), before);
}
