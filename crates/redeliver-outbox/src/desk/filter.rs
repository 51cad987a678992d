//! A filter as it is kept and shown: JSON.

use serde_json::{Map, Value, json};

use super::{Filter, MessageRef};
use crate::{Timestamp, state::Status};

/// A text that is no filter that this program knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the filter has a condition that is not known here: {0}")]
pub struct NoFilter(String);

impl Filter {
    /// The conditions that narrow, by name.
    #[must_use]
    pub fn to_json(&self) -> Value {
        // Every field by name: one that is added is missing here at once.
        let Filter {
            messages,
            statuses,
            destination,
            topic,
            key,
            reason,
            issue,
            error,
            text,
            searched,
            created_from,
            created_before,
            attempts_from,
            died_by,
        } = self;
        let messages: Vec<String> = messages
            .iter()
            .map(|message| match message {
                MessageRef::Id(id) => id.to_string(),
                MessageRef::Number(number) => number.to_string(),
            })
            .collect();
        let statuses: Vec<&str> = statuses.iter().map(|status| status.as_str()).collect();
        let mut kept = Map::new();
        for (name, value) in [
            ("messages", json!((!messages.is_empty()).then_some(messages))),
            ("statuses", json!((!statuses.is_empty()).then_some(statuses))),
            ("destination", json!(destination)),
            ("topic", json!(topic)),
            ("key", json!(key)),
            ("reason", json!(reason.map(|reason| reason.as_str()))),
            ("issue", json!(issue.map(|issue| issue.to_string()))),
            ("error", json!(error)),
            ("text", json!(text)),
            ("searched", json!(searched)),
            ("created_from", json!(created_from.map(Timestamp::as_millis))),
            ("created_before", json!(created_before.map(Timestamp::as_millis))),
            ("attempts_from", json!(attempts_from)),
            ("died_by", json!(died_by.map(Timestamp::as_millis))),
        ] {
            if !value.is_null() {
                kept.insert(name.to_owned(), value);
            }
        }
        Value::Object(kept)
    }

    /// The filter that was written as this.
    ///
    /// # Errors
    ///
    /// If there is a condition that is not understood. It must not be left out: the filter would match more than was meant.
    pub fn from_json(text: &str) -> Result<Self, NoFilter> {
        let kept: Map<String, Value> =
            serde_json::from_str(text).map_err(|_| NoFilter(text.chars().take(80).collect()))?;
        let mut filter = Self::default();
        for (name, value) in kept {
            set(&mut filter, &name, &value).ok_or(NoFilter(name))?;
        }
        Ok(filter)
    }
}

fn set(filter: &mut Filter, name: &str, value: &Value) -> Option<()> {
    let text = || value.as_str().map(ToOwned::to_owned);
    match name {
        "messages" => {
            let messages = value.as_array()?.iter();
            filter.messages = messages
                .map(|id| id.as_str()?.parse().ok())
                .collect::<Option<_>>()?;
        }
        "statuses" => {
            let statuses = value.as_array()?.iter();
            filter.statuses = statuses
                .map(|word| word.as_str()?.parse::<Status>().ok())
                .collect::<Option<_>>()?;
        }
        "destination" => filter.destination = Some(text()?),
        "topic" => filter.topic = Some(text()?),
        "key" => filter.key = Some(text()?),
        "reason" => filter.reason = Some(value.as_str()?.parse().ok()?),
        "issue" => filter.issue = Some(value.as_str()?.parse().ok()?),
        "error" => filter.error = Some(text()?),
        "text" => filter.text = Some(text()?),
        "searched" => {
            let names = value.as_array()?.iter();
            filter.searched = Some(
                names
                    .map(|name| name.as_str().map(ToOwned::to_owned))
                    .collect::<Option<_>>()?,
            );
        }
        // As jobs were kept that named what hides something: which others are known not to, nobody says.
        "unsearched" => filter.searched = Some(Vec::new()),
        "created_from" => filter.created_from = Some(Timestamp::from_millis(value.as_i64()?)),
        "created_before" => filter.created_before = Some(Timestamp::from_millis(value.as_i64()?)),
        "died_by" => filter.died_by = Some(Timestamp::from_millis(value.as_i64()?)),
        "attempts_from" => filter.attempts_from = Some(u32::try_from(value.as_u64()?).ok()?),
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DeadReason, Fingerprint, MessageId};

    fn everything() -> Filter {
        Filter {
            messages: vec![MessageRef::Number(7), MessageRef::Id(MessageId::new(8, 9))],
            statuses: vec![Status::DeadLettered],
            destination: Some("bill\"ing".to_owned()),
            topic: Some("orders.paid".to_owned()),
            key: Some(" k ".to_owned()),
            reason: Some(DeadReason::Permanent),
            issue: Some(Fingerprint::of("a", "b", "c")),
            error: Some("🦀 50%".to_owned()),
            text: Some("order 7".to_owned()),
            searched: Some(vec!["billing".to_owned()]),
            created_from: Some(Timestamp::from_millis(1)),
            created_before: Some(Timestamp::from_millis(i64::MAX)),
            attempts_from: Some(3),
            died_by: Some(Timestamp::from_millis(2)),
        }
    }

    #[test]
    fn a_filter_is_kept_and_read_whole() {
        for filter in [Filter::default(), everything()] {
            assert_eq!(Filter::from_json(&filter.to_json().to_string()).unwrap(), filter);
        }
        assert_eq!(Filter::default().to_json().to_string(), "{}");
    }

    #[test]
    fn a_condition_that_is_not_understood_is_not_left_out() {
        for text in [
            r#"{"colour":"red"}"#,
            r#"{"reason":"boredom"}"#,
            r#"{"attempts_from":-1}"#,
            "[]",
            "nonsense",
        ] {
            assert!(Filter::from_json(text).is_err(), "{text}");
        }
    }
}
