//! Late commits: the ranges of numbers that a reader has passed, and how long something may still appear in them.
//!
//! A number is given out when its row is inserted, and the row is seen when its transaction commits: a reader that only goes forward
//! passes numbers whose rows are not there yet. Every range that it passes is therefore a segment, looked at again until nobody can be
//! left who took a number in it.
//!
//! Who can be left? The server has no snapshot to ask. `innodb_trx` lists the transactions that have written something, and
//!
//! - the list comes **before** the snapshot in which the segment is looked at: whoever is not on it has ended, and whatever they
//!   committed is seen by a snapshot that is taken later. The other way round, one who commits between the two would be missed;
//! - the list is a copy, made anew only if nobody has asked for a tenth of a second, so each question carries the server's time,
//!   shows up in the list that it causes, and so dates the list for everyone who reads it ([`Listing::filled_at`]);
//! - a number is given out an instant before its transaction has begun, in every mode of `innodb_autoinc_lock_mode` (and in blocks, for
//!   many rows at once, before the first of them is there), so the first list that counts is [`GRACE`] younger than the segment. A
//!   transaction that is not on it by then takes higher numbers than any that was passed.
//!
//! So a segment waits for the writers on the first list that is young enough, is looked at whenever one of them has ended, and is
//! dropped when all have. Before that list it is looked at twice in quick succession, because most late commits are late by
//! milliseconds. It is also looked at whenever it has become four times as old as at the last look: somebody who asks for the list all
//! the time keeps the server from ever making a new one. Without the privilege to see the list only this is left, for as long as a
//! transaction may last.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use redeliver::Moment;

use crate::Timestamp;

/// How long a number may be given out before its transaction is on the list.
pub(super) const GRACE: Duration = Duration::from_secs(1);
/// The ages at which a segment is looked at first, whatever is known of the writers.
const FIRST_LOOKS: [Duration; 2] = [Duration::from_millis(40), Duration::from_millis(200)];
/// Ranges passed within this time are one segment.
const TOGETHER: Duration = Duration::from_millis(40);

/// Numbers of a shard: more than the first, up to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) shard: u16,
    pub(super) above: i64,
    pub(super) to: i64,
}

/// The transactions that have written and not ended, as they were at some time not before `filled_at`.
#[derive(Clone, Debug)]
pub(super) struct Listing {
    pub(super) filled_at: Timestamp,
    pub(super) writers: BTreeSet<u64>,
}

#[derive(Clone, Debug)]
struct Segment {
    ranges: BTreeMap<u16, (i64, i64)>,
    begun: Moment,
    passed: Moment,
    passed_at: Timestamp,
    looks: usize,
    next_look: Moment,
    /// Whom it waits for, once a list was young enough.
    writers: Option<BTreeSet<u64>>,
    /// One of them has ended since it was looked at.
    due: bool,
}

/// All ranges that were passed and may still gain a row.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    open: Vec<Segment>,
    newest_listing: Option<Timestamp>,
    /// Set where the list cannot be seen: how long a transaction lasts at most.
    longest: Option<Duration>,
}

impl Segments {
    pub(super) const fn new() -> Self {
        Self {
            open: Vec::new(),
            newest_listing: None,
            longest: None,
        }
    }

    /// The list cannot be seen: from now on every segment is kept for this long.
    pub(super) const fn go_blind(&mut self, longest: Duration) {
        self.longest = Some(longest);
    }

    pub(super) const fn is_blind(&self) -> bool {
        self.longest.is_some()
    }

    /// Ranges have been passed in a snapshot that was taken before `passed_at` on the server's clock.
    pub(super) fn pass(&mut self, ranges: &[Range], now: Moment, passed_at: Timestamp) {
        if ranges.is_empty() {
            return;
        }
        let joins = self.open.last().is_some_and(|last| {
            last.looks == 0 && last.writers.is_none() && now.since(last.begun) < TOGETHER
        });
        if !joins {
            self.open.push(Segment {
                ranges: BTreeMap::new(),
                begun: now,
                passed: now,
                passed_at,
                looks: 0,
                next_look: now,
                writers: None,
                due: false,
            });
        }
        if let Some(last) = self.open.last_mut() {
            last.passed = now;
            last.next_look = now.plus(FIRST_LOOKS[0]);
            last.passed_at = last.passed_at.max(passed_at);
            for range in ranges {
                last.cover(range.shard, (range.above, range.to));
            }
        }
    }

    /// Whether a list would tell something.
    pub(super) fn want_listing(&self, now: Moment) -> bool {
        !self.is_blind()
            && self
                .open
                .iter()
                .any(|segment| segment.writers.is_some() || now.since(segment.passed) >= GRACE)
    }

    /// Takes note of a list, and says whether it was a new one. It is not needed again: what it changes is kept until the segments have
    /// been looked at.
    pub(super) fn observe(&mut self, listing: &Listing) -> bool {
        // An older copy may lack writers that a younger one told of.
        if self
            .newest_listing
            .is_some_and(|newest| listing.filled_at <= newest)
        {
            return false;
        }
        self.newest_listing = Some(listing.filled_at);
        for segment in &mut self.open {
            match &mut segment.writers {
                Some(writers) => {
                    let before = writers.len();
                    writers.retain(|writer| listing.writers.contains(writer));
                    segment.due |= writers.len() < before;
                }
                None if listing.filled_at >= segment.passed_at.plus(GRACE) => {
                    segment.writers = Some(listing.writers.clone());
                    segment.due = true;
                }
                None => {}
            }
        }
        true
    }

