use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use mysql_async::{Conn, Error, OptsBuilder, prelude::Queryable as _};
use redeliver::clock;
use rustix::process::Signal;
use tokio::process::Command;

use super::{
    Contents, LIVE, ORDERED, ORDERS, Transaction, headers, number,
    server::{Root, Server, as_user, owned, patiently, program, run},
    text, ticket_in,
};
use crate::{
    crash::{
        error::{CannotTorment, Result, While as _},
        record::Ended,
    },
    history::{LoggedAttempt, Row},
};

const USER: &str = "mysql";
const PACKAGE: &str = "mariadb-server";

pub(crate) async fn start_mariadb(directory: &Path) -> Result<Server> {
    let data = directory.join("data");
    owned(USER, &data).await?;
    // A MariaDB that starts removes every temporary table that it finds where it has its own: in /tmp, it would take another's away.
    let temporary = directory.join("temporary");
    owned(USER, &temporary).await?;
    let folders = [PathBuf::from("/usr/sbin"), PathBuf::from("/usr/bin")];
    let mut make = as_user(USER, &program("mariadb-install-db", &folders, PACKAGE)?);
    make.env("TMPDIR", &temporary)
        .arg("--no-defaults")
        .arg(format!("--datadir={}", data.display()));
    make.args([
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
        "--skip-name-resolve",
    ]);
    run(make.current_dir(directory), "make a MariaDB data directory").await?;
    let server = Server::new("MariaDB", USER, Signal::KILL, directory)?;
    let mut arguments = arguments(&server, &data, &temporary);
    arguments.extend(["--skip-name-resolve", "--sync-frm=OFF"].map(str::to_owned));
    begun(server.runs(program("mariadbd", &folders, PACKAGE)?, arguments)).await
}

pub(crate) async fn start_mysql(directory: &Path) -> Result<Server> {
    let (root, mysqld) = find_mysql().await?;
    let (data, temporary) = (directory.join("data"), directory.join("temporary"));
    let root = match root {
        Some(root) => Some(Root::with(root, USER, directory, &[&data, &temporary]).await?),
        None => {
            owned(USER, &data).await?;
            owned(USER, &temporary).await?;
            None
        }
    };
    let mut make = match &root {
        Some(root) => root.command(USER, &mysqld),
        None => as_user(USER, &mysqld),
    };
    make.args(["--no-defaults", "--initialize-insecure"])
        .arg(format!("--datadir={}", data.display()))
        .arg(format!("--tmpdir={}", temporary.display()));
    run(&mut make, "make a MySQL data directory").await?;
    let server = Server::new("MySQL", USER, Signal::KILL, directory)?.inside(root);
    let mut arguments = arguments(&server, &data, &temporary);
    arguments.extend(["--mysqlx=OFF", "--secure-file-priv=", "--sync-binlog=0"].map(str::to_owned));
    begun(server.runs(mysqld, arguments)).await
}

/// The root that MySQL runs in, unless this machine has it, and its program.
async fn find_mysql() -> Result<(Option<PathBuf>, PathBuf)> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/services");
    let found = Command::new(script).arg("mysqld").output().await;
    let found = found.during("run scripts/services mysqld")?;
    let said = String::from_utf8_lossy(&found.stdout);
    match said.lines().collect::<Vec<_>>()[..] {
        ["", program] => Ok((None, program.into())),
        [root, program] => Ok((Some(root.into()), program.into())),
        _ => Err(CannotTorment::new(
            "MySQL is missing",
            "run scripts/services install as root",
        )),
    }
}

/// What was committed is with the operating system, which is not tormented: so nothing need be flushed to the disk.
fn arguments(server: &Server, data: &Path, temporary: &Path) -> Vec<String> {
    vec![
        "--no-defaults".to_owned(),
        format!("--datadir={}", data.display()),
        format!("--socket={}", temporary.join("s.sock").display()),
        format!("--pid-file={}", temporary.join("server.pid").display()),
        format!("--tmpdir={}", temporary.display()),
        format!("--port={}", server.address.port()),
        "--bind-address=127.0.0.1".to_owned(),
        "--innodb-flush-log-at-trx-commit=2".to_owned(),
        // A disk that others use would stop all trials of the server for seconds.
        "--innodb-flush-method=nosync".to_owned(),
        "--innodb-buffer-pool-size=64M".to_owned(),
    ]
}

