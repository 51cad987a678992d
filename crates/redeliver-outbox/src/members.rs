//! JSON that is changed in one place and stays as it was written in all others: the order of fields, and every digit of a number.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value, value::RawValue};

/// The members of an object, in their order, each as often as it was written.
pub(crate) struct Members(pub(crate) Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

/// A member of an object, as it is written.
pub(crate) fn member(name: &str, value: &str) -> String {
    format!("{}:{value}", Value::from(name))
}

/// The text after a JSON Merge Patch (RFC 7396); none if the text is no JSON.
#[must_use]
pub(crate) fn patched(text: &str, patch: &Map<String, Value>) -> Option<String> {
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    Some(merged(text, patch))
}

fn merged(text: &str, patch: &Map<String, Value>) -> String {
    // What is no object is replaced by one.
    let members = serde_json::from_str::<Members>(text).map_or_else(|_| Vec::new(), |members| members.0);
    let named = |name: &str| members.iter().any(|(known, _)| known == name);
    let kept = members.iter().filter_map(|(name, value)| {
        let value = match patch.get(name) {
            None => value.get().to_owned(),
            Some(Value::Null) => return None,
            Some(Value::Object(inner)) => merged(value.get(), inner),
            Some(new) => new.to_string(),
        };
        Some(member(name, &value))
    });
    let new = patch
        .iter()
        .filter(|(name, _)| !named(name))
        .filter_map(|(name, value)| match value {
            Value::Null => None,
            Value::Object(inner) => Some(member(name, &merged("{}", inner))),
            value => Some(member(name, &value.to_string())),
        });
    let members: Vec<String> = kept.chain(new).collect();
    format!("{{{}}}", members.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(text: &str, patch: &str) -> Option<String> {
        patched(text, &serde_json::from_str(patch).unwrap())
    }

    #[test]
    fn a_patch_does_what_the_standard_says() {
        for (text, by, then) in [
            (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
            (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
            (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (
                r#"{"a":{"b":"c"}}"#,
                r#"{"a":{"b":"d","c":null}}"#,
                r#"{"a":{"b":"d"}}"#,
            ),
            (r#"{"a":"b"}"#, r#"{"a":{"b":{"c":null}}}"#, r#"{"a":{"b":{}}}"#),
            ("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
        ] {
            assert_eq!(patch(text, by).as_deref(), Some(then), "{text} by {by}");
        }
        assert_eq!(patch("{oops", "{}"), None);
    }

    #[test]
    fn what_is_not_named_stays_as_it_was_written() {
        let text = r#"{"z":1.10,"a":12345678901234567890123,"b":{"y":1e3,"x":"\u00e9"}}"#;
        assert_eq!(
            patch(text, r#"{"b":{"new":true}}"#).unwrap(),
            r#"{"z":1.10,"a":12345678901234567890123,"b":{"y":1e3,"x":"\u00e9","new":true}}"#
        );
    }
}