    /// The ranges to look at now, or all of them.
    pub(super) fn due(&self, now: Moment, all: bool) -> Vec<Range> {
        let mut ranges: BTreeMap<u16, Vec<(i64, i64)>> = BTreeMap::new();
        for segment in self.open.iter().filter(|segment| all || segment.is_due(now)) {
            for (&shard, &(above, to)) in &segment.ranges {
                let of_shard = ranges.entry(shard).or_default();
                match of_shard.last_mut() {
                    Some(last) if last.1 == above => last.1 = to,
                    _ => of_shard.push((above, to)),
                }
            }
        }
        ranges
            .into_iter()
            .flat_map(|(shard, of_shard)| {
                of_shard
                    .into_iter()
                    .map(move |(above, to)| Range { shard, above, to })
            })
            .collect()
    }

    /// What [`due`](Self::due) said at the same time has been looked at.
    pub(super) fn looked(&mut self, now: Moment, all: bool) {
        let longest = self.longest;
        self.open.retain_mut(|segment| {
            if !segment.is_due(now) && !all {
                return true;
            }
            segment.looked(now, longest);
            let ended = segment.writers.as_ref().is_some_and(BTreeSet::is_empty);
            !ended && longest.is_none_or(|longest| now.since(segment.passed) < longest)
        });
        self.merge(now);
    }

    /// Where the lowest open range of a shard begins.
    pub(super) fn lowest(&self, shard: u16) -> Option<i64> {
        let begins = |segment: &Segment| segment.ranges.get(&shard).map(|range| range.0);
        self.open.iter().filter_map(begins).min()
    }

    /// Whether the number lies in an open range.
    pub(super) fn covers(&self, shard: u16, number: i64) -> bool {
        let within = |&(above, to): &(i64, i64)| above < number && number <= to;
        self.open
            .iter()
            .any(|segment| segment.ranges.get(&shard).is_some_and(within))
    }

    /// The shard is not ours any more.
    pub(super) fn forget(&mut self, shard: u16) {
        for segment in &mut self.open {
            segment.ranges.remove(&shard);
        }
        self.open.retain(|segment| !segment.ranges.is_empty());
    }

    /// Neighbours that wait for the same writers become one, and so do old ones of nearly the same age: under a writer who stays away
    /// for long there is one segment, not one for each read.
    fn merge(&mut self, now: Moment) {
        self.open.dedup_by(|next, kept| {
            let alike = match (&kept.writers, &next.writers) {
                (Some(kept), Some(next)) => kept == next,
                (None, None) => {
                    kept.looks >= 2
                        && next.looks >= 2
                        && next.passed.since(kept.begun) < now.since(next.passed) / 8
                }
                _ => false,
            };
            if alike {
                kept.passed = kept.passed.max(next.passed);
                kept.passed_at = kept.passed_at.max(next.passed_at);
                // The whole is looked at no more often than its oldest part was: what a list says does not wait for this.
                kept.next_look = kept.next_look.max(next.next_look);
                kept.due |= next.due;
                for (&shard, &range) in &next.ranges {
                    kept.cover(shard, range);
                }
            }
            alike
        });
    }
}

impl Segment {
    /// One range from the lowest to the highest: what lies between two of them was passed too.
    fn cover(&mut self, shard: u16, (above, to): (i64, i64)) {
        let range = self.ranges.entry(shard).or_insert((above, to));
        *range = (range.0.min(above), range.1.max(to));
    }

    fn is_due(&self, now: Moment) -> bool {
        self.due || now >= self.next_look
    }

