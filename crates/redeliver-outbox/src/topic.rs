//! Topics, and which destinations they lead to: pure.

use std::{collections::BTreeSet, fmt, str::FromStr};

use crate::limits;

/// What leads to some topics: words with dots between them, of which `*` is any one word and a last `**` any number of words, none
/// included.
///
/// ```
/// use redeliver_outbox::TopicPattern;
///
/// let pattern: TopicPattern = "orders.*.paid".parse()?;
/// assert!(pattern.matches("orders.eu.paid"));
/// assert!(!pattern.matches("orders.eu.de.paid"));
/// # Ok::<(), redeliver_outbox::InvalidTopic>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPattern(String);

/// Why a text is no topic, or no pattern of topics.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidTopic(String);

const ONE_WORD: &str = "*";
const ANY_WORDS: &str = "**";

impl TopicPattern {
    /// Whether a topic is one of those that are meant.
    #[must_use]
    pub fn matches(&self, topic: &str) -> bool {
        let mut topic = topic.split('.');
        for word in self.0.split('.') {
            match (word, topic.next()) {
                (ANY_WORDS, _) => return true,
                (ONE_WORD, Some(_)) => {}
                (word, Some(met)) if word == met => {}
                _ => return false,
            }
        }
        topic.next().is_none()
    }

    /// Whether some topic is meant by both.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        let (mut mine, mut theirs) = (self.0.split('.'), other.0.split('.'));
        loop {
            match (mine.next(), theirs.next()) {
                (Some(ANY_WORDS), _) | (_, Some(ANY_WORDS)) | (None, None) => return true,
                (Some(ONE_WORD), Some(_)) | (Some(_), Some(ONE_WORD)) => {}
                (Some(word), Some(met)) if word == met => {}
                _ => return false,
            }
        }
    }

    /// Whether it means every topic that the other one means.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let (mut mine, mut theirs) = (self.0.split('.'), other.0.split('.'));
        loop {
            match (mine.next(), theirs.next()) {
                (Some(ANY_WORDS), _) | (None, None) => return true,
                (Some(ONE_WORD), Some(met)) if met != ANY_WORDS => {}
                (Some(word), Some(met)) if word == met => {}
                _ => return false,
            }
        }
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TopicPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for TopicPattern {
    type Err = InvalidTopic;

    fn from_str(text: &str) -> Result<Self, InvalidTopic> {
        check(text, |word, last| match word {
            ONE_WORD => Ok(()),
            ANY_WORDS if last => Ok(()),
            ANY_WORDS => Err("** stands for the words at the end, and something comes after it".to_owned()),
            word if word.contains('*') => Err(format!(
                "{word:?} is a part of a word and a star: a star stands for a whole word"
            )),
            _ => Ok(()),
        })?;
        Ok(Self(text.to_owned()))
    }
}

/// Whether a text can be a topic: words with dots between them.
///
/// # Errors
///
/// If it cannot: why.
pub(crate) fn check_topic(text: &str) -> Result<(), InvalidTopic> {
    check(text, |word, _| match word.contains('*') {
        true => Err("holds a star, which only the patterns of routes may".to_owned()),
        false => Ok(()),
    })
}

fn check(text: &str, word_rule: impl Fn(&str, bool) -> Result<(), String>) -> Result<(), InvalidTopic> {
    let refuse = |rule: String| Err(InvalidTopic(rule));
    if text.is_empty() {
        return refuse("is empty".to_owned());
    }
    let (length, limit) = (text.len(), limits::TOPIC_LIMIT);
    if length > limit {
        return refuse(format!("has {length} bytes; at most {limit} are allowed"));
    }
    let odd = |character: &char| character.is_control() || character.is_whitespace();
    if let Some(character) = text.chars().find(odd) {
        return refuse(format!("holds the character {character:?}, which no topic may"));
    }
    let mut words = text.split('.').peekable();
    while let Some(word) = words.next() {
        if word.is_empty() {
            return refuse("has an empty word: a dot stands between two words".to_owned());
        }
        word_rule(word, words.peek().is_none()).or_else(refuse)?;
    }
    Ok(())
}

/// Which topics lead where.
#[derive(Clone, Debug, Default)]
pub(crate) struct TopicRoutes(Vec<(TopicPattern, Vec<String>)>);

impl TopicRoutes {
    pub(crate) fn push(&mut self, pattern: TopicPattern, destinations: Vec<String>) {
        self.0.push((pattern, destinations));
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&TopicPattern, &[String])> {
        self.0
            .iter()
            .map(|(pattern, destinations)| (pattern, &destinations[..]))
    }

