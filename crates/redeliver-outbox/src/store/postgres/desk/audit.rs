//! What operators did: appended to, never changed, each entry sealed with the one before it.

use std::time::Duration;

use tokio_postgres::types::Type;

use super::{Begin, Inner, Parameter, Result, Session, row, value};
use crate::{
    MessageId,
    desk::{Act, AuditMark, AuditRecord, AuditStep},
    limits::RETENTION_BATCH,
    store::desk::{
        chain::{self, Chain, Said},
        records,
    },
};

pub(super) async fn append(
    session: &Session<'_>,
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
    append_all(session, act, &[said]).await
}

/// An entry in a transaction of its own, about no message.
pub(super) async fn record(inner: &Inner, act: &Act, action: &str, detail: &str) -> Result<()> {
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Desk).await?;
    append(&session, act, action, None, detail).await?;
    session.commit().await?;
    session.closed();
    Ok(())
}

/// The last thing that a transaction does before it commits: nobody who holds the head waits for anything else.
pub(super) async fn append_all(session: &Session<'_>, act: &Act, said: &[Said<'_>]) -> Result<()> {
    if said.is_empty() {
        return Ok(());
    }
    let chain = lock(session).await?;
    let count = i64::try_from(said.len()).unwrap_or(i64::MAX);
    let values: [Parameter<'_>; 2] = [(&chain.head.number, Type::INT8), (&count, Type::INT8)];
    let found = session
        .one(include_str!("../sql/audit_room.sql"), &values)
        .await?;
    let room: Option<i64> = row::get(&found, 0)?;
    let room = room.ok_or_else(|| chain::full(&chain.head))?;
    let at = row::time(&found, 1)?;
    let entries = chain::seal(&chain.head, room, at, act, said);
    let Some(last) = entries.last() else {
        return Ok(());
    };
    let at = value::Time(at);
    let numbers: Vec<i64> = entries.iter().map(|entry| entry.number).collect();
    let actions: Vec<&str> = entries.iter().map(|entry| entry.action.as_str()).collect();
    let messages: Vec<Option<i64>> = entries
        .iter()
        .map(|entry| entry.message.map(MessageId::number))
        .collect();
    let salts: Vec<Option<i64>> = entries
        .iter()
        .map(|entry| entry.message.map(MessageId::salt))
        .collect();
    let details: Vec<&str> = entries.iter().map(|entry| entry.detail.as_str()).collect();
    let hashes: Vec<Option<&str>> = entries.iter().map(|entry| entry.hash.as_deref()).collect();
    let parameters: [Parameter<'_>; 9] = [
        (&at, Type::TIMESTAMPTZ),
        (&act.who, Type::TEXT),
        (&act.why, Type::TEXT),
        (&numbers, Type::INT8_ARRAY),
        (&actions, Type::TEXT_ARRAY),
        (&messages, Type::INT8_ARRAY),
        (&salts, Type::INT8_ARRAY),
        (&details, Type::TEXT_ARRAY),
        (&hashes, Type::TEXT_ARRAY),
    ];
    session
        .execute(include_str!("../sql/append_audit.sql"), &parameters)
        .await?;
    let head: [Parameter<'_>; 2] = [(&last.number, Type::INT8), (&last.hash, Type::TEXT)];
    session
        .execute(include_str!("../sql/move_audit_head.sql"), &head)
        .await?;
    Ok(())
}

pub(super) async fn reveal(inner: &Inner, messages: &[MessageId], act: &Act) -> Result<()> {
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Desk).await?;
    append_all(&session, act, &Said::of_each(chain::REVEAL, messages, "")).await?;
    session.commit().await?;
    session.closed();
    Ok(())
}

async fn lock(session: &Session<'_>) -> Result<Chain> {
    let locked = session
        .read(include_str!("../sql/lock_audit.sql"), &[], chain::chain)
        .await?;
    locked.into_iter().next().ok_or_else(chain::headless)
}

pub(super) async fn verify(inner: &Inner, after: Option<AuditMark>, limit: usize) -> Result<AuditStep> {
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Look).await?;
    let step = look(&session, after, limit).await?;
    session.commit().await?;
    session.closed();
    Ok(step)
}

