//! Which messages, as an address says it.

use redeliver_outbox::{
    DeadReason,
    desk::{Filter, MessageRef},
    state::Status,
};

use super::{address, fields::Fields};
use crate::{commands::outbox::when, readable};

/// The fields of an address that narrow, as they were given.
const PLAIN: [&str; 9] = [
    "issue",
    "to",
    "topic",
    "key",
    "error",
    "since",
    "until",
    "attempts_from",
    "reason",
];

/// What an address asks for. What makes no sense narrows nothing, and is told.
#[derive(Clone, Debug, Default)]
pub(super) struct Narrowing {
    given: Vec<(String, String)>,
    pub(super) filter: Filter,
    /// What was not understood, in words.
    pub(super) wrong: Vec<String>,
}

impl Narrowing {
    pub(super) fn of(fields: &Fields) -> Self {
        let mut narrowing = Self::default();
        for status in fields.all("status") {
            match status.parse::<Status>() {
                Ok(status) => narrowing.filter.statuses.push(status),
                Err(_) => narrowing.refuse("status", status, "is no status"),
            }
            narrowing.given.push(("status".to_owned(), status.to_owned()));
        }
        for message in fields.all("id") {
            match message.parse::<MessageRef>() {
                Ok(message) => narrowing.filter.messages.push(message),
                Err(_) => narrowing.refuse("id", message, "is no message id"),
            }
            narrowing.given.push(("id".to_owned(), message.to_owned()));
        }
        for name in PLAIN {
            if let Some(value) = fields.get(name) {
                narrowing.narrow(name, value);
                narrowing.given.push((name.to_owned(), value.to_owned()));
            }
        }
        narrowing
    }

    fn narrow(&mut self, name: &'static str, value: &str) {
        let text = || Some(value.to_owned());
        let filter = &mut self.filter;
        let understood = match name {
            "to" => {
                filter.destination = text();
                Ok(())
            }
            "topic" => {
                filter.topic = text();
                Ok(())
            }
            "key" => {
                filter.key = text();
                Ok(())
            }
            "error" => {
                filter.error = text();
                Ok(())
            }
            "issue" => match value.parse() {
                Ok(issue) => {
                    filter.issue = Some(issue);
                    Ok(())
                }
                Err(_) => Err("names no issue".to_owned()),
            },
            "since" => when::parse(value).map(|time| filter.created_from = Some(time)),
            "until" => when::parse(value).map(|time| filter.created_before = Some(time)),
            "attempts_from" => match value.parse() {
                Ok(attempts) => {
                    filter.attempts_from = Some(attempts);
                    Ok(())
                }
                Err(_) => Err("must be a whole number".to_owned()),
            },
            _ => match value.parse::<DeadReason>() {
                Ok(reason) => {
                    filter.reason = Some(reason);
                    Ok(())
                }
                Err(_) => Err("is no reason for a dead letter".to_owned()),
            },
        };
        if let Err(rule) = understood {
            self.refuse(name, value, &rule);
        }
    }

    fn refuse(&mut self, name: &str, value: &str, rule: &str) {
        self.wrong.push(format!(
            "{name} \u{201c}{}\u{201d}: {rule}",
            readable::line(value, 60)
        ));
    }

    /// Whether anything narrows.
    pub(super) fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Whether anything but the search, the status and the destination narrows.
    pub(super) fn has_more(&self) -> bool {
        self.given
            .iter()
            .any(|(name, _)| !["status", "to", "id"].contains(&&**name))
    }

    /// Whether these are dead letters and nothing else, so that they can be worked on.
    pub(super) fn only_dead(&self) -> bool {
        self.filter.statuses == [Status::DeadLettered]
            || self.filter.reason.is_some()
            || self.filter.issue.is_some()
    }

    /// The same for an act: dead letters only, and nothing where something was not understood.
    pub(super) fn dead(&self) -> Filter {
        Filter {
            statuses: vec![Status::DeadLettered],
            ..self.filter.clone()
        }
    }

    /// What was given in a field.
    pub(super) fn value(&self, name: &str) -> &str {
        let given = self.given.iter().find(|(given, _)| given == name);
        given.map_or("", |(_, value)| value)
    }

    /// Names and values, for hidden fields.
    pub(super) fn pairs(&self) -> &[(String, String)] {
        &self.given
    }

    /// A page with the same fields.
    pub(super) fn address(&self, path: &str) -> String {
        let pairs: Vec<(&str, &str)> = self
            .given
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect();
        address::with(path, &pairs)
    }

    /// The same page, further on.
    pub(super) fn further(&self, path: &str, after: i64) -> String {
        let address = self.address(path);
        let joint = if address.contains('?') { '&' } else { '?' };
        format!("{address}{joint}after={after}")
    }

    /// What narrows, one for each, with the address that is without it.
    pub(super) fn chosen(&self, path: &str) -> Vec<(String, String)> {
        (0..self.given.len())
            .map(|place| {
                let mut without = self.clone();
                let (name, value) = without.given.remove(place);
                let name = if name == "attempts_from" {
                    "attempts from".to_owned()
                } else {
                    name
                };
                (
                    format!("{name}: {}", readable::line(&value, 60)),
                    without.address(path),
                )
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn narrowing(query: &str) -> Narrowing {
        Narrowing::of(&Fields::of(query))
    }

    #[test]
    fn an_address_says_which_and_is_said_again() {
        let query = "status=failed&status=parked&to=a%26b&error=refused&attempts_from=3&reason=permanent";
        let narrowing = narrowing(query);
        let filter = &narrowing.filter;
        assert_eq!(filter.statuses, [Status::Failed, Status::Parked]);
        assert_eq!(filter.destination.as_deref(), Some("a&b"));
        assert_eq!(
            (filter.attempts_from, filter.reason),
            (Some(3), Some(DeadReason::Permanent))
        );
        assert!(narrowing.wrong.is_empty());
        let again = narrowing.address("/messages");
        let (_, query) = again.split_once('?').unwrap();
        assert_eq!(Narrowing::of(&Fields::of(query)).filter, *filter);
        assert_eq!(narrowing.chosen("/messages").len(), 6);
        assert!(narrowing.further("/messages", 7).ends_with("&after=7"));
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        let narrowing = narrowing("status=lost&attempts_from=-1&since=yesterday&reason=none&id=x");
        assert_eq!(narrowing.wrong.len(), 5, "{:?}", narrowing.wrong);
        assert_eq!(narrowing.filter, Filter::default());
        assert!(!narrowing.is_empty());
    }
}
