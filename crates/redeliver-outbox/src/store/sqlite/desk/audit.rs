//! What operators did: appended to, never changed.

use rusqlite::Row;

use super::{Done, Session, row};
use crate::{
    MessageId,
    desk::{Act, AuditRecord},
};

pub(super) fn append(
    session: &Session<'_>,
    act: &Act,
    action: &str,
    message: MessageId,
    detail: &str,
) -> rusqlite::Result<()> {
    let values = (
        session.now.as_millis(),
        &act.who,
        action,
        message.number(),
        message.salt(),
        &act.why,
        detail,
    );
    session.execute(include_str!("../sql/append_audit.sql"), values)?;
    Ok(())
}

pub(super) fn newest(session: &Session<'_>, limit: usize) -> Done<Vec<AuditRecord>> {
    Ok(session.rows(include_str!("../sql/audit.sql"), [row::limit(limit)], record)?)
}

/// The oldest first. A number that was given again after a restore is another message's.
pub(super) fn of_message(session: &Session<'_>, message: MessageId) -> rusqlite::Result<Vec<AuditRecord>> {
    let statement = include_str!("../sql/audit_of_message.sql");
    let mut records = session.rows(statement, [message.number()], record)?;
    records.retain(|record| record.message == Some(message));
    Ok(records)
}

fn record(row: &Row<'_>) -> rusqlite::Result<AuditRecord> {
    let number: Option<i64> = row.get(3)?;
    let salt: Option<i64> = row.get(4)?;
    Ok(AuditRecord {
        at: row::time(row, 0)?,
        who: row::text(row, 1)?,
        action: row::text(row, 2)?,
        message: number.map(|number| MessageId::new(number, salt.unwrap_or(0))),
        why: row::text(row, 5)?,
        detail: row::text(row, 6)?,
    })
}