    /// Where a topic leads: what all routes that match it name, each destination once, by name. None if no route matches; empty if
    /// those that do lead to nobody.
    pub(crate) fn of(&self, topic: &str) -> Option<Vec<String>> {
        let mut matching = self
            .0
            .iter()
            .filter(|(pattern, _)| pattern.matches(topic))
            .peekable();
        matching.peek()?;
        let destinations: BTreeSet<&String> = matching.flat_map(|(_, destinations)| destinations).collect();
        Some(destinations.into_iter().cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pattern(text: &str) -> TopicPattern {
        text.parse().unwrap()
    }

    #[test]
    fn a_star_is_one_word_and_two_at_the_end_are_any() {
        for (text, yes, no) in [
            (
                "orders",
                &["orders"][..],
                &["order", "orders.x", "Orders", ""][..],
            ),
            (
                "orders.*",
                &["orders.x", "orders.*"],
                &["orders", "orders.x.y", "order.x"],
            ),
            ("*.paid", &["a.paid"], &["paid", "a.b.paid", "a.unpaid"]),
            (
                "orders.**",
                &["orders", "orders.x", "orders.x.y"],
                &["ordersx", "x.orders"],
            ),
            ("*.*.**", &["a.b", "a.b.c.d"], &["a"]),
            ("**", &["a", "a.b.c"], &[]),
        ] {
            for topic in yes {
                assert!(pattern(text).matches(topic), "{text} {topic}");
            }
            for topic in no {
                assert!(!pattern(text).matches(topic), "{text} {topic}");
            }
        }
    }

    #[test]
    fn patterns_meet_and_cover_each_other() {
        for (one, other, meets, covers) in [
            ("orders.*", "orders.*", true, true),
            ("orders.*", "orders.paid", true, true),
            ("orders.paid", "orders.*", true, false),
            ("orders.*", "orders.**", true, false),
            ("orders.**", "orders.*", true, true),
            ("orders.**", "orders", true, true),
            ("orders", "orders.**", true, false),
            ("*.paid", "orders.*", true, false),
            ("orders.*", "invoices.*", false, false),
            ("orders.*", "orders", false, false),
            ("**", "orders.*.paid", true, true),
        ] {
            assert_eq!(pattern(one).meets(&pattern(other)), meets, "{one} {other}");
            assert_eq!(pattern(other).meets(&pattern(one)), meets, "{other} {one}");
            assert_eq!(pattern(one).covers(&pattern(other)), covers, "{one} {other}");
        }
    }

    #[test]
    fn broken_patterns_are_refused_with_the_reason() {
        let long = "x".repeat(limits::TOPIC_LIMIT + 1);
        for (text, said) in [
            ("", "is empty"),
            (".a", "empty word"),
            ("a..b", "empty word"),
            ("a.", "empty word"),
            ("a b", "' '"),
            ("**.a", "at the end"),
            ("a.or*", "whole word"),
            ("a.***", "whole word"),
            (&long, "at most"),
        ] {
            let error = text.parse::<TopicPattern>().unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
        assert!(check_topic("orders.*").is_err() && check_topic("orders.paid").is_ok());
    }

    #[test]
    fn every_route_that_matches_counts_and_each_destination_once() {
        let mut routes = TopicRoutes::default();
        for (pattern_of, to) in [
            ("orders.*", &["mail", "audit"][..]),
            ("**", &["audit"]),
            ("orders.paid", &["billing"]),
            ("quiet", &[]),
        ] {
            let to = to.iter().map(|&name| name.to_owned()).collect();
            routes.push(pattern(pattern_of), to);
        }
        assert_eq!(routes.of("orders.paid").unwrap(), ["audit", "billing", "mail"]);
        assert_eq!(routes.of("x").unwrap(), ["audit"]);
        let mut quiet = TopicRoutes::default();
        quiet.push(pattern("quiet"), Vec::new());
        assert_eq!(quiet.of("quiet").unwrap(), [""; 0]);
        assert_eq!(quiet.of("loud"), None);
    }

    /// The same rule said another way: try every way of giving words to the parts of the pattern.
    fn by_trial(pattern: &[&str], topic: &[&str]) -> bool {
        match (pattern, topic) {
            ([], []) => true,
            (["**"], _) => true,
            (["*", pattern @ ..], [_, topic @ ..]) => by_trial(pattern, topic),
            ([word, pattern @ ..], [met, topic @ ..]) => word == met && by_trial(pattern, topic),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn matching_is_what_trying_every_way_finds(
            words in prop::collection::vec(prop::sample::select(vec!["a", "b", "*"]), 1..5),
            rest in any::<bool>(),
            topic in prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 1..6),
        ) {
            let mut words = words;
            if rest {
                words.push("**");
            }
            let met = pattern(&words.join(".")).matches(&topic.join("."));
            prop_assert_eq!(met, by_trial(&words, &topic));
        }
    }
}
