use std::time::Duration;

use mysql_async::prelude::Queryable;
use redeliver_outbox::{
    DeadReason, Payload, Timestamp,
    store::{AfterDeath, Attempted, Settled, Settlement, Store, StoreErrorKind, Until, Verdict, WorkerId},
};

use super::{SERVER, support::{Database, attempted, count, insert, read, read_until, settlement}};

const WAIT: Duration = Duration::from_millis(1500);

#[tokio::test]
async fn every_verdict_is_written_and_twice_is_once() {
    let database = Database::with_shards(SERVER, 2).await;
    let mut client = database.client().await;
    for payload in ["delivered", "retry", "dead", "postponed", "counted", "until"] {
        insert(&mut client, Some(payload), payload).await;
    }
    let (worker, claimed, mut reader) = database.owner("w").await;
    let messages = read_until(&mut reader, 6).await;
    let dead = |lane| Verdict::Dead {
        attempted: Some(attempted(1)),
        reason: DeadReason::Permanent,
        error: "never".to_owned(),
        lane,
    };
    let verdicts = |payload: &str| match payload {
        "delivered" => Verdict::Delivered(attempted(1)),
        "retry" => Verdict::Retry {
            attempted: attempted(1),
            wait: WAIT,
        },
        "dead" => dead(AfterDeath::Park),
        "postponed" => Verdict::Postponed(Until::After(WAIT)),
        "until" => Verdict::Postponed(Until::At(Timestamp::from_millis(4_102_444_800_123))),
        _ => Verdict::Counted { attempt: 1 },
    };
    let batch: Vec<Settlement> = messages
        .iter()
        .map(|message| settlement(&claimed, message, verdicts(message.payload.as_text().unwrap())))
        .collect();
    for _ in 0..2 {
        let settled = database.store.settle(&worker, &batch).await.unwrap();
        assert_eq!(settled, Settled::default());
        for (table, rows) in [
            ("redeliver_outbox", 4),
            (
                "redeliver_sent WHERE payload = 'delivered' AND attempts = 1 AND took_ms = 7",
                1,
            ),
            (
                "redeliver_dead WHERE reason = 'permanent' AND last_error = 'never' AND attempts = 1",
                1,
            ),
            ("redeliver_lanes WHERE lane = 'dead' AND resumed_at IS NULL", 1),
            ("redeliver_attempts", 3),
            (
                "redeliver_attempts WHERE class = 'interrupted' AND took_ms IS NULL",
                1,
            ),
            (
                "redeliver_outbox WHERE payload = 'retry' AND attempts = 1 AND last_wait_ms = 1500 AND last_error = 'it said \"no\"🦀'",
                1,
            ),
            (
                "redeliver_outbox WHERE payload = 'counted' AND attempts = 1 AND next_attempt_at IS NULL",
                1,
            ),
            (
                "redeliver_outbox WHERE payload = 'until' AND attempts = 0 AND next_attempt_at = '2100-01-01 00:00:00.123'",
                1,
            ),
        ] {
            assert_eq!(count(&mut client, table).await, rows, "{table}");
        }
    }
    let counted = messages
        .iter()
        .find(|message| message.payload.as_text() == Some("counted"))
        .unwrap();
    let arrived = settlement(&claimed, counted, Verdict::Delivered(attempted(1)));
    database.store.settle(&worker, &[arrived]).await.unwrap();
    assert_eq!(
        count(&mut client, "redeliver_attempts WHERE class = 'interrupted'").await,
        0
    );
    let found = read(&mut reader).await;
    assert!(found.due.is_empty() || found.next_due.is_some());
    let wrong = messages
        .iter()
        .find(|message| message.payload.as_text() == Some("retry"))
        .unwrap();
    let leap = settlement(&claimed, wrong, Verdict::Delivered(attempted(3)));
    database.store.settle(&worker, &[leap]).await.unwrap();
    assert_eq!(
        count(&mut client, "redeliver_sent").await,
        2,
        "an attempt that was not next is refused"
    );
}

#[tokio::test]
async fn a_retry_is_due_when_its_time_has_come_and_frees_its_parked_lane() {
    let database = Database::with_shards(SERVER, 1).await;
    let mut client = database.client().await;
    insert(&mut client, Some("k"), "x").await;
    let (worker, claimed, mut reader) = database.owner("w").await;
    let message = read_until(&mut reader, 1).await.remove(0);
    let retry = Verdict::Retry {
        attempted: attempted(1),
        wait: Duration::from_millis(1),
    };
    database
        .store
        .settle(&worker, &[settlement(&claimed, &message, retry)])
        .await
        .unwrap();
    client
        .query_drop(
            "INSERT INTO redeliver_lanes (shard, digest, destination, lane, head, parked_at) \
             SELECT shard, UNHEX(SHA2(CONCAT(destination, CHAR(0), lane), 256)), destination, lane, number, UTC_TIMESTAMP(3) FROM redeliver_outbox",
        )
        .await
        .unwrap();
    let due = loop {
        let found = read(&mut reader).await;
        assert!(found.fresh.is_empty());
        if let Some(due) = found.due.into_iter().next() {
            break due;
        }
    };
    assert_eq!(
        (due.number(), due.attempts, due.last_wait_ms),
        (message.number(), 1, 1)
    );
    assert_eq!(due.last_error.as_deref(), Some("it said \"no\"🦀"));
    let delivered = Attempted {
        resumes_lane: true,
        ..attempted(2)
    };
    database
        .store
        .settle(
            &worker,
            &[settlement(&claimed, &due, Verdict::Delivered(delivered))],
        )
        .await
        .unwrap();
    assert_eq!(count(&mut client, "redeliver_lanes").await, 0);
    assert_eq!(
        count(&mut client, "redeliver_attempts").await,
        1,
        "the failed attempt stays on record"
    );
}

