use std::{collections::BTreeMap, fmt, str::FromStr, sync::Arc, time::Duration};

use redeliver::Policy;

use super::{Destination, Manners};
use crate::{TopicPattern, limits, secrecy::Secrecy, topic::TopicRoutes};

/// What happens to a lane when its head fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LanePolicy {
    /// The lane waits while its head is retried. Should the head become a dead letter, the lane goes on and the gap is recorded.
    #[default]
    Block,
    /// As `block`, but when the head becomes a dead letter the lane stands still until an operator redrives the head, which then goes
    /// first, or discards it.
    Park,
    /// The lane waits for nobody: a head that fails becomes a dead letter at once, the gap is recorded, the lane goes on.
    Skip,
}

impl LanePolicy {
    /// The word in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Park => "park",
            Self::Skip => "skip",
        }
    }
}

impl fmt::Display for LanePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that is no policy for lanes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no policy for lanes: use block, park or skip")]
pub struct NoLanePolicy(String);

impl FromStr for LanePolicy {
    type Err = NoLanePolicy;

    fn from_str(text: &str) -> Result<Self, NoLanePolicy> {
        [Self::Block, Self::Park, Self::Skip]
            .into_iter()
            .find(|policy| policy.as_str() == text)
            .ok_or_else(|| NoLanePolicy(text.chars().take(64).collect()))
    }
}

/// A destination and how it is treated.
#[derive(Clone, Debug)]
pub struct Route {
    /// Where the messages go.
    pub destination: Arc<dyn Destination>,
    /// How failures are retried. Its deadline is the age, from the insert or the message's `not_before`, after
    /// which a message becomes a dead letter.
    pub policy: Policy,
    /// What happens to a lane whose head fails.
    pub lane: LanePolicy,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// How many attempts run at a time, at most.
    pub concurrency: usize,
    /// How it is treated when it is in trouble.
    pub manners: Manners,
    /// The largest payload that is sent.
    pub payload_limit: usize,
    /// What a payload must be before it is sent.
    pub expects: Expects,
    /// Whether the destination bears the same message twice, as it should: it is told the id. If not, a message that may have arrived
    /// is quarantined instead of sent again.
    pub idempotent: bool,
    /// What of a payload is for the destination only.
    pub secrecy: Secrecy,
}

impl Route {
    /// The usual treatment.
    #[must_use]
    pub fn to(destination: impl Destination + 'static) -> Self {
        Self {
            destination: Arc::new(destination),
            policy: Policy::DELIVERY,
            lane: LanePolicy::default(),
            timeout: Duration::from_secs(30),
            concurrency: limits::CONCURRENCY,
            manners: Manners::default(),
            payload_limit: limits::PAYLOAD_LIMIT,
            expects: Expects::Anything,
            idempotent: true,
            secrecy: Secrecy::Nothing,
        }
    }
}

/// What a payload must be. What is not is quarantined before the first attempt.
#[derive(Clone, Debug, Default)]
pub enum Expects {
    /// Any bytes.
    #[default]
    Anything,
    /// JSON, unless the message names another content type.
    Json,
    /// JSON that fits this schema.
    #[cfg(feature = "schema")]
    Schema(Arc<jsonschema::Validator>),
}

/// The destinations by their names, and which topics lead to which of them.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    destinations: BTreeMap<String, Route>,
    topics: TopicRoutes,
}

impl Routes {
    /// No destination yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One more; the last one of a name counts.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, route: Route) -> Self {
        self.destinations.insert(name.into(), route);
        self
    }

    /// Events whose topic fits the pattern go to these destinations too; to none of them, an event is only kept in the history.
    #[must_use]
    pub fn with_topic(
        mut self,
        pattern: TopicPattern,
        destinations: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let destinations = destinations.into_iter().map(Into::into).collect();
        self.topics.push(pattern, destinations);
        self
    }

    /// The patterns of topics, and the destinations that each leads to.
    pub fn topics(&self) -> impl Iterator<Item = (&TopicPattern, &[String])> {
        self.topics.iter()
    }

    /// Whether any topic leads anywhere.
    pub(crate) const fn has_topics(&self) -> bool {
        !self.topics.is_empty()
    }

    /// The destinations of a topic, each once, by name; none if no pattern fits it.
    #[must_use]
    pub fn of_topic(&self, topic: &str) -> Option<Vec<String>> {
        self.topics.of(topic)
    }

    /// The one of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Route> {
        self.destinations.get(name)
    }

    /// What is hidden of a message to this destination; of an event, all that is hidden wherever its topic leads. Where anything is hidden at
    /// all, so is all that goes to a destination which is not named here, and an event that leads nowhere: nobody knows what is secret in it.
    #[must_use]
    pub fn secrecy(&self, destination: &str, topic: Option<&str>) -> Secrecy {
        if !destination.is_empty() {
            return self.secrecy_of(destination);
        }
        match topic.and_then(|topic| self.of_topic(topic)).as_deref() {
            None | Some([]) => self.secrecy_of_the_unknown(),
            Some(names) => self.secrecy_of_all(names),
        }
    }

    fn secrecy_of(&self, name: &str) -> Secrecy {
        let known = self.get(name).map(|route| route.secrecy.clone());
        known.unwrap_or_else(|| self.secrecy_of_the_unknown())
    }

    fn secrecy_of_all(&self, names: &[String]) -> Secrecy {
        let all = names.iter().map(|name| self.secrecy_of(name));
        all.fold(Secrecy::Nothing, |one, other| one.with(&other))
    }

    fn secrecy_of_the_unknown(&self) -> Secrecy {
        match self.hides_anything() {
            true => Secrecy::Everything,
            false => Secrecy::Nothing,
        }
    }

    /// What is hidden of any event on these topics: all of it, if not all of them surely lead somewhere.
    pub(crate) fn secrecy_of_topics(&self, pattern: &TopicPattern) -> Secrecy {
        if !self.lead_to(pattern, |names| !names.is_empty()) {
            return self.secrecy_of_the_unknown();
        }
        let met = self.topics().filter(|(route, _)| route.meets(pattern));
        met.fold(Secrecy::Nothing, |secrecy, (_, names)| {
            secrecy.with(&self.secrecy_of_all(names))
        })
    }

    /// Whether one of the routes leads all of these topics to destinations like this.
    pub(crate) fn lead_to(&self, pattern: &TopicPattern, fit: impl Fn(&[String]) -> bool) -> bool {
        self.topics()
            .any(|(route, names)| route.covers(pattern) && fit(names))
    }

    /// Whether any destination hides anything.
    pub(crate) fn hides_anything(&self) -> bool {
        self.destinations
            .values()
            .any(|route| !route.secrecy.is_nothing())
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Route)> {
        self.destinations
            .iter()
            .map(|(name, route)| (name.as_str(), route))
    }
}
