use std::time::Duration;

use redeliver_outbox::{
    DeadReason, MessageId, NewMessage, Payload,
    desk::{Act, DeadLetter, Desk as _, Edit, Enqueued, Filter, Grade, MessageRef, Page, Retention},
    state::Status,
    store::{AfterDeath, Lease, PostgresStore, Settlement, Store as _, StoreErrorKind, Verdict},
};

use crate::database::{Database, attempted, delivered, numbers, owner, owning_reader, read, scalar, worker};

const PAGE: Page = Page {
    until: None,
    after: None,
    limit: 100,
    newest_first: false,
};

fn act() -> Act {
    Act {
        who: "ada".to_owned(),
        why: "it's fixed".to_owned(),
    }
}

fn named(id: MessageId) -> Filter {
    Filter {
        messages: vec![MessageRef::Id(id)],
        ..Filter::default()
    }
}

async fn enqueue(store: &PostgresStore, message: NewMessage) -> MessageId {
    match store.enqueue(&[message]).await.unwrap()[0] {
        Enqueued::New(id) => id,
        Enqueued::Duplicate(id) => panic!("{id:?} is a duplicate"),
    }
}

async fn bury(store: &PostgresStore, lease: Lease, id: MessageId, lane: AfterDeath) {
    let verdict = Verdict::Dead {
        attempted: Some(attempted(1, "HTTP 400: No Such Account")),
        reason: DeadReason::Permanent,
        error: "HTTP 400: No Such Account".to_owned(),
        lane,
    };
    let settled = store
        .settle(
            &worker("w"),
            &[Settlement {
                lease,
                id,
                redrives: 0,
                verdict,
            }],
        )
        .await
        .unwrap();
    assert!(settled.stale.is_empty());
}

#[tokio::test]
async fn what_is_enqueued_is_delivered_as_it_was_given() {
    let (_database, store) = Database::migrated(1).await;
    let messages = [
        NewMessage::to("a")
            .key("k")
            .payload("{\"é\":\"🦀\"}")
            .header("x", "y\"")
            .content_type("text/plain"),
        NewMessage::to("b").payload(vec![0_u8, 255, 1]),
        NewMessage::to("c")
            .payload("a\0b")
            .delay(Duration::from_secs(60))
            .traceparent("00-1-2-01"),
    ];
    let enqueued = store.enqueue(&messages).await.unwrap();
    let (mut reader, _) = owning_reader(&store).await;
    let found = read(&mut reader).await.fresh;
    let ids: Vec<Enqueued> = found.iter().map(|message| Enqueued::New(message.id)).collect();
    assert_eq!(ids, enqueued);
    assert_eq!(found[0].payload, Payload::from("{\"é\":\"🦀\"}"));
    assert_eq!(found[0].headers.as_deref(), Some("{\"x\":\"y\\\"\"}"));
    assert_eq!(found[0].key.as_deref(), Some("k"));
    assert_eq!(found[1].payload.as_bytes(), [0, 255, 1]);
    assert_eq!(found[2].payload.as_bytes(), b"a\0b");
    let wait = found[2].not_before.unwrap().since(found[2].created_at);
    assert!(
        wait.abs_diff(Duration::from_secs(60)) <= Duration::from_millis(1),
        "{wait:?}"
    );

    let wrong = [NewMessage::to("a"), NewMessage::to("")];
    let error = store.enqueue(&wrong).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::BadInput);
    assert!(error.to_string().contains("number 2 of 2"), "{error}");
    assert_eq!(store.count(&Filter::default()).await.unwrap(), 3, "all or none");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_with_the_same_key_is_inserted() {
    let (database, store) = Database::migrated(4).await;
    let message = NewMessage::to("d").deduplication_key("once");
    let batch = [message.clone(), NewMessage::to("d"), message.clone()];
    let both = futures_util::future::join_all((0..6).map(|_| store.enqueue(&batch))).await;
    let mut new = Vec::new();
    let mut all = Vec::new();
    for enqueued in both {
        for (at, enqueued) in enqueued
            .unwrap()
            .into_iter()
            .enumerate()
            .filter(|(at, _)| *at != 1)
        {
            let id = enqueued.id().unwrap();
            all.push(id);
            if enqueued == Enqueued::New(id) {
                new.push((at, id));
            }
        }
    }
    assert_eq!(new.len(), 1, "{new:?}");
    assert!(all.iter().all(|id| *id == new[0].1), "{all:?}");
    let client = database.client().await;
    assert_eq!(
        scalar(&client, "SELECT count(*) FROM redeliver_outbox").await,
        "7"
    );
}

