//! Which messages, as an address says it.

use redeliver_outbox::{
    DeadReason,
    desk::{Filter, MessageRef},
    state::Status,
};

use super::{address, fields::Fields};
use crate::{commands::outbox::when, readable};

/// The fields of an address that narrow, as they were given.
const PLAIN: [&str; 11] = [
    "q",
    "issue",
    "to",
    "topic",
    "key",
    "error",
    "since",
    "until",
    "attempts_from",
    "reason",
    "died_by",
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
            "q" => {
                filter.text = text();
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
            "died_by" => when::parse(value).map(|time| filter.died_by = Some(time)),
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

    /// What a job has kept.
    pub(super) fn of_filter(filter: &Filter) -> Self {
        let mut given: Vec<(String, String)> = Vec::new();
        let mut give = |name: &str, value: String| given.push((name.to_owned(), value));
        for message in &filter.messages {
            match message {
                MessageRef::Id(id) => give("id", id.to_string()),
                MessageRef::Number(number) => give("id", number.to_string()),
            }
        }
        for status in &filter.statuses {
            give("status", status.to_string());
        }
        let texts = [
            ("q", filter.text.clone()),
            ("issue", filter.issue.map(|issue| issue.to_string())),
            ("to", filter.destination.clone()),
            ("topic", filter.topic.clone()),
            ("key", filter.key.clone()),
            ("error", filter.error.clone()),
            ("since", filter.created_from.map(|time| time.to_string())),
            ("until", filter.created_before.map(|time| time.to_string())),
            (
                "attempts_from",
                filter.attempts_from.map(|attempts| attempts.to_string()),
            ),
            ("reason", filter.reason.map(|reason| reason.to_string())),
            ("died_by", filter.died_by.map(|time| time.to_string())),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                give(name, text);
            }
        }
        Self {
            given,
            filter: filter.clone(),
            wrong: Vec::new(),
        }
    }

    /// Whether anything narrows.
    pub(super) fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Whether anything but the search, the status and the destination narrows.
    pub(super) fn has_more(&self) -> bool {
        self.given
            .iter()
            .any(|(name, _)| !["q", "status", "to", "id"].contains(&&**name))
    }

    /// Whether these are dead letters and nothing else, so that they can be worked on.
    pub(super) fn only_dead(&self) -> bool {
        match &*self.filter.statuses {
            [] => self.filter.reason.is_some() || self.filter.issue.is_some(),
            statuses => statuses == [Status::DeadLettered],
        }
    }

    /// A status that is asked for and that no act is for, if it is the only one.
    pub(super) fn not_dead(&self) -> Option<Status> {
        let statuses = &self.filter.statuses;
        match statuses.contains(&Status::DeadLettered) {
            true => None,
            false => statuses.first().copied(),
        }
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
                let name = match name.as_str() {
                    "attempts_from" => "attempts from",
                    "q" => "search",
                    name => name,
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
        let query = "status=failed&status=parked&to=a%26b&error=refused&attempts_from=3&reason=permanent\
                     &died_by=2026-11-15T20:30:00.123Z";
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
        assert_eq!(Narrowing::of_filter(filter).filter, *filter);
        let kept = Narrowing::of_filter(filter).address("/messages");
        let (_, query) = kept.split_once('?').unwrap();
        assert_eq!(Narrowing::of(&Fields::of(query)).filter, *filter);
        assert_eq!(narrowing.chosen("/messages").len(), 7);
        assert!(narrowing.further("/messages", 7).ends_with("&after=7"));
    }

    #[test]
    fn only_dead_letters_are_worked_on() {
        for dead in [
            "status=dead_lettered",
            "reason=permanent",
            "status=dead_lettered&reason=permanent",
        ] {
            assert!(narrowing(dead).only_dead(), "{dead}");
            assert_eq!(narrowing(dead).not_dead(), None, "{dead}");
        }
        for other in ["", "to=a", "status=discarded&reason=permanent", "status=sent"] {
            assert!(!narrowing(other).only_dead(), "{other}");
        }
        let discarded = narrowing("status=discarded&reason=permanent");
        assert_eq!(discarded.not_dead(), Some(Status::Discarded));
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        let narrowing = narrowing("status=lost&attempts_from=-1&since=yesterday&reason=none&id=x");
        assert_eq!(narrowing.wrong.len(), 5, "{:?}", narrowing.wrong);
        assert_eq!(narrowing.filter, Filter::default());
        assert!(!narrowing.is_empty());
    }
}
