//! Lists whose rows may be megabytes each: told in part, and gone on with by the next page.

use redeliver_outbox::{
    Payload,
    desk::{AuditRecord, Filter, JobDesk, MessageRef, Page, Record},
    store::Result,
};

/// So many rows are read at once.
const TOGETHER: usize = 10;
/// No more rows are read once those that were have so many bytes.
const ENOUGH: usize = 8 << 20;

/// The acts of operators before this one, the newest first, and whether there may be more: an edit keeps the payload as it was.
pub(super) async fn acts(
    desk: &dyn JobDesk,
    mut before: Option<i64>,
    limit: usize,
) -> Result<(Vec<AuditRecord>, bool)> {
    let mut acts: Vec<AuditRecord> = Vec::new();
    let mut bytes = 0;
    while acts.len() < limit && bytes < ENOUGH {
        let wanted = TOGETHER.min(limit - acts.len());
        let some = desk.audit_page(before, wanted).await?;
        let all = some.len() < wanted;
        bytes += some.iter().map(|act| act.detail.len()).sum::<usize>();
        before = some.last().map_or(before, |last| Some(last.number));
        acts.extend(some);
        if all {
            return Ok((acts, false));
        }
    }
    Ok((acts, true))
}

/// The same messages with their payloads: all of them, or the first ones, and then the number behind which the others are.
pub(super) async fn with_payloads(
    desk: &dyn JobDesk,
    records: &[Record],
    page: Page,
) -> Result<(Vec<Record>, Option<i64>)> {
    let mut told: Vec<Record> = Vec::with_capacity(records.len());
    let (mut bytes, mut behind) = (0, None);
    for some in records.chunks(TOGETHER) {
        if bytes >= ENOUGH {
            return Ok((told, behind));
        }
        behind = some.last().map(|last| last.id.number());
        let these = Filter {
            messages: some.iter().map(|record| MessageRef::Id(record.id)).collect(),
            ..Filter::default()
        };
        let page = Page { after: None, ..page };
        let some = desk.list(&these, page, true).await?;
        let payloads = some.iter().filter_map(|record| record.payload.as_ref());
        bytes += payloads.map(Payload::len).sum::<usize>();
        told.extend(some);
    }
    Ok((told, None))
}
