//! What is worth a word of what the relay does and of how its destinations are: pure, so that it is tested without either.

mod course;

use std::collections::BTreeMap;

use redeliver_outbox::{DeadReason, Fingerprint, desk::StatusReport, live::LiveState};
use serde_json::{Value, json};

pub(super) use self::course::Course;
use super::{super::stage::briefly, watcher::Sighting};
use crate::readable;

/// Of an error, so much is told.
const ERROR: usize = 110;

/// Something that somebody who watches wants to know.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    pub(super) name: &'static str,
    pub(super) destination: String,
    pub(super) words: String,
    pub(super) figures: Value,
}

impl Event {
    fn new(name: &'static str, destination: &str, words: String, figures: Value) -> Self {
        Self {
            name,
            destination: destination.to_owned(),
            words,
            figures,
        }
    }
}

/// Dead letters of one issue.
#[derive(Clone, Debug)]
pub(super) struct Issue {
    pub(super) destination: String,
    pub(super) reason: DeadReason,
    /// The error of the first.
    pub(super) error: String,
    pub(super) count: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct News {
    courses: BTreeMap<String, Course>,
    /// Dead letters by what is wrong with them, as the desk groups them.
    pub(super) issues: BTreeMap<Fingerprint, Issue>,
    /// Attempts that began before they were due.
    pub(super) early: u64,
}

impl News {
    pub(super) fn course(&self, destination: &str) -> Course {
        self.courses.get(destination).cloned().unwrap_or_default()
    }

    /// The destinations that are not well, and how they are.
    pub(super) fn unwell(&self) -> impl Iterator<Item = (&str, LiveState)> {
        let courses = self.courses.iter();
        courses
            .map(|(name, course)| (name.as_str(), course.state))
            .filter(|(_, state)| *state != LiveState::Well)
    }

    fn of(&mut self, destination: &str) -> &mut Course {
        self.courses.entry(destination.to_owned()).or_default()
    }

    pub(super) fn saw(&mut self, sighting: &Sighting) -> Option<Event> {
        match sighting {
            Sighting::Sending {
                destination,
                attempt,
                early,
            } => {
                self.of(destination).begin(*attempt);
                self.early += u64::from(*early);
                None
            }
            Sighting::StillDown { destination, error } => Some(Event::new(
                "probe",
                destination,
                format!(
                    "one message was sent to see, and met {}: still down",
                    briefly(error)
                ),
                json!({ "arrived": false, "error": error }),
            )),
            Sighting::Retry {
                destination,
                attempt,
                error,
                wait,
                throttled,
            } => Some(match throttled {
                true => Course::throttled(destination, *attempt, error, *wait),
                false => self.of(destination).retry(destination, *attempt, error, *wait),
            }),
            Sighting::Dead {
                destination,
                reason,
                error,
                ..
            } => self.dead(destination.as_deref().unwrap_or_default(), *reason, error),
        }
    }

    /// The first dead letter of each issue is news; the others are counted.
    fn dead(&mut self, destination: &str, reason: DeadReason, error: &str) -> Option<Event> {
        let fingerprint = Fingerprint::of(destination, reason.as_str(), error);
        let issue = self.issues.entry(fingerprint).or_insert_with(|| Issue {
            destination: destination.to_owned(),
            reason,
            error: error.to_owned(),
            count: 0,
        });
        issue.count += 1;
        (issue.count == 1).then(|| {
            let shown = readable::line(error, ERROR);
            Event::new(
                "dead_letters",
                destination,
                format!("dead letters of a new kind, {reason}: {shown}"),
                json!({ "issue": fingerprint.to_string(), "reason": reason.as_str(), "error": error }),
            )
        })
    }

    /// How the destinations are now, by the workers' last beat.
    pub(super) fn looked(&mut self, report: &StatusReport) -> Vec<Event> {
        let mut events = Vec::new();
        for (name, live) in report.live() {
            // What waits or dies as an event is nobody's.
            if name.is_empty() {
                continue;
            }
            let figures = report.destinations.get(&name).copied().unwrap_or_default();
            events.extend(self.of(&name).follow(&name, &live, figures, report.now));
        }
        events
    }
}

#[cfg(test)]
mod tests;
