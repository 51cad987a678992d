//! The chain of the audit trail: how an entry is sealed, and how the seals are checked. Pure, and the same for every database.

use ring::digest;

use crate::{
    MessageId, Timestamp,
    desk::{Act, AuditBreak, AuditMark, AuditRecord, AuditStep},
    store::{
        Result, StoreError, StoreErrorKind,
        columns::{Columns, Known as _},
    },
};

/// The hash before the first entry.
const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The row of `redeliver_audit_chain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) struct Chain {
    pub(in crate::store) head: AuditMark,
    /// The last entry that retention removed, or that the chain begins behind.
    pub(in crate::store) anchor: AuditMark,
}

/// A row of `audit_chain.sql` or of `lock_audit.sql`.
pub(in crate::store) fn chain(row: &mut dyn Columns) -> Result<Chain> {
    Ok(Chain {
        head: mark(row)?,
        anchor: mark(row)?,
    })
}

fn mark(row: &mut dyn Columns) -> Result<AuditMark> {
    Ok(AuditMark {
        number: row.number()?,
        hash: row.known_text()?,
    })
}

/// Without its head the chain cannot be continued.
pub(in crate::store) fn headless() -> StoreError {
    let what = "the audit trail has lost its head: the row of the table audit_chain is gone";
    StoreError::new(StoreErrorKind::Other, what)
        .next("restore it from a backup, or begin a new chain (docs/tables.md, The audit trail)")
}

/// What the audit calls it that somebody was shown what is marked secret.
pub(in crate::store) const REVEAL: &str = "reveal";

/// Something that an act has to say for itself.
#[derive(Clone, Debug)]
pub(in crate::store) struct Said<'a> {
    pub(in crate::store) action: &'a str,
    pub(in crate::store) message: Option<MessageId>,
    pub(in crate::store) detail: &'a str,
}

impl<'a> Said<'a> {
    /// The same of each message.
    pub(in crate::store) fn of_each(action: &'a str, messages: &[MessageId], detail: &'a str) -> Vec<Self> {
        let said = |message: &MessageId| Self {
            action,
            message: Some(*message),
            detail,
        };
        messages.iter().map(said).collect()
    }
}

/// Somebody has moved the head to where nothing can follow it.
pub(in crate::store) fn full(head: &AuditMark) -> StoreError {
    let what = format!(
        "the audit trail cannot go on: its head is entry {}, and no number behind that is free",
        head.number
    );
    StoreError::new(StoreErrorKind::Other, what).next(
        "restore the row of the table audit_chain from a backup, or begin a new chain (docs/tables.md, The audit trail)",
    )
}

/// The entries, sealed, behind the head. All numbers behind `room` are free: what was not written by us keeps its own.
pub(in crate::store) fn seal(
    head: &AuditMark,
    room: i64,
    at: Timestamp,
    act: &Act,
    said: &[Said<'_>],
) -> Vec<AuditRecord> {
    let mut before = head.hash.clone();
    // The entries first: where they end, no number is counted on to.
    let numbers = head.number.max(room).saturating_add(1)..;
    let seal_one = |(said, number): (&Said<'_>, i64)| {
        let mut record = AuditRecord {
            number,
            at,
            who: act.who.clone(),
            action: said.action.to_owned(),
            message: said.message,
            why: act.why.clone(),
            detail: said.detail.to_owned(),
            hash: None,
        };
        before = hash(&before, number, &record);
        record.hash = Some(before.clone());
        record
    };
    said.iter().zip(numbers).map(seal_one).collect()
}

/// SHA-256 over the hash before it and every field, each as its length, a colon, the text and a comma: no two entries are written alike.
fn hash(before: &str, number: i64, record: &AuditRecord) -> String {
    let message = record.message.map(|id| id.to_string()).unwrap_or_default();
    let mut context = digest::Context::new(&digest::SHA256);
    for field in [
        before,
        &number.to_string(),
        &record.at.as_millis().to_string(),
        &record.who,
        &record.action,
        &message,
        &record.why,
        &record.detail,
    ] {
        context.update(format!("{}:", field.len()).as_bytes());
        context.update(field.as_bytes());
        context.update(b",");
    }
    let digest = context.finish();
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What lies before the chain: a row of `audit_before.sql`.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::store) struct Before {
    entries: u64,
    first: Option<i64>,
    first_with_hash: Option<i64>,
}

pub(in crate::store) fn before(row: &mut dyn Columns) -> Result<Before> {
    Ok(Before {
        entries: row.count()?,
        first: row.integer()?,
        first_with_hash: row.integer()?,
    })
}

/// Where a step begins: retention may have been there since the step before it.
pub(in crate::store) fn start(chain: &Chain, after: Option<AuditMark>) -> AuditMark {
    after
        .filter(|mark| mark.number > chain.anchor.number)
        .unwrap_or_else(|| chain.anchor.clone())
}

/// One step: the entries behind `start`, at most so many as the limit.
pub(in crate::store) fn verify(
    chain: &Chain,
    start: AuditMark,
    before: Option<Before>,
    entries: &[AuditRecord],
    limit: usize,
) -> AuditStep {
    let mut step = AuditStep {
        fit: Vec::with_capacity(entries.len()),
        behind: start.clone(),
        head: Some(chain.head.clone()),
        older: 0,
        broken: None,
        next: None,
    };
    if let Some(before) = before {
        step.older = before.entries;
        // Retention leaves nothing behind it, and what is older than the chain has no hash.
        let strange = if chain.anchor.hash == NOTHING {
            before.first_with_hash
        } else {
            before.first
        };
        step.broken = strange.map(|number| AuditBreak::Inserted { number });
    }
    let mut last = start;
    for (place, entry) in entries.iter().enumerate() {
        if step.broken.is_some() {
            return step;
        }
        match look(chain, &last, entry, &entries[place..]) {
            Ok(mark) => {
                last = mark.clone();
                step.fit.push(mark);
            }
            Err(broken) => step.broken = Some(broken),
        }
    }
    if step.broken.is_none() {
        if entries.len() >= limit && !entries.is_empty() {
            step.next = Some(last);
        } else {
            step.broken = ending(chain, &last);
        }
    }
    step
}

/// Without the row that says where the chain begins and ends, nothing is proved.
pub(in crate::store) fn without_head(after: Option<AuditMark>) -> AuditStep {
    AuditStep {
        fit: Vec::new(),
        behind: after.unwrap_or_else(|| AuditMark {
            number: 0,
            hash: NOTHING.to_owned(),
        }),
        head: None,
        older: 0,
        broken: Some(AuditBreak::Headless),
        next: None,
    }
}

/// The entry behind `last`, and those that follow it.
fn look(
    chain: &Chain,
    last: &AuditMark,
    entry: &AuditRecord,
    rest: &[AuditRecord],
) -> std::result::Result<AuditMark, AuditBreak> {
    let number = entry.number;
    let Some(sealed) = entry.hash.as_ref().filter(|_| number <= chain.head.number) else {
        return Err(AuditBreak::Inserted { number });
    };
    if hash(&last.hash, number, entry) == *sealed {
        return Ok(AuditMark {
            number,
            hash: sealed.clone(),
        });
    }
    let next = last.number.saturating_add(1);
    let belongs = |other: &&AuditRecord| other.hash.as_ref() == Some(&hash(&last.hash, next, other));
    if let Some(elsewhere) = rest.iter().find(belongs) {
        return Err(AuditBreak::Reordered {
            number: next,
            found_at: elsewhere.number,
        });
    }
    Err(if number > next {
        AuditBreak::Missing {
            after: last.number,
            before: number,
        }
    } else {
        AuditBreak::Changed { number }
    })
}

fn ending(chain: &Chain, last: &AuditMark) -> Option<AuditBreak> {
    let head = &chain.head;
    if last == head {
        None
    } else if last.number < head.number {
        Some(AuditBreak::Truncated {
            after: last.number,
            head: head.number,
        })
    } else {
        Some(AuditBreak::Changed { number: last.number })
    }
}

/// One of the oldest entries: a row of `old_audit.sql`.
#[derive(Clone, Debug)]
pub(in crate::store) struct Oldest {
    number: i64,
    hash: Option<String>,
    old: bool,
}

pub(in crate::store) fn oldest(row: &mut dyn Columns) -> Result<Oldest> {
    Ok(Oldest {
        number: row.number()?,
        hash: row.text()?,
        old: row.flag()?,
    })
}

/// What retention removes, and what the chain stands on then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) struct Forgotten {
    /// The last entry that goes; all before it go too.
    pub(in crate::store) last: i64,
    pub(in crate::store) entries: u64,
    /// None if only entries that are older than the chain go.
    pub(in crate::store) anchor: Option<AuditMark>,
}

/// The old ones from the beginning up to the first that is not: what is left is a chain still.
pub(in crate::store) fn forget(entries: &[Oldest]) -> Option<Forgotten> {
    let old = entries.iter().take_while(|entry| entry.old);
    let mut forgotten = None;
    for entry in old {
        let so_far = forgotten.get_or_insert(Forgotten {
            last: entry.number,
            entries: 0,
            anchor: None,
        });
        so_far.last = entry.number;
        so_far.entries += 1;
        if let Some(hash) = &entry.hash {
            so_far.anchor = Some(AuditMark {
                number: entry.number,
                hash: hash.clone(),
            });
        }
    }
    forgotten
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
