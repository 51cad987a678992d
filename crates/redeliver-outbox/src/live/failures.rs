//! What failed attempts met, in a few classes: counted, for people to look at.

use std::cmp::Reverse;

use redeliver::Class;
use serde::{Deserialize, Serialize};

use crate::destination::Outcome;

/// What a failed attempt met. A destination says it in words; this is what they come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureClass {
    /// No connection or no answer in time.
    Timeout,
    /// Nobody listens there.
    Refused,
    /// No connection for another reason, or one that broke: names, certificates, resets.
    Connection,
    /// It asks for fewer requests: 429, and whatever else was taken for that.
    Throttled,
    /// Another status from 400 to 499.
    ClientError,
    /// A status from 500 on.
    ServerError,
    /// Anything else.
    Other,
}

impl FailureClass {
    /// Every class, in the order in which they are told.
    pub const ALL: [Self; 7] = [
        Self::Timeout,
        Self::Refused,
        Self::Connection,
        Self::Throttled,
        Self::ClientError,
        Self::ServerError,
        Self::Other,
    ];

    /// A few words for a person.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Refused => "connection refused",
            Self::Connection => "no connection",
            Self::Throttled => "throttled",
            Self::ClientError => "4xx",
            Self::ServerError => "5xx",
            Self::Other => "other",
        }
    }

    /// What came of an attempt; none if the message arrived.
    #[must_use]
    pub fn of(outcome: &Outcome) -> Option<Self> {
        let (reason, throttled) = match outcome {
            Outcome::Delivered => return None,
            Outcome::Retry { class, reason } => (reason, matches!(class, Class::Throttled { .. })),
            Outcome::Reject { reason, .. }
            | Outcome::Unreachable { reason }
            | Outcome::Disable { reason }
            | Outcome::Ambiguous { reason, .. } => (reason, false),
        };
        Some(match status(reason) {
            Some(429) => Self::Throttled,
            Some(400..=499) => Self::ClientError,
            Some(500..) => Self::ServerError,
            Some(_) => Self::Other,
            None if throttled => Self::Throttled,
            None => Self::in_words(reason),
        })
    }

    /// What is no answer is known by its words only: an error is what the destination says, whatever it is.
    fn in_words(reason: &str) -> Self {
        // The beginning tells it; behind it may be a page that somebody else wrote.
        let start: String = reason.chars().take(200).collect();
        let start = start.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| start.contains(word));
        if says(&["timed out", "timeout", "deadline"]) || (start.starts_with("no ") && says(&[" within "])) {
            Self::Timeout
        } else if says(&["refused"]) {
            Self::Refused
        } else if says(&[
            "connect",
            "broke",
            "reset",
            "dns",
            "resolve",
            "certificate",
            "tls",
            "unreachable",
        ]) {
            Self::Connection
        } else {
            Self::Other
        }
    }
}

/// The status that an error begins with, if it does.
fn status(reason: &str) -> Option<u16> {
    let digits = reason.get(..3)?;
    let ends = !reason[3..].starts_with(|next: char| next.is_alphanumeric());
    let status = digits
        .parse()
        .ok()
        .filter(|status| (100..=599).contains(status))?;
    (ends && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(status)
}

/// How many attempts of the last minute failed, by what they met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Failures {
    /// No connection or no answer in time.
    pub timeout: u64,
    /// Nobody listens there.
    pub refused: u64,
    /// No connection for another reason, or one that broke.
    pub connection: u64,
    /// It asks for fewer requests.
    pub throttled: u64,
    /// Another status from 400 to 499.
    pub client_error: u64,
    /// A status from 500 on.
    pub server_error: u64,
    /// Anything else.
    pub other: u64,
}

impl Failures {
    /// Each class and how many, in the order in which they are told.
    #[must_use]
    pub fn each(&self) -> [(FailureClass, u64); FailureClass::ALL.len()] {
        FailureClass::ALL.map(|class| (class, *self.clone().count(class)))
    }

    /// The classes that there were, the most frequent first.
    #[must_use]
    pub fn met(&self) -> Vec<(FailureClass, u64)> {
        let mut met = self.each().to_vec();
        met.retain(|(_, count)| *count > 0);
        met.sort_by_key(|(_, count)| Reverse(*count));
        met
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.each().iter().map(|(_, count)| count).sum()
    }

    /// Whether there was none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) const fn count(&mut self, class: FailureClass) -> &mut u64 {
        match class {
            FailureClass::Timeout => &mut self.timeout,
            FailureClass::Refused => &mut self.refused,
            FailureClass::Connection => &mut self.connection,
            FailureClass::Throttled => &mut self.throttled,
            FailureClass::ClientError => &mut self.client_error,
            FailureClass::ServerError => &mut self.server_error,
            FailureClass::Other => &mut self.other,
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (class, count) in other.each() {
            *self.count(class) += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DeadReason;

    fn retry(reason: &str) -> Outcome {
        Outcome::Retry {
            class: Class::Transient,
            reason: reason.to_owned(),
        }
    }

    #[test]
    fn what_destinations_say_comes_to_a_class() {
        for (reason, class) in [
            ("no answer from http://a within 5s", FailureClass::Timeout),
            ("no connection to http://a within 5s", FailureClass::Timeout),
            ("no answer within 30s", FailureClass::Timeout),
            ("operation timed out", FailureClass::Timeout),
            (
                "cannot connect to http://a: Connection refused (os error 111)",
                FailureClass::Refused,
            ),
            (
                "cannot connect to https://a: its certificate is not accepted: expired",
                FailureClass::Connection,
            ),
            (
                "the connection to http://a broke before an answer came: connection reset",
                FailureClass::Connection,
            ),
            ("429 Too Many Requests", FailureClass::Throttled),
            ("404 Not Found: timed out looking", FailureClass::ClientError),
            ("503 Service Unavailable: refused", FailureClass::ServerError),
            ("599", FailureClass::ServerError),
            ("302 Found: points to http://b", FailureClass::Other),
            ("5000 things went wrong", FailureClass::Other),
            ("", FailureClass::Other),
            ("é€", FailureClass::Other),
        ] {
            assert_eq!(FailureClass::of(&retry(reason)), Some(class), "{reason}");
        }
        assert_eq!(FailureClass::of(&Outcome::Delivered), None);
        let throttled = Outcome::Retry {
            class: Class::THROTTLED,
            reason: "slow down".to_owned(),
        };
        assert_eq!(FailureClass::of(&throttled), Some(FailureClass::Throttled));
        let rejected = Outcome::Reject {
            kind: DeadReason::Permanent,
            reason: "422 Unprocessable Content".to_owned(),
        };
        assert_eq!(FailureClass::of(&rejected), Some(FailureClass::ClientError));
    }

    #[test]
    fn counts_add_up_and_are_told_in_order() {
        let mut failures = Failures::default();
        assert!(failures.is_empty());
        for class in FailureClass::ALL {
            *failures.count(class) += 1;
        }
        failures.add(&failures.clone());
        assert_eq!(failures.all(), 14);
        assert!(failures.each().iter().all(|(_, count)| *count == 2));
        *failures.count(FailureClass::ServerError) = 9;
        *failures.count(FailureClass::Other) = 0;
        let met = failures.met();
        assert_eq!((met.len(), met[0]), (6, (FailureClass::ServerError, 9)));
        let told = serde_json::to_string(&failures).unwrap();
        assert_eq!(serde_json::from_str::<Failures>(&told).unwrap(), failures);
        assert_eq!(
            serde_json::from_str::<Failures>(r#"{"of_later":1}"#).unwrap(),
            Failures::default()
        );
    }
}
