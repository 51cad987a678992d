//! What an import that goes on has passed lately. A row may be committed after one that is behind it in the order, so a place that was passed
//! is looked at again for as long as a transaction may last.

use std::{
    collections::{HashSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use redeliver::Moment;

use super::Position;
use crate::limits;

/// The rows that were passed lately, by the hash of their places: all of it for as long as rows may come late, within its bound.
#[derive(Debug, Default)]
pub(super) struct Trail {
    /// Everything up to here is too long ago; none if nothing is yet.
    mark: Option<Position>,
    passed: VecDeque<Passed>,
    known: HashSet<u64>,
}

#[derive(Debug)]
struct Passed {
    at: Moment,
    until: Option<Position>,
    places: Vec<u64>,
}

impl Trail {
    /// A trail that begins behind this place.
    pub(super) fn behind(mark: Option<Position>) -> Self {
        Self {
            mark,
            ..Self::default()
        }
    }

    /// Where to look again from.
    pub(super) const fn mark(&self) -> Option<&Position> {
        self.mark.as_ref()
    }

    pub(super) fn knows(&self, position: &Position) -> bool {
        self.known.contains(&hash(position))
    }

    /// Notes rows; `until` is the place that was passed with them, if one was.
    pub(super) fn note<'a>(
        &mut self,
        at: Moment,
        until: Option<Position>,
        rows: impl Iterator<Item = &'a Position>,
    ) {
        let places: Vec<u64> = rows.map(hash).collect();
        self.known.extend(&places);
        self.passed.push_back(Passed { at, until, places });
    }

    /// Lets go of what was passed longer ago than this.
    pub(super) fn forget(&mut self, now: Moment, longest: Duration) {
        while let Some(oldest) = self.passed.front() {
            let old = now.since(oldest.at) > longest;
            if !old && self.known.len() <= limits::IMPORT_TRAIL {
                return;
            }
            let Some(oldest) = self.passed.pop_front() else {
                return;
            };
            for place in &oldest.places {
                self.known.remove(place);
            }
            if oldest.until.is_some() {
                self.mark = oldest.until;
            }
        }
    }
}

fn hash(position: &Position) -> u64 {
    let mut hasher = DefaultHasher::new();
    position.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_passed_is_known_until_it_is_long_ago() {
        let place = |number| Position::Integer(number);
        let second = |second: u64| Moment::from_millis(second * 1000);
        let mut trail = Trail::behind(Some(place(10)));
        trail.note(second(0), Some(place(12)), [place(11), place(12)].iter());
        trail.note(second(5), Some(place(20)), [place(20)].iter());
        trail.forget(second(8), Duration::from_secs(10));
        assert_eq!(trail.mark(), Some(&place(10)));
        assert!(trail.knows(&place(11)) && !trail.knows(&place(15)));
        // One that came late moves nothing.
        trail.note(second(9), None, [place(15)].iter());
        trail.forget(second(11), Duration::from_secs(10));
        assert_eq!(trail.mark(), Some(&place(12)));
        assert!(trail.knows(&place(15)) && !trail.knows(&place(11)));
    }
}
