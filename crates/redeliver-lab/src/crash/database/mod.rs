//! The databases: their private servers, what producers do in them, and what is in them at the end. Plain SQL throughout.

pub(crate) mod mysql;
pub(crate) mod postgres;
pub(crate) mod server;
mod sqlite;

use std::{net::SocketAddr, path::Path, time::Duration};

use super::{
    error::Result,
    record::{Ended, Record},
};
use crate::history::{LoggedAttempt, Message, Row, Ticket};
use server::Server;
pub(super) use server::signal;

/// Which database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
    Mariadb,
    Mysql,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Sqlite, Self::Postgres, Self::Mariadb, Self::Mysql];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Mariadb => "mariadb",
            Self::Mysql => "mysql",
        }
    }
}

/// A database with the application's own table in it.
#[derive(Debug)]
pub(super) enum Database {
    Sqlite(std::path::PathBuf),
    Postgres(Server),
    /// MariaDB or MySQL.
    Mysql(Server),
}

impl Database {
    pub(super) async fn start(kind: Kind, directory: &Path) -> Result<Self> {
        match kind {
            Kind::Sqlite => Ok(Self::Sqlite(directory.join("outbox.db"))),
            Kind::Postgres => Ok(Self::Postgres(postgres::start(directory).await?)),
            Kind::Mariadb => Ok(Self::Mysql(mysql::start_mariadb(directory).await?)),
            Kind::Mysql => Ok(Self::Mysql(mysql::start_mysql(directory).await?)),
        }
    }

    /// Where its server listens, if it has one.
    pub(super) fn server(&self) -> Option<SocketAddr> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(server) | Self::Mysql(server) => Some(server.address),
        }
    }

    /// The address for a relay, by way of a proxy if there is one.
    pub(super) fn url(&self, by_way_of: Option<SocketAddr>) -> String {
        match self {
            Self::Sqlite(file) => format!("sqlite://{}", file.display()),
            Self::Postgres(server) => {
                format!(
                    "postgres://postgres@{}/postgres",
                    by_way_of.unwrap_or(server.address)
                )
            }
            Self::Mysql(server) => format!("mysql://root@{}/shop", by_way_of.unwrap_or(server.address)),
        }
    }

    pub(super) async fn connect(&self) -> Result<Connection> {
        match self {
            Self::Sqlite(file) => sqlite::connect(file).map(Connection::Sqlite),
            Self::Postgres(server) => postgres::connect(server.address).await.map(Connection::Postgres),
            Self::Mysql(server) => mysql::connect(server.address).await.map(Connection::Mysql),
        }
    }

    /// Ends the server as a crash would, and starts it again after a while.
    pub(super) async fn restart(&mut self, after: Duration) -> Result<()> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(server) | Self::Mysql(server) => {
                server.end_at_once().await?;
                redeliver::clock::sleep(after).await;
                server.start().await
            }
        }?;
        // It is back when it can be worked with.
        server::patiently("work with the database again", async || {
            self.connect().await?.live().await
        })
        .await?;
        Ok(())
    }

    pub(super) async fn end(self) {
        match self {
            Self::Sqlite(_) => {}
            // It was only for this; an error leaves it to the end of this program.
            Self::Postgres(mut server) | Self::Mysql(mut server) => drop(server.end_at_once().await),
        }
    }
}

/// What a producer, or whoever looks, does through.
pub(super) enum Connection {
    Sqlite(rusqlite::Connection),
    Postgres(tokio_postgres::Client),
    Mysql(mysql_async::Conn),
}

/// A transaction of the application: its own row and the messages that it promises.
pub(super) struct Transaction<'a> {
    pub(super) messages: &'a [(Ticket, Message)],
    /// How long it stays open after its inserts.
    pub(super) held: Duration,
    pub(super) commit: bool,
    pub(super) record: &'a Record,
}

/// What the tables hold.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) rows: Vec<Row>,
    pub(super) log: Vec<LoggedAttempt>,
    /// Messages whose transaction has left a row of the application itself.
    pub(super) orders: Vec<Ticket>,
}

impl Connection {
    /// Makes the application's own table.
    pub(super) async fn make_orders(&mut self) -> Result<()> {
        match self {
            Self::Sqlite(connection) => sqlite::make_orders(connection),
            Self::Postgres(client) => postgres::make_orders(client).await,
            Self::Mysql(connection) => mysql::make_orders(connection).await,
        }
    }

    /// Returns nothing if the transaction failed before its commit was asked for.
    pub(super) async fn carry_out(&mut self, transaction: &Transaction<'_>) -> Option<Ended> {
        match self {
            Self::Sqlite(connection) => sqlite::carry_out(connection, transaction),
            Self::Postgres(client) => postgres::carry_out(client, transaction).await,
            Self::Mysql(connection) => mysql::carry_out(connection, transaction).await,
        }
    }

    /// How many messages have not reached their end.
    pub(super) async fn live(&mut self) -> Result<u64> {
        match self {
            Self::Sqlite(connection) => sqlite::live(connection),
            Self::Postgres(client) => postgres::live(client).await,
            Self::Mysql(connection) => mysql::live(connection).await,
        }
    }

    pub(super) async fn contents(&mut self) -> Result<Contents> {
        match self {
            Self::Sqlite(connection) => sqlite::contents(connection),
            Self::Postgres(client) => postgres::contents(client).await,
            Self::Mysql(connection) => mysql::contents(connection).await,
        }
    }
}

const ORDERS: &str = "CREATE TABLE shop_orders (ticket BIGINT NOT NULL PRIMARY KEY)";
const LIVE: &str = "SELECT COUNT(*) FROM redeliver_outbox";
const ORDERED: &str = "SELECT ticket FROM shop_orders";

fn headers(ticket: Ticket) -> String {
    format!(r#"{{"{}":"{ticket}"}}"#, super::destination::TICKET)
}

/// Whose row it is, told by the headers that its producer gave it.
fn ticket_in(headers: Option<String>) -> Option<Ticket> {
    let headers: serde_json::Value = serde_json::from_str(&headers?).ok()?;
    headers.get(super::destination::TICKET)?.as_str()?.parse().ok()
}

/// A payload as text: producers write nothing else.
fn text(message: &Message) -> &str {
    std::str::from_utf8(&message.payload).unwrap_or_default()
}

fn number(ticket: Ticket) -> i64 {
    i64::try_from(ticket).unwrap_or(i64::MAX)
}
