//! What a placeholder stands for in one message.

use std::{borrow::Cow, collections::BTreeMap};

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::{Delivery, template::Placeholder};

pub(super) const NO_TEXT: &str = "holds bytes that are no UTF-8 text";

/// What stands for a placeholder.
pub(super) enum Value<'a> {
    Text(Cow<'a, str>),
    Number(u32),
    /// The whole payload.
    Payload(&'a [u8]),
    /// A part of the payload, as the JSON that it is written in: a number keeps its digits.
    Json(&'a str),
    /// A key or a topic that the message does not have.
    Absent(&'static str),
}

/// The value, or why there is none.
pub(super) fn of<'a>(what: &Placeholder, delivery: Delivery<'a>) -> Result<Value<'a>, String> {
    let message = delivery.message;
    Ok(match what {
        Placeholder::Id => Value::Text(message.id.to_string().into()),
        Placeholder::Key => match &message.key {
            Some(key) => Value::Text(key.into()),
            None => Value::Absent("key"),
        },
        Placeholder::Topic => match &message.topic {
            Some(topic) => Value::Text(topic.into()),
            None => Value::Absent("topic"),
        },
        Placeholder::Destination => Value::Text((&message.destination).into()),
        Placeholder::Attempt => Value::Number(delivery.attempt),
        Placeholder::CreatedAt => Value::Text(message.created_at.to_string().into()),
        Placeholder::Payload(fields) if fields.is_empty() => Value::Payload(message.payload.as_bytes()),
        Placeholder::Payload(fields) => {
            let text = message
                .payload
                .as_text()
                .ok_or_else(|| format!("the payload {NO_TEXT}"))?;
            Value::Json(field(text, fields).map_err(|rule| format!("{what} does not fit: {rule}"))?)
        }
    })
}

impl Value<'_> {
    /// As bytes, which only the payload can have that are no text.
    pub(super) fn bytes(&self) -> Result<Cow<'_, [u8]>, String> {
        match self {
            Self::Payload(bytes) => Ok(Cow::Borrowed(bytes)),
            other => other.text().map(|text| text.into_owned().into_bytes().into()),
        }
    }

    /// As text: what is in a JSON string, and what is no string as it is written.
    pub(super) fn text(&self) -> Result<Cow<'_, str>, String> {
        match self {
            Self::Text(text) => Ok(Cow::Borrowed(text)),
            Self::Number(number) => Ok(number.to_string().into()),
            Self::Payload(bytes) => std::str::from_utf8(bytes)
                .map(Cow::Borrowed)
                .map_err(|_| NO_TEXT.to_owned()),
            Self::Json("null") => Err("is null in the payload".to_owned()),
            Self::Json(text) if text.starts_with('"') => serde_json::from_str(text)
                .map(Cow::Owned)
                .map_err(|_| "is a JSON string that is no text".to_owned()),
            Self::Json(text) => Ok(Cow::Borrowed(text)),
            Self::Absent(what) => Err(format!("has no value: the message has no {what}")),
        }
    }

    /// As JSON: a value of its own.
    pub(super) fn json(&self) -> Result<Cow<'_, str>, String> {
        match self {
            Self::Text(text) => Ok(serde_json::Value::from(text.as_ref()).to_string().into()),
            Self::Number(number) => Ok(number.to_string().into()),
            Self::Payload(bytes) => {
                let text = std::str::from_utf8(bytes).map_err(|_| NO_TEXT.to_owned())?;
                serde_json::from_str::<IgnoredAny>(text).map_err(|error| format!("is no JSON: {error}"))?;
                Ok(Cow::Borrowed(text))
            }
            Self::Json(text) => Ok(Cow::Borrowed(text)),
            Self::Absent(_) => Ok("null".into()),
        }
    }
}

/// What the fields lead to, each in what the one before it led to. Only what is on the way is looked at, and nothing is copied.
fn field<'a>(json: &'a str, fields: &[String]) -> Result<&'a str, String> {
    let mut value: &'a RawValue =
        serde_json::from_str(json).map_err(|error| format!("the payload is no JSON: {error}"))?;
    for (depth, name) in fields.iter().enumerate() {
        let within = || match depth {
            0 => "the payload".to_owned(),
            _ => format!("payload.{}", fields[..depth].join(".")),
        };
        let found = match value.get().bytes().next() {
            Some(b'{') => serde_json::from_str::<BTreeMap<Cow<'_, str>, &RawValue>>(value.get())
                .ok()
                .and_then(|object| object.get(name.as_str()).copied()),
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(value.get()).unwrap_or_default();
                name.parse::<usize>()
                    .ok()
                    .and_then(|index| items.get(index).copied())
            }
            _ => return Err(format!("{} is neither an object nor a list", within())),
        };
        value = found.ok_or_else(|| format!("{} has no {name}", within()))?;
    }
    Ok(value.get())
}
