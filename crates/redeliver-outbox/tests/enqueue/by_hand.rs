//! The statements for a client without an adapter, run as such a client would.

use redeliver_outbox::{
    Enqueued, Inbox, MessageId, NewMessage, Outbox,
    enqueue::{Dialect, Parameter, Statement},
};

use crate::database::{Database, Kind, mysql as client, postgres};

/// Runs a statement, and tells how many rows it changed or returned.
async fn run(database: &Database, statement: &Statement<'_>) -> u64 {
    match database.kind {
        Kind::Sqlite => {
            let connection = rusqlite::Connection::open(&database.url).unwrap();
            let values = statement.parameters.iter().map(sqlite_value);
            let mut prepared = connection.prepare(&statement.sql).unwrap();
            if prepared.column_count() == 0 {
                return prepared.execute(rusqlite::params_from_iter(values)).unwrap() as u64;
            }
            let mut rows = prepared.query(rusqlite::params_from_iter(values)).unwrap();
            let mut count = 0;
            while rows.next().unwrap().is_some() {
                count += 1;
            }
            count
        }
        Kind::Postgres => {
            let client = postgres(&database.url).await;
            let values: Vec<Box<dyn tokio_postgres::types::ToSql + Sync>> =
                statement.parameters.iter().map(postgres_value).collect();
            let values: Vec<_> = values.iter().map(AsRef::as_ref).collect();
            client.execute(&statement.sql, &values).await.unwrap()
        }
        Kind::Mariadb | Kind::Mysql => {
            use mysql_async::prelude::Queryable;
            let mut connection = client(&database.url).await;
            let values: Vec<_> = statement.parameters.iter().map(mysql_value).collect();
            connection.exec_drop(&statement.sql, values).await.unwrap();
            connection.affected_rows()
        }
    }
}

fn sqlite_value(parameter: &Parameter<'_>) -> rusqlite::types::Value {
    match parameter.clone() {
        Parameter::Integer(integer) => integer.into(),
        Parameter::Text(text) => text.map(String::from).into(),
        Parameter::Binary(bytes) => bytes.map(Vec::from).into(),
    }
}

fn postgres_value(parameter: &Parameter<'_>) -> Box<dyn tokio_postgres::types::ToSql + Sync> {
    match parameter.clone() {
        Parameter::Integer(integer) => Box::new(integer),
        Parameter::Text(text) => Box::new(text.map(String::from)),
        Parameter::Binary(bytes) => Box::new(bytes.map(Vec::from)),
    }
}

fn mysql_value(parameter: &Parameter<'_>) -> mysql_async::Value {
    match parameter.clone() {
        Parameter::Integer(integer) => integer.into(),
        Parameter::Text(text) => text.map(String::from).into(),
        Parameter::Binary(bytes) => bytes.map(Vec::from).into(),
    }
}

async fn statements_run_as_they_are(kind: Kind, dialect: Dialect) {
    let database = Database::new(kind).await;
    let outbox = Outbox::default();
    let message = NewMessage::to("d")
        .key("k")
        .payload(vec![0, 0xff])
        .header("x", "y")
        .deduplication_key("once");
    let statements = outbox.statements(dialect, &message).unwrap();
    let deduplication = statements.deduplication.unwrap();
    assert_eq!(run(&database, &deduplication).await, 1);
    assert_eq!(run(&database, &statements.message).await, 1);
    assert_eq!(run(&database, &deduplication).await, 0);
    let rows = database.rows().await;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].payload_binary.as_deref(), Some(&[0, 0xff][..]));
    assert_eq!(rows[0].headers.as_deref(), Some(r#"{"x":"y"}"#));
    let inbox = Inbox::new("c");
    let id = MessageId::new(rows[0].number, rows[0].salt);
    let seen = inbox.statement(dialect, id).unwrap();
    assert_eq!(run(&database, &seen).await, 1);
    assert_eq!(run(&database, &seen).await, 0);
    assert!(inbox.statement(dialect, "x".repeat(101)).is_err());
    assert!(outbox.statements(dialect, &NewMessage::to("")).is_err());
    assert!(!Enqueued::Duplicate(Some(id)).is_new());
    database.drop().await;
}

#[tokio::test]
async fn sqlite() {
    statements_run_as_they_are(Kind::Sqlite, Dialect::Sqlite).await;
}

#[tokio::test]
async fn postgresql() {
    statements_run_as_they_are(Kind::Postgres, Dialect::Postgres).await;
}

#[tokio::test]
async fn mysql() {
    statements_run_as_they_are(Kind::Mysql, Dialect::Mysql).await;
}

#[tokio::test]
async fn mariadb() {
    statements_run_as_they_are(Kind::Mariadb, Dialect::Mysql).await;
}
