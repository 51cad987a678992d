//! Mending a dead letter: what may be changed, what is kept of it, and what the audit says.

use serde_json::{Map, Value, json};

use super::records::Kept;
use crate::{
    Fingerprint, MessageId, NewMessage, Payload,
    desk::{AuditRecord, Edit, Record, Seen},
    state::Status,
    store::{Result, StoreError, StoreErrorKind},
};

/// A dead letter that no relay would take would only come back.
pub(in crate::store) fn check(edit: &Edit) -> Result<()> {
    let unseen = Edit {
        seen: None,
        redrive: false,
        ..edit.clone()
    };
    if unseen == Edit::default() {
        let what = "the edit changes nothing";
        let next = "give a new payload, content type, destination or headers";
        return Err(StoreError::new(StoreErrorKind::BadInput, what).next(next));
    }
    let mut message = NewMessage::to(edit.destination.as_deref().unwrap_or("unchanged"));
    message.content_type.clone_from(&edit.content_type);
    message.payload = edit.payload.clone().unwrap_or_else(|| Payload::from(""));
    if let Some(headers) = &edit.headers {
        message.headers = parse_headers(headers).ok_or_else(|| {
            let what = "the message's headers are no JSON object whose values are texts";
            let next = "write them like {\"x-tenant\": \"acme\"}";
            StoreError::new(StoreErrorKind::BadInput, what).next(next)
        })?;
    }
    super::check(std::iter::once(&message))
}

fn parse_headers(text: &str) -> Option<Vec<(String, String)>> {
    let object: Map<String, Value> = serde_json::from_str(text).ok()?;
    object
        .into_iter()
        .map(|(name, value)| Some((name, value.as_str()?.to_owned())))
        .collect()
}

/// The message, if it is there and a dead letter.
pub(in crate::store) fn editable(found: Option<Record>) -> Result<Record> {
    let found = found.ok_or_else(|| {
        StoreError::new(StoreErrorKind::NotFound, "there is no such message")
            .next("look for it in the list of messages")
    })?;
    if found.status == Status::DeadLettered {
        return Ok(found);
    }
    let what = format!(
        "message {} is {}, and only a dead letter can be edited",
        found.id, found.status
    );
    Err(StoreError::new(StoreErrorKind::NotFound, what).next("look at it again"))
}

/// Refuses what is done to a letter to which something was done since it was looked at: `redrives` and `acts` are what is true now, under
/// its lock.
pub(in crate::store) fn unchanged(seen: Option<Seen>, redrives: u32, acts: &[AuditRecord]) -> Result<()> {
    let now = Seen::of(redrives, acts);
    let Some(seen) = seen.filter(|seen| *seen != now) else {
        return Ok(());
    };
    let what = seen.since(now, acts);
    let what = format!("the message was changed since it was looked at: {what}");
    Err(StoreError::new(StoreErrorKind::NotFound, what).next("look at it again"))
}

/// Somebody else put it back or gave it up between the look and the lock.
pub(in crate::store) fn taken(id: MessageId) -> StoreError {
    let what = format!("message {id} is no dead letter any more");
    StoreError::new(StoreErrorKind::NotFound, what).next("look at it again")
}

/// What is written of an edited dead letter.
pub(in crate::store) struct Mended {
    pub(in crate::store) original: Option<Payload>,
    pub(in crate::store) payload: Payload,
    /// Whether it leaves its lane, which has nothing to wait for then.
    pub(in crate::store) moves: bool,
    /// The issue that it is of then, in the table's words, if it moves.
    pub(in crate::store) fingerprint: Option<String>,
    /// For the audit.
    pub(in crate::store) detail: String,
}

pub(in crate::store) fn mend(edit: &Edit, letter: Kept) -> Mended {
    let first = letter.original.is_none() && edit.payload.is_some();
    let original = if first {
        letter.payload.clone()
    } else {
        letter.original
    };
    let moved_to = edit.destination.as_ref().filter(|to| **to != letter.destination);
    Mended {
        moves: moved_to.is_some(),
        fingerprint: moved_to.map(|to| Fingerprint::of(to, &letter.reason, &letter.error).column()),
        detail: detail(edit, original.as_ref().filter(|_| first)),
        original,
        payload: (edit.payload.clone().or(letter.payload)).unwrap_or_else(|| Payload::from("")),
    }
}

const TEXT: &str = "original_payload";
const BINARY: &str = "original_payload_hex";

/// What was changed. The payload as it was inserted is here too: the dead letter's own row goes when it is redriven.
fn detail(edit: &Edit, original: Option<&Payload>) -> String {
    let fields = [
        ("payload", edit.payload.is_some()),
        ("content_type", edit.content_type.is_some()),
        ("headers", edit.headers.is_some()),
        ("destination", edit.destination.is_some()),
    ];
    let changed: Vec<&str> = fields
        .into_iter()
        .filter_map(|(field, changed)| changed.then_some(field))
        .collect();
    let mut detail = json!({ "changed": changed });
    match original {
        Some(Payload::Text(text)) => detail[TEXT] = json!(text),
        Some(Payload::Binary(bytes)) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            detail[BINARY] = json!(hex);
        }
        None => {}
    }
    detail.to_string()
}

/// The payload as it was before the first edit, however often it was redriven since.
pub(super) fn original(audit: &[AuditRecord]) -> Option<Payload> {
    audit
        .iter()
        .filter(|record| record.action == "edit")
        .find_map(|record| {
            let detail: Value = serde_json::from_str(&record.detail).ok()?;
            if let Some(text) = detail[TEXT].as_str() {
                return Some(Payload::from(text));
            }
            let hex = detail[BINARY].as_str()?.as_bytes();
            let bytes: Option<Vec<u8>> = hex
                .chunks(2)
                .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
                .collect();
            Some(Payload::Binary(bytes?.into()))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    fn letter(payload: Payload, original: Option<Payload>) -> Kept {
        Kept {
            gap: false,
            original,
            payload: Some(payload),
            destination: "billing".to_owned(),
            reason: "permanent".to_owned(),
            error: "422".to_owned(),
        }
    }

    #[test]
    fn the_first_payload_is_kept_and_found_in_the_audit() {
        let first = Payload::Binary(vec![0, 255, 16].into());
        let edit = Edit {
            payload: Some("two".into()),
            destination: Some("archive".to_owned()),
            ..Edit::default()
        };
        let mended = mend(&edit, letter(first.clone(), None));
        assert_eq!((mended.original.as_ref(), mended.moves), (Some(&first), true));
        let there = Fingerprint::of("archive", "permanent", "422");
        assert_eq!(mended.fingerprint, Some(there.column()));
        let record = AuditRecord {
            number: 1,
            at: Timestamp::default(),
            who: "x".to_owned(),
            action: "edit".to_owned(),
            message: Some(MessageId::new(1, 1)),
            why: "y".to_owned(),
            detail: mended.detail,
            hash: None,
        };
        assert_eq!(original(std::slice::from_ref(&record)), Some(first.clone()));
        let again = mend(&edit, letter("two".into(), Some(first.clone())));
        assert_eq!(again.original, Some(first));
        assert!(!again.detail.contains("original"), "{}", again.detail);
    }

    #[test]
    fn an_edit_that_changes_nothing_or_no_relay_would_take_is_refused() {
        for headers in [None, Some("[]"), Some("{\"x\": 1}"), Some("nonsense")] {
            let edit = Edit {
                headers: headers.map(ToOwned::to_owned),
                ..Edit::default()
            };
            assert_eq!(
                check(&edit).unwrap_err().kind(),
                StoreErrorKind::BadInput,
                "{headers:?}"
            );
        }
    }
}
