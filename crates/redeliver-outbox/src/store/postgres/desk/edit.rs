//! Mending a dead letter.

use serde_json::{Map, Value, json};
use tokio_postgres::types::Type;

use super::{Begin, Inner, Parameter, Result, audit, enqueue::refused, look, row};
use crate::{
    NewMessage, Payload,
    desk::{Act, AuditRecord, Edit, MessageRef},
    state::Status,
    store::{StoreError, StoreErrorKind},
};

pub(super) async fn edit(inner: &Inner, message: MessageRef, edit: &Edit, act: &Act) -> Result<()> {
    check(edit)?;
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Desk).await?;
    let found = look::one(&session, message).await?.ok_or_else(|| {
        StoreError::new(StoreErrorKind::NotFound, "there is no such message")
            .next("look for it in the list of messages")
    })?;
    let number = found.id.number();
    let numbers = [number];
    // Locked, so that it is neither put back nor edited by somebody else meanwhile; then looked at again.
    let locked = session
        .query(
            include_str!("../sql/lock_dead.sql"),
            &[(&numbers.as_slice(), Type::INT8_ARRAY)],
        )
        .await?;
    if locked.is_empty() || found.status != Status::DeadLettered {
        let what = format!(
            "message {} is {}, and only a dead letter can be edited",
            found.id, found.status
        );
        return Err(StoreError::new(StoreErrorKind::NotFound, what).next("look at it again"));
    }
    let letter = session
        .one(include_str!("../sql/dead_letter.sql"), &[(&number, Type::INT8)])
        .await?;
    let kept = look::payload(row::get(&letter, 1)?, row::get(&letter, 2)?);
    let current = look::payload(row::get(&letter, 3)?, row::get(&letter, 4)?);
    let destination: String = row::get(&letter, 7)?;
    let first = kept.is_none() && edit.payload.is_some();
    let original = if first { current.clone() } else { kept };
    let payload = edit
        .payload
        .clone()
        .or(current)
        .unwrap_or_else(|| Payload::from(""));
    let (text, binary) = payload.columns();
    let (original_text, original_binary) = original.as_ref().map_or((None, None), Payload::columns);
    let parameters: [Parameter<'_>; 8] = [
        (&number, Type::INT8),
        (&original_text, Type::TEXT),
        (&original_binary, Type::BYTEA),
        (&text, Type::TEXT),
        (&binary, Type::BYTEA),
        (&edit.content_type, Type::TEXT),
        (&edit.headers, Type::TEXT),
        (&edit.destination, Type::TEXT),
    ];
    session
        .execute(include_str!("../sql/edit.sql"), &parameters)
        .await?;
    if edit.destination.as_ref().is_some_and(|to| *to != destination) {
        // It leaves its lane, which has nothing to wait for then.
        session
            .execute(
                include_str!("../sql/free_lane.sql"),
                &[(&numbers.as_slice(), Type::INT8_ARRAY)],
            )
            .await?;
    }
    let detail = detail(edit, original.as_ref().filter(|_| first));
    audit::append(&session, act, "edit", found.id, &detail).await?;
    session.commit().await?;
    session.closed();
    Ok(())
}

/// A dead letter that no relay would take would only come back.
fn check(edit: &Edit) -> Result<()> {
    if *edit == Edit::default() {
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
    message.validate().map_err(|invalid| refused(&invalid, 0, 1))
}

fn parse_headers(text: &str) -> Option<Vec<(String, String)>> {
    let object: Map<String, Value> = serde_json::from_str(text).ok()?;
    object
        .into_iter()
        .map(|(name, value)| Some((name, value.as_str()?.to_owned())))
        .collect()
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
    match original.map(|payload| (payload.columns(), payload)) {
        Some(((Some(text), _), _)) => detail[TEXT] = json!(text),
        Some((_, payload)) => {
            let bytes = payload.as_bytes().iter();
            let hex: String = bytes.map(|byte| format!("{byte:02x}")).collect();
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
