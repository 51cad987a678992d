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
    message: Option<MessageId>,
    detail: &str,
) -> Result<()> {
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

pub(super) async fn newest(inner: &Inner, limit: usize) -> Result<Vec<AuditRecord>> {
    let session = inner.session().await?;
    let limit = value::limit(limit);
    let statement = include_str!("../sql/audit.sql");
    session
        .read(statement, &[(&limit, Type::INT8)], records::audit)
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