#[tokio::test]
async fn a_dead_letter_is_found_mended_put_back_and_delivered() {
    let (_database, store) = Database::migrated(1).await;
    let id = enqueue(&store, NewMessage::to("d").payload("{\"broken\":1}")).await;
    let lease = owner(&store, "w").await[0].lease;
    bury(&store, lease, id, AfterDeath::None).await;

    let filter = Filter {
        error: Some("no such ACCOUNT".to_owned()),
        reason: Some(DeadReason::Permanent),
        statuses: vec![Status::DeadLettered],
        ..Filter::default()
    };
    assert_eq!(store.count(&filter).await.unwrap(), 1);
    let found = store.find(MessageRef::Id(id)).await.unwrap().unwrap();
    assert_eq!(
        (found.record.status, found.record.attempts),
        (Status::DeadLettered, 1)
    );
    assert_eq!(found.attempts.len(), 1);
    assert!(
        store
            .find(MessageRef::Id(MessageId::new(id.number(), id.salt() ^ 1)))
            .await
            .unwrap()
            .is_none()
    );

    let edit = |payload: &str| Edit {
        payload: Some(Payload::from(payload)),
        ..Edit::default()
    };
    store
        .edit(MessageRef::Id(id), &edit("{\"mended\":1}"), &act())
        .await
        .unwrap();
    store
        .edit(MessageRef::Number(id.number()), &edit("{\"mended\":2}"), &act())
        .await
        .unwrap();
    let found = store.find(MessageRef::Id(id)).await.unwrap().unwrap();
    assert_eq!(found.original_payload, Some(Payload::from("{\"broken\":1}")));
    assert_eq!(found.record.payload, Some(Payload::from("{\"mended\":2}")));

    assert!(store.redrive(&filter, 0, &act()).await.unwrap().is_empty());
    assert_eq!(store.redrive(&filter, 5, &act()).await.unwrap(), [id]);
    assert!(store.redrive(&filter, 5, &act()).await.unwrap().is_empty());
    let found = store.find(MessageRef::Id(id)).await.unwrap().unwrap();
    assert_eq!(
        (found.record.id, found.record.attempts, found.record.redrives),
        (id, 0, 1)
    );
    assert_eq!(
        found.original_payload,
        Some(Payload::from("{\"broken\":1}")),
        "kept through the redrive"
    );
    assert_eq!(found.record.status, Status::Processing);
    assert_eq!(found.record.locked_by.as_deref(), Some("w"));
    let acts: Vec<&str> = found.audit.iter().map(|record| record.action.as_str()).collect();
    assert_eq!(acts, ["edit", "edit", "redrive"]);

    let mut reader = store.reader();
    reader.own(lease);
    let read = read(&mut reader).await;
    assert_eq!((numbers(&read.due), read.fresh.len()), (vec![id.number()], 0));
    assert_eq!(read.due[0].payload, Payload::from("{\"mended\":2}"));
    store
        .settle(
            &worker("w"),
            &[Settlement {
                redrives: 1,
                ..delivered(lease, id)
            }],
        )
        .await
        .unwrap();
    let found = store.find(MessageRef::Id(id)).await.unwrap().unwrap();
    assert_eq!((found.record.status, found.record.redrives), (Status::Sent, 1));
    let error = store
        .edit(MessageRef::Id(id), &edit("{}"), &act())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotFound, "{error}");
}

