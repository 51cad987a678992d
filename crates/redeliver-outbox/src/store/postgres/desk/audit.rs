//! What operators did: appended to, never changed.

use tokio_postgres::{Row, types::Type};

use super::{Inner, Parameter, Result, Session, row, value};
use crate::{
    MessageId,
    desk::{Act, AuditRecord},
};

pub(super) async fn append(
    session: &Session<'_>,
    act: &Act,
    action: &str,
    message: MessageId,
    detail: &str,
) -> Result<()> {
    let (number, salt) = (message.number(), message.salt());
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
    let rows = session
        .query(include_str!("../sql/audit.sql"), &[(&limit, Type::INT8)])
        .await?;
    rows.iter().map(record).collect()
}

/// The oldest first. A number that was given again after a restore is another message's.
pub(super) async fn of_message(session: &Session<'_>, message: MessageId) -> Result<Vec<AuditRecord>> {
    let number = message.number();
    let rows = session
        .query(
            include_str!("../sql/audit_of_message.sql"),
            &[(&number, Type::INT8)],
        )
        .await?;
    let mut records = rows.iter().map(record).collect::<Result<Vec<_>>>()?;
    records.retain(|record| record.message == Some(message));
    Ok(records)
}

fn record(row: &Row) -> Result<AuditRecord> {
    let number: Option<i64> = row::get(row, 3)?;
    let salt: Option<i64> = row::get(row, 4)?;
    Ok(AuditRecord {
        at: row::time(row, 0)?,
        who: row::get(row, 1)?,
        action: row::get(row, 2)?,
        message: number.map(|number| MessageId::new(number, salt.unwrap_or(0))),
        why: row::get(row, 5)?,
        detail: row::get(row, 6)?,
    })
}
