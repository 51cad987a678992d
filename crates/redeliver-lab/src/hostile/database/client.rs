use std::{net::SocketAddr, path::Path, time::Duration};

use mysql_async::{Conn, OptsBuilder, Row as MysqlRow, Value, prelude::Queryable as _};
use rusqlite::types::ValueRef;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::crash::error::{Result, While as _};

const BUSY: Duration = Duration::from_secs(10);

/// What a producer, an operator or a checker does through.
pub(in crate::hostile) enum Connection {
    Sqlite(rusqlite::Connection),
    Postgres(Client),
    Mysql(Conn),
}

/// Why a statement did nothing, or may have.
#[derive(Clone, Debug, thiserror::Error)]
pub(in crate::hostile) enum Failure {
    /// The database said no: nothing was done.
    #[error("refused: {0}")]
    Refused(String),
    /// No answer came.
    #[error("no answer: {0}")]
    Lost(String),
}

/// The values of a row as texts.
pub(in crate::hostile) type Texts = Vec<Option<String>>;

impl Connection {
    pub(super) fn sqlite(file: &Path) -> Result<Self> {
        let connection = rusqlite::Connection::open(file).during("open the SQLite file")?;
        connection.busy_timeout(BUSY).during("open the SQLite file")?;
        Ok(Self::Sqlite(connection))
    }

    pub(super) async fn postgres(server: SocketAddr, database: &str) -> Result<Self> {
        let address = format!("postgres://postgres@{server}/{database}?connect_timeout=5");
        let (client, connection) = tokio_postgres::connect(&address, NoTls)
            .await
            .during("connect to PostgreSQL")?;
        // Ends with its client; what ends it earlier, the client hears of.
        tokio::spawn(async move { drop(connection.await) });
        Ok(Self::Postgres(client))
    }

    pub(super) async fn mysql(server: SocketAddr, database: Option<&str>) -> Result<Self> {
        let options = OptsBuilder::default()
            .ip_or_hostname(server.ip().to_string())
            .tcp_port(server.port())
            .user(Some("root"))
            .db_name(database)
            .prefer_socket(false);
        let connection = Conn::new(options).await.during("connect to the server")?;
        Ok(Self::Mysql(connection))
    }

    pub(in crate::hostile) async fn execute(&mut self, sql: &str) -> std::result::Result<(), Failure> {
        match self {
            Self::Sqlite(connection) => tokio::task::block_in_place(|| connection.execute_batch(sql))
                .map_err(|error| of_sqlite(&error)),
            Self::Postgres(client) => client
                .batch_execute(sql)
                .await
                .map_err(|error| of_postgres(&error)),
            Self::Mysql(connection) => connection.query_drop(sql).await.map_err(of_mysql),
        }
    }

    pub(in crate::hostile) async fn rows(&mut self, sql: &str) -> std::result::Result<Vec<Texts>, Failure> {
        match self {
            Self::Sqlite(connection) => tokio::task::block_in_place(|| sqlite_rows(connection, sql))
                .map_err(|error| of_sqlite(&error)),
            Self::Postgres(client) => {
                let messages = client
                    .simple_query(sql)
                    .await
                    .map_err(|error| of_postgres(&error))?;
                let rows = messages.into_iter().filter_map(|message| match message {
                    SimpleQueryMessage::Row(row) => {
                        Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
                    }
                    _ => None,
                });
                Ok(rows.collect())
            }
            Self::Mysql(connection) => {
                let rows: Vec<MysqlRow> = connection.query(sql).await.map_err(of_mysql)?;
                Ok(rows.into_iter().map(mysql_texts).collect())
            }
        }
    }
}

fn sqlite_rows(connection: &rusqlite::Connection, sql: &str) -> rusqlite::Result<Vec<Texts>> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        (0..columns)
            .map(|at| {
                Ok(match row.get_ref(at)? {
                    ValueRef::Null => None,
                    ValueRef::Integer(number) => Some(number.to_string()),
                    ValueRef::Real(number) => Some(number.to_string()),
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                        Some(String::from_utf8_lossy(bytes).into_owned())
                    }
                })
            })
            .collect()
    })?;
    rows.collect()
}

fn mysql_texts(row: MysqlRow) -> Texts {
    let texts = row.unwrap().into_iter().map(|value| match value {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Value::Int(number) => Some(number.to_string()),
        Value::UInt(number) => Some(number.to_string()),
        other => Some(other.as_sql(true)),
    });
    texts.collect()
}

fn of_sqlite(error: &rusqlite::Error) -> Failure {
    Failure::Refused(error.to_string())
}

fn of_postgres(error: &tokio_postgres::Error) -> Failure {
    match error.as_db_error() {
        // Class 57: the server ends or ended the connection.
        Some(answer) if !answer.code().code().starts_with("57P") => {
            Failure::Refused(format!("{} ({})", answer.message(), answer.code().code()))
        }
        _ => Failure::Lost(error.to_string()),
    }
}

fn of_mysql(error: mysql_async::Error) -> Failure {
    match error {
        // 1053: the server is shutting down; 1927: the connection was killed.
        mysql_async::Error::Server(answer) if !matches!(answer.code, 1053 | 1927) => {
            Failure::Refused(answer.to_string())
        }
        other => Failure::Lost(other.to_string()),
    }
}
