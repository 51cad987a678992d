use core::time::Duration;

use crate::{Backoff, Jitter, Policy};

/// A policy with a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// The name that configuration and the command line use.
    pub name: &'static str,
    /// What it is for, in a few words.
    pub purpose: &'static str,
    /// The policy itself.
    pub policy: Policy,
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl Policy {
    /// A person is waiting: 100 ms to 3 s, three attempts, up to 20 % on top.
    pub const INTERACTIVE: Self = Self::exponential(ms(100), ms(3_000))
        .max_attempts(3)
        .jitter(Jitter::Additive(0.2));

    /// Background work: 1 s to 30 s, five attempts, up to 30 % on top.
    pub const STANDARD: Self = Self::exponential(ms(1_000), ms(30_000))
        .max_attempts(5)
        .jitter(Jitter::Additive(0.3));

    /// Long recovery: 5 s to 5 min, ten attempts, up to 50 % on top.
    pub const BATCH: Self = Self::exponential(ms(5_000), ms(300_000))
        .max_attempts(10)
        .jitter(Jitter::Additive(0.5));

    /// A connection that must come back: 1 s to 30 s, ±10 %, for ever.
    pub const RECONNECT: Self = Self::exponential(ms(1_000), ms(30_000))
        .unlimited_attempts()
        .jitter(Jitter::Proportional(0.1));

    /// The `standard` mode of the AWS SDKs: 1 s to 20 s, three attempts, full jitter.
    pub const AWS_STANDARD: Self = Self::exponential(ms(1_000), ms(20_000))
        .max_attempts(3)
        .jitter(Jitter::Full);

    /// gRPC's connection backoff: 1 s to 2 min, ×1.6, ±20 %, for ever.
    pub const GRPC: Self = Self::exponential(ms(1_000), ms(120_000))
        .multiplier(1.6)
        .unlimited_attempts()
        .jitter(Jitter::Proportional(0.2));

    /// Finagle's revival of a dead node: 5 s to 5 min, equal jitter, for ever. Finagle pairs it with
    /// [`Budget::FINAGLE`](crate::BudgetRule::FINAGLE).
    pub const FINAGLE: Self = Self::exponential(ms(5_000), ms(300_000))
        .unlimited_attempts()
        .jitter(Jitter::Equal);

    /// The default of the relay's destinations: 5 s to 6 h, ×3, ±10 %, 20 attempts in about 3 days. No attempt is made once a
    /// message is a week old, however long an open circuit or a pause deferred it. A `Retry-After` of up to a day is obeyed.
    pub const DELIVERY: Self = Self::exponential(ms(5_000), ms(6 * 3_600_000))
        .multiplier(3.0)
        .max_attempts(20)
        .jitter(Jitter::Proportional(0.1))
        .retry_after_max(ms(24 * 3_600_000))
        .deadline(ms(7 * 24 * 3_600_000));

    /// The policy of the preset with this name.
    #[must_use]
    pub fn preset(name: &str) -> Option<Self> {
        PRESETS
            .iter()
            .find(|preset| preset.name == name)
            .map(|preset| preset.policy)
    }
}

impl Default for Policy {
    /// [`Policy::STANDARD`].
    fn default() -> Self {
        Self::STANDARD
    }
}

/// Every preset, the documents' four first.
pub const PRESETS: [Preset; 8] = [
    Preset {
        name: "interactive",
        purpose: "a person is waiting",
        policy: Policy::INTERACTIVE,
    },
    Preset {
        name: "standard",
        purpose: "background work",
        policy: Policy::STANDARD,
    },
    Preset {
        name: "batch",
        purpose: "long recovery of batch work",
        policy: Policy::BATCH,
    },
    Preset {
        name: "reconnect",
        purpose: "a connection that must come back",
        policy: Policy::RECONNECT,
    },
    Preset {
        name: "aws-standard",
        purpose: "the AWS SDKs' standard mode",
        policy: Policy::AWS_STANDARD,
    },
    Preset {
        name: "grpc",
        purpose: "gRPC's connection backoff",
        policy: Policy::GRPC,
    },
    Preset {
        name: "finagle",
        purpose: "Finagle's revival of a dead node",
        policy: Policy::FINAGLE,
    },
    Preset {
        name: "delivery",
        purpose: "the relay's destinations",
        policy: Policy::DELIVERY,
    },
];

impl Backoff {
    /// The shape as one word, as configuration and the command line use it.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Fixed { .. } => "fixed",
            Self::Linear { .. } => "linear",
            Self::Exponential { .. } => "exponential",
            Self::Fibonacci { .. } => "fibonacci",
            Self::List(_) => "list",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_valid_and_found_by_its_name() {
        for preset in PRESETS {
            assert_eq!(preset.policy.validate(), Ok(()), "{}", preset.name);
            assert_eq!(Policy::preset(preset.name), Some(preset.policy));
        }
        assert_eq!(Policy::preset("heroic"), None);
    }

    /// The table of docs/destinations.md: the waits in seconds, and their true sums.
    #[test]
    fn deliveries_are_retried_for_about_three_days() {
        let policy = Policy::DELIVERY;
        let waits = [5, 15, 45, 135, 405, 1_215, 3_645, 10_935, 21_600, 21_600];
        let mut totals = (Duration::ZERO, Duration::ZERO);
        for retry in 0..policy.max_attempts.unwrap_or_default() - 1 {
            let wait = waits[(retry as usize).min(waits.len() - 1)] * 1_000;
            assert_eq!(
                policy.bounds(retry),
                (ms(wait * 9 / 10), ms(wait * 11 / 10)),
                "{retry}"
            );
            let (shortest, longest) = policy.bounds(retry);
            totals = (totals.0 + shortest, totals.1 + longest);
        }
        // 63 h 30 min and 77 h 36 min 40 s: 70 h 33 min 20 s, and a tenth less or more.
        assert_eq!(totals, (ms(228_600_000), ms(279_400_000)));
        assert!(policy.deadline.is_some_and(|age| age > totals.1 * 2));
    }
}
