//! How a worker finds its destinations just now: told with every beat, for people to look at.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::{MessageId, Timestamp, limits};

mod failures;

pub use failures::{FailureClass, Failures};

/// The figures of each destination, by its name.
pub type Live = BTreeMap<String, LiveFigures>;

/// How one worker, or all of them together, find one destination.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LiveFigures {
    /// How it is.
    pub state: LiveState,
    /// Attempts on their way.
    pub in_flight: u64,
    /// How many attempts may be on their way just now.
    pub limit: u64,
    /// How many may be at best.
    pub ceiling: u64,
    /// The most attempts that may begin in a second just now, if there is such a limit.
    pub rate: Option<f64>,
    /// What arrived a second, over the last minute.
    pub delivered_per_second: f64,
    /// What failed or was rejected a second, over the last minute.
    pub failed_per_second: f64,
    /// What those of the last minute met that failed.
    #[serde(skip_serializing_if = "Failures::is_empty")]
    pub failures: Failures,
    /// Half of the attempts of the last minute took no longer, in milliseconds. Of several workers, the slowest one's.
    pub latency_p50_ms: Option<f64>,
    /// 99 of 100 attempts took no longer. Of several workers, the slowest one's.
    pub latency_p99_ms: Option<f64>,
    /// Messages held in memory, on their way or about to be.
    pub held: u64,
    /// Verdicts that the database refuses: each is written by itself, again and again.
    #[serde(skip_serializing_if = "is_zero")]
    pub stuck: u64,
    /// The first of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stuck_verdicts: Vec<StuckVerdict>,
    /// When it is tried again, if it rests or its breaker is open.
    #[serde(with = "millis", skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Since when its circuit is open, if it is. Of several workers, the first.
    #[serde(with = "millis", skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Why it is as it is: the last failure, or what the hold says.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// A verdict that the database refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StuckVerdict {
    /// The message.
    #[serde(with = "id")]
    pub id: MessageId,
    /// Since when.
    #[serde(with = "instant")]
    pub since: Timestamp,
    /// What the database says.
    pub reason: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands fields over like this"
)]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How a destination is, the best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LiveState {
    /// It takes what there is.
    #[default]
    Well,
    /// It has throttled, and is asked less often.
    Throttled,
    /// It is well again after an outage or a hold, and gets more from second to second.
    Ramping,
    /// It asked for a rest.
    Resting,
    /// Its breaker is open, and one message is there to find out whether it is well again.
    Probing,
    /// Its breaker is open: it failed too often.
    Open,
    /// It is held until somebody resumes it.
    Paused,
    /// It said that it is gone for good, and is held until somebody enables it.
    Disabled,
}

impl LiveState {
    /// The word on the command line and in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Well => "well",
            Self::Throttled => "throttled",
            Self::Ramping => "ramping",
            Self::Resting => "resting",
            Self::Probing => "probing",
            Self::Open => "open",
            Self::Paused => "paused",
            Self::Disabled => "disabled",
        }
    }
}

impl fmt::Display for LiveState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What several workers tell, as one: counts and rates add up, and the worst state is the one to know of.
pub fn sum<'a>(workers: impl IntoIterator<Item = &'a Live>) -> Live {
    let mut total = Live::new();
    for live in workers {
        for (name, figures) in live {
            match total.get_mut(name) {
                Some(sum) => sum.add(figures),
                None => {
                    total.insert(name.clone(), figures.clone());
                }
            }
        }
    }
    total
}

