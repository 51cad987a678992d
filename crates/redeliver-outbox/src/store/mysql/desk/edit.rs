//! Mending a dead letter.

use mysql_async::{Params, Value};
use serde_json::{Map, Value as Json, json};

use super::{MySqlStore, Work, audit, enqueue, look};
use crate::{
    NewMessage, Payload,
    desk::{Act, AuditRecord, Edit, MessageRef},
    state::Status,
    store::{Result, StoreError, StoreErrorKind},
};

pub(super) async fn edit(store: &MySqlStore, message: MessageRef, edit: &Edit, act: &Act) -> Result<()> {
    check(edit)?;
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    let found = look::one(&mut work, message).await?.ok_or_else(|| {
        StoreError::new(StoreErrorKind::NotFound, "there is no such message")
            .next("look for it in the list of messages")
    })?;
    let number = found.id.number();
    let locked = work
        .row(include_str!("../sql/lock_dead_letter.sql"), (number,))
        .await?;
    let Some(mut kept) = locked.filter(|_| found.status == Status::DeadLettered) else {
        let what = format!(
            "message {} is {}, and only a dead letter can be edited",
            found.id, found.status
        );
        return Err(StoreError::new(StoreErrorKind::NotFound, what));
    };
    let first = edit.payload.is_some() && !kept.take::<bool>()?;
    let new = edit.payload.as_ref().map(Payload::columns);
    let (text, binary) = new.unwrap_or((None, None));
    let changes = Value::from(new.is_some());
    let values: Vec<Value> = vec![
        first.into(),
        first.into(),
        changes.clone(),
        text.into(),
        changes,
        binary.into(),
        edit.content_type.as_deref().into(),
        edit.headers.as_deref().into(),
        edit.destination.as_deref().into(),
        number.into(),
    ];
    let moves = edit
        .destination
        .as_ref()
        .is_some_and(|to| *to != found.destination);
    if moves {
        // It leaves its lane, which has nothing to wait for then.
        work.run(
            &include_str!("../sql/free_lanes.sql").replace("{numbers}", "?"),
            (number,),
        )
        .await?;
    }
    work.run(include_str!("../sql/edit.sql"), Params::Positional(values))
        .await?;
    let detail = detail(edit, found.payload.as_ref().filter(|_| first));
    audit::append(&mut work, act, "edit", found.id, &detail).await?;
    work.commit().await
}

/// What no relay would take would only come back.
fn check(edit: &Edit) -> Result<()> {
    if *edit == Edit::default() {
        let next = "give a new payload, content type, destination or headers";
        return Err(StoreError::new(StoreErrorKind::BadInput, "the edit changes nothing").next(next));
    }
    let mut message = NewMessage::to(edit.destination.as_deref().unwrap_or("unchanged"));
    message.content_type.clone_from(&edit.content_type);
    message.payload = edit.payload.clone().unwrap_or(message.payload);
    if let Some(headers) = &edit.headers {
        message.headers = parse(headers).ok_or_else(|| {
            let what = "the headers are no JSON object whose values are texts";
            StoreError::new(StoreErrorKind::BadInput, what).next("write them like {\"x-tenant\": \"acme\"}")
        })?;
    }
    enqueue::check(std::iter::once(&message))
}

fn parse(headers: &str) -> Option<Vec<(String, String)>> {
    let object: Map<String, Json> = serde_json::from_str(headers).ok()?;
    let texts = object
        .into_iter()
        .map(|(name, value)| Some((name, value.as_str()?.to_owned())));
    texts.collect()
}

const ORIGINAL_TEXT: &str = "original_payload";
const ORIGINAL_HEX: &str = "original_payload_hex";

/// What was changed, and at the first change of the payload what it was: the dead letter's own row goes when it is redriven.
fn detail(edit: &Edit, original: Option<&Payload>) -> String {
    let fields = [
        ("payload", edit.payload.is_some()),
        ("content_type", edit.content_type.is_some()),
        ("headers", edit.headers.is_some()),
        ("destination", edit.destination.is_some()),
    ];
    let changed: Vec<&str> = fields
        .iter()
        .filter(|field| field.1)
        .map(|field| field.0)
        .collect();
    let mut detail = json!({ "changed": changed });
    match original {
        Some(Payload::Text(text)) => detail[ORIGINAL_TEXT] = json!(text),
        Some(Payload::Binary(bytes)) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            detail[ORIGINAL_HEX] = json!(hex);
        }
        None => {}
    }
    detail.to_string()
}

/// The payload before the first edit, however often the message was redriven since.
pub(super) fn original(audit: &[AuditRecord]) -> Option<Payload> {
    audit
        .iter()
        .filter(|record| record.action == "edit")
        .find_map(|record| {
            let detail: Json = serde_json::from_str(&record.detail).ok()?;
            if let Some(text) = detail[ORIGINAL_TEXT].as_str() {
                return Some(Payload::from(text));
            }
            let pairs = detail[ORIGINAL_HEX].as_str()?.as_bytes().chunks(2);
            let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
            let bytes: Vec<u8> = pairs.map(byte).collect::<Option<_>>()?;
            Some(Payload::Binary(bytes.into()))
        })
}
