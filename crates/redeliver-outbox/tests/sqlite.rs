//! The SQLite store: its tables, its leases, its reader and what it settles.
#![cfg(feature = "sqlite")]
#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU32, Ordering},
    },
    time::Duration,
};

use redeliver_outbox::{
    DeadReason, MessageId, Timestamp,
    desk::{Layout, Schema},
    store::{
        AfterDeath, Attempted, Beat, Demand, LaneDemand, LaneId, Lease, Left, Names, ParkedLane, Scheduled,
        Settlement, SqliteStore, Store, StoreErrorKind, Until, Verdict, WorkerId,
    },
};

const LEASE: Duration = Duration::from_secs(10);

/// A store in memory, with a clock that the test moves.
struct Bench {
    store: SqliteStore,
    clock: Arc<AtomicI64>,
}

impl Bench {
    async fn with_shards(shards: u16) -> Self {
        let clock = Arc::new(AtomicI64::new(1_000_000));
        let hand = Arc::clone(&clock);
        let store = SqliteStore::in_memory()
            .unwrap()
            .with_clock(move || Timestamp::from_millis(hand.load(Ordering::SeqCst)));
        assert_eq!(store.migrate(Layout { shards }, None).await.unwrap(), [1, 2]);
        Self { store, clock }
    }

    async fn new() -> Self {
        Self::with_shards(1).await
    }

