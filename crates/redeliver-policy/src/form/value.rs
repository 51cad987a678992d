//! One value of a file as it was written, so that what is wrong with it is said by the field that holds it.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::{fmt, time::Duration};

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use crate::duration;

/// Whatever stands in the file; what it should have been is the field's to say.
pub(super) enum Value {
    Text(String),
    Whole(i128),
    Number(f64),
    Bool(bool),
    List(Vec<Value>),
    Table,
}

/// More than any list of ours holds, so that a huge one is refused instead of kept.
const MOST_ITEMS: usize = 1_024;

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) if text.chars().count() > 60 => {
                write!(f, "{:?}…", text.chars().take(60).collect::<String>())
            }
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Whole(number) => write!(f, "{number}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::List(_) => f.write_str("a list"),
            Self::Table => f.write_str("a table"),
        }
    }
}

impl Value {
    pub(super) fn refuse(&self, field: &str, rule: impl fmt::Display) -> String {
        format!("{field} = {self}: {rule}")
    }

    pub(super) fn text(&self, field: &str, rule: &str) -> Result<&str, String> {
        match self {
            Self::Text(text) => Ok(text),
            _ => Err(self.refuse(field, rule)),
        }
    }

    pub(super) fn duration(&self, field: &str) -> Result<Duration, String> {
        let text = self.text(
            field,
            "must be a duration in quotes, such as \"200ms\" or \"1m 30s\"",
        )?;
        duration::parse(text).map_err(|error| self.refuse(field, error))
    }

    pub(super) fn number(&self, field: &str) -> Result<f64, String> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Whole(number) => Ok(*number as f64),
            _ => Err(self.refuse(field, "must be a number, such as 1.5")),
        }
    }

    pub(super) fn bool(&self, field: &str) -> Result<bool, String> {
        match self {
            Self::Bool(value) => Ok(*value),
            _ => Err(self.refuse(field, "must be true or false")),
        }
    }

    /// `Ok(None)` is "unlimited".
    pub(super) fn attempts(&self, field: &str) -> Result<Option<u32>, String> {
        match self {
            Self::Text(word) if word == "unlimited" => Ok(None),
            Self::Whole(number) if u32::try_from(*number).is_ok() => Ok(u32::try_from(*number).ok()),
            _ => Err(self.refuse(
                field,
                "must be a whole number from 1 to 4294967295, or \"unlimited\"",
            )),
        }
    }

    pub(super) fn list(&self, field: &str) -> Result<&[Self], String> {
        match self {
            Self::List(items) => Ok(items),
            _ => Err(self.refuse(
                field,
                "must be a list of durations, such as [\"1s\", \"5s\", \"1m\"]",
            )),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_string()))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Whole(number.into()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Whole(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            if list.len() == MOST_ITEMS {
                return Err(A::Error::custom("a list of more than 1024 items"));
            }
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Table)
    }
}
