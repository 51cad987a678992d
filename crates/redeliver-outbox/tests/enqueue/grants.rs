//! A producer that may write its own columns and nothing else: it can enqueue, and it cannot forge.

use mysql_async::prelude::Queryable as _;
use redeliver_outbox::{NewMessage, Outbox};

use crate::database::{Database, Kind, mysql, postgres};

/// As `docs/tables.md` has them, with `app` for the producer.
const PLAIN: &str = "GRANT INSERT (destination, topic, lane, payload, payload_binary, content_type, headers, traceparent, not_before, expires_at)
    ON redeliver_outbox TO app";
const SEQUENCE: &str = "GRANT USAGE ON SEQUENCE redeliver_outbox_number TO app";
const ADAPTER: &str = "GRANT INSERT (salt), SELECT (number, salt) ON redeliver_outbox TO app";
const KEYS: &str = "GRANT INSERT, SELECT, UPDATE ON redeliver_deduplication TO app";

/// What it must not do, of rows that it may insert otherwise.
const FORGED: &[(&str, &str)] = &[
    ("number", "5000000"),
    ("shard", "1"),
    ("attempts", "1"),
    ("redrives", "1"),
    ("next_attempt_at", "NULL"),
    ("last_attempt_at", "NULL"),
    ("last_error", "'x'"),
    ("last_wait_ms", "1"),
    ("created_at", "CURRENT_TIMESTAMP"),
];
const OTHERS: &[&str] = &[
    "UPDATE redeliver_outbox SET payload = 'x'",
    "DELETE FROM redeliver_outbox",
    "SELECT payload FROM redeliver_outbox",
    "DELETE FROM redeliver_deduplication",
    "DELETE FROM redeliver_inbox",
];

#[test]
fn the_documents_say_the_same() {
    let documents = include_str!("../../../../docs/tables.md");
    for statement in [PLAIN, SEQUENCE, ADAPTER, KEYS] {
        assert!(documents.contains(statement), "{statement}");
    }
}

fn forged() -> Vec<String> {
    let inserts = FORGED.iter().map(|(column, value)| {
        format!("INSERT INTO redeliver_outbox (destination, payload, {column}) VALUES ('d', '{{}}', {value})")
    });
    inserts
        .chain(OTHERS.iter().map(|&statement| statement.to_owned()))
        .collect()
}

const INSERT: &str = "INSERT INTO redeliver_outbox (destination, lane, payload) VALUES ('d', 'k', '{}')";

fn message() -> NewMessage {
    NewMessage::to("d").payload("{}").deduplication_key("once")
}

#[tokio::test]
async fn postgresql() {
    let database = Database::new(Kind::Postgres).await;
    let owner = postgres(&database.url).await;
    let role = format!("app_{}", std::process::id());
    let grant = async |statement: &str| {
        let statement = statement.replace("TO app", &format!("TO {role}"));
        owner.batch_execute(&statement).await.unwrap();
    };
    owner
        .batch_execute(&format!("CREATE ROLE {role} LOGIN"))
        .await
        .unwrap();
    grant(PLAIN).await;
    grant(SEQUENCE).await;
    let mut app = postgres(&database.url.replace("postgres@", &format!("{role}@"))).await;
    app.batch_execute(INSERT).await.unwrap();
    let refuse = async |app: &tokio_postgres::Client| {
        let set = "SELECT setval('redeliver_outbox_number', 1)".to_owned();
        for statement in forged().into_iter().chain([set]) {
            let error = app.batch_execute(&statement).await.unwrap_err();
            let code = error.code().unwrap().code();
            // Nobody can write a generated column.
            assert!(["42501", "428C9"].contains(&code), "{statement}: {code}");
        }
    };
    refuse(&app).await;
    grant(ADAPTER).await;
    grant(KEYS).await;
    let transaction = app.transaction().await.unwrap();
    for new in [true, false] {
        let enqueued = Outbox::default().enqueue(&transaction, &message()).await.unwrap();
        assert_eq!(enqueued.is_new(), new);
    }
    transaction.commit().await.unwrap();
    refuse(&app).await;
    assert_eq!(database.count("redeliver_outbox").await, 2);
    drop(app);
    owner
        .batch_execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"))
        .await
        .unwrap();
    drop(owner);
    database.drop().await;
}

#[tokio::test]
async fn on_mariadb() {
    enqueue_without_forging(Kind::Mariadb).await;
}

#[tokio::test]
async fn on_mysql() {
    enqueue_without_forging(Kind::Mysql).await;
}

async fn enqueue_without_forging(kind: Kind) {
    let database = Database::new(kind).await;
    let mut owner = mysql(&database.url).await;
    let user = format!("app_{}", std::process::id());
    owner.query_drop(format!("CREATE USER {user}")).await.unwrap();
    owner
        .query_drop(PLAIN.replace("TO app", &format!("TO {user}")))
        .await
        .unwrap();
    let mut app = mysql(&database.url.replace("root@", &format!("{user}@"))).await;
    app.query_drop(INSERT).await.unwrap();
    for statement in forged() {
        let error = app.query_drop(&statement).await.unwrap_err();
        let mysql_async::Error::Server(error) = error else {
            panic!("{statement}: {error}");
        };
        // Denied on a column, on a table; a generated column.
        assert!(
            [1142, 1143, 1906, 3105].contains(&error.code),
            "{statement}: {error}"
        );
    }
    for statement in [ADAPTER, KEYS] {
        let statement = statement.replace("TO app", &format!("TO {user}"));
        owner.query_drop(statement).await.unwrap();
    }
    let mut transaction = app
        .start_transaction(mysql_async::TxOpts::default())
        .await
        .unwrap();
    for new in [true, false] {
        let enqueued = Outbox::default()
            .enqueue(&mut transaction, &message())
            .await
            .unwrap();
        assert_eq!(enqueued.is_new(), new);
    }
    transaction.commit().await.unwrap();
    assert_eq!(database.count("redeliver_outbox").await, 2);
    drop(app);
    owner.query_drop(format!("DROP USER {user}")).await.unwrap();
    drop(owner);
    database.drop().await;
}
