//! Changing a dead letter, if it is still as it was seen.

use std::fmt;

use super::{AuditRecord, Detail};
use crate::Payload;

/// What to change in a dead letter. What is none stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// The new payload.
    pub payload: Option<Payload>,
    /// The new content type.
    pub content_type: Option<String>,
    /// The new headers, as a JSON object.
    pub headers: Option<String>,
    /// The new destination.
    pub destination: Option<String>,
    /// What was seen of it: if anything was done to it since, the edit is refused.
    pub seen: Option<Seen>,
    /// Whether it is put back too, in the same transaction: what goes out is what was saved.
    pub redrive: bool,
}

/// How a message was when somebody looked at it: whatever an operator does to it, and every redrive, makes it another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// How often it had been redriven.
    pub redrives: u32,
    /// The number of the newest act of an operator on record, 0 if there was none. How many there are would not tell: retention forgets the
    /// oldest.
    pub newest_act: u64,
}

impl Seen {
    /// A message with so many redrives, and with these acts on record, the oldest first.
    pub(crate) fn of(redrives: u32, acts: &[AuditRecord]) -> Self {
        Self {
            redrives,
            newest_act: acts.last().map_or(0, |newest| newest.number.unsigned_abs()),
        }
    }

    /// What was done to it until it was as it is `now`, by whom and when, the oldest act first.
    pub(crate) fn since(self, now: Self, acts: &[AuditRecord]) -> String {
        let seen = |deed: &&AuditRecord| deed.number.unsigned_abs() <= self.newest_act;
        let seen = acts.iter().take_while(seen).count();
        let told = |deed: &AuditRecord| format!("{} did \"{}\" at {}", deed.who, deed.action, deed.at);
        match &acts[seen..] {
            [] if now.redrives == self.redrives => "what was on record of it is forgotten by now".to_owned(),
            [] => "it was put back and has died again".to_owned(),
            [deed] => told(deed),
            [first, .., last] => format!("{}, and at last {}", told(first), told(last)),
        }
    }
}

impl Detail {
    /// How it is, for an edit that is to meet it like this.
    #[must_use]
    pub fn seen(&self) -> Seen {
        Seen::of(self.record.redrives, &self.audit)
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.redrives, self.newest_act)
    }
}

/// What is not how a message was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be as it was told with the message, such as 0.2")]
pub struct NoSeen;

impl std::str::FromStr for Seen {
    type Err = NoSeen;

    fn from_str(text: &str) -> Result<Self, NoSeen> {
        let (redrives, newest_act) = text.split_once('.').ok_or(NoSeen)?;
        Ok(Self {
            redrives: redrives.parse().map_err(|_| NoSeen)?,
            newest_act: newest_act.parse().map_err(|_| NoSeen)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    fn act(number: i64, who: &str, action: &str) -> AuditRecord {
        AuditRecord {
            number,
            at: Timestamp::default(),
            who: who.to_owned(),
            action: action.to_owned(),
            message: None,
            why: String::new(),
            detail: String::new(),
            hash: None,
        }
    }

    #[test]
    fn what_was_seen_comes_back_as_it_was_told() {
        let seen = Seen {
            redrives: 3,
            newest_act: 12,
        };
        assert_eq!(seen.to_string().parse(), Ok(seen));
        for wrong in ["", "1", "1.", ".1", "1.2.3", "-1.0", "a.b"] {
            assert_eq!(wrong.parse::<Seen>(), Err(NoSeen), "{wrong}");
        }
    }

    #[test]
    fn what_happened_since_is_told_and_nothing_before() {
        let acts = [
            act(5, "ana", "edit"),
            act(7, "bo", "redrive"),
            act(8, "cy", "edit"),
            act(20, "di", "discard"),
        ];
        let (seen, now) = (Seen::of(0, &acts[..1]), Seen::of(0, &acts));
        assert_eq!((seen.newest_act, now.newest_act), (5, 20));
        assert!(seen.since(now, &acts[..2]).starts_with("bo did \"redrive\" at "));
        let told = seen.since(now, &acts);
        assert!(
            told.contains("bo did") && told.contains("di did \"discard\""),
            "{told}"
        );
        assert!(!told.contains("ana"), "{told}");
        let again = Seen::of(1, &acts[..1]);
        assert_eq!(
            seen.since(again, &acts[..1]),
            "it was put back and has died again"
        );
        assert!(seen.since(Seen::of(0, &[]), &[]).contains("forgotten"));
        // As many acts as were seen, and others.
        let later = &acts[3..];
        assert_ne!(Seen::of(0, later), seen);
        assert!(seen.since(Seen::of(0, later), later).starts_with("di did"));
    }
}
