use std::time::Duration;

use redeliver_outbox::{
    DeadReason, MessageId, NewMessage, Payload,
    desk::{Act, DeadLetter, Desk, Edit, Enqueued, Filter, Grade, MessageRef, Page, Retention},
    state::Status,
    store::{AfterDeath, Demand, Lease, ParkedLane, Store, StoreErrorKind, Verdict, WorkerId},
};

use crate::bench::{Bench, LEASE, attempted, lane};

const HOUR: Duration = Duration::from_secs(3600);
const PAGE: Page = Page {
    until: None,
    after: None,
    limit: 100,
    newest_first: false,
};

fn act() -> Act {
    Act {
        who: "ann".to_owned(),
        why: "ticket 7".to_owned(),
    }
}

fn only(id: MessageId) -> Filter {
    Filter {
        messages: vec![MessageRef::Id(id)],
        ..Filter::default()
    }
}

impl Bench {
    async fn enqueue(&self, message: NewMessage) -> MessageId {
        match self.store.enqueue(&[message]).await.unwrap()[0] {
            Enqueued::New(id) => id,
            Enqueued::Duplicate(id) => panic!("{id:?} was there before"),
        }
    }

    async fn kill(&self, worker: &WorkerId, lease: Lease, id: MessageId, after: AfterDeath) {
        let verdict = Verdict::Dead {
            attempted: Some(attempted(1, "permanent", "404 not found")),
            reason: DeadReason::Permanent,
            error: "404 not found".to_owned(),
            lane: after,
        };
        assert!(self.settle(worker, lease, id.number(), verdict).await.is_empty());
    }

    async fn status_of(&self, id: MessageId) -> Status {
        let found = self.store.list(&only(id), PAGE, false).await.unwrap();
        found[0].status
    }
}