#[tokio::test]
async fn discarding_the_head_of_a_parked_lane_lets_it_go_on() {
    let (_database, store) = Database::migrated(1).await;
    let head = enqueue(&store, NewMessage::to("d").key("k")).await;
    let behind = enqueue(&store, NewMessage::to("d").key("k")).await;
    let lease = owner(&store, "w").await[0].lease;
    let mut reader = store.reader();
    reader.own(lease);
    read(&mut reader).await;
    bury(&store, lease, head, AfterDeath::Park).await;
    let parked = store.parked_lanes().await.unwrap();
    assert_eq!((parked[0].0.key.as_str(), parked[0].1), ("k", head));
    let found = store.find(MessageRef::Id(behind)).await.unwrap().unwrap();
    assert_eq!(
        (found.record.status, found.parked_behind),
        (Status::Parked, Some(head))
    );
    assert_eq!(store.status().await.unwrap().total.parked, 1);

    assert_eq!(store.discard(&named(head), 9, &act()).await.unwrap(), [head]);
    assert!(store.discard(&named(head), 9, &act()).await.unwrap().is_empty());
    assert!(store.redrive(&named(head), 9, &act()).await.unwrap().is_empty());
    assert_eq!(read(&mut reader).await.resumed[0].1.lane.key, "k");
    assert!(store.parked_lanes().await.unwrap().is_empty());
    let found = store.find(MessageRef::Id(head)).await.unwrap().unwrap();
    assert_eq!(found.record.status, Status::Discarded);
}

#[tokio::test]
async fn the_figures_and_pages_agree_with_what_is_there() {
    let (database, store) = Database::migrated(2).await;
    for turn in 0..5 {
        enqueue(&store, NewMessage::to("a").payload(format!("{turn}"))).await;
    }
    enqueue(&store, NewMessage::to("b").delay(Duration::from_secs(3600))).await;
    let status = store.status().await.unwrap();
    assert_eq!((status.shards, status.shards_without_owner), (2, 2));
    assert_eq!((status.total.due_now, status.total.waiting), (5, 1));
    assert_eq!(status.destinations["a"].due_now, 5);
    assert!(status.total.oldest_lag.is_some());
    assert_eq!(status.attempts[&0], 6);
    assert_eq!(
        store.list(&Filter::default(), PAGE, false).await.unwrap()[0].status,
        Status::Pending
    );

    let claimed = owner(&store, "w").await;
    let mut reader = store.reader();
    claimed.iter().for_each(|claimed| reader.own(claimed.lease));
    for message in read(&mut reader)
        .await
        .fresh
        .iter()
        .filter(|message| message.destination == "a")
        .take(2)
    {
        let lease = claimed[usize::from(message.shard)].lease;
        store
            .settle(&worker("w"), &[delivered(lease, message.id)])
            .await
            .unwrap();
    }
    let status = store.status().await.unwrap();
    assert_eq!(
        (
            status.total.sent,
            status.total.due_now,
            status.shards_without_owner
        ),
        (2, 3, 0)
    );
    assert_eq!(
        (
            status.workers.len(),
            status.workers[0].shards,
            status.workers[0].alive
        ),
        (1, 2, true)
    );

    let mut seen = Vec::new();
    let mut page = Page {
        until: None,
        after: None,
        limit: 2,
        newest_first: true,
    };
    loop {
        let records = store.list(&Filter::default(), page, true).await.unwrap();
        assert!(records.iter().all(|record| record.payload.is_some()));
        let Some(last) = records.last() else { break };
        page.after = Some(last.id.number());
        seen.extend(records.iter().map(|record| record.id.number()));
    }
    assert_eq!(seen, [6, 5, 4, 3, 2, 1]);
    let client = database.client().await;
    client
        .batch_execute("UPDATE redeliver_outbox SET expires_at = 'infinity', not_before = '-infinity'")
        .await
        .unwrap();
    assert_eq!(
        store.list(&Filter::default(), PAGE, false).await.unwrap().len(),
        6
    );
}

