//! What operators did.

use super::{MySqlStore, Work};
use crate::{
    MessageId,
    desk::{Act, AuditRecord},
    store::{Result, desk::records},
};

/// Adds a record to the transaction that does what it tells of.
pub(super) async fn append(
    work: &mut Work<'_>,
    act: &Act,
    action: &str,
    message: impl Into<Option<MessageId>>,
    detail: &str,
) -> Result<()> {
    let message = message.into();
    let values = (
        act.who.as_str(),
        action,
        message.map(MessageId::number),
        message.map(MessageId::salt),
        act.why.as_str(),
        detail,
    );
    work.run(include_str!("../sql/append_audit.sql"), values).await?;
    Ok(())
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
