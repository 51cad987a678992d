use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use redeliver::clock;
use rustix::process::Signal;
use tokio_postgres::{Client, Error, NoTls};

use super::{
    Contents, LIVE, ORDERED, ORDERS, Transaction, headers, number,
    server::{Server, as_user, owned, program, run},
    text, ticket_in,
};
use crate::{
    crash::{
        error::{Result, While as _},
        record::Ended,
    },
    history::{LoggedAttempt, Row},
};

const USER: &str = "postgres";
const PACKAGE: &str = "postgresql";

pub(crate) async fn start(directory: &Path) -> Result<Server> {
    let data = directory.join("data");
    owned(USER, &data).await?;
    let folders = installed();
    let mut make = as_user(USER, &program("initdb", &folders, PACKAGE)?);
    make.arg("-D")
        .arg(&data)
        .args(["-A", "trust", "-U", USER, "--no-sync", "-E", "UTF8", "--locale=C"]);
    run(make.current_dir(directory), "make a PostgreSQL data directory").await?;
    // SIGQUIT is what `pg_ctl stop -m immediate` sends. What was committed is with the operating system, which is not tormented: so
    // nothing need be flushed to the disk.
    let server = Server::new("PostgreSQL", USER, Signal::QUIT, directory)?;
    let port = server.address.port();
    let settings = [
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "max_connections=100",
        "fsync=off",
    ];
    let settings = settings
        .iter()
        .flat_map(|setting| ["-c".to_owned(), (*setting).to_owned()]);
    let arguments = [
        "-D".to_owned(),
        data.display().to_string(),
        "-p".to_owned(),
        port.to_string(),
    ];
    let mut server = server.runs(
        program("postgres", &folders, PACKAGE)?,
        arguments.into_iter().chain(settings),
    );
    server.start().await?;
    let address = server.address;
    super::server::patiently("work with PostgreSQL", || connect(address)).await?;
    Ok(server)
}

/// Where the Debian packages put the servers, the newest first.
pub(crate) fn installed() -> Vec<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    folders.sort();
    folders.reverse();
    folders
}

pub(super) async fn connect(server: SocketAddr) -> Result<Client> {
    let address = format!("postgres://{USER}@{server}/postgres?connect_timeout=5");
    let (client, connection) = tokio_postgres::connect(&address, NoTls)
        .await
        .during("connect to PostgreSQL")?;
    // Ends with its client; what ends it earlier, the client hears of.
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}

pub(super) async fn make_orders(client: &Client) -> Result<()> {
    client
        .batch_execute(ORDERS)
        .await
        .during("make the application's table")
}

pub(super) async fn carry_out(client: &mut Client, transaction: &Transaction<'_>) -> Option<Ended> {
    let open = inserted(client, transaction).await.ok()?;
    clock::sleep(transaction.held).await;
    if !transaction.commit {
        // If this does not reach the server, the end of the connection does the same.
        drop(open.rollback().await);
        return Some(Ended::RolledBack);
    }
    Some(Ended::of_commit(open.commit().await.is_ok()))
}

async fn inserted<'a>(
    client: &'a mut Client,
    transaction: &Transaction<'_>,
) -> std::result::Result<tokio_postgres::Transaction<'a>, Error> {
    let open = client.transaction().await?;
    for (ticket, message) in transaction.messages {
        open.execute(
            "INSERT INTO shop_orders (ticket) VALUES ($1)",
            &[&number(*ticket)],
        )
        .await?;
        let row = open
            .query_one(
                "INSERT INTO redeliver_outbox (destination, lane, payload, headers) VALUES ($1, $2, $3, $4) RETURNING shard",
                &[&message.destination, &message.key, &text(message), &headers(*ticket)],
            )
            .await?;
        transaction
            .record
            .in_shard(*ticket, row.get::<_, i16>(0).unsigned_abs());
    }
    Ok(open)
}

pub(super) async fn live(client: &Client) -> Result<u64> {
    let row = client.query_one(LIVE, &[]).await.during("count live messages")?;
    Ok(row.get::<_, i64>(0).unsigned_abs())
}

pub(super) async fn contents(client: &Client) -> Result<Contents> {
    read(client).await.during("read the tables")
}

async fn read(client: &Client) -> std::result::Result<Contents, Error> {
    let rows = client
        .query(
            "SELECT id::text, number, shard::integer, status::text, attempts::integer, dead_letter_reason::text, headers
             FROM redeliver_messages",
            &[],
        )
        .await?;
    let rows = rows.iter().map(|row| Row {
        id: row.get(0),
        number: row.get(1),
        shard: u16::try_from(row.get::<_, i32>(2)).unwrap_or(u16::MAX),
        status: row.get(3),
        attempts: row.get::<_, i32>(4).unsigned_abs(),
        reason: row.get(5),
        ticket: ticket_in(row.get(6)),
    });
    let rows = rows.collect();
    let log = client
        .query("SELECT number, attempt, class FROM redeliver_attempts", &[])
        .await?;
    let log = log.iter().map(|row| LoggedAttempt {
        number: row.get(0),
        attempt: row.get::<_, i32>(1).unsigned_abs(),
        class: row.get(2),
    });
    let log = log.collect();
    let orders = client.query(ORDERED, &[]).await?;
    let orders = orders
        .iter()
        .map(|row| row.get::<_, i64>(0).unsigned_abs())
        .collect();
    Ok(Contents { rows, log, orders })
}
