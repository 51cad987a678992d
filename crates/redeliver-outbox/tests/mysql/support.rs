use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use mysql_async::{Conn, Opts, OptsBuilder, prelude::Queryable};
use redeliver_outbox::{
    DeadReason, Message, MessageId, NewMessage,
    desk::{Act, Desk, Filter, Layout, MessageRef, Page, Schema},
    store::{
        AfterDeath, Attempted, Beat, Claimed, Demand, Found, Lease, MySqlStore, Names, Reader, Settlement,
        Store, Verdict, WorkerId,
    },
};

/// A database of its own for one test.
pub(crate) struct Database {
    pub(crate) store: MySqlStore,
    pub(crate) url: String,
}

/// Where the server is that the variable names, without a database's name.
pub(crate) fn server(variable: &str) -> String {
    let url = std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} names the server: run ./test, or first `eval \"$(scripts/services start)\"`")
    });
    // Each test makes a database of its own there.
    let authority = url.find("://").map_or(0, |at| at + 3);
    let end = url[authority..].find('/').map_or(url.len(), |at| authority + at);
    url[..end].to_owned()
}

pub(crate) async fn connect(url: &str) -> Conn {
    let opts = OptsBuilder::from_opts(Opts::from_url(url).unwrap()).prefer_socket(false);
    Conn::new(opts).await.unwrap()
}

impl Database {
    /// With no tables.
    pub(crate) async fn empty(variable: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "redeliver_test_{}_{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let server = server(variable);
        let mut connection = connect(&format!("{server}/mysql")).await;
        connection
            .query_drop(format!("CREATE DATABASE {name}"))
            .await
            .unwrap();
        let url = format!("{server}/{name}?prefer_socket=false");
        let store = MySqlStore::connect(&url, Names::default()).await.unwrap();
        Self { store, url }
    }

    /// With tables of so many shards.
    pub(crate) async fn with_shards(variable: &str, shards: u16) -> Self {
        let database = Self::empty(variable).await;
        database.store.migrate(Layout { shards }, None).await.unwrap();
        database
    }

    pub(crate) async fn client(&self) -> Conn {
        connect(&self.url).await
    }

    /// On another node of the cluster, once that has all that was committed on any.
    pub(crate) async fn client_of(&self, variable: &str) -> Conn {
        let mut connection = connect(&format!("{}/mysql", server(variable))).await;
        catch_up(&mut connection).await;
        let name = self.url.rsplit('/').next().unwrap();
        let name = name.split('?').next().unwrap();
        connection.query_drop(format!("USE {name}")).await.unwrap();
        connection
    }

    /// A worker that owns every shard, and its reader.
    pub(crate) async fn owner(&self, name: &str) -> (WorkerId, Vec<Claimed>, Box<dyn Reader>) {
        let worker = WorkerId(name.to_owned());
        self.beat(&worker, Duration::from_secs(60)).await;
        let claimed = self.store.claim(&worker, 1000, 100).await.unwrap();
        let mut reader = self.store.reader();
        for claimed in &claimed {
            reader.own(claimed.lease);
        }
        (worker, claimed, reader)
    }

    pub(crate) async fn beat(
        &self,
        worker: &WorkerId,
        lease: Duration,
    ) -> redeliver_outbox::store::Membership {
        let beat = Beat {
            worker: worker.clone(),
            lease,
            in_flight: 0,
            destinations: redeliver_outbox::live::Live::new(),
        };
        self.store.beat(&beat).await.unwrap()
    }
}

/// Waits until the connection's node of a cluster has all that was committed on any.
pub(crate) async fn catch_up(connection: &mut Conn) {
    let version: Option<String> = connection.query_first("SELECT VERSION()").await.unwrap();
    let (wait, go_on) = if version.unwrap().contains("MariaDB") {
        ("wsrep_sync_wait = 15", "wsrep_sync_wait = 0")
    } else {
        (
            "group_replication_consistency = 'BEFORE'",
            "group_replication_consistency = 'EVENTUAL'",
        )
    };
    for sql in [
        format!("SET SESSION {wait}"),
        "SELECT COUNT(*) FROM mysql.user".to_owned(),
        format!("SET SESSION {go_on}"),
    ] {
        connection.query_drop(sql).await.unwrap();
    }
}

/// Inserts one message and returns its number.
pub(crate) async fn insert(connection: &mut Conn, key: Option<&str>, payload: &str) -> i64 {
    let sql = "INSERT INTO redeliver_outbox (destination, lane, payload) VALUES ('billing', ?, ?)";
    connection.exec_drop(sql, (key, payload)).await.unwrap();
    i64::try_from(connection.last_insert_id().unwrap()).unwrap()
}

pub(crate) async fn count(connection: &mut Conn, table: &str) -> u64 {
    let sql = format!("SELECT COUNT(*) FROM {table}");
    connection.query_first(sql).await.unwrap().unwrap()
}

pub(crate) fn demand(fresh: usize) -> Demand {
    Demand {
        fresh,
        due: 100,
        lanes: Vec::new(),
        ..Demand::default()
    }
}

pub(crate) async fn read(reader: &mut Box<dyn Reader>) -> Found {
    reader.read(&demand(1000)).await.unwrap()
}

/// Reads on until so many fresh messages have come, and returns them in the order in which they came.
pub(crate) async fn read_until(reader: &mut Box<dyn Reader>, count: usize) -> Vec<Message> {
    let mut found = Vec::new();
    let reading = async {
        while found.len() < count {
            let read = read(reader).await;
            if read.fresh.is_empty() {
                redeliver::clock::sleep(Duration::from_millis(10)).await;
            }
            found.extend(read.fresh);
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(60), reading).await;
    assert!(in_time.is_ok(), "{} of {count} messages came", found.len());
    found
}

pub(crate) fn attempted(attempt: u32) -> Attempted {
    Attempted {
        attempt,
        took: Duration::from_millis(7),
        class: "transient",
        error: "it said \"no\"\u{1f980}".to_owned(),
        resumes_lane: false,
    }
}

pub(crate) fn settlement(claimed: &[Claimed], message: &Message, verdict: Verdict) -> Settlement {
    Settlement::of(message, lease_of(claimed, message.shard), verdict)
}

pub(crate) fn lease_of(claimed: &[Claimed], shard: u16) -> Lease {
    claimed
        .iter()
        .find(|claimed| claimed.lease.shard == shard)
        .unwrap()
        .lease
}

pub(crate) fn act() -> Act {
    Act {
        who: "ann".to_owned(),
        why: "it was wrong".to_owned(),
    }
}

pub(crate) fn page(limit: usize) -> Page {
    Page {
        until: None,
        after: None,
        limit,
        newest_first: false,
    }
}

pub(crate) fn only(id: MessageId) -> Filter {
    Filter {
        messages: vec![MessageRef::Id(id)],
        ..Filter::default()
    }
}

/// A database with one dead letter, parked at the head of its lane, and one message behind it.
pub(crate) async fn with_a_parked_lane(variable: &str) -> (Database, MessageId, MessageId) {
    let database = Database::with_shards(variable, 2).await;
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