#[tokio::test]
async fn what_is_enqueued_is_read_as_it_was_given() {
    let bench = Bench::new().await;
    let message = NewMessage::to("billing")
        .key("order-7")
        .payload(vec![0xff, 0, 1])
        .content_type("application/octet-stream")
        .header("x-tenant", "acme")
        .delay(Duration::from_micros(2_000_500))
        .expires_after(HOUR);
    let id = bench.enqueue(message).await;
    let (_, lease) = bench.owner("one").await;
    let mut reader = bench.store.reader();
    reader.own(lease);
    let demand = Demand {
        fresh: 9,
        ..Demand::default()
    };
    let read = reader.read(&demand).await.unwrap().fresh.remove(0);
    assert_eq!((read.id, read.payload.as_bytes()), (id, &[0xff, 0, 1][..]));
    assert_eq!(read.headers.as_deref(), Some(r#"{"x-tenant":"acme"}"#));
    assert_eq!(read.not_before.unwrap().as_millis(), 1_002_001);
    assert_eq!(read.expires_at.unwrap().as_millis(), 1_000_000 + 3_600_000);
    assert_eq!(bench.status_of(id).await, Status::Pending);
    bench.pass(LEASE / 2);
    assert_eq!(bench.status_of(id).await, Status::Processing);
}

#[tokio::test]
async fn messages_are_enqueued_all_or_none_and_a_key_once() {
    let bench = Bench::new().await;
    let good = NewMessage::to("d").deduplication_key("once");
    let error = bench
        .store
        .enqueue(&[good.clone(), NewMessage::to("")])
        .await
        .unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::BadInput);
    assert!(error.to_string().contains("number 2 of 2"), "{error}");
    let enqueued = bench.store.enqueue(&[good.clone(), good.clone()]).await.unwrap();
    let Enqueued::New(id) = enqueued[0] else {
        panic!("{enqueued:?}")
    };
    assert_eq!(enqueued[1], Enqueued::Duplicate(Some(id)));
    assert_eq!(bench.store.count(&Filter::default()).await.unwrap(), 1);
    bench.pass(HOUR * 24 * 8);
    let usual = Retention::default();
    let kept = bench.store.retain(&usual).await.unwrap();
    assert_eq!(kept.rows, 0, "its message can still be sent");
    bench.sql("DELETE FROM redeliver_outbox");
    assert_eq!(bench.store.retain(&usual).await.unwrap().rows, 1);
    assert!(matches!(
        bench.store.enqueue(&[good]).await.unwrap()[0],
        Enqueued::New(_)
    ));
}

#[tokio::test]
async fn a_dead_letter_is_found_mended_and_put_back() {
    let bench = Bench::new().await;
    let (worker, lease) = bench.owner("one").await;
    let id = bench
        .enqueue(NewMessage::to("d").payload("wrong").expires_after(LEASE))
        .await;
    let edit = Edit {
        payload: Some(Payload::from("right")),
        ..Edit::default()
    };
    let by_id = MessageRef::Id(id);
    let error = bench.store.edit(by_id, &edit, &act()).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotFound);
    bench.kill(&worker, lease, id, AfterDeath::None).await;
    bench.pass(LEASE * 2);
    let nothing = bench.store.edit(by_id, &Edit::default(), &act()).await;
    assert_eq!(nothing.unwrap_err().kind(), StoreErrorKind::BadInput);
    let odd = Edit {
        headers: Some("[1]".to_owned()),
        ..Edit::default()
    };
    assert_eq!(
        bench.store.edit(by_id, &odd, &act()).await.unwrap_err().kind(),
        StoreErrorKind::BadInput
    );
    bench.store.edit(by_id, &edit, &act()).await.unwrap();
    let again = Edit {
        payload: Some(Payload::from("better")),
        ..Edit::default()
    };
    bench.store.edit(by_id, &again, &act()).await.unwrap();
    let filter = Filter {
        error: Some("NOT found".to_owned()),
        reason: Some(DeadReason::Permanent),
        ..Filter::default()
    };
    assert_eq!(bench.store.redrive(&filter, 10, &act()).await.unwrap(), [id]);
    assert!(bench.store.redrive(&filter, 10, &act()).await.unwrap().is_empty());
    let detail = bench.store.find(by_id).await.unwrap().unwrap();
    let record = &detail.record;
    assert_eq!((record.id, record.attempts, record.redrives), (id, 0, 1));
    assert_eq!(record.next_attempt_at.unwrap().as_millis(), 1_020_000);
    assert_eq!(record.expires_at, None, "it would only expire again");
    assert_eq!(record.payload, Some(Payload::from("better")));
    assert_eq!(detail.original_payload, Some(Payload::from("wrong")));
    assert_eq!(detail.attempts.len(), 1);
    assert_eq!(detail.attempts[0].error, "404 not found");
    let acts: Vec<&str> = detail.audit.iter().map(|record| record.action.as_str()).collect();
    assert_eq!(acts, ["edit", "edit", "redrive"]);
    let other = MessageId::new(id.number(), id.salt() ^ 1);
    assert!(bench.store.find(MessageRef::Id(other)).await.unwrap().is_none());
}

#[tokio::test]
async fn a_parked_lane_goes_on_when_its_head_is_given_up_or_leaves() {
    let bench = Bench::new().await;
    let (worker, lease) = bench.owner("one").await;
    let mut reader = bench.store.reader();
    reader.own(lease);
    let elsewhere = Edit {
        destination: Some("elsewhere".to_owned()),
        ..Edit::default()
    };
    for key in ["given up", "moved", "rescued"] {
        let head = bench.enqueue(NewMessage::to("d").key(key)).await;
        let next = bench.enqueue(NewMessage::to("d").key(key)).await;
        assert_eq!(
            bench
                .store
                .find(MessageRef::Id(next))
                .await
                .unwrap()
                .unwrap()
                .waits_behind,
            Some(head)
        );
        bench.kill(&worker, lease, head, AfterDeath::Park).await;
        let detail = bench.store.find(MessageRef::Id(next)).await.unwrap().unwrap();
        assert_eq!(
            (detail.record.status, detail.parked_behind, detail.waits_behind),
            (Status::Parked, Some(head), None)
        );
        let parked = bench.store.parked_lanes().await.unwrap();
        assert_eq!(parked.len(), 1);
        assert_eq!((&parked[0].0, parked[0].1), (&lane("d", key), head));
        let goes_on = ParkedLane {
            lane: lane("d", key),
            head: head.number(),
        };
        let mut resumed = vec![(0, goes_on)];
        match key {
            "given up" => {
                assert_eq!(bench.store.discard(&only(head), 9, &act()).await.unwrap(), [head]);
                assert_eq!(bench.status_of(head).await, Status::Discarded);
            }
            "moved" => bench
                .store
                .edit(MessageRef::Id(head), &elsewhere, &act())
                .await
                .unwrap(),
            _ => {
                bench.store.redrive(&only(head), 9, &act()).await.unwrap();
                assert_eq!(bench.status_of(head).await, Status::Processing);
                assert_eq!(bench.status_of(next).await, Status::Parked);
                let mut arrived = attempted(1, "", "");
                arrived.resumes_lane = true;
                let verdict = Verdict::Delivered(arrived);
                bench.settle(&worker, lease, head.number(), verdict).await;
                resumed.clear();
            }
        }
        assert_eq!(reader.read(&Demand::default()).await.unwrap().resumed, resumed);
        assert_eq!(bench.status_of(next).await, Status::Processing);
        assert!(bench.store.parked_lanes().await.unwrap().is_empty());
    }
    bench.pass(2 * HOUR);
    bench.store.retain(&Retention::default()).await.unwrap();
    assert_eq!(bench.number("SELECT COUNT(*) FROM redeliver_lanes"), 0);
}

