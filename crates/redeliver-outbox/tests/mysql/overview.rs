use std::time::Duration;

use mysql_async::prelude::Queryable;
use redeliver_outbox::{
    DeadReason, NewMessage,
    desk::{DeadLetter, Desk, Filter, Grade, MessageRef, Page, Retention},
    state::Status,
};

use super::{SERVER, support::{Database, act, count, insert, only, page, read, with_a_parked_lane}};

#[tokio::test]
async fn filters_pages_and_counts_agree() {
    let (database, dead, _) = with_a_parked_lane(SERVER).await;
    let store = &database.store;
    let mut client = database.client().await;
    for number in 0..20 {
        insert(&mut client, None, &number.to_string()).await;
    }
    let all = store.list(&Filter::default(), page(100), false).await.unwrap();
    assert_eq!(all.len(), 22);
    assert!(all.is_sorted_by_key(|record| record.id.number()));
    let mut paged = Vec::new();
    let mut next = Page {
        until: None,
        after: None,
        limit: 5,
        newest_first: true,
    };
    loop {
        let some = store.list(&Filter::default(), next, false).await.unwrap();
        let Some(last) = some.last() else { break };
        next.after = Some(last.id.number());
        paged.extend(some);
    }
    paged.reverse();
    assert_eq!(paged, all);
    for (filter, matches) in [
        (Filter::default(), 22),
        (
            Filter {
                error: Some("422 to order".to_owned()),
                ..Filter::default()
            },
            1,
        ),
        (
            Filter {
                error: Some("%".to_owned()),
                ..Filter::default()
            },
            0,
        ),
        (
            Filter {
                key: Some("order-7".to_owned()),
                ..Filter::default()
            },
            2,
        ),
        (
            Filter {
                statuses: vec![Status::Parked, Status::DeadLettered],
                ..Filter::default()
            },
            2,
        ),
        (
            Filter {
                reason: Some(DeadReason::Permanent),
                ..Filter::default()
            },
            1,
        ),
        (
            Filter {
                attempts_from: Some(1),
                ..Filter::default()
            },
            1,
        ),
        (
            Filter {
                created_before: Some(all[0].created_at),
                ..Filter::default()
            },
            0,
        ),
        (
            Filter {
                created_from: Some(all[0].created_at),
                ..Filter::default()
            },
            22,
        ),
        (only(dead), 1),
    ] {
        assert_eq!(store.count(&filter).await.unwrap(), matches, "{filter:?}");
        assert_eq!(
            store.list(&filter, page(100), false).await.unwrap().len() as u64,
            matches
        );
    }
    let status = store.status().await.unwrap();
    assert_eq!(
        (status.total.due_now, status.total.parked, status.total.dead),
        (20, 1, 1)
    );
    assert_eq!(
        (status.shards, status.shards_without_owner, status.workers.len()),
        (2, 0, 1)
    );
    assert_eq!(status.attempts.get(&0), Some(&21));
    assert!(status.total.oldest_lag.is_some());
}

#[tokio::test]
async fn imported_letters_get_numbers_of_their_own() {
    let database = Database::with_shards(SERVER, 2).await;
    let letter = DeadLetter {
        message: NewMessage::to("billing").key("k").payload("x"),
        reason: DeadReason::Expired,
        error: "too late".to_owned(),
        attempts: 3,
    };
    let imported = database
        .store
        .import(&[letter.clone(), letter], &act())
        .await
        .unwrap();
    assert_eq!(imported.len(), 2);
    let mut client = database.client().await;
    let next = insert(&mut client, None, "live").await;
    assert!(imported.iter().all(|id| id.number() < next));
    let found = database
        .store
        .find(MessageRef::Id(imported[1]))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (found.record.status, found.record.attempts),
        (Status::DeadLettered, 3)
    );
    assert_eq!(found.audit[0].action, "import");
    assert_eq!(count(&mut client, "redeliver_outbox").await, 1);
}

#[tokio::test]
async fn retention_forgets_in_bounded_steps_and_never_an_open_dead_letter() {
    let (database, dead, _) = with_a_parked_lane(SERVER).await;
    let mut client = database.client().await;
    client
        .query_drop(
            "INSERT INTO redeliver_sent (number, salt, shard, destination, payload, created_at, attempts, redrives, sent_at, took_ms) \
             SELECT 1000 + n, 1, 0, 'd', '', '2020-01-01', 1, 0, '2020-01-01', 1 FROM ( \
                 SELECT ROW_NUMBER() OVER () AS n FROM information_schema.collations a, information_schema.collations b LIMIT 1500 \
             ) AS numbers",
        )
        .await
        .unwrap();
    client
        .query_drop("UPDATE redeliver_dead SET dead_lettered_at = '2020-01-01'")
        .await
        .unwrap();
    let day = Some(Duration::from_secs(24 * 3600));
    let retention = Retention {
        sent: day,
        discarded: day,
        inbox: day,
        audit: day,
    };
    let first = database.store.retain(&retention).await.unwrap();
    assert_eq!((first.rows, first.more), (1000, true));
    let second = database.store.retain(&retention).await.unwrap();
    assert_eq!((second.rows, second.more), (500, false));
    assert_eq!(count(&mut client, "redeliver_dead").await, 1);
    database.store.discard(&only(dead), 1, &act()).await.unwrap();
    client
        .query_drop("UPDATE redeliver_dead SET discarded_at = '2020-01-01'")
        .await
        .unwrap();
    assert_eq!(database.store.retain(&retention).await.unwrap().rows, 1);
    assert_eq!(count(&mut client, "redeliver_attempts").await, 0);
}

#[tokio::test]
async fn health_is_told_in_sentences() {
    let database = Database::with_shards(SERVER, 2).await;
    // No relay runs: nothing is wrong with free shards yet.
    let found = database.store.examine().await.unwrap();
    let topic = |topic: &str| found.iter().find(|finding| finding.topic == topic).unwrap();
    assert_eq!(topic("shards").grade, Grade::Advice);
    assert_eq!(topic("privileges").grade, Grade::Good);
    assert_eq!(topic("clock").grade, Grade::Good);
    assert!(topic("version").what.contains("the server is"));
    for finding in &found {
        assert_eq!(
            finding.next.is_empty(),
            finding.grade == Grade::Good,
            "{finding:?}"
        );
    }
}

#[tokio::test]
async fn a_number_that_no_id_has_room_for_is_told_and_not_sent() {
    let database = Database::with_shards(SERVER, 2).await;
    let mut client = database.client().await;
    let (_, _, mut reader) = database.owner("w").await;
    let good = insert(&mut client, None, "good").await;
    client
        .query_drop(
            "INSERT INTO redeliver_outbox (number, destination, payload, next_attempt_at)
             VALUES (2000000000000000000, 'd', 'x', NULL), (2000000000000000001, 'd', 'x', '2020-01-01')",
        )
        .await
        .unwrap();
    let read = read(&mut reader).await;
    let numbers: Vec<i64> = read
        .fresh
        .iter()
        .chain(&read.due)
        .map(|message| message.number())
        .collect();
    assert_eq!(numbers, [good]);
    let findings = database.store.examine().await.unwrap();
    let told = findings
        .iter()
        .find(|finding| finding.topic == "numbers")
        .unwrap();
    assert!(told.what.starts_with("2 messages"), "{told:?}");
}