async fn look(session: &Session<'_>, after: Option<AuditMark>, limit: usize) -> Result<AuditStep> {
    let statement = include_str!("../sql/audit_chain.sql");
    let Some(chain) = session.read(statement, &[], chain::chain).await?.pop() else {
        return Ok(chain::without_head(after));
    };
    let mut before = None;
    if after.is_none() {
        let anchor: [Parameter<'_>; 1] = [(&chain.anchor.number, Type::INT8)];
        let statement = include_str!("../sql/audit_before.sql");
        before = session.read(statement, &anchor, chain::before).await?.pop();
    }
    let start = chain::start(&chain, after);
    let most = value::limit(limit);
    let parameters: [Parameter<'_>; 2] = [(&start.number, Type::INT8), (&most, Type::INT8)];
    let statement = include_str!("../sql/audit_after.sql");
    let entries = session.read(statement, &parameters, records::audit).await?;
    Ok(chain::verify(&chain, start, before, &entries, limit))
}

/// Forgets the old ones from the beginning; how many.
pub(super) async fn retain(session: &mut Session<'_>, age: Duration) -> Result<u64> {
    session.opens();
    session.begin(Begin::Desk).await?;
    lock(session).await?;
    let (millis, most) = (value::wait_millis(age), value::limit(RETENTION_BATCH));
    let parameters: [Parameter<'_>; 2] = [(&millis, Type::INT8), (&most, Type::INT8)];
    let statement = include_str!("../sql/old_audit.sql");
    let oldest = session.read(statement, &parameters, chain::oldest).await?;
    let mut rows = 0;
    if let Some(forgotten) = chain::forget(&oldest) {
        if let Some(anchor) = &forgotten.anchor {
            let moved: [Parameter<'_>; 2] = [(&anchor.number, Type::INT8), (&anchor.hash, Type::TEXT)];
            session
                .execute(include_str!("../sql/move_audit_anchor.sql"), &moved)
                .await?;
        }
        let last: [Parameter<'_>; 1] = [(&forgotten.last, Type::INT8)];
        rows = session
            .execute(include_str!("../sql/remove_audit.sql"), &last)
            .await?;
    }
    session.commit().await?;
    session.closed();
    Ok(rows)
}

pub(super) async fn page(inner: &Inner, before: Option<i64>, limit: usize) -> Result<Vec<AuditRecord>> {
    let session = inner.session().await?;
    let (before, limit) = (before.unwrap_or(i64::MAX), value::limit(limit));
    let parameters: [Parameter<'_>; 2] = [(&before, Type::INT8), (&limit, Type::INT8)];
    session
        .read(include_str!("../sql/audit.sql"), &parameters, records::audit)
        .await
}

/// The oldest first.
pub(super) async fn of_message(session: &Session<'_>, message: MessageId) -> Result<Vec<AuditRecord>> {
    let number = message.number();
    let statement = include_str!("../sql/audit_of_message.sql");
    let found = session
        .read(statement, &[(&number, Type::INT8)], records::audit)
        .await?;
    Ok(records::audit_of(message, found))
}

pub(super) async fn newest_acts(inner: &Inner, messages: &[MessageId]) -> Result<Vec<u64>> {
    let session = inner.session().await?;
    let numbers: Vec<i64> = messages.iter().map(|message| message.number()).collect();
    let parameters: [Parameter<'_>; 1] = [(&numbers.as_slice(), Type::INT8_ARRAY)];
    let statement = include_str!("../sql/newest_acts.sql");
    let found = session.read(statement, &parameters, records::newest_act).await?;
    Ok(records::newest_acts(messages, &found))
}