#[tokio::test]
async fn imported_letters_get_numbers_that_nobody_else_gets() {
    let bench = Bench::new().await;
    let letter = DeadLetter {
        message: NewMessage::to("d").payload("x"),
        reason: DeadReason::TooLarge,
        error: "too large".to_owned(),
        attempts: 4,
    };
    let imported = bench
        .store
        .import(&[letter.clone(), letter], &act())
        .await
        .unwrap();
    let live = bench.enqueue(NewMessage::to("d")).await;
    let numbers: Vec<i64> = imported.iter().chain([&live]).map(|id| id.number()).collect();
    assert_eq!(numbers, [1, 2, 3]);
    let found = bench
        .store
        .list(&only(imported[1]), PAGE, true)
        .await
        .unwrap()
        .remove(0);
    assert_eq!(
        (found.status, found.attempts, found.dead_letter_reason),
        (Status::DeadLettered, 4, Some(DeadReason::TooLarge))
    );
    let acts = bench.store.audit(1).await.unwrap();
    assert_eq!(
        (acts[0].action.as_str(), acts[0].message),
        ("import", Some(imported[1]))
    );
}

#[tokio::test]
async fn the_figures_tell_what_is_held_back_by_what() {
    let bench = Bench::new().await;
    let (worker, lease) = bench.owner("one").await;
    let failing = bench.enqueue(NewMessage::to("a").key("k")).await;
    bench.enqueue(NewMessage::to("a").key("k")).await;
    bench.enqueue(NewMessage::to("a").delay(HOUR)).await;
    let dead = bench.enqueue(NewMessage::to("b").key("k")).await;
    bench.enqueue(NewMessage::to("b").key("k")).await;
    let sent = bench.enqueue(NewMessage::to("b")).await;
    bench.enqueue(NewMessage::to("b")).await;
    let retry = Verdict::Retry {
        attempted: attempted(1, "transient", "503"),
        wait: HOUR,
    };
    bench.settle(&worker, lease, failing.number(), retry).await;
    bench.kill(&worker, lease, dead, AfterDeath::Park).await;
    let delivered = Verdict::Delivered(attempted(1, "", ""));
    bench.settle(&worker, lease, sent.number(), delivered).await;
    bench.pass(Duration::from_secs(3));
    let report = bench.store.status().await.unwrap();
    let (a, b, total) = (
        &report.destinations["a"],
        &report.destinations["b"],
        &report.total,
    );
    assert_eq!((a.due_now, a.waiting, a.parked, a.oldest_lag), (0, 3, 0, None));
    assert_eq!((b.due_now, b.waiting, b.parked, b.sent, b.dead), (1, 0, 1, 1, 1));
    assert_eq!(
        (total.due_now, total.oldest_lag),
        (1, Some(Duration::from_secs(3)))
    );
    assert_eq!(report.attempts.into_iter().collect::<Vec<_>>(), [(0, 4), (1, 1)]);
    assert_eq!((report.shards, report.shards_without_owner), (1, 0));
    assert!(report.workers[0].alive && report.workers[0].shards == 1);
    assert_eq!(bench.status_of(failing).await, Status::Failed);
    bench.pass(HOUR);
    let report = bench.store.status().await.unwrap();
    assert_eq!((report.shards_without_owner, report.workers[0].alive), (1, false));
    assert_eq!(report.total.due_now, 4);
}

