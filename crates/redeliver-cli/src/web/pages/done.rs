//! What was done, told by the page that is shown after it. The address carries a word and a number, never a sentence.

use super::{fields::Fields, words::counted};

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    Redriven,
    Discarded,
    Edited,
    Paused,
    Resumed,
    HeldBefore,
    NotHeld,
    LaneParked,
    LaneResumed,
    LaneResumedWithout,
    LaneParkedBefore,
    LaneNotParked,
    Unchanged,
    Started,
    JobPaused,
    JobResumed,
    JobCancelled,
}

impl Done {
    const ALL: [Self; 17] = [
        Self::Redriven,
        Self::Discarded,
        Self::Edited,
        Self::Paused,
        Self::Resumed,
        Self::HeldBefore,
        Self::NotHeld,
        Self::LaneParked,
        Self::LaneResumed,
        Self::LaneResumedWithout,
        Self::LaneParkedBefore,
        Self::LaneNotParked,
        Self::Unchanged,
        Self::Started,
        Self::JobPaused,
        Self::JobResumed,
        Self::JobCancelled,
    ];

    const fn word(self) -> &'static str {
        match self {
            Self::Redriven => "redriven",
            Self::Discarded => "discarded",
            Self::Edited => "edited",
            Self::Paused => "paused",
            Self::Resumed => "resumed",
            Self::HeldBefore => "held-before",
            Self::NotHeld => "not-held",
            Self::LaneParked => "lane-parked",
            Self::LaneResumed => "lane-resumed",
            Self::LaneResumedWithout => "lane-resumed-without",
            Self::LaneParkedBefore => "lane-parked-before",
            Self::LaneNotParked => "lane-not-parked",
            Self::Unchanged => "unchanged",
            Self::Started => "started",
            Self::JobPaused => "job-paused",
            Self::JobResumed => "job-resumed",
            Self::JobCancelled => "job-cancelled",
        }
    }

    /// The page, which will say so.
    pub(super) fn at(self, path: &str, count: u64) -> String {
        let joint = if path.contains('?') { '&' } else { '?' };
        format!("{path}{joint}done={}&count={count}", self.word())
    }

    /// The sentence for what an address says was done.
    pub(super) fn told(query: &Fields) -> Option<String> {
        let word = query.get("done")?;
        let done = Self::ALL.into_iter().find(|done| done.word() == word)?;
        let count = query
            .get("count")
            .and_then(|count| count.parse().ok())
            .unwrap_or(1);
        let letters = counted(count, "dead letter", "dead letters");
        Some(match done {
            Self::Redriven => format!("{letters} put back: pending, no attempts, due now."),
            Self::Discarded => {
                format!("{letters} given up. They stay visible until their retention is over.")
            }
            Self::Edited => format!("{letters} changed. The payload as it was inserted is kept."),
            Self::Paused => {
                "Paused: relays send nothing there from their next beat on, and nothing is lost.".to_owned()
            }
            Self::Resumed => {
                "Resumed: relays go on from their next beat on, a little more from second to second."
                    .to_owned()
            }
            Self::HeldBefore => "Nothing has changed: it was held already.".to_owned(),
            Self::NotHeld => "Nothing has changed: it was not held.".to_owned(),
            Self::LaneParked => {
                "Parked: what is on its way is finished, and nothing else of the lane goes out.".to_owned()
            }
            Self::LaneResumed => "The lane goes on, in its order.".to_owned(),
            Self::LaneResumedWithout => {
                format!("The lane goes on without message {count}, which stays a dead letter with its gap.")
            }
            Self::LaneParkedBefore => "Nothing has changed: the lane was parked by hand already.".to_owned(),
            Self::LaneNotParked => "Nothing has changed: the lane did not stand still.".to_owned(),
            Self::Unchanged => "Nothing was different, so nothing was changed.".to_owned(),
            Self::Started => "The job has begun. It goes on whether or not anybody looks.".to_owned(),
            Self::JobPaused => "The job is held: nothing more is let out until it goes on.".to_owned(),
            Self::JobResumed => "The job goes on.".to_owned(),
            Self::JobCancelled => "The job is ended. What it let out stays out.".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_told_and_nothing_else() {
        for done in Done::ALL {
            let address = done.at("/messages?to=a", 3);
            let (_, query) = address.split_once('?').unwrap();
            assert!(Done::told(&Fields::of(query)).is_some(), "{address}");
        }
        assert_eq!(Done::told(&Fields::of("done=<b>pwned</b>")), None);
        assert_eq!(Done::told(&Fields::of("")), None);
    }
}