async fn begun(mut server: Server) -> Result<Server> {
    server.start().await?;
    let address = server.address;
    patiently("work with the server", || make_database(address)).await?;
    Ok(server)
}

async fn make_database(server: SocketAddr) -> Result<()> {
    let mut connection = connect_to(server, None).await?;
    connection
        .query_drop("CREATE DATABASE IF NOT EXISTS shop")
        .await
        .during("make a database")
}

pub(super) async fn connect(server: SocketAddr) -> Result<Conn> {
    connect_to(server, Some("shop")).await
}

async fn connect_to(server: SocketAddr, database: Option<&str>) -> Result<Conn> {
    let options = OptsBuilder::default()
        .ip_or_hostname(server.ip().to_string())
        .tcp_port(server.port())
        .user(Some("root"))
        .db_name(database)
        .prefer_socket(false);
    Conn::new(options).await.during("connect to the server")
}

pub(super) async fn make_orders(connection: &mut Conn) -> Result<()> {
    connection
        .query_drop(ORDERS)
        .await
        .during("make the application's table")
}

pub(super) async fn carry_out(connection: &mut Conn, transaction: &Transaction<'_>) -> Option<Ended> {
    inserted(connection, transaction).await.ok()?;
    clock::sleep(transaction.held).await;
    if !transaction.commit {
        // If this does not reach the server, the end of the connection does the same.
        drop(connection.query_drop("ROLLBACK").await);
        return Some(Ended::RolledBack);
    }
    Some(Ended::of_commit(connection.query_drop("COMMIT").await.is_ok()))
}

async fn inserted(connection: &mut Conn, transaction: &Transaction<'_>) -> std::result::Result<(), Error> {
    connection.query_drop("BEGIN").await?;
    for (ticket, message) in transaction.messages {
        connection
            .exec_drop("INSERT INTO shop_orders (ticket) VALUES (?)", (number(*ticket),))
            .await?;
        connection
            .exec_drop(
                "INSERT INTO redeliver_outbox (destination, lane, payload, headers) VALUES (?, ?, ?, ?)",
                (
                    &message.destination,
                    &message.key,
                    text(message),
                    headers(*ticket),
                ),
            )
            .await?;
        let shard: Option<u16> = connection
            .query_first("SELECT shard FROM redeliver_outbox WHERE number = LAST_INSERT_ID()")
            .await?;
        if let Some(shard) = shard {
            transaction.record.in_shard(*ticket, shard);
        }
    }
    Ok(())
}

pub(super) async fn live(connection: &mut Conn) -> Result<u64> {
    let count: Option<u64> = connection.query_first(LIVE).await.during("count live messages")?;
    Ok(count.unwrap_or(0))
}

pub(super) async fn contents(connection: &mut Conn) -> Result<Contents> {
    read(connection).await.during("read the tables")
}

type Columns = (String, i64, u16, String, u32, Option<String>, Option<String>);

async fn read(connection: &mut Conn) -> std::result::Result<Contents, Error> {
    let rows = connection
        .query_map(
            "SELECT id, number, shard, status, attempts, dead_letter_reason, headers FROM redeliver_messages",
            |(id, number, shard, status, attempts, reason, headers): Columns| Row {
                ticket: ticket_in(headers),
                id,
                number,
                shard,
                status,
                attempts,
                reason,
            },
        )
        .await?;
    let log = connection
        .query_map(
            "SELECT number, attempt, class FROM redeliver_attempts",
            |(number, attempt, class)| LoggedAttempt {
                number,
                attempt,
                class,
            },
        )
        .await?;
    let orders = connection.query(ORDERED).await?;
    Ok(Contents { rows, log, orders })
}
