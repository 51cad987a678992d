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
mod tests;