impl LiveFigures {
    fn add(&mut self, other: &Self) {
        if other.state > self.state {
            self.state = other.state;
            self.until = other.until;
            self.detail.clone_from(&other.detail);
        } else if other.state == self.state {
            self.until = self.until.max(other.until);
        }
        self.since = [self.since, other.since].into_iter().flatten().min();
        self.in_flight += other.in_flight;
        self.limit += other.limit;
        self.ceiling += other.ceiling;
        // Without a limit on one of them there is none on all.
        self.rate = self.rate.zip(other.rate).map(|(one, another)| one + another);
        self.delivered_per_second += other.delivered_per_second;
        self.failed_per_second += other.failed_per_second;
        self.failures.add(&other.failures);
        self.latency_p50_ms = slowest(self.latency_p50_ms, other.latency_p50_ms);
        self.latency_p99_ms = slowest(self.latency_p99_ms, other.latency_p99_ms);
        self.held += other.held;
        self.stuck += other.stuck;
        let room = limits::STUCK_SHOWN.saturating_sub(self.stuck_verdicts.len());
        self.stuck_verdicts
            .extend(other.stuck_verdicts.iter().take(room).cloned());
    }
}

fn slowest(one: Option<f64>, another: Option<f64>) -> Option<f64> {
    [one, another].into_iter().flatten().reduce(f64::max)
}

/// As the table of workers keeps it.
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub(crate) fn written(live: &Live) -> String {
    serde_json::to_string(live).unwrap_or_default()
}

/// What a worker wrote; nothing if it is of a version that we do not understand, because it is for looking at only.
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub(crate) fn read(text: &str) -> Live {
    serde_json::from_str(text).unwrap_or_default()
}

/// An id as it is written everywhere.
mod id {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use crate::MessageId;

    pub(super) fn serialize<S: Serializer>(id: &MessageId, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(id)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<MessageId, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

/// A time that is always there, as milliseconds since 1970.
mod instant {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::Timestamp;

    pub(super) fn serialize<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(time.as_millis())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(deserializer).map(Timestamp::from_millis)
    }
}

/// A time as milliseconds since 1970.
mod millis {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use crate::Timestamp;

    #[expect(clippy::ref_option, reason = "serde hands fields over like this")]
    pub(super) fn serialize<S: Serializer>(
        time: &Option<Timestamp>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(Timestamp::as_millis).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        Ok(Option::<i64>::deserialize(deserializer)?.map(Timestamp::from_millis))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(figures: LiveFigures) -> Live {
        Live::from([("billing".to_owned(), figures)])
    }

    #[test]
    fn workers_are_summed_and_the_worst_of_them_is_told() {
        let well = live(LiveFigures {
            in_flight: 3,
            limit: 8,
            ceiling: 32,
            delivered_per_second: 10.0,
            latency_p99_ms: Some(80.0),
            ..LiveFigures::default()
        });
        let open = live(LiveFigures {
            state: LiveState::Open,
            limit: 1,
            ceiling: 32,
            rate: Some(5.0),
            failed_per_second: 2.0,
            latency_p99_ms: Some(30.0),
            until: Some(Timestamp::from_millis(7)),
            since: Some(Timestamp::from_millis(3)),
            detail: "connection refused".to_owned(),
            ..LiveFigures::default()
        });
        for order in [[&well, &open], [&open, &well]] {
            let sum = &sum(order)["billing"];
            assert_eq!((sum.in_flight, sum.limit, sum.ceiling), (3, 9, 64));
            assert_eq!(
                (sum.state, sum.detail.as_str()),
                (LiveState::Open, "connection refused")
            );
            assert_eq!(sum.until, Some(Timestamp::from_millis(7)));
            assert_eq!(sum.since, Some(Timestamp::from_millis(3)));
            assert_eq!((sum.rate, sum.latency_p99_ms), (None, Some(80.0)));
        }
    }

    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    #[test]
    fn what_is_written_is_read_and_what_is_not_understood_is_nothing() {
        let figures = LiveFigures {
            state: LiveState::Resting,
            rate: Some(0.5),
            until: Some(Timestamp::from_millis(7)),
            ..LiveFigures::default()
        };
        let live = live(figures);
        assert_eq!(read(&written(&live)), live);
        assert_eq!(
            read(r#"{"billing":{"state":"well","of_later":1}}"#)["billing"],
            LiveFigures::default()
        );
        for strange in ["", "nonsense", r#"{"billing":{"state":"a new word"}}"#] {
            assert_eq!(read(strange), Live::new(), "{strange}");
        }
    }
}