    fn pass(&self, time: Duration) {
        self.clock
            .fetch_add(i64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }

    fn sql(&self, sql: &str) {
        self.store
            .with_connection(|connection| connection.execute_batch(sql))
            .unwrap();
    }

    fn number(&self, sql: &str) -> i64 {
        self.store
            .with_connection(|connection| connection.query_row(sql, [], |row| row.get(0)))
            .unwrap()
    }

    /// All rows of a table, as one text, to be compared.
    fn dump(&self) -> String {
        ["outbox", "sent", "dead", "attempts", "lanes"]
            .map(|table| {
                self.store.with_connection(|connection| {
                    let mut statement = connection
                        .prepare(&format!("SELECT * FROM redeliver_{table}"))
                        .unwrap();
                    let columns = statement.column_count();
                    let rows: Vec<String> = statement
                        .query_map([], |row| {
                            let values = (0..columns).map(|column| row.get(column));
                            let values: Result<Vec<rusqlite::types::Value>, _> = values.collect();
                            Ok(format!("{:?}", values?))
                        })
                        .unwrap()
                        .map(Result::unwrap)
                        .collect();
                    format!("{table}: {rows:#?}")
                })
            })
            .join("\n")
    }

    fn insert(&self, destination: &str, lane: Option<&str>) -> i64 {
        self.store.with_connection(|connection| {
            connection
                .execute(
                    "INSERT INTO redeliver_outbox (destination, lane, payload) VALUES (?1, ?2, '{}')",
                    (destination, lane),
                )
                .unwrap();
            connection.last_insert_rowid()
        })
    }

    async fn beat(&self, worker: &WorkerId) -> redeliver_outbox::store::Membership {
        let beat = Beat {
            worker: worker.clone(),
            lease: LEASE,
            in_flight: 0,
        };
        self.store.beat(&beat).await.unwrap()
    }

    /// A worker that owns the only shard.
    async fn owner(&self, name: &str) -> (WorkerId, Lease) {
        let worker = worker(name);
        self.beat(&worker).await;
        let claimed = self.store.claim(&worker, 1, 32).await.unwrap();
        (worker, claimed[0].lease)
    }

    async fn settle(&self, worker: &WorkerId, lease: Lease, number: i64, verdict: Verdict) -> Vec<u16> {
        let settlement = Settlement {
            lease,
            number,
            verdict,
        };
        self.store.settle(worker, &[settlement]).await.unwrap().stale
    }
}

fn worker(name: &str) -> WorkerId {
    WorkerId(name.to_owned())
}

fn attempted(attempt: u32, class: &'static str, error: &str) -> Attempted {
    Attempted {
        attempt,
        took: Duration::from_millis(3),
        class,
        error: error.to_owned(),
        resumes_lane: false,
    }
}

fn lane(destination: &str, key: &str) -> LaneId {
    LaneId {
        destination: destination.to_owned(),
        key: key.to_owned(),
    }
}

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("redeliver-sqlite-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn url(&self, name: &str) -> String {
        format!("sqlite://{}", self.0.join(name).display())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn open(url: &str) -> SqliteStore {
    SqliteStore::open(url, Names::default()).unwrap()
}

#[tokio::test]
async fn the_view_writes_ids_as_the_program_does() {
    let bench = Bench::new().await;
    for (number, salt) in [
        (1, 0),
        (42, -1),
        ((1 << 60) - 1, i64::MIN),
        (123_456_789_012, 0x1234_5678_9abc),
    ] {
        bench.sql(&format!(
            "INSERT INTO redeliver_outbox (number, salt, destination, payload) VALUES ({number}, {salt}, 'd', '')"
        ));
        let id: String = bench
            .store
            .with_connection(|connection| {
                connection.query_row(
                    "SELECT id FROM redeliver_messages WHERE number = ?1",
                    [number],
                    |row| row.get(0),
                )
            })
            .unwrap();
        assert_eq!(id, MessageId::new(number, salt).to_string());
    }
}

#[tokio::test]
async fn tables_go_up_down_and_up_again() {
    let folder = Folder::new();
    let store = SqliteStore::open(&folder.url("x.db"), Names::new(None, "ob_").unwrap()).unwrap();
    let layout = store.usual_layout();
    assert_eq!(store.version().await.unwrap(), 0);
    let error = store.leave(&worker("w")).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotMigrated);
    assert_eq!(error.next_step(), "run `redeliver migrate`");
    assert_eq!(store.migrate(layout, Some(1)).await.unwrap(), [1]);
    let error = store.leave(&worker("w")).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotMigrated);
    assert_eq!(store.migrate(layout, None).await.unwrap(), [2]);
    store.leave(&worker("w")).await.unwrap();
    assert_eq!(store.migrate(layout, None).await.unwrap(), [0_u32; 0]);
    assert_eq!(store.migrate(layout, Some(0)).await.unwrap(), [2, 1]);
    let left: i64 = store.with_connection(|connection| {
        connection
            .query_row(
                "SELECT COUNT(*) FROM sqlite_schema WHERE name LIKE 'ob%'",
                [],
                |row| row.get(0),
            )
            .unwrap()
    });
    assert_eq!(left, 0);
    assert_eq!(store.migrate(layout, None).await.unwrap(), [1, 2]);
    store
        .with_connection(|connection| {
            connection.execute_batch("INSERT INTO ob_migrations VALUES (99, 'later', 0)")
        })
        .unwrap();
    assert_eq!(
        store.leave(&worker("w")).await.unwrap_err().kind(),
        StoreErrorKind::TooNew
    );
    assert_eq!(
        store.migrate(layout, None).await.unwrap_err().kind(),
        StoreErrorKind::TooNew
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_that_migrate_at_once_one_does() {
    let folder = Folder::new();
    let migrating: Vec<_> = (0..4)
        .map(|_| {
            let store = open(&folder.url("x.db"));
            tokio::spawn(async move { store.migrate(store.usual_layout(), None).await.unwrap() })
        })
        .collect();
    let mut taken = Vec::new();
    for one in migrating {
        taken.extend(one.await.unwrap());
    }
    assert_eq!(taken, [1, 2]);
}

#[tokio::test]
async fn what_cannot_be_opened_is_named() {
    let folder = Folder::new();
    let refused = |url: &str| SqliteStore::open(url, Names::default()).unwrap_err();
    let error = refused(&format!("sqlite://{}", folder.0.display()));
    assert!(error.to_string().contains("is a folder"), "{error}");
    let error = refused(&folder.url("missing/x.db"));
    assert!(error.to_string().contains("no folder"), "{error}");
    std::fs::write(folder.0.join("letter.txt"), "Dear reader, ".repeat(100)).unwrap();
    let error = refused(&folder.url("letter.txt"));
    assert_eq!(error.kind(), StoreErrorKind::BadInput, "{error}");
    assert!(error.to_string().contains("letter.txt"), "{error}");
    let names = Names::new(Some("app"), "redeliver_").unwrap();
    assert!(SqliteStore::open("sqlite::memory:", names).is_err());
}

#[tokio::test]
async fn a_full_database_says_so_and_nothing_is_half_written() {
    let folder = Folder::new();
    let store = open(&folder.url("x.db"));
    store.with_connection(|connection| connection.pragma_update(None, "max_page_count", 8).unwrap());
    let error = store.migrate(store.usual_layout(), None).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::ReadOnly);
    assert!(error.to_string().contains("full"), "{error}");
    assert_eq!(store.version().await.unwrap(), 0);
}

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
            number: bench.insert("d", Some(&format!("k{at}"))),
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

#[tokio::test]
async fn a_new_owner_hears_of_parked_lanes_and_of_scheduled_heads() {
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
    assert_eq!(claimed.parked, [parked]);
    let scheduled = Scheduled {
        number: waiting,
        lane: lane("d", "w"),
    };
    assert_eq!(claimed.scheduled, [scheduled]);

    let mut reader = bench.store.reader();
    reader.own(claimed.lease);
    let demand = Demand::default();
    assert!(reader.read(&demand).await.unwrap().resumed.is_empty());
    bench.sql("UPDATE redeliver_lanes SET resumed_at = 5");
    assert_eq!(reader.read(&demand).await.unwrap().resumed, [(0, lane("d", "k"))]);
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