#[tokio::test]
async fn a_stale_shard_is_named_and_the_rest_is_written() {
    let database = Database::with_shards(SERVER, 4).await;
    let mut client = database.client().await;
    for number in 0..40 {
        insert(&mut client, None, &number.to_string()).await;
    }
    let (worker, claimed, mut reader) = database.owner("old").await;
    let messages = read_until(&mut reader, 40).await;
    let lost = messages[0].shard;
    database
        .store
        .release(&worker, &[super::support::lease_of(&claimed, lost)], false)
        .await
        .unwrap();
    let heir = WorkerId("heir".to_owned());
    database.beat(&heir, Duration::from_secs(60)).await;
    assert_eq!(database.store.claim(&heir, 9, 1).await.unwrap().len(), 1);
    let batch: Vec<Settlement> = messages
        .iter()
        .map(|message| settlement(&claimed, message, Verdict::Delivered(attempted(1))))
        .collect();
    let settled = database.store.settle(&worker, &batch).await.unwrap();
    assert_eq!(settled.stale, [lost]);
    let kept = messages.iter().filter(|message| message.shard == lost).count() as u64;
    assert_eq!(count(&mut client, "redeliver_outbox").await, kept);
    assert_eq!(count(&mut client, "redeliver_sent").await, 40 - kept);
}

#[tokio::test]
async fn a_takeover_in_progress_is_waited_for_and_then_fences() {
    let database = Database::with_shards(SERVER, 1).await;
    let mut client = database.client().await;
    insert(&mut client, None, "x").await;
    let (worker, claimed, mut reader) = database.owner("old").await;
    let message = read_until(&mut reader, 1).await.remove(0);
    let mut thief = database.client().await;
    thief.query_drop("BEGIN").await.unwrap();
    thief
        .query_drop("UPDATE redeliver_shards SET owner = 'heir', epoch = epoch + 1")
        .await
        .unwrap();
    let store = database.store.clone();
    let batch = [settlement(&claimed, &message, Verdict::Delivered(attempted(1)))];
    let settling = tokio::spawn(async move { store.settle(&worker, &batch).await.unwrap() });
    while !settling.is_finished() && !waits_for_a_lock(&mut client).await {
        redeliver::clock::sleep(Duration::from_millis(5)).await;
    }
    assert!(!settling.is_finished(), "it waits for the takeover to end");
    thief.query_drop("COMMIT").await.unwrap();
    assert_eq!(settling.await.unwrap().stale, [0]);
    assert_eq!(count(&mut client, "redeliver_outbox").await, 1);
}

#[tokio::test]
async fn a_settle_in_progress_keeps_its_shard_from_being_taken() {
    let database = Database::with_shards(SERVER, 2).await;
    let (worker, claimed, _) = database.owner("old").await;
    let mut settling = database.client().await;
    settling.query_drop("BEGIN").await.unwrap();
    let _: Vec<i64> = settling
        .query("SELECT epoch FROM redeliver_shards WHERE shard IN (0, 0) AND owner = 'old' ORDER BY shard LOCK IN SHARE MODE")
        .await
        .unwrap();
    database.store.leave(&worker).await.unwrap();
    let heir = WorkerId("heir".to_owned());
    database.beat(&heir, Duration::from_secs(60)).await;
    let taken = database.store.claim(&heir, 9, 1).await.unwrap();
    assert_eq!(
        taken
            .iter()
            .map(|claimed| claimed.lease.shard)
            .collect::<Vec<_>>(),
        [1]
    );
    settling.query_drop("COMMIT").await.unwrap();
    let taken = database.store.claim(&heir, 9, 1).await.unwrap();
    assert_eq!(taken[0].lease.epoch, claimed[0].lease.epoch + 1);
}

