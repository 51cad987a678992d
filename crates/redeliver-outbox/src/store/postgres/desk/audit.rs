//! What operators did: appended to, never changed.

use tokio_postgres::types::Type;

use super::{Inner, Parameter, Result, Session, value};
use crate::{
    MessageId,
    desk::{Act, AuditRecord},
    store::desk::records,
};

pub(super) async fn append(
    session: &Session<'_>,
    act: &Act,
    action: &str,
    message: impl Into<Option<MessageId>>,
    detail: &str,
) -> Result<()> {
    let message = message.into();
    let (number, salt) = (message.map(MessageId::number), message.map(MessageId::salt));
    let parameters: [Parameter<'_>; 6] = [
        (&act.who, Type::TEXT),
        (&action, Type::TEXT),
        (&number, Type::INT8),
        (&salt, Type::INT8),
        (&act.why, Type::TEXT),
        (&detail, Type::TEXT),
    ];
    session
        .execute(include_str!("../sql/append_audit.sql"), &parameters)
        .await?;
    Ok(())
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
