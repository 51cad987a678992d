//! Plain SQL, as any application writes it, over the clients that applications use.

use std::sync::LazyLock;

use mysql_async::prelude::Queryable as _;
use rusqlite::types::ValueRef;
use tokio::runtime::Runtime;
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// What the clients and the fault servers run on, while the tests wait.
pub(crate) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// A row as text, whatever the columns are.
pub(crate) type Row = Vec<Option<String>>;

/// One session with a database.
pub(crate) enum Client {
    Sqlite(Box<rusqlite::Connection>),
    Postgres(tokio_postgres::Client),
    MySql(Box<mysql_async::Conn>),
}

impl Client {
    pub(crate) fn open(address: &str) -> Self {
        let client = Self::try_open(address);
        client.unwrap_or_else(|error| panic!("no session with {address}: {error}"))
    }

    pub(crate) fn try_open(address: &str) -> Result<Self, String> {
        let mut client = match address.split("://").collect::<Vec<_>>()[..] {
            ["sqlite", file] => Self::Sqlite(Box::new(rusqlite::Connection::open(file).map_err(text)?)),
            ["postgres", _] => RUNTIME.block_on(async {
                let (client, connection) = tokio_postgres::connect(address, NoTls).await.map_err(text)?;
                tokio::spawn(connection);
                Ok::<_, String>(Self::Postgres(client))
            })?,
            _ => Self::MySql(Box::new(
                RUNTIME
                    .block_on(mysql_async::Conn::from_url(address))
                    .map_err(text)?,
            )),
        };
        match client {
            Self::Sqlite(_) => client.run("PRAGMA busy_timeout = 60000"),
            // What was committed is there after a crash too, whatever the server's own setting is.
            Self::Postgres(_) => client.run("SET synchronous_commit = on; SET TIME ZONE 'UTC'"),
            Self::MySql(_) => {
                client
                    .run("SET time_zone = '+00:00', sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES')");
            }
        }
        Ok(client)
    }

    /// The rows of a statement, or what the database says against it.
    pub(crate) fn ask(&mut self, sql: &str) -> Result<Vec<Row>, String> {
        match self {
            Self::Sqlite(connection) => from_sqlite(connection, sql).map_err(text),
            Self::Postgres(client) => {
                let answer = RUNTIME.block_on(client.simple_query(sql)).map_err(|error| {
                    let said = error.as_db_error().map(|said| said.message().to_owned());
                    said.unwrap_or_else(|| error.to_string())
                })?;
                let rows = answer.into_iter().filter_map(|message| match message {
                    SimpleQueryMessage::Row(row) => {
                        let columns = 0..row.len();
                        Some(columns.map(|column| row.get(column).map(str::to_owned)).collect())
                    }
                    _ => None,
                });
                Ok(rows.collect())
            }
            Self::MySql(connection) => {
                let rows: Vec<mysql_async::Row> = RUNTIME.block_on(connection.query(sql)).map_err(text)?;
                let rows = rows.into_iter().map(|row| {
                    let values = row.unwrap().into_iter();
                    let texts = values.map(mysql_async::from_value::<Option<String>>);
                    texts.collect()
                });
                Ok(rows.collect())
            }
        }
    }

    #[track_caller]
    pub(crate) fn rows(&mut self, sql: &str) -> Vec<Row> {
        self.ask(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    #[track_caller]
    pub(crate) fn run(&mut self, sql: &str) {
        self.rows(sql);
    }

    /// The one number that a statement answers with.
    #[track_caller]
    pub(crate) fn number(&mut self, sql: &str) -> i64 {
        self.rows(sql)[0][0].as_deref().unwrap().parse().unwrap()
    }
}

fn from_sqlite(connection: &rusqlite::Connection, sql: &str) -> rusqlite::Result<Vec<Row>> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        (0..columns)
            .map(|column| {
                Ok(match row.get_ref(column)? {
                    ValueRef::Null => None,
                    ValueRef::Integer(number) => Some(number.to_string()),
                    ValueRef::Real(number) => Some(number.to_string()),
                    ValueRef::Text(text) | ValueRef::Blob(text) => {
                        Some(String::from_utf8_lossy(text).into_owned())
                    }
                })
            })
            .collect()
    })?;
    rows.collect()
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
