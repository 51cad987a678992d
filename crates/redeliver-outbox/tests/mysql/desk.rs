use std::time::Duration;

use mysql_async::prelude::Queryable;
use redeliver_outbox::{
    DeadReason, MessageId, NewMessage, Payload, Timestamp,
    desk::{Act, DeadLetter, Desk, Edit, Enqueued, Filter, Grade, MessageRef, Page, Retention},
    state::Status,
    store::{AfterDeath, Store, StoreErrorKind, Verdict},
};

use crate::support::{Database, attempted, count, insert, read, read_until, settlement};

fn act() -> Act {
    Act {
        who: "ann".to_owned(),
        why: "it was wrong".to_owned(),
    }
}

fn page(limit: usize) -> Page {
    Page {
        after: None,
        limit,
        newest_first: false,
    }
}

fn only(id: MessageId) -> Filter {
    Filter {
        messages: vec![MessageRef::Id(id)],
        ..Filter::default()
    }
}

/// A database with one dead letter, parked at the head of its lane, and one message behind it.
async fn with_a_parked_lane() -> (Database, MessageId, MessageId) {
    let database = Database::with_shards(2).await;
    let messages =
        ["first", "second"].map(|payload| NewMessage::to("billing").key("order-7").payload(payload));
    database.store.enqueue(&messages).await.unwrap();
    let (worker, claimed, mut reader) = database.owner("w").await;
    let read = read_until(&mut reader, 2).await;
    let verdict = Verdict::Dead {
        attempted: Some(attempted(1)),
        reason: DeadReason::Permanent,
        error: "Answered 422 to ORDER".to_owned(),
        lane: AfterDeath::Park,
    };
    database
        .store
        .settle(&worker, &[settlement(&claimed, &read[0], verdict)])
        .await
        .unwrap();
    (database, read[0].id, read[1].id)
}

#[tokio::test]
async fn what_is_enqueued_is_read_as_it_was_given() {
    let database = Database::with_shards(4).await;
    let message = NewMessage::to("billing")
        .key("order-7")
        .payload("{}")
        .content_type("text/plain")
        .header("x-tenant", "acme")
        .traceparent("00-1-2-01")
        .delay(Duration::from_secs(60))
        .expires_at(Timestamp::from_millis(4_102_444_800_123));
    let enqueued = database
        .store
        .enqueue(std::slice::from_ref(&message))
        .await
        .unwrap();
    let Enqueued::New(id) = enqueued[0] else {
        unreachable!("nothing was there before");
    };
    let (_, _, mut reader) = database.owner("w").await;
    let found = read_until(&mut reader, 1).await.remove(0);
    assert_eq!(found.id, id);
    assert_eq!(found.key.as_deref(), Some("order-7"));
    assert_eq!(found.headers.as_deref(), Some(r#"{"x-tenant":"acme"}"#));
    assert_eq!(found.content_type.as_deref(), Some("text/plain"));
    assert_eq!(found.expires_at, Some(Timestamp::from_millis(4_102_444_800_123)));
    assert_eq!(
        found.not_before,
        Some(found.created_at.plus(Duration::from_secs(60)))
    );
    let listed = database.store.list(&only(id), page(9), true).await.unwrap();
    assert_eq!(
        (listed.len(), listed[0].id, listed[0].status),
        (1, id, Status::Pending)
    );
    assert_eq!(listed[0].next_attempt_at, found.not_before);
    assert_eq!(listed[0].payload, Some(Payload::from("{}")));
}

#[tokio::test]
async fn a_deduplication_key_is_taken_once_by_whoever_comes_first() {
    let database = Database::with_shards(2).await;
    let message = NewMessage::to("d").deduplication_key("k");
    let mut running = Vec::new();
    for _ in 0..6 {
        let (store, message) = (database.store.clone(), message.clone());
        running.push(tokio::spawn(async move {
            store.enqueue(&[message]).await.unwrap()[0]
        }));
    }
    let (mut new, mut ids) = (0, Vec::new());
    for run in running {
        match run.await.unwrap() {
            Enqueued::New(id) => {
                new += 1;
                ids.push(id);
            }
            Enqueued::Duplicate(id) => ids.push(id),
        }
    }
    ids.dedup();
    assert_eq!((new, ids.len()), (1, 1));
    let other = database
        .store
        .enqueue(&[NewMessage::to("d").deduplication_key("k ")])
        .await
        .unwrap();
    assert!(matches!(other[0], Enqueued::New(_)), "a blank makes another key");
    let twice = [message.clone(), NewMessage::to("")];
    let error = database.store.enqueue(&twice).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::BadInput);
    let mut client = database.client().await;
    assert_eq!(count(&mut client, "redeliver_outbox").await, 2);
}

#[tokio::test]
async fn a_dead_letter_is_found_mended_and_put_back_as_the_same_message() {
    let (database, dead, behind) = with_a_parked_lane().await;
    let store = &database.store;
    let detail = store
        .find(MessageRef::Number(dead.number()))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(detail.record.status, Status::DeadLettered);
    assert_eq!(detail.record.dead_letter_reason, Some(DeadReason::Permanent));
    assert_eq!(
        (detail.attempts.len(), detail.attempts[0].took),
        (1, Some(Duration::from_millis(7)))
    );
    let waiting = store.find(MessageRef::Id(behind)).await.unwrap().unwrap();
    assert_eq!(
        (waiting.record.status, waiting.parked_behind),
        (Status::Parked, Some(dead))
    );
    assert_eq!(store.parked_lanes().await.unwrap()[0].1, dead);

    for payload in ["mended", "mended twice"] {
        let edit = Edit {
            payload: Some(Payload::from(payload)),
            ..Edit::default()
        };
        store.edit(MessageRef::Id(dead), &edit, &act()).await.unwrap();
    }
    let detail = store.find(MessageRef::Id(dead)).await.unwrap().unwrap();
    assert_eq!(detail.original_payload, Some(Payload::from("first")));
    assert_eq!(detail.record.payload, Some(Payload::from("mended twice")));

    let other = MessageId::new(dead.number(), dead.salt() ^ 1);
    assert!(
        store.redrive(&only(other), 9, &act()).await.unwrap().is_empty(),
        "the whole id has to fit"
    );
    assert_eq!(store.redrive(&only(dead), 9, &act()).await.unwrap(), [dead]);
    assert!(store.redrive(&only(dead), 9, &act()).await.unwrap().is_empty());
    let detail = store.find(MessageRef::Id(dead)).await.unwrap().unwrap();
    assert_eq!((detail.record.attempts, detail.record.redrives), (0, 1));
    assert_eq!(
        detail.original_payload,
        Some(Payload::from("first")),
        "kept through a redrive"
    );
    assert_eq!(
        detail
            .audit
            .iter()
            .map(|record| record.action.as_str())
            .collect::<Vec<_>>(),
        ["edit", "edit", "redrive"]
    );
    assert_eq!(store.audit(1).await.unwrap()[0].action, "redrive");
    let waiting = store.find(MessageRef::Id(behind)).await.unwrap().unwrap();
    assert_eq!(
        (waiting.parked_behind, waiting.waits_behind),
        (Some(dead), Some(dead))
    );

    let nothing = Edit::default();
    let error = store
        .edit(MessageRef::Id(dead), &nothing, &act())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::BadInput);
    let edit = Edit {
        content_type: Some("a/b".to_owned()),
        ..Edit::default()
    };
    let error = store.edit(MessageRef::Id(dead), &edit, &act()).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotFound, "it is live by now");
}

