use super::counter::{Counter, Spread, Times};
use crate::{
    DeadReason,
    destination::Outcome,
    relay::verdict::{class_name, open_class},
    store::{Attempted, Verdict},
};

/// How an attempt may end, in words.
pub const ENDINGS: [&str; 6] = [
    "delivered",
    "transient",
    "throttled",
    "unknown",
    "rejected",
    "gone",
];
/// What may be wrong with an attempt that is made again, in words.
pub const CLASSES: [&str; 3] = ["transient", "throttled", "unknown"];

const REASONS: usize = DeadReason::ALL.len();

/// What a relay counts for one destination.
#[derive(Debug, Default)]
pub(in crate::relay) struct Counted {
    ended: [Counter; ENDINGS.len()],
    took: Times,
    in_flight: Counter,
    delivered: Counter,
    retried: [Counter; CLASSES.len()],
    dead: [Counter; REASONS],
    postponed: Counter,
}

/// The counts of one destination at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DestinationFigures {
    /// Attempts that have ended, in the order of [`ENDINGS`].
    pub ended: [u64; ENDINGS.len()],
    /// How long they took.
    pub took: Spread,
    /// Attempts on their way now.
    pub in_flight: u64,
    /// Messages that arrived, and that written down.
    pub delivered: u64,
    /// Messages put off after an attempt that failed, in the order of [`CLASSES`].
    pub retried: [u64; CLASSES.len()],
    /// Messages quarantined, in the order of [`DeadReason::ALL`].
    pub dead: [u64; REASONS],
    /// Messages that wait for a time without having been attempted: not due yet, or put away.
    pub postponed: u64,
}

impl Counted {
    pub(in crate::relay) fn begun(&self) {
        self.in_flight.add(1);
    }

    pub(in crate::relay) fn ended(&self, outcome: &Outcome, idempotent: bool, took: std::time::Duration) {
        self.in_flight.take(1);
        self.took.took(took);
        let word = match outcome {
            Outcome::Delivered => "delivered",
            Outcome::Retry { class, .. } => class_name(*class),
            Outcome::Unreachable { .. } => "transient",
            Outcome::Ambiguous { asked, .. } => class_name(open_class(*asked, idempotent)),
            Outcome::Reject { .. } => "rejected",
            Outcome::Disable { .. } => "gone",
        };
        count(&self.ended, &ENDINGS, word, "transient");
    }

    /// What had begun was not sent after all.
    pub(in crate::relay) fn unsent(&self) {
        self.in_flight.take(1);
    }

    pub(super) fn at_rest(&self) {
        self.in_flight.set(0);
    }

    pub(in crate::relay) fn settled(&self, verdict: &Verdict) {
        match verdict {
            Verdict::Delivered(_) => self.delivered.add(1),
            Verdict::Retry {
                attempted: Attempted { class, .. },
                ..
            } => count(&self.retried, &CLASSES, class, "transient"),
            Verdict::Dead { reason, .. } => {
                if let Some(place) = DeadReason::ALL.iter().position(|known| known == reason) {
                    self.dead[place].add(1);
                }
            }
            Verdict::Postponed(_) => self.postponed.add(1),
            Verdict::FannedOut { .. } | Verdict::Counted { .. } | Verdict::Uncounted { .. } => {}
        }
    }

    pub(super) fn figures(&self) -> DestinationFigures {
        DestinationFigures {
            ended: std::array::from_fn(|place| self.ended[place].get()),
            took: self.took.spread(),
            in_flight: self.in_flight.get(),
            delivered: self.delivered.get(),
            retried: std::array::from_fn(|place| self.retried[place].get()),
            dead: std::array::from_fn(|place| self.dead[place].get()),
            postponed: self.postponed.get(),
        }
    }
}

/// One more of this word, or of the usual one if it is none of them.
fn count<const N: usize>(counters: &[Counter; N], words: &[&str; N], word: &str, usual: &str) {
    let place = |word| words.iter().position(|known| *known == word);
    if let Some(place) = place(word).or_else(|| place(usual)) {
        counters[place].add(1);
    }
}

impl DestinationFigures {
    /// Both together: those of several relays.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        let pairs = self.ended.iter_mut().zip(other.ended);
        let pairs = pairs.chain(self.retried.iter_mut().zip(other.retried));
        for (count, more) in pairs.chain(self.dead.iter_mut().zip(other.dead)) {
            *count += more;
        }
        self.took = self.took.plus(&other.took);
        self.in_flight += other.in_flight;
        self.delivered += other.delivered;
        self.postponed += other.postponed;
        self
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use redeliver::Class;

    use super::*;

    #[test]
    fn every_class_and_reason_has_its_place() {
        let counted = Counted::default();
        for class in [Class::Transient, Class::THROTTLED, Class::Unknown] {
            counted.begun();
            let reason = String::new();
            counted.ended(&Outcome::Retry { class, reason }, true, Duration::ZERO);
            let attempted = Attempted {
                attempt: 1,
                took: Duration::ZERO,
                class: class_name(class),
                error: String::new(),
                resumes_lane: false,
            };
            let wait = Duration::ZERO;
            counted.settled(&Verdict::Retry { attempted, wait });
        }
        for &reason in DeadReason::ALL {
            counted.settled(&Verdict::Dead {
                attempted: None,
                reason,
                error: String::new(),
                lane: crate::store::AfterDeath::None,
            });
        }
        let figures = counted.figures();
        assert_eq!(figures.ended, [0, 1, 1, 1, 0, 0]);
        assert_eq!(figures.retried, [1; CLASSES.len()]);
        assert_eq!(figures.dead, [1; REASONS]);
        assert_eq!(figures.in_flight, 0);
        assert_eq!(figures.plus(&figures).took.counts[0], 6);
        counted.begun();
        counted.at_rest();
        assert_eq!(counted.figures().in_flight, 0, "of a relay that has ended");
    }
}
