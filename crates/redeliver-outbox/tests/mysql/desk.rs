use std::time::Duration;

use redeliver_outbox::{
    DeadReason, MessageId, NewMessage, Payload, Timestamp,
    desk::{Desk, Edit, Enqueued, Filter, MessageRef},
    state::Status,
    store::{Store, StoreErrorKind},
};

use super::{SERVER, support::{Database, act, count, only, page, read, read_until, with_a_parked_lane}};

#[tokio::test]
async fn what_is_enqueued_is_read_as_it_was_given() {
    let database = Database::with_shards(SERVER, 4).await;
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
    let database = Database::with_shards(SERVER, 2).await;
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
            Enqueued::Duplicate(id) => ids.extend(id),
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
    let (database, dead, behind) = with_a_parked_lane(SERVER).await;
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
    let (database, dead, behind) = with_a_parked_lane(SERVER).await;
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
        (found.resumed.len(), found.resumed[0].1.lane.key.as_str()),
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