#[tokio::test]
async fn a_list_is_read_page_by_page_and_by_filter() {
    let bench = Bench::new().await;
    for number in 0..5 {
        bench
            .enqueue(NewMessage::to(if number == 2 { "x" } else { "y" }))
            .await;
    }
    let numbers = async |filter: Filter, page| -> Vec<i64> {
        let found = bench.store.list(&filter, page, false).await.unwrap();
        assert!(found.iter().all(|record| record.payload.is_none()));
        found.iter().map(|record| record.id.number()).collect()
    };
    let page = |after, newest_first| Page {
        until: None,
        after,
        limit: 2,
        newest_first,
    };
    assert_eq!(numbers(Filter::default(), page(Some(2), false)).await, [3, 4]);
    assert_eq!(numbers(Filter::default(), page(Some(4), true)).await, [3, 2]);
    let filter = Filter {
        destination: Some("x".to_owned()),
        statuses: vec![Status::Pending, Status::Failed],
        ..Filter::default()
    };
    assert_eq!(numbers(filter, PAGE).await, [3]);
    let many = Filter {
        messages: (0..900).map(MessageRef::Number).collect(),
        ..Filter::default()
    };
    assert_eq!(bench.store.count(&many).await.unwrap(), 5);
    let too_many = Filter {
        messages: (0..901).map(MessageRef::Number).collect(),
        ..Filter::default()
    };
    assert_eq!(
        bench.store.count(&too_many).await.unwrap_err().kind(),
        StoreErrorKind::BadInput
    );
}

#[tokio::test]
async fn retention_forgets_old_history_and_never_an_open_dead_letter() {
    let bench = Bench::new().await;
    bench.sql(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
         INSERT INTO redeliver_sent
         SELECT i, 0, 0, 'd', NULL, '', NULL, NULL, NULL, NULL, 0, 1, 0, NULL, CASE WHEN i > 1100 THEN 900000 ELSE 0 END, 1, NULL FROM n;
         INSERT INTO redeliver_attempts VALUES (1, 0, 0, 1, 0, 1, 'transient', 'x', 'w'), (1150, 0, 0, 1, 0, 1, 'transient', 'x', 'w');
         INSERT INTO redeliver_inbox VALUES ('c', 'm', 0);",
    );
    let letter = DeadLetter {
        message: NewMessage::to("d"),
        reason: DeadReason::Expired,
        error: String::new(),
        attempts: 0,
    };
    let letters = bench
        .store
        .import(&[letter.clone(), letter], &act())
        .await
        .unwrap();
    bench.store.discard(&only(letters[0]), 1, &act()).await.unwrap();
    let age = Some(Duration::from_secs(500));
    let retention = Retention {
        sent: age,
        discarded: age,
        inbox: age,
        audit: None,
    };
    let first = bench.store.retain(&retention).await.unwrap();
    assert!(first.more);
    assert_eq!(first.rows, 1000 + 1 + 1);
    let second = bench.store.retain(&retention).await.unwrap();
    assert_eq!((second.rows, second.more), (100, false));
    assert_eq!(bench.number("SELECT number FROM redeliver_attempts"), 1150);
    bench.pass(Duration::from_secs(501));
    assert_eq!(bench.store.retain(&retention).await.unwrap().rows, 100 + 1 + 1);
    assert_eq!(
        bench.number("SELECT number FROM redeliver_dead"),
        letters[1].number()
    );
}

#[tokio::test]
async fn an_examination_finds_a_clock_that_went_back_and_shards_without_owner() {
    let bench = Bench::new().await;
    let grade = async |topic: &str| {
        let findings = bench.store.examine().await.unwrap();
        let found = findings.iter().find(|finding| finding.topic == topic).unwrap();
        assert_eq!(found.next.is_empty(), found.grade == Grade::Good, "{found:?}");
        found.grade
    };
    for (topic, expected) in [
        ("version", Grade::Good),
        ("journal", Grade::Advice),
        ("synchronous", Grade::Good),
        ("integrity", Grade::Good),
        ("shards", Grade::Advice),
        ("clock", Grade::Good),
    ] {
        assert_eq!(grade(topic).await, expected, "{topic}");
    }
    bench.owner("one").await;
    assert_eq!(grade("shards").await, Grade::Good);
    bench.sql("UPDATE redeliver_workers SET seen_at = 2000000");
    assert_eq!(grade("clock").await, Grade::Problem);
}
