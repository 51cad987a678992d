//! What operators did: appended to, never changed, each entry sealed with the one before it.

use std::time::Duration;

use super::{Done, Session, row};
use crate::{
    MessageId,
    desk::{Act, AuditMark, AuditRecord, AuditStep},
    limits::RETENTION_BATCH,
    millis_up,
    store::desk::{
        chain::{self, Said},
        records,
    },
};

pub(super) fn append(
    session: &Session<'_>,
    act: &Act,
    action: &str,
    message: Option<MessageId>,
    detail: &str,
) -> Done<()> {
    let said = Said {
        action,
        message,
        detail,
    };
    append_all(session, act, &[said])
}

/// The head is safe: SQLite has one writer at a time.
pub(super) fn append_all(session: &Session<'_>, act: &Act, said: &[Said<'_>]) -> Done<()> {
    if said.is_empty() {
        return Ok(());
    }
    let chain = head(session)?.ok_or_else(chain::headless)?;
    let values = (chain.head.number, row::limit(said.len()));
    let room: Option<i64> = session.row(include_str!("../sql/audit_room.sql"), values, |row| row.get(0))?;
    let room = room.ok_or_else(|| chain::full(&chain.head))?;
    let entries = chain::seal(&chain.head, room, session.now, act, said);
    for entry in &entries {
        let values = (
            entry.number,
            entry.at.as_millis(),
            &entry.who,
            &entry.action,
            entry.message.map(MessageId::number),
            entry.message.map(MessageId::salt),
            &entry.why,
            &entry.detail,
            &entry.hash,
        );
        session.execute(include_str!("../sql/append_audit.sql"), values)?;
    }
    if let Some(last) = entries.last() {
        session.execute(
            include_str!("../sql/move_audit_head.sql"),
            (last.number, &last.hash),
        )?;
    }
    Ok(())
}

pub(super) fn reveal(session: &Session<'_>, messages: &[MessageId], act: &Act) -> Done<()> {
    append_all(session, act, &Said::of_each(chain::REVEAL, messages, ""))
}

fn head(session: &Session<'_>) -> Done<Option<chain::Chain>> {
    Ok(session
        .read(include_str!("../sql/audit_chain.sql"), [], chain::chain)?
        .pop())
}

pub(super) fn verify(session: &Session<'_>, after: Option<AuditMark>, limit: usize) -> Done<AuditStep> {
    let Some(chain) = head(session)? else {
        return Ok(chain::without_head(after));
    };
    let statement = include_str!("../sql/audit_before.sql");
    let before = match after {
        None => session
            .read(statement, [chain.anchor.number], chain::before)?
            .pop(),
        Some(_) => None,
    };
    let start = chain::start(&chain, after);
    let values = (start.number, row::limit(limit));
    let entries = session.read(include_str!("../sql/audit_after.sql"), values, records::audit)?;
    Ok(chain::verify(&chain, start, before, &entries, limit))
}

/// Forgets the old ones from the beginning; how many.
pub(super) fn retain(session: &Session<'_>, age: Duration) -> Done<usize> {
    let past = session.now.as_millis().saturating_sub(millis_up(age));
    let values = (past, row::limit(RETENTION_BATCH));
    let oldest = session.read(include_str!("../sql/old_audit.sql"), values, chain::oldest)?;
    let Some(forgotten) = chain::forget(&oldest) else {
        return Ok(0);
    };
    if let Some(anchor) = &forgotten.anchor {
        session.execute(
            include_str!("../sql/move_audit_anchor.sql"),
            (anchor.number, &anchor.hash),
        )?;
    }
    Ok(session.execute(include_str!("../sql/remove_audit.sql"), [forgotten.last])?)
}

pub(super) fn page(session: &Session<'_>, before: Option<i64>, limit: usize) -> Done<Vec<AuditRecord>> {
    let values = (before.unwrap_or(i64::MAX), row::limit(limit));
    session.read(include_str!("../sql/audit.sql"), values, records::audit)
}

/// The oldest first.
pub(super) fn of_message(session: &Session<'_>, message: MessageId) -> Done<Vec<AuditRecord>> {
    let statement = include_str!("../sql/audit_of_message.sql");
    let found = session.read(statement, [message.number()], records::audit)?;
    Ok(records::audit_of(message, found))
}

pub(super) fn newest_acts(session: &Session<'_>, messages: &[MessageId]) -> Done<Vec<u64>> {
    let numbers: Vec<i64> = messages.iter().map(|message| message.number()).collect();
    let numbers = serde_json::Value::from(numbers).to_string();
    let found = session.read(
        include_str!("../sql/newest_acts.sql"),
        [numbers],
        records::newest_act,
    )?;
    Ok(records::newest_acts(messages, &found))
}
