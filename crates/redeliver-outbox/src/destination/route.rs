use std::{collections::BTreeMap, fmt, str::FromStr, sync::Arc, time::Duration};

use redeliver::Policy;

use super::{Destination, Manners};
use crate::limits;

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
    /// How failures are retried. Its deadline is the age, from the insert, after which a message is quarantined.
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
}

impl Route {
    /// The usual treatment.
    #[must_use]
    pub fn to(destination: impl Destination + 'static) -> Self {
        Self {
            destination: Arc::new(destination),
            policy: Policy::STANDARD,
            lane: LanePolicy::default(),
            timeout: Duration::from_secs(30),
            concurrency: limits::CONCURRENCY,
            manners: Manners::default(),
            payload_limit: limits::PAYLOAD_LIMIT,
            expects: Expects::Anything,
            idempotent: true,
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

/// The destinations by their names.
#[derive(Clone, Debug, Default)]
pub struct Routes(BTreeMap<String, Route>);

impl Routes {
    /// No destination yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One more; the last one of a name counts.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, route: Route) -> Self {
        self.0.insert(name.into(), route);
        self
    }

    /// The one of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Route> {
        self.0.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Route)> {
        self.0.iter().map(|(name, route)| (name.as_str(), route))
    }
}