#[tokio::test]
async fn a_discarded_head_lets_its_lane_go_on() {
    let (database, dead, behind) = with_a_parked_lane().await;
    let store = &database.store;
    let (_, claimed, _) = database.owner("other").await;
    assert!(claimed.is_empty());
    let mut reader = store.reader();
    for lease in database
        .beat(
            &redeliver_outbox::store::WorkerId("w".to_owned()),
            Duration::from_secs(60),
        )
        .await
        .owned
    {
        reader.own(lease);
    }
    assert!(read(&mut reader).await.resumed.is_empty());
    assert_eq!(store.discard(&only(dead), 9, &act()).await.unwrap(), [dead]);
    let found = read(&mut reader).await;
    assert_eq!(
        (found.resumed.len(), found.resumed[0].1.key.as_str()),
        (1, "order-7")
    );
    assert!(read(&mut reader).await.resumed.is_empty(), "told once");
    assert!(store.redrive(&only(dead), 9, &act()).await.unwrap().is_empty());
    let statuses: Vec<Status> = store
        .list(&Filter::default(), page(9), false)
        .await
        .unwrap()
        .iter()
        .map(|record| record.status)
        .collect();
    assert_eq!(statuses, [Status::Discarded, Status::Processing]);
    assert_eq!(
        store
            .find(MessageRef::Id(behind))
            .await
            .unwrap()
            .unwrap()
            .parked_behind,
        None
    );
    assert!(store.parked_lanes().await.unwrap().is_empty());
}

#[tokio::test]
async fn filters_pages_and_counts_agree() {
    let (database, dead, _) = with_a_parked_lane().await;
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
    let database = Database::with_shards(2).await;
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
    let (database, dead, _) = with_a_parked_lane().await;
    let mut client = database.client().await;
    client
        .query_drop(
            "INSERT INTO redeliver_sent (number, salt, shard, destination, payload, created_at, attempts, redrives, sent_at, took_ms) \
             SELECT 1000 + seq, 1, 0, 'd', '', '2020-01-01', 1, 0, '2020-01-01', 1 FROM seq_1_to_1500",
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
    let database = Database::with_shards(2).await;
    let found = database.store.examine().await.unwrap();
    let topic = |topic: &str| found.iter().find(|finding| finding.topic == topic).unwrap();
    assert_eq!(topic("shards").grade, Grade::Problem);
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
