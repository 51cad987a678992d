use std::time::Duration;

use redeliver_policy::{Lint, Policy, Wait};
use serde::{Serialize, Serializer};

use super::totals::Totals;

/// The waits shown by default of a policy without a limit on attempts.
const SHOWN_UNLIMITED: u32 = 20;
/// The waits shown by default of a policy that has one.
const SHOWN_LIMITED: u32 = 100;

/// All that is said about one policy.
#[derive(Clone, Debug)]
pub(super) struct Report {
    pub(super) name: String,
    pub(super) policy: Policy,
    pub(super) waits: Vec<Wait>,
    pub(super) totals: Totals,
    pub(super) lints: Vec<Lint>,
}

impl Report {
    pub(super) fn new(name: &str, policy: Policy, shown: Option<u32>) -> Self {
        let usual = if policy.max_attempts.is_some() {
            SHOWN_LIMITED
        } else {
            SHOWN_UNLIMITED
        };
        let waits = policy.forecast(shown.unwrap_or(usual));
        Self {
            name: name.to_owned(),
            policy,
            totals: Totals::of(&policy, &waits),
            waits,
            lints: policy.lints(),
        }
    }

    /// How many waits the policy has; none where it has no end.
    pub(super) fn waits_in_all(&self) -> Option<u32> {
        self.policy.max_attempts.map(|most| most.saturating_sub(1))
    }

    pub(super) fn json(&self) -> ReportJson<'_> {
        ReportJson {
            name: &self.name,
            description: self.policy.to_string(),
            policy: &self.policy,
            unlimited: self.policy.max_attempts.is_none(),
            waits_in_all: self.waits_in_all(),
            waits: self.waits.iter().map(WaitJson::from).collect(),
            totals_cover: self.totals.covered,
            total_min_ms: Millis(self.totals.shortest),
            total_mean_ms: Millis(self.totals.mean),
            total_max_ms: Millis(self.totals.longest),
            lints: &self.lints,
        }
    }
}

#[derive(Serialize)]
pub(super) struct ReportJson<'a> {
    name: &'a str,
    description: String,
    policy: &'a Policy,
    unlimited: bool,
    waits_in_all: Option<u32>,
    waits: Vec<WaitJson>,
    /// How many waits the three totals are of: all of them, or, where there is no end, those listed.
    totals_cover: u32,
    total_min_ms: Millis,
    total_mean_ms: Millis,
    total_max_ms: Millis,
    lints: &'a [Lint],
}

/// One policy, and what it is compared with.
#[derive(Serialize)]
pub(super) struct ComparedJson<'a> {
    #[serde(flatten)]
    pub(super) report: ReportJson<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) compare: Vec<ReportJson<'a>>,
}

/// All presets.
#[derive(Serialize)]
pub(super) struct PresetsJson<'a> {
    pub(super) presets: Vec<ReportJson<'a>>,
}

#[derive(Serialize)]
struct WaitJson {
    /// The attempt whose failure it follows, from 1.
    attempt: u32,
    min_ms: Millis,
    mean_ms: Millis,
    max_ms: Millis,
    total_min_ms: Millis,
    total_mean_ms: Millis,
    total_max_ms: Millis,
}

impl From<&Wait> for WaitJson {
    fn from(wait: &Wait) -> Self {
        Self {
            attempt: wait.retry,
            min_ms: Millis(wait.shortest),
            mean_ms: Millis(wait.mean),
            max_ms: Millis(wait.longest),
            total_min_ms: Millis(wait.total_shortest),
            total_mean_ms: Millis(wait.total_mean),
            total_max_ms: Millis(wait.total_longest),
        }
    }
}

/// A duration as a number of milliseconds: an integer where it is whole, a fraction where it is not.
struct Millis(Duration);

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let nanos = self.0.as_nanos();
        match u64::try_from(nanos / 1_000_000) {
            Ok(whole) if nanos.is_multiple_of(1_000_000) => serializer.serialize_u64(whole),
            _ => serializer.serialize_f64(nanos as f64 / 1e6),
        }
    }
}
