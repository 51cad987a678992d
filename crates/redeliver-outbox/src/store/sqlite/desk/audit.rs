//! What operators did: appended to, never changed.

use super::{Done, Session, row};
use crate::{
    MessageId,
    desk::{Act, AuditRecord},
    store::desk::records,
};

pub(super) fn append(
    session: &Session<'_>,
    act: &Act,
    action: &str,
    message: impl Into<Option<MessageId>>,
    detail: &str,
) -> rusqlite::Result<()> {
    let message = message.into();
    let values = (
        session.now.as_millis(),
        &act.who,
        action,
        message.map(MessageId::number),
        message.map(MessageId::salt),
        &act.why,
        detail,
    );
    session.execute(include_str!("../sql/append_audit.sql"), values)?;
    Ok(())
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
