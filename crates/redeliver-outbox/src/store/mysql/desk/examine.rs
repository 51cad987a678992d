//! The health of the database.

use mysql_async::prelude::Queryable;

use super::{MySqlStore, Work, look};
use crate::{
    Timestamp,
    desk::{Finding, Grade},
    store::{
        Result, StoreErrorKind,
        columns::Known as _,
        desk::examine::clocks,
        mysql::server::{self, Server, Start},
    },
};

/// A transaction this old keeps ranges open that the relay has to remember.
const LONG_TRANSACTION_SECONDS: u64 = 60;
/// Changes that wait for the server's purge; above this, reads walk over what is long gone.
const LONG_HISTORY: u64 = 1_000_000;

pub(super) async fn examine(store: &MySqlStore) -> Result<Vec<Finding>> {
    let mut connection = store.connection().await?;
    let mut work = Work::snapshot(store, &mut connection).await?;
    let mut findings = settings(&mut work).await?;
    let reached = server::server(&mut work).await?;
    findings.push(primary(&reached));
    findings.push(address(store, &reached.start).await?);
    findings.push(look::shards(&mut work).await?.finding());
    findings.push(numbers(&mut work).await?);
    match transactions(&mut work).await {
        Ok(found) => findings.extend(found),
        Err(error) if error.kind() == StoreErrorKind::Denied => findings.push(Finding::new(
            Grade::Advice,
            "privileges",
            "the user may not see which transactions are running, so late commits are looked for by time"
                .to_owned(),
            "GRANT PROCESS ON *.* to the relay's user",
        )),
        Err(error) => return Err(error),
    }
    Ok(findings)
}

fn primary(server: &Server) -> Finding {
    let (grade, found, next) = match server.cluster {
        _ if server.read_only => (
            Grade::Problem,
            "the server is read-only, a replica perhaps".to_owned(),
            "connect the relay to the primary, and not through a proxy that sends reads to replicas",
        ),
        Some(cluster) => (
            Grade::Advice,
            format!(
                "the server is one of several that write ({cluster}): late commits are looked for by time"
            ),
            "end every transaction within five minutes, and connect every relay to the same server",
        ),
        None => (
            Grade::Good,
            "the server alone writes to its tables".to_owned(),
            "",
        ),
    };
    Finding::new(grade, "primary", found, next)
}

/// Whether more connections reach the same server.
async fn address(store: &MySqlStore, first: &Start) -> Result<Finding> {
    const MORE: usize = 2;
    for _ in 0..MORE {
        let mut connection = store.another_connection().await?;
        let mut work = Work::snapshot(store, &mut connection).await?;
        if !server::server(&mut work).await?.start.is(first) {
            return Ok(Finding::new(
                Grade::Problem,
                "address",
                "connections to the address reach different servers".to_owned(),
                "connect the relay to one server, and not through a proxy that spreads connections",
            ));
        }
    }
    Ok(Finding::new(
        Grade::Good,
        "address",
        "every connection reaches the same server".to_owned(),
        "",
    ))
}

/// Numbers count by themselves. Where somebody has written one, an id may have no room for it and for all that follow.
async fn numbers(work: &mut Work<'_>) -> Result<Finding> {
    let row = work.row(include_str!("../sql/examine_numbers.sql"), ()).await?;
    let wrong: u64 = row.map_or(Ok(0), |mut row| row.take())?;
    Ok(if wrong == 0 {
        Finding::new(
            Grade::Good,
            "numbers",
            "every message has a number that an id has room for".to_owned(),
            "",
        )
    } else {
        Finding::new(
            Grade::Problem,
            "numbers",
            format!("{wrong} messages have a number that no id has room for, and are never delivered"),
            "insert them again without a number, delete those rows, and set the table's AUTO_INCREMENT back; an application must never \
             write the column number",
        )
    })
}

async fn settings(work: &mut Work<'_>) -> Result<Vec<Finding>> {
    let Some(mut row) = work.row(include_str!("../sql/examine.sql"), ()).await? else {
        return Ok(Vec::new());
    };
    let version: String = row.take()?;
    let clock = clocks(row.known_time()?, Timestamp::wall());
    let mode: String = row.take()?;
    let flush: i64 = row.take()?;
    let (binlog, sync_binlog, format): (bool, i64, String) = (row.take()?, row.take()?, row.take()?);
    let good_if = |good: bool, otherwise| if good { Grade::Good } else { otherwise };
    Ok(vec![
        Finding::new(Grade::Good, "version", format!("the server is {version}"), ""),
        clock,
        Finding::new(
            good_if(mode.contains("STRICT_"), Grade::Advice),
            "sql_mode",
            format!("the server's sql_mode is '{mode}'"),
            "add STRICT_TRANS_TABLES: without it an application's insert cuts what is too long and says nothing",
        ),
        Finding::new(
            good_if(flush == 1, Grade::Problem),
            "durability",
            format!("innodb_flush_log_at_trx_commit is {flush}"),
            "set it to 1: a crash of the server or its machine can lose committed messages",
        ),
        Finding::new(
            good_if(!binlog || sync_binlog == 1, Grade::Advice),
            "binlog",
            format!(
                "sync_binlog is {sync_binlog}, and the binary log is {}",
                if binlog { "on" } else { "off" }
            ),
            "set it to 1, or a replica may lack what a crash cut off",
        ),
        Finding::new(
            good_if(!binlog || format != "STATEMENT", Grade::Problem),
            "binlog_format",
            format!("binlog_format is {format}"),
            "set it to ROW: the shard and the random part of a message are drawn by the server",
        ),
    ])
}

async fn transactions(work: &mut Work<'_>) -> Result<Vec<Finding>> {
    let sql = include_str!("../sql/transactions.sql");
    let found: Option<(u64, Option<u64>)> = work
        .transaction
        .query_first(sql)
        .await
        .map_err(|error| work.store.failed(error))?;
    let (long, oldest) = found.unwrap_or_default();
    let oldest = oldest.unwrap_or(0);
    let mut findings = vec![
        Finding::new(
            Grade::Good,
            "privileges",
            "the user sees which transactions are running".to_owned(),
            "",
        ),
        Finding::new(
            if oldest < LONG_TRANSACTION_SECONDS {
                Grade::Good
            } else {
                Grade::Advice
            },
            "transactions",
            format!("{long} transactions that write are open, the oldest for {oldest} s"),
            "end it: until then its messages are not there, and everything behind them has to be remembered",
        ),
    ];
    let history: Option<u64> = work
        .transaction
        .query_first(include_str!("../sql/history.sql"))
        .await
        .map_err(|error| work.store.failed(error))?;
    if let Some(history) = history {
        findings.push(Finding::new(
            if history < LONG_HISTORY {
                Grade::Good
            } else {
                Grade::Problem
            },
            "purge",
            format!("{history} changes wait to be purged"),
            "end the transaction with the oldest snapshot: reads walk over all that it keeps",
        ));
    }
    Ok(findings)
}
