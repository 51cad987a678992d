//! A database of one test's own, and a look into it with a client that is not under test.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

use mysql_async::prelude::Queryable;
use redeliver_outbox::store::Names;

static NEXT: AtomicU32 = AtomicU32::new(0);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
    Mariadb,
    Mysql,
}

pub(crate) struct Database {
    pub(crate) kind: Kind,
    /// What a client connects to: a path or a URL.
    pub(crate) url: String,
    pub(crate) names: Names,
    name: String,
}

/// A row of the outbox, times in milliseconds.
#[derive(Debug, PartialEq, Eq, Default)]
pub(crate) struct Stored {
    pub(crate) number: i64,
    pub(crate) salt: i64,
    pub(crate) destination: String,
    pub(crate) topic: Option<String>,
    pub(crate) lane: Option<String>,
    pub(crate) payload: Option<String>,
    pub(crate) payload_binary: Option<Vec<u8>>,
    pub(crate) content_type: Option<String>,
    pub(crate) headers: Option<String>,
    pub(crate) traceparent: Option<String>,
    pub(crate) not_before: Option<i64>,
    pub(crate) expires_at: Option<i64>,
}

macro_rules! stored {
    ($row:expr, |$index:ident| $get:expr) => {{
        macro_rules! column {
            ($number:expr) => {{
                let $index: usize = $number;
                $get
            }};
        }
        Stored {
            number: column!(0),
            salt: column!(1),
            destination: column!(2),
            topic: column!(3),
            lane: column!(4),
            payload: column!(5),
            payload_binary: column!(6),
            content_type: column!(7),
            headers: column!(8),
            traceparent: column!(9),
            not_before: column!(10),
            expires_at: column!(11),
        }
    }};
}

const COLUMNS: &str =
    "number, salt, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent";

impl Database {
    pub(crate) async fn new(kind: Kind) -> Self {
        Self::named(kind, Names::default()).await
    }

    pub(crate) async fn named(kind: Kind, names: Names) -> Self {
        let name = format!(
            "enqueue_{}_{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let url = match kind {
            Kind::Sqlite => directory().join(&name).to_str().unwrap().to_owned(),
            Kind::Postgres | Kind::Mariadb | Kind::Mysql => with_database(&server(kind), &name),
        };
        let database = Self {
            kind,
            url,
            names,
            name,
        };
        database.create().await;
        database
    }

    async fn create(&self) {
        let create = format!("CREATE DATABASE {}", self.name);
        match self.kind {
            Kind::Sqlite => self.sqlite().pragma_update(None, "journal_mode", "WAL").unwrap(),
            Kind::Postgres => postgres(&server(self.kind))
                .await
                .batch_execute(&create)
                .await
                .unwrap(),
            Kind::Mariadb | Kind::Mysql => mysql(&server(self.kind)).await.query_drop(create).await.unwrap(),
        }
        if let (Kind::Postgres, Some(schema)) = (self.kind, self.names.schema()) {
            self.run(&format!("CREATE SCHEMA {schema}")).await;
        }
        for statement in tables(self.kind) {
            self.run(&self.names.fill(&statement)).await;
        }
    }

    /// Leaves nothing behind on a server that others use too.
    pub(crate) async fn drop(self) {
        match self.kind {
            Kind::Sqlite => {
                for end in ["", "-wal", "-shm"] {
                    let _ = std::fs::remove_file(format!("{}{end}", self.url));
                }
            }
            Kind::Postgres => {
                let drop = format!("DROP DATABASE {} WITH (FORCE)", self.name);
                postgres(&server(self.kind))
                    .await
                    .batch_execute(&drop)
                    .await
                    .unwrap();
            }
            Kind::Mariadb | Kind::Mysql => {
                let drop = format!("DROP DATABASE {}", self.name);
                mysql(&server(self.kind)).await.query_drop(drop).await.unwrap();
            }
        }
    }

    pub(crate) async fn run(&self, statement: &str) {
        match self.kind {
            Kind::Sqlite => self.sqlite().execute_batch(statement).unwrap(),
            Kind::Postgres => postgres(&self.url).await.batch_execute(statement).await.unwrap(),
            Kind::Mariadb | Kind::Mysql => mysql(&self.url).await.query_drop(statement).await.unwrap(),
        }
    }

    pub(crate) async fn integer(&self, query: &str) -> i64 {
        let query = self.names.fill(query).into_owned();
        match self.kind {
            Kind::Sqlite => self.sqlite().query_row(&query, (), |row| row.get(0)).unwrap(),
            Kind::Postgres => postgres(&self.url)
                .await
                .query_one(&query, &[])
                .await
                .unwrap()
                .get(0),
            Kind::Mariadb | Kind::Mysql => mysql(&self.url).await.query_first(query).await.unwrap().unwrap(),
        }
    }

    pub(crate) async fn count(&self, table: &str) -> i64 {
        self.integer(&format!("SELECT count(*) FROM {table}")).await
    }

