use std::time::Duration;

use redeliver_outbox::{
    NewMessage,
    desk::{Desk, Grade, Schema},
    store::{Beat, Demand, LaneDemand, Settlement, Store, StoreErrorKind, Verdict},
};

use crate::bench::{Bench, Folder, LEASE, attempted, open, worker};

#[tokio::test]
async fn reading_goes_forward_and_finds_what_is_due() {
    let bench = Bench::new().await;
    let (worker, lease) = bench.owner("one").await;
    let numbers: Vec<i64> = (0..5).map(|_| bench.insert("d", None)).collect();
    let mut reader = bench.store.reader();
    reader.own(lease);
    let demand = |fresh, due| Demand {
        fresh,
        due,
        lanes: Vec::new(),
        ..Demand::default()
    };
    let found = reader.read(&demand(3, 3)).await.unwrap();
    assert!(found.more && found.due.is_empty() && found.next_due.is_none());
    let fresh: Vec<i64> = found.fresh.iter().map(|message| message.number()).collect();
    assert_eq!(fresh, numbers[..3]);
    // A read that fails has not happened.
    bench.sql("ALTER TABLE redeliver_outbox RENAME TO elsewhere");
    assert_eq!(
        reader.read(&demand(3, 3)).await.unwrap_err().kind(),
        StoreErrorKind::NotMigrated
    );
    bench.sql("ALTER TABLE elsewhere RENAME TO redeliver_outbox");
    for (at, wait) in [(0, 20), (1, 10)] {
        let retry = Verdict::Retry {
            attempted: attempted(1, "transient", "503"),
            wait: Duration::from_secs(wait),
        };
        bench.settle(&worker, lease, numbers[at], retry).await;
    }
    let found = reader.read(&demand(3, 3)).await.unwrap();
    let fresh: Vec<i64> = found.fresh.iter().map(|message| message.number()).collect();
    assert_eq!(fresh, numbers[3..]);
    assert!(!found.more && found.due.is_empty());
    assert_eq!(found.next_due, Some(Duration::from_secs(10)));
    bench.pass(Duration::from_secs(10));
    let found = reader.read(&demand(3, 3)).await.unwrap();
    assert_eq!(found.due.len(), 1);
    assert_eq!((found.due[0].number(), found.due[0].attempts), (numbers[1], 1));
    bench.pass(Duration::from_secs(10));
    let found = reader.read(&demand(0, 3)).await.unwrap();
    let due: Vec<i64> = found.due.iter().map(|message| message.number()).collect();
    assert_eq!(due, [numbers[1], numbers[0]]);
    reader.disown(lease.shard);
    let found = reader.read(&demand(3, 3)).await.unwrap();
    assert!(found.fresh.is_empty() && found.due.is_empty());
    reader.own(lease);
    assert_eq!(reader.read(&demand(9, 0)).await.unwrap().fresh.len(), 3);
}

#[tokio::test]
async fn a_lane_is_read_again_up_to_where_the_reader_was() {
    let bench = Bench::new().await;
    let (_, lease) = bench.owner("one").await;
    for _ in 0..3 {
        bench.insert("d", Some("k"));
        bench.insert("d", Some("other"));
    }
    let mut reader = bench.store.reader();
    reader.own(lease);
    let mut demand = Demand {
        fresh: 5,
        due: 0,
        lanes: Vec::new(),
        ..Demand::default()
    };
    reader.read(&demand).await.unwrap();
    let again = |limit| LaneDemand {
        shard: lease.shard,
        destination: "d".to_owned(),
        key: Some("k".to_owned()),
        from: 2,
        limit,
    };
    demand.lanes = vec![again(1), again(2), again(9)];
    let found = reader.read(&demand).await.unwrap();
    let seen: Vec<(Vec<i64>, bool)> = found
        .lanes
        .iter()
        .map(|lane| {
            let numbers = lane.messages.iter().map(|message| message.number());
            (numbers.collect(), lane.complete)
        })
        .collect();
    assert_eq!(seen, [(vec![3], false), (vec![3, 5], true), (vec![3, 5], true)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_read_while_it_is_written() {
    let folder = Folder::new();
    let store = open(&folder.url("x.db"));
    store.migrate(store.usual_layout(), None).await.unwrap();
    let writer = open(&folder.url("x.db"));
    let writing = tokio::spawn(async move {
        for _ in 0..20 {
            let messages = vec![NewMessage::to("d").payload("{}"); 5];
            writer.enqueue(&messages).await.unwrap();
        }
    });
    let worker = worker("one");
    let beat = Beat {
        worker: worker.clone(),
        lease: LEASE,
        in_flight: 0,
        destinations: redeliver_outbox::live::Live::new(),
    };
    store.beat(&beat).await.unwrap();
    let lease = store.claim(&worker, 1, 10).await.unwrap()[0].lease;
    let mut reader = store.reader();
    reader.own(lease);
    let demand = Demand {
        fresh: 10,
        ..Demand::default()
    };
    let mut numbers = Vec::new();
    while numbers.len() < 100 {
        let found = reader.read(&demand).await.unwrap();
        let settlements: Vec<Settlement> = found
            .fresh
            .iter()
            .map(|message| Settlement::of(message, lease, Verdict::Delivered(attempted(1, "", ""))))
            .collect();
        assert!(
            store
                .settle(&worker, &settlements)
                .await
                .unwrap()
                .stale
                .is_empty()
        );
        numbers.extend(settlements.iter().map(Settlement::number));
    }
    writing.await.unwrap();
    assert_eq!(numbers, (1..=100).collect::<Vec<i64>>());
    assert_eq!(store.status().await.unwrap().total.sent, 100);
    let findings = store.examine().await.unwrap();
    let bad: Vec<_> = findings
        .iter()
        .filter(|finding| finding.grade != Grade::Good)
        .collect();
    assert!(bad.is_empty(), "{bad:?}");
}
