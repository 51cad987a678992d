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
    message: Option<MessageId>,
    detail: &str,
) -> rusqlite::Result<()> {
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

pub(super) fn newest(session: &Session<'_>, limit: usize) -> Done<Vec<AuditRecord>> {
    session.read(
        include_str!("../sql/audit.sql"),
        [row::limit(limit)],
        records::audit,
    )
}

/// The oldest first.
pub(super) fn of_message(session: &Session<'_>, message: MessageId) -> Done<Vec<AuditRecord>> {
    let statement = include_str!("../sql/audit_of_message.sql");
    let found = session.read(statement, [message.number()], records::audit)?;
    Ok(records::audit_of(message, found))
}
