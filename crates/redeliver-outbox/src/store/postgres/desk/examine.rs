//! The health of the database.

use std::time::Duration;

use redeliver::clock;
use tokio_postgres::Row;

use super::{Inner, Result, row, status};
use crate::{
    Timestamp,
    desk::{Finding, Grade},
};

/// How far this process's clock may be from the database's before people reading both are misled.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(5);
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
    let (_, shards, without_owner) = status::shards(&session).await?;
    let version = format!("the server is PostgreSQL {}", row::get::<&str>(&settings, 0)?);
    let mut findings = vec![
        finding(Grade::Good, "version", version, ""),
        clocks(row::time(&settings, 1)?, here),
    ];
    findings.extend(durability(&settings)?);
    findings.push(autovacuum(row::get(&settings, 5)?));
    findings.extend(vacuum(&holders)?);
    findings.push(owners(shards, without_owner));
    if row::get(&settings, 6)? {
        let what = "the server is a replica and cannot be written to".to_owned();
        findings.push(finding(
            Grade::Problem,
            "primary",
            what,
            "connect to the primary server",
        ));
    }
    Ok(findings)
}

fn finding(grade: Grade, topic: &'static str, what: String, next: &str) -> Finding {
    Finding {
        grade,
        topic,
        what,
        next: next.to_owned(),
    }
}

fn clocks(there: Timestamp, here: Timestamp) -> Finding {
    let apart = there.since(here).max(here.since(there));
    if apart <= CLOCK_TOLERANCE {
        let what = format!("the database's clock says {there}");
        return finding(Grade::Good, "clock", what, "");
    }
    let what = format!(
        "the database's clock says {there}, this machine's {here}: they are {} s apart",
        apart.as_secs()
    );
    let next = "set both clocks by NTP; retries and leases go by the database's alone, but times that messages name do not";
    finding(Grade::Advice, "clock", what, next)
}

/// Settings under which a commit that was confirmed may be gone after a crash, a message with it.
fn durability(settings: &Row) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (column, name) in [(2, "fsync"), (3, "full_page_writes")] {
        if !row::get::<bool>(settings, column)? {
            let what = format!("{name} is off: a crash of the machine may destroy the database");
            findings.push(finding(Grade::Problem, "durability", what, "turn it on"));
        }
    }
    if row::get::<&str>(settings, 4)? == "off" {
        let what = "synchronous_commit is off: messages that were committed just before a crash may be lost"
            .to_owned();
        findings.push(finding(Grade::Problem, "durability", what, "turn it on"));
    }
    if findings.is_empty() {
        let what = "a commit is on the disk when it returns".to_owned();
        findings.push(finding(Grade::Good, "durability", what, ""));
    }
    Ok(findings)
}

fn autovacuum(on: bool) -> Finding {
    if on {
        return finding(Grade::Good, "autovacuum", "autovacuum is on".to_owned(), "");
    }
    let what = "autovacuum is off: the rows of messages that are done are never removed".to_owned();
    finding(Grade::Problem, "autovacuum", what, "turn it on")
}

fn vacuum(holders: &[Row]) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for holder in holders {
        let seconds = row::get::<Option<i64>>(holder, 1)?.unwrap_or(0);
        if seconds >= OLD_SECONDS {
            let who: &str = row::get(holder, 0)?;
            let what = format!("{who} has kept dead rows from being removed for about {seconds} s");
            findings.push(finding(Grade::Problem, "vacuum", what, row::get(holder, 2)?));
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
        findings.push(finding(Grade::Good, "vacuum", what, ""));
    }
    Ok(findings)
}

fn owners(shards: u32, without_owner: u32) -> Finding {
    if without_owner == 0 {
        let what = format!("each of {shards} shards has a live owner");
        return finding(Grade::Good, "shards", what, "");
    }
    let what = format!("{without_owner} of {shards} shards have no live owner: nothing of theirs is sent");
    finding(Grade::Advice, "shards", what, "start a relay")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_are_apart_are_told_whichever_is_ahead() {
        let (early, late) = (Timestamp::from_millis(1_000), Timestamp::from_millis(61_000));
        for (there, here) in [(early, late), (late, early)] {
            let finding = clocks(there, here);
            assert_eq!(finding.grade, Grade::Advice);
            assert!(finding.what.contains("60 s apart"), "{}", finding.what);
        }
        assert_eq!(clocks(early, early).grade, Grade::Good);
    }
}
