//! A destination's retry policy, in the policy's own form.

use std::{borrow::Cow, fmt};

use redeliver::{PRESETS, Policy};
use serde::{
    Deserialize as _,
    de::{
        self, IntoDeserializer,
        value::{MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};
use toml::de::DeValue;

use super::{error::ConfigError, nearest, section::Field};

/// The preset that a table without one begins with, as a destination without a policy does.
const DEFAULT: &str = "delivery";

/// The name of a preset, or a table such as `{ preset = "batch", max_attempts = 20 }`.
pub(super) fn read(field: &Field<'_, '_>) -> Result<Policy, ConfigError> {
    if let DeValue::String(name) = field.value {
        let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        field.word(&names)?;
        return Ok(Policy::preset(name).unwrap_or(Policy::DELIVERY));
    }
    let section = field.section()?;
    let default = DeValue::String(Cow::Borrowed(DEFAULT));
    let preset = section
        .get("preset")
        .is_none()
        .then_some(("preset", Plain(&default)));
    let entries = section.fields().map(|(name, field)| (name, Plain(field.value)));
    let entries = preset.into_iter().chain(entries);
    let entries = MapDeserializer::new(entries);
    Policy::deserialize(entries).map_err(|problem| {
        if let Some(Err(stranger)) = problem.allowed.map(|allowed| section.only(allowed)) {
            return stranger;
        }
        // The policy's own errors begin with the field that they blame.
        let blamed = problem.text.split([' ', ':']).next().unwrap_or_default();
        let span = section
            .get(blamed)
            .map_or_else(|| field.span.clone(), |inner| inner.span);
        let place = Field {
            span,
            ..field.clone()
        };
        place.refuse(problem.text)
    })
}

/// What the policy says is wrong.
#[derive(Debug)]
struct Problem {
    text: String,
    /// The names that are allowed, if one was met that is not.
    allowed: Option<&'static [&'static str]>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Problem {}

impl de::Error for Problem {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self {
            text: text.to_string(),
            allowed: None,
        }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self {
            text: nearest::unknown(field, expected),
            allowed: Some(expected),
        }
    }
}

/// A value of the file for the policy to read.
#[derive(Clone, Copy)]
struct Plain<'v, 't>(&'v DeValue<'t>);

impl<'de> IntoDeserializer<'de, Problem> for Plain<'_, '_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> de::Deserializer<'de> for Plain<'_, '_> {
    type Error = Problem;

    fn deserialize_any<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0 {
            DeValue::String(text) => visitor.visit_str(text),
            DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => visitor.visit_i64(number),
                // So large that the rule of any field refuses it.
                Err(_) => visitor.visit_f64(f64::INFINITY),
            },
            DeValue::Float(number) => visitor.visit_f64(number.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(flag) => visitor.visit_bool(*flag),
            DeValue::Datetime(time) => visitor.visit_string(time.to_string()),
            DeValue::Array(items) => {
                let items = items.iter().map(|item| Plain(item.get_ref()));
                visitor.visit_seq(SeqDeserializer::new(items))
            }
            DeValue::Table(table) => {
                let entries = table
                    .iter()
                    .map(|(key, value)| (key.get_ref().as_ref(), Plain(value.get_ref())));
                visitor.visit_map(MapDeserializer::new(entries))
            }
        }
    }

    /// Whatever is written is there.
    fn deserialize_option<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_some(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}
