//! What operators did.

use super::{MySqlStore, Work, row::Columns};
use crate::{
    MessageId,
    desk::{Act, AuditRecord},
    store::Result,
};

/// Adds a record to the transaction that does what it tells of.
pub(super) async fn append(
    work: &mut Work<'_>,
    act: &Act,
    action: &str,
    message: MessageId,
    detail: &str,
) -> Result<()> {
    let values = (
        act.who.as_str(),
        action,
        message.number(),
        message.salt(),
        act.why.as_str(),
        detail,
    );
    work.run(include_str!("../sql/append_audit.sql"), values).await?;
    Ok(())
}

pub(super) async fn newest(store: &MySqlStore, limit: usize) -> Result<Vec<AuditRecord>> {
    let mut connection = store.connection().await?;
    let mut work = Work::snapshot(store, &mut connection).await?;
    let rows = work.rows(include_str!("../sql/audit.sql"), (limit,)).await?;
    rows.into_iter().map(record).collect()
}

pub(super) async fn of_message(work: &mut Work<'_>, message: MessageId) -> Result<Vec<AuditRecord>> {
    let rows = work
        .rows(include_str!("../sql/audit_of_message.sql"), (message.number(),))
        .await?;
    let records = rows.into_iter().map(record).collect::<Result<Vec<_>>>()?;
    Ok(records
        .into_iter()
        .filter(|record| record.message == Some(message))
        .collect())
}

fn record(mut row: Columns) -> Result<AuditRecord> {
    Ok(AuditRecord {
        at: row.known_time()?,
        who: row.take()?,
        action: row.take()?,
        message: match (row.take::<Option<i64>>()?, row.take::<Option<i64>>()?) {
            (Some(number), Some(salt)) => Some(MessageId::new(number, salt)),
            _ => None,
        },
        why: row.take()?,
        detail: row.take()?,
    })
}