#[tokio::test]
async fn a_lock_that_stays_is_busy_and_nothing_is_half_written() {
    let database = Database::with_shards(SERVER, 1).await;
    let mut client = database.client().await;
    insert(&mut client, None, "x").await;
    let (worker, claimed, mut reader) = database.owner("w").await;
    let message = read_until(&mut reader, 1).await.remove(0);
    let mut holder = database.client().await;
    holder.query_drop("BEGIN").await.unwrap();
    holder
        .query_drop("UPDATE redeliver_outbox SET last_error = 'held'")
        .await
        .unwrap();
    let batch = [settlement(&claimed, &message, Verdict::Delivered(attempted(1)))];
    let error = database.store.settle(&worker, &batch).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Busy);
    holder.query_drop("ROLLBACK").await.unwrap();
    assert_eq!(count(&mut client, "redeliver_sent").await, 0);
    database.store.settle(&worker, &batch).await.unwrap();
    assert_eq!(count(&mut client, "redeliver_sent").await, 1);
}

#[tokio::test]
async fn payloads_come_back_as_they_were() {
    let database = Database::with_shards(SERVER, 1).await;
    let mut client = database.client().await;
    let binary: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let large = "🦀é\"\\'\r\n\t ".repeat(80_000);
    let payloads = [
        Payload::from(""),
        Payload::from(" trailing blanks  "),
        Payload::from(large.as_str()),
        Payload::from("a\0b"),
        Payload::from(binary),
    ];
    for payload in &payloads {
        let sql = "INSERT INTO redeliver_outbox (destination, payload, payload_binary) VALUES ('d', ?, ?)";
        client.exec_drop(sql, payload.columns()).await.unwrap();
    }
    let (worker, claimed, mut reader) = database.owner("w").await;
    let messages = read_until(&mut reader, payloads.len()).await;
    for (message, payload) in messages.iter().zip(&payloads) {
        assert!(message.payload.as_bytes() == payload.as_bytes(), "{payload:?}");
    }
    let batch: Vec<Settlement> = messages
        .iter()
        .map(|message| settlement(&claimed, message, Verdict::Delivered(attempted(1))))
        .collect();
    database.store.settle(&worker, &batch).await.unwrap();
    let kept: Vec<(Option<String>, Option<Vec<u8>>)> = client
        .query("SELECT payload, payload_binary FROM redeliver_sent ORDER BY number")
        .await
        .unwrap();
    for ((text, bytes), payload) in kept.into_iter().zip(&payloads) {
        assert!(Payload::from_columns(text, bytes).as_bytes() == payload.as_bytes());
    }
    let both = client
        .query_drop("INSERT INTO redeliver_outbox (destination) VALUES ('d')")
        .await;
    assert!(both.is_err(), "a message without a payload is refused");
}

/// Whether a session of this database is in the statement that fences, which takes no time unless it waits.
async fn waits_for_a_lock(client: &mut mysql_async::Conn) -> bool {
    let waiting = "SELECT COUNT(*) FROM information_schema.processlist \
                   WHERE db = DATABASE() AND command <> 'Sleep' AND info LIKE 'SELECT shard, epoch%'";
    client.query_first::<u64, _>(waiting).await.unwrap() != Some(0)
}

/// The trap: of a table that was empty a moment ago the server thinks that it is quicker to go through it than to find rows by their
/// numbers, and on its way it waits for every row that somebody has not yet committed.
#[tokio::test]
async fn a_settle_does_not_wait_for_an_open_writer() {
    let database = Database::with_shards(SERVER, 2).await;
    let (mut held, mut client) = (database.client().await, database.client().await);
    let (worker, claimed, mut reader) = database.owner("w").await;
    for rows in [2_u64, 20, 150, 400, 1000] {
        held.query_drop("BEGIN").await.unwrap();
        insert(&mut held, None, "open").await;
        let values = vec!["('billing', 'x')"; usize::try_from(rows).unwrap()].join(", ");
        let sql = format!("INSERT INTO redeliver_outbox (destination, payload) VALUES {values}");
        client.query_drop(sql).await.unwrap();
        insert(&mut held, None, "open").await;
        let messages = read_until(&mut reader, usize::try_from(rows).unwrap()).await;
        let first = |message: &_| settlement(&claimed, message, Verdict::Counted { attempt: 1 });
        let then = |message: &_| settlement(&claimed, message, Verdict::Postponed(Until::After(WAIT)));
        let again = |message: &_| {
            let (attempted, wait) = (attempted(1), WAIT);
            settlement(&claimed, message, Verdict::Retry { attempted, wait })
        };
        let last = |message: &_| settlement(&claimed, message, Verdict::Delivered(attempted(1)));
        let batches: [Vec<Settlement>; 4] = [
            messages.iter().map(first).collect(),
            messages.iter().map(then).collect(),
            messages.iter().map(again).collect(),
            messages.iter().map(last).collect(),
        ];
        for (turn, batch) in batches.iter().enumerate() {
            let settled = database.store.settle(&worker, batch).await;
            assert_eq!(settled.unwrap(), Settled::default(), "{rows} rows, batch {turn}");
        }
        held.query_drop("ROLLBACK").await.unwrap();
    }
    assert_eq!(count(&mut client, "redeliver_outbox").await, 0);
}