#[tokio::test]
async fn imported_letters_get_numbers_of_their_own_and_can_be_put_back() {
    let (database, store) = Database::migrated(8).await;
    let first = enqueue(&store, NewMessage::to("d").key("k")).await;
    let letter = DeadLetter {
        message: NewMessage::to("d").key("k").payload("{}"),
        reason: DeadReason::AttemptsExhausted,
        error: "time\0out".to_owned(),
        attempts: 7,
    };
    let imported = store.import(&[letter.clone(), letter], &act()).await.unwrap();
    assert_eq!(imported.len(), 2);
    assert!(imported.iter().all(|id| id.number() > first.number()));
    let found = store.find(MessageRef::Id(imported[0])).await.unwrap().unwrap();
    assert_eq!(
        (found.record.attempts, found.record.dead_letter_reason),
        (7, Some(DeadReason::AttemptsExhausted))
    );
    assert_eq!(found.audit[0].action, "import");
    assert_eq!(store.audit(10).await.unwrap().len(), 2);
    assert_eq!(
        store.redrive(&Filter::default(), 9, &act()).await.unwrap(),
        imported
    );
    let client = database.client().await;
    let shards = "SELECT count(DISTINCT shard) FROM redeliver_outbox";
    assert_eq!(
        scalar(&client, shards).await,
        "1",
        "one lane is one shard, wherever the message came from"
    );
}

#[tokio::test]
async fn only_what_is_old_is_forgotten() {
    let (database, store) = Database::migrated(1).await;
    let ids = [
        enqueue(&store, NewMessage::to("d").deduplication_key("x")).await,
        enqueue(&store, NewMessage::to("d")).await,
    ];
    let lease = owner(&store, "w").await[0].lease;
    store
        .settle(
            &worker("w"),
            &[delivered(lease, ids[0]), delivered(lease, ids[1])],
        )
        .await
        .unwrap();
    let client = database.client().await;
    let day = Some(Duration::from_secs(86_400));
    let retention = Retention {
        sent: day,
        discarded: day,
        inbox: day,
        audit: day,
    };
    assert_eq!(store.retain(&retention).await.unwrap().rows, 0);
    client
        .batch_execute(
            "UPDATE redeliver_sent SET sent_at = now() - interval '2 days' WHERE number = 1;
             UPDATE redeliver_deduplication SET created_at = now() - interval '8 days';
             INSERT INTO redeliver_inbox VALUES ('c', 'm', now() - interval '2 days'), ('c', 'n', now());
             INSERT INTO redeliver_workers VALUES ('gone', now(), now(), now() - interval '2 days', 0)",
        )
        .await
        .unwrap();
    let removed = store.retain(&retention).await.unwrap();
    assert_eq!((removed.rows, removed.more), (4, false));
    assert_eq!(
        scalar(
            &client,
            "SELECT string_agg(number::text, ',') FROM redeliver_sent"
        )
        .await,
        "2"
    );
    assert_eq!(
        scalar(&client, "SELECT string_agg(worker, ',') FROM redeliver_workers").await,
        "w"
    );
}

#[tokio::test]
async fn the_examination_names_what_is_wrong() {
    let (database, store) = Database::migrated(3).await;
    let client = database.client().await;
    client
        .batch_execute("BEGIN; SELECT pg_current_xact_id()")
        .await
        .unwrap();
    let name = database.name();
    crate::database::connect(&database.url)
        .await
        .batch_execute(&format!("ALTER DATABASE {name} SET synchronous_commit = off"))
        .await
        .unwrap();
    let findings = database.store().examine().await.unwrap();
    let of = |topic: &str| {
        findings
            .iter()
            .filter(|finding| finding.topic == topic)
            .collect::<Vec<_>>()
    };
    assert!(of("version")[0].what.contains("PostgreSQL"));
    assert_eq!(of("clock")[0].grade, Grade::Good);
    assert!(
        of("durability")
            .iter()
            .any(|of| of.grade == Grade::Problem && of.what.contains("synchronous_commit")),
        "{findings:?}"
    );
    assert!(of("vacuum")[0].what.contains("a transaction of"), "{findings:?}");
    assert!(of("shards")[0].what.contains("3 of 3"), "{findings:?}");
    drop(store);
}
