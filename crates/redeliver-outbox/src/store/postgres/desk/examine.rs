//! The health of the database.

use redeliver::clock;
use tokio_postgres::Row;

use super::{Inner, Result, Session, look, row};
use crate::{
    Timestamp,
    desk::{Finding, Grade},
    store::desk::examine::{self, clocks},
};

/// From this age on, a transaction keeps so many dead rows that reading them costs.
const OLD_SECONDS: i64 = 300;

pub(super) async fn examine(inner: &Inner) -> Result<Vec<Finding>> {
    let session = inner.session().await?;
    let before = clock::wall();
    let settings = session.one(include_str!("../sql/examine.sql"), &[]).await?;
    let here = Timestamp::since_1970((before + clock::wall()) / 2);
    let holders = session
        .query(include_str!("../sql/examine_vacuum.sql"), &[])
        .await?;
    let shards = look::shards(&session).await?;
    let version = format!("the server is PostgreSQL {}", row::get::<&str>(&settings, 0)?);
    let mut findings = vec![
        Finding::new(Grade::Good, "version", version, ""),
        clocks(row::time(&settings, 1)?, here),
    ];
    findings.extend(durability(&settings)?);
    findings.push(autovacuum(row::get(&settings, 5)?));
    findings.extend(vacuum(&holders)?);
    findings.push(shards.finding());
    findings.push(sequence(&session).await?);
    if row::get(&settings, 6)? {
        let what = "the server is a replica and cannot be written to".to_owned();
        findings.push(Finding::new(
            Grade::Problem,
            "primary",
            what,
            "connect to the primary server",
        ));
    }
    Ok(findings)
}

/// Whether the sequence gives numbers that nothing has yet, in the order in which transactions take them.
async fn sequence(session: &Session<'_>) -> Result<Finding> {
    let row = session
        .one(include_str!("../sql/examine_sequence.sql"), &[])
        .await?;
    let (highest, last, cache): (i64, i64, i64) =
        (row::get(&row, 0)?, row::get(&row, 1)?, row::get(&row, 2)?);
    let name = session.names().fill("redeliver_outbox_number");
    if cache > 1 {
        let what = format!(
            "the sequence {name} has CACHE {cache}: sessions keep numbers for later, and relays do not find rows that come so late"
        );
        let next = format!("run `ALTER SEQUENCE {name} CACHE 1`, then restart the relays");
        return Ok(Finding::problem("sequence", what, &next));
    }
    if highest > last {
        let set = format!("run `SELECT setval('{name}', {highest})`");
        return Ok(examine::numbers(highest, last, &set));
    }
    let what = format!("no message has a number above {last}, the last that was given");
    Ok(Finding::good("sequence", what))
}

/// Settings under which a commit that was confirmed may be gone after a crash, a message with it.
fn durability(settings: &Row) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (column, name) in [(2, "fsync"), (3, "full_page_writes")] {
        if !row::get::<bool>(settings, column)? {
            let what = format!("{name} is off: a crash of the machine may destroy the database");
            findings.push(Finding::new(Grade::Problem, "durability", what, "turn it on"));
        }
    }
    if row::get::<&str>(settings, 4)? == "off" {
        let what = "synchronous_commit is off: messages that were committed just before a crash may be lost"
            .to_owned();
        findings.push(Finding::new(Grade::Problem, "durability", what, "turn it on"));
    }
    if findings.is_empty() {
        let what = "a commit is on the disk when it returns".to_owned();
        findings.push(Finding::new(Grade::Good, "durability", what, ""));
    }
    Ok(findings)
}

fn autovacuum(on: bool) -> Finding {
    if on {
        return Finding::new(Grade::Good, "autovacuum", "autovacuum is on".to_owned(), "");
    }
    let what = "autovacuum is off: the rows of messages that are done are never removed".to_owned();
    Finding::new(Grade::Problem, "autovacuum", what, "turn it on")
}

fn vacuum(holders: &[Row]) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for holder in holders {
        let seconds = row::get::<Option<i64>>(holder, 1)?.unwrap_or(0);
        if seconds >= OLD_SECONDS {
            let who: &str = row::get(holder, 0)?;
            let what = format!("{who} has kept dead rows from being removed for about {seconds} s");
            findings.push(Finding::new(Grade::Problem, "vacuum", what, row::get(holder, 2)?));
        }
    }
    if findings.is_empty() {
        let what = match holders.first() {
            Some(oldest) => {
                let who: &str = row::get(oldest, 0)?;
                let seconds = row::get::<Option<i64>>(oldest, 1)?.unwrap_or(0);
                format!("the oldest that keeps dead rows is {who}, for {seconds} s")
            }
            None => "nothing keeps dead rows from being removed".to_owned(),
        };
        findings.push(Finding::new(Grade::Good, "vacuum", what, ""));
    }
    Ok(findings)
}