    fn looked(&mut self, now: Moment, longest: Option<Duration>) {
        self.due = false;
        self.looks += 1;
        self.next_look = match FIRST_LOOKS.get(self.looks) {
            Some(&age) => self.passed.plus(age),
            None => now.plus(now.since(self.begun) * 3),
        };
        if let Some(longest) = longest {
            self.next_look = self.next_look.min(self.passed.plus(longest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Range = Range {
        shard: 1,
        above: 0,
        to: 10,
    };
    const B: Range = Range {
        shard: 1,
        above: 10,
        to: 20,
    };

    fn at(millis: u64) -> Moment {
        Moment::from_millis(millis)
    }

    fn list(filled_at: i64, writers: &[u64]) -> Listing {
        Listing {
            filled_at: Timestamp::from_millis(filled_at),
            writers: writers.iter().copied().collect(),
        }
    }

    fn passed() -> Segments {
        let mut segments = Segments::new();
        segments.pass(&[A], at(0), Timestamp::from_millis(50_000));
        segments.looked(at(40), false);
        segments.looked(at(200), false);
        segments
    }

    #[test]
    fn a_segment_is_looked_at_soon_and_then_waits_for_a_list() {
        let mut segments = Segments::new();
        segments.pass(&[A], at(0), Timestamp::from_millis(50_000));
        assert!(segments.due(at(39), false).is_empty());
        assert_eq!(segments.due(at(40), false), [A]);
        segments.looked(at(40), false);
        assert!(segments.due(at(199), false).is_empty());
        segments.looked(at(200), false);
        assert!(segments.due(at(799), false).is_empty());
        assert!(!segments.want_listing(at(999)) && segments.want_listing(at(1000)));
        assert!(
            segments.covers(1, 1)
                && segments.covers(1, 10)
                && !segments.covers(1, 11)
                && !segments.covers(2, 5)
        );
    }

    #[test]
    fn a_list_from_before_the_grace_is_over_tells_nothing() {
        let mut segments = passed();
        segments.observe(&list(50_999, &[]));
        segments.looked(at(1000), true);
        assert!(segments.covers(1, 5));
        segments.observe(&list(51_000, &[]));
        assert_eq!(segments.due(at(1001), false), [A]);
        segments.looked(at(1001), false);
        assert!(!segments.covers(1, 5));
    }

    #[test]
    fn it_is_looked_at_when_one_of_its_writers_ends_and_dropped_when_all_have() {
        let mut segments = passed();
        segments.observe(&list(51_000, &[7, 8]));
        segments.looked(at(1000), false);
        segments.observe(&list(52_000, &[7, 8, 9]));
        assert!(segments.due(at(2000), false).is_empty());
        segments.observe(&list(53_000, &[8, 9]));
        assert_eq!(segments.due(at(2001), false), [A]);
        segments.looked(at(3000), false);
        // 9 began later and has no number in this range.
        segments.observe(&list(54_000, &[9]));
        segments.looked(at(4000), false);
        assert!(segments.lowest(1).is_none());
    }

    #[test]
    fn an_older_list_is_not_believed() {
        let mut segments = passed();
        segments.observe(&list(52_000, &[7]));
        segments.looked(at(1000), false);
        segments.observe(&list(51_500, &[]));
        assert!(segments.due(at(1100), false).is_empty() && segments.covers(1, 5));
    }

    #[test]
    fn under_a_long_writer_there_is_one_segment_which_is_hardly_read_again() {
        let mut segments = Segments::new();
        let mut looks = 0;
        for second in 0..600_u64 {
            let (now, clock) = (at(second * 1000), i64::try_from(second * 1000).unwrap());
            let above = i64::try_from(second * 100).unwrap();
            let range = Range {
                shard: 3,
                above,
                to: above + 100,
            };
            segments.observe(&list(clock, &[7, 1000 + second]));
            looks += usize::from(segments.due(now, false).iter().any(|range| range.above == 0));
            segments.looked(now, false);
            segments.pass(&[range], now, Timestamp::from_millis(clock));
        }
        assert!(looks < 12, "{looks}");
        assert!(segments.open.len() < 6, "{}", segments.open.len());
        assert_eq!(segments.lowest(3), Some(0));
        segments.observe(&list(10_000_000, &[]));
        let whole = Range {
            shard: 3,
            above: 0,
            to: 60_000,
        };
        assert_eq!(segments.due(at(10_000_000), false), [whole]);
        segments.looked(at(10_000_000), false);
        assert_eq!(segments.lowest(3), None);
    }

    #[test]
    fn if_no_new_list_ever_comes_it_is_looked_at_ever_more_rarely_and_kept() {
        let mut segments = Segments::new();
        segments.pass(&[A], at(0), Timestamp::from_millis(50_000));
        let mut looks = 0;
        for millis in (0..3_600_000).step_by(100) {
            segments.observe(&list(50_000, &[]));
            looks += usize::from(!segments.due(at(millis), false).is_empty());
            segments.looked(at(millis), false);
        }
        assert!((5..12).contains(&looks), "{looks}");
        assert!(segments.covers(1, 1));
    }

    #[test]
    fn blind_it_is_kept_for_the_longest_transaction_and_rarely_read() {
        let mut segments = Segments::new();
        segments.go_blind(Duration::from_secs(300));
        segments.pass(&[A], at(0), Timestamp::default());
        let mut looks = 0;
        for millis in (0..300_000).step_by(20) {
            looks += usize::from(!segments.due(at(millis), false).is_empty());
            segments.looked(at(millis), false);
        }
        assert!(looks < 10 && segments.covers(1, 1), "{looks}");
        assert_eq!(segments.due(at(300_000), false), [A]);
        segments.looked(at(300_000), false);
        assert!(!segments.covers(1, 1));
    }

    #[test]
    fn neighbours_are_read_as_one_and_a_lost_shard_is_forgotten() {
        let mut segments = Segments::new();
        segments.pass(&[A], at(0), Timestamp::default());
        segments.pass(&[B], at(500), Timestamp::default());
        assert_eq!(
            segments.due(at(9000), true),
            [Range {
                shard: 1,
                above: 0,
                to: 20
            }]
        );
        segments.forget(1);
        assert!(segments.due(at(9000), true).is_empty() && segments.lowest(1).is_none());
    }
}
