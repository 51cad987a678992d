//! What operators did: appended to, never changed, each entry sealed with the one before it.

use std::time::Duration;

use mysql_async::{Params, Value};

use super::{MySqlStore, Work, row};
use crate::{
    MessageId,
    desk::{Act, AuditMark, AuditRecord, AuditStep},
    limits::{MYSQL_NAMED_ROWS, RETENTION_BATCH},
    store::{
        Result,
        columns::{Columns as _, Known as _},
        desk::{
            chain::{self, Chain, Said},
            records,
        },
        schema::not_migrated,
    },
};

/// Adds an entry to the transaction that does what it tells of.
pub(super) async fn append(
    work: &mut Work<'_>,
    act: &Act,
    action: &str,
    message: Option<MessageId>,
    detail: &str,
) -> Result<()> {
    let said = Said {
        action,
        message,
        detail,
    };
    append_all(work, act, &[said]).await
}

/// An entry in a transaction of its own, about no message.
pub(super) async fn record(store: &MySqlStore, act: &Act, action: &str, detail: &str) -> Result<()> {
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    append(&mut work, act, action, None, detail).await?;
    work.commit().await
}

/// The last thing that a transaction does before it commits: nobody who holds the head waits for anything else.
pub(super) async fn append_all(work: &mut Work<'_>, act: &Act, said: &[Said<'_>]) -> Result<()> {
    if said.is_empty() {
        return Ok(());
    }
    let chain = lock(work).await?;
    let statement = include_str!("../sql/audit_room.sql");
    let count = i64::try_from(said.len()).unwrap_or(i64::MAX);
    let asked = (chain.head.number, chain.head.number, count);
    let mut found = work.row(statement, asked).await?.ok_or_else(not_migrated)?;
    let room = found.integer()?.ok_or_else(|| chain::full(&chain.head))?;
    let entries = chain::seal(&chain.head, room, found.known_time()?, act, said);
    for some in entries.chunks(MYSQL_NAMED_ROWS) {
        let places = vec!["(?, ?, ?, ?, ?, ?, ?, ?, ?)"; some.len()].join(", ");
        let statement = include_str!("../sql/append_audit.sql").replace("{entries}", &places);
        let values: Vec<Value> = some.iter().flat_map(values).collect();
        work.run(&statement, Params::Positional(values)).await?;
    }
    if let Some(last) = entries.last() {
        let head = (last.number, last.hash.as_deref());
        work.run(include_str!("../sql/move_audit_head.sql"), head).await?;
    }
    Ok(())
}

pub(super) async fn reveal(store: &MySqlStore, messages: &[MessageId], act: &Act) -> Result<()> {
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    append_all(&mut work, act, &Said::of_each(chain::REVEAL, messages, "")).await?;
    work.commit().await
}

fn values(entry: &AuditRecord) -> [Value; 9] {
    [
        entry.number.into(),
        row::datetime(entry.at).into(),
        entry.who.as_str().into(),
        entry.action.as_str().into(),
        entry.message.map(MessageId::number).into(),
        entry.message.map(MessageId::salt).into(),
        entry.why.as_str().into(),
        entry.detail.as_str().into(),
        entry.hash.as_deref().into(),
    ]
}

async fn lock(work: &mut Work<'_>) -> Result<Chain> {
    let locked = work
        .read(include_str!("../sql/lock_audit.sql"), (), chain::chain)
        .await?;
    locked.into_iter().next().ok_or_else(chain::headless)
}

pub(super) async fn verify(store: &MySqlStore, after: Option<AuditMark>, limit: usize) -> Result<AuditStep> {
    let mut connection = store.connection().await?;
    let mut work = Work::snapshot(store, &mut connection).await?;
    let statement = include_str!("../sql/audit_chain.sql");
    let Some(chain) = work.read(statement, (), chain::chain).await?.pop() else {
        return Ok(chain::without_head(after));
    };
    let mut before = None;
    if after.is_none() {
        let statement = include_str!("../sql/audit_before.sql");
        let anchor = (chain.anchor.number,);
        before = work.read(statement, anchor, chain::before).await?.pop();
    }
    let start = chain::start(&chain, after);
    let statement = include_str!("../sql/audit_after.sql");
    let entries = work
        .read(statement, (start.number, limit), records::audit)
        .await?;
    Ok(chain::verify(&chain, start, before, &entries, limit))
}

/// Forgets the old ones from the beginning; how many.
pub(super) async fn retain(store: &MySqlStore, age: Duration) -> Result<u64> {
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    lock(&mut work).await?;
    let values = (row::delay(age), RETENTION_BATCH);
    let statement = include_str!("../sql/old_audit.sql");
    let oldest = work.read(statement, values, chain::oldest).await?;
    let Some(forgotten) = chain::forget(&oldest) else {
        work.abandon().await?;
        return Ok(0);
    };
    if let Some(anchor) = &forgotten.anchor {
        let moved = (anchor.number, anchor.hash.as_str());
        work.run(include_str!("../sql/move_audit_anchor.sql"), moved)
            .await?;
    }
    let rows = work
        .run(include_str!("../sql/remove_audit.sql"), (forgotten.last,))
        .await?;
    work.commit().await?;
    Ok(rows)
}

pub(super) async fn page(store: &MySqlStore, before: Option<i64>, limit: usize) -> Result<Vec<AuditRecord>> {
    let mut connection = store.connection().await?;
    let mut work = Work::snapshot(store, &mut connection).await?;
    let values = (before.unwrap_or(i64::MAX), limit);
    work.read(include_str!("../sql/audit.sql"), values, records::audit)
        .await
}

/// The oldest first.
pub(super) async fn of_message(work: &mut Work<'_>, message: MessageId) -> Result<Vec<AuditRecord>> {
    let statement = include_str!("../sql/audit_of_message.sql");
    let found = work.read(statement, (message.number(),), records::audit).await?;
    Ok(records::audit_of(message, found))
}

pub(super) async fn newest_acts(store: &MySqlStore, messages: &[MessageId]) -> Result<Vec<u64>> {
    let mut connection = store.connection().await?;
    let mut work = Work::snapshot(store, &mut connection).await?;
    let numbers: Vec<i64> = messages.iter().map(|message| message.number()).collect();
    let statement = include_str!("../sql/newest_acts.sql");
    let found = work
        .read(statement, (row::list(&numbers),), records::newest_act)
        .await?;
    Ok(records::newest_acts(messages, &found))
}