    /// The database's clock.
    pub(crate) async fn now(&self) -> i64 {
        let now = match self.kind {
            Kind::Sqlite => "round((julianday('now') - 2440587.5) * 86400000)",
            Kind::Postgres => "clock_timestamp()",
            Kind::Mariadb | Kind::Mysql => "UTC_TIMESTAMP(3)",
        };
        self.integer(&format!("SELECT {}", self.millis(now))).await
    }

    /// How many transactions are held up by another one.
    pub(crate) async fn waiting(&self) -> i64 {
        let query = match self.kind {
            Kind::Sqlite => panic!("SQLite does not tell who waits"),
            Kind::Postgres => {
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            }
            // InnoDB's own tables of waits are a copy that is not renewed while it is looked at often.
            Kind::Mariadb | Kind::Mysql => {
                "SELECT count(*) FROM information_schema.processlist
                 WHERE db = DATABASE() AND id <> CONNECTION_ID() AND info LIKE '%INSERT IGNORE INTO redeliver_%'"
            }
        };
        self.integer(query).await
    }

    fn millis(&self, time: &str) -> String {
        match self.kind {
            Kind::Sqlite => format!("CAST({time} AS INTEGER)"),
            Kind::Postgres => format!("floor(extract(epoch from {time}) * 1000)::bigint"),
            Kind::Mariadb | Kind::Mysql => {
                format!("TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {time}) DIV 1000")
            }
        }
    }

    /// The outbox, in the order of its numbers.
    pub(crate) async fn rows(&self) -> Vec<Stored> {
        let (due, expiry) = (self.millis("not_before"), self.millis("expires_at"));
        let query = format!("SELECT {COLUMNS}, {due}, {expiry} FROM redeliver_outbox ORDER BY number");
        let query = self.names.fill(&query).into_owned();
        match self.kind {
            Kind::Sqlite => {
                let connection = self.sqlite();
                let mut statement = connection.prepare(&query).unwrap();
                let rows = statement.query_map((), |row| Ok(stored!(row, |index| row.get(index)?)));
                rows.unwrap().map(Result::unwrap).collect()
            }
            Kind::Postgres => {
                let rows = postgres(&self.url).await.query(&query, &[]).await.unwrap();
                rows.iter()
                    .map(|row| stored!(row, |index| row.get(index)))
                    .collect()
            }
            Kind::Mariadb | Kind::Mysql => {
                let rows: Vec<mysql_async::Row> = mysql(&self.url).await.query(query).await.unwrap();
                rows.iter()
                    .map(|row| stored!(row, |index| row.get(index).unwrap()))
                    .collect()
            }
        }
    }

    fn sqlite(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(&self.url).unwrap()
    }
}

fn server(kind: Kind) -> String {
    let variable = match kind {
        Kind::Sqlite => panic!("SQLite has no server"),
        Kind::Postgres => "REDELIVER_TEST_POSTGRES",
        Kind::Mariadb => "REDELIVER_TEST_MARIADB",
        Kind::Mysql => "REDELIVER_TEST_MYSQL",
    };
    std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set: run ./test, which starts the servers that the tests need")
    })
}

fn directory() -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

/// The same server, another database.
fn with_database(url: &str, name: &str) -> String {
    let (server, _) = url.rsplit_once('/').unwrap();
    format!("{server}/{name}")
}

pub(crate) async fn postgres(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

pub(crate) async fn mysql(url: &str) -> mysql_async::Conn {
    mysql_async::Conn::new(mysql_async::Opts::from_url(url).unwrap())
        .await
        .unwrap()
}

/// The tables that an application writes to.
fn tables(kind: Kind) -> Vec<String> {
    let (migration, shard) = match kind {
        Kind::Sqlite => (
            include_str!("../../src/store/sqlite/migrations/0001_outbox.up.sql"),
            "0",
        ),
        Kind::Postgres => (
            include_str!("../../src/store/postgres/migrations/0001_outbox.up.sql"),
            "((CASE WHEN lane IS NULL THEN number ELSE hashtext(lane) & 2147483647 END) % 64)::smallint",
        ),
        Kind::Mariadb | Kind::Mysql => (
            include_str!("../../src/store/mysql/migrations/0001_outbox.up.sql"),
            "CASE WHEN lane IS NULL THEN FLOOR(RAND() * 16) ELSE CRC32(lane) % 16 END",
        ),
    };
    let wanted = ["redeliver_outbox", "redeliver_deduplication", "redeliver_inbox"];
    let without_comments: String = migration
        .lines()
        .flat_map(|line| [line.split("--").next().unwrap_or_default(), "\n"])
        .collect();
    without_comments
        .split(';')
        .filter_map(|statement| statement.find("CREATE ").map(|start| &statement[start..]))
        .filter(|statement| !statement.starts_with("CREATE VIEW"))
        .filter(|statement| {
            let first_line = statement.lines().next().unwrap_or_default();
            wanted.iter().any(|table| first_line.contains(table))
        })
        .map(|statement| statement.replace("{shard_of_row}", shard))
        // What a later step adds of what an application writes.
        .chain(["ALTER TABLE redeliver_outbox ADD COLUMN topic TEXT".to_owned()])
        .collect()
}
