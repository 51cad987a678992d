//! What a reader has passed while transactions were running that may yet put rows there.
//!
//! Numbers are given before commit, so a reader that only went forward would lose rows. It remembers, for each stretch that it has
//! passed, the transactions that were running then, and looks there again whenever one of them has ended. Nothing here asks a
//! database.

use std::{collections::BTreeMap, ops::Range};

/// So many numbers are remembered of a span before it is looked through for what is gone by now.
const CROWD: usize = 16_384;

/// Which transactions had ended when a statement began to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Snapshot {
    /// One more than the last transaction that had ended. All from here on were running, or had not begun.
    beyond: u64,
    /// Those before it that were running, in order.
    running: Vec<u64>,
}

impl Snapshot {
    /// As PostgreSQL writes it: `oldest:beyond:running,running`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let (_oldest, beyond, list) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?);
        let numbers = list.split(',').filter(|number| !number.is_empty());
        let mut running = numbers
            .map(|number| number.parse().ok())
            .collect::<Option<Vec<u64>>>()?;
        running.sort_unstable();
        Some(Self { beyond, running })
    }

    pub(super) const fn beyond(&self) -> u64 {
        self.beyond
    }

    /// The whole number of the next transaction, of which the server tells the lowest 32 bits.
    pub(super) const fn next(&self, lowest_bits: u32) -> u64 {
        let ahead = lowest_bits.wrapping_sub(self.beyond as u32);
        self.beyond + ahead as u64
    }

    fn within(&self, range: &Range<u64>) -> &[u64] {
        let from = self.running.partition_point(|&xid| xid < range.start);
        let to = self.running.partition_point(|&xid| xid < range.end);
        self.running.get(from..to).unwrap_or_default()
    }

    fn has_ended(&self, xid: u64) -> bool {
        xid < self.beyond && self.running.binary_search(&xid).is_err()
    }
}

/// Transactions that were running at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pending {
    known: Vec<u64>,
    /// Those that had begun beyond the last one that had ended: not in the snapshot's list, and running all the same. Some are
    /// savepoints of others, and end without a sign.
    begun: (u64, u64),
}

impl Pending {
    pub(super) fn at(snapshot: &Snapshot, next: u64) -> Self {
        Self::new(snapshot.running.clone(), snapshot.beyond..next)
    }

    fn new(known: Vec<u64>, begun: Range<u64>) -> Self {
        let begun = if begun.is_empty() {
            (0, 0)
        } else {
            (begun.start, begun.end)
        };
        Self { known, begun }
    }

    fn is_empty(&self) -> bool {
        self.known.is_empty() && self.begun == (0, 0)
    }

    /// Whether one of them has ended by now.
    pub(super) fn has_ended(&self, now: &Snapshot) -> bool {
        let told = self.begun.0..self.begun.1.min(now.beyond);
        self.known.iter().any(|&xid| now.has_ended(xid))
            || (!told.is_empty() && told.end - told.start > now.within(&told).len() as u64)
    }

    /// Those that have not.
    fn still(&self, now: &Snapshot) -> Self {
        let mut known: Vec<u64> = self
            .known
            .iter()
            .copied()
            .filter(|&xid| !now.has_ended(xid))
            .collect();
        known.extend(now.within(&(self.begun.0..self.begun.1)));
        Self::new(known, self.begun.0.max(now.beyond)..self.begun.1)
    }
}

/// A stretch of a shard: the numbers above `beyond`, up to and with `up_to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) shard: u16,
    pub(super) beyond: i64,
    pub(super) up_to: i64,
}

impl Span {
    /// The part of `rows`, which are sorted, that lies in it.
    fn of<'a>(&self, rows: &'a [(u16, i64)]) -> &'a [(u16, i64)] {
        let from = rows.partition_point(|&row| row <= (self.shard, self.beyond));
        let to = rows.partition_point(|&row| row <= (self.shard, self.up_to));
        rows.get(from..to).unwrap_or_default()
    }
}

#[derive(Clone, Debug)]
struct Passed {
    span: Span,
    /// The numbers that have been returned from it and may be there still, in order.
    returned: Vec<i64>,
    /// How many there were when it was last looked through.
    kept: usize,
}

impl Passed {
    fn is_crowded(&self) -> bool {
        self.returned.len() > CROWD + 2 * self.kept
    }

    fn knows(&self, number: i64) -> bool {
        self.returned.binary_search(&number).is_ok()
    }
}

/// All that was passed and may get late rows, by the transactions that they may come from. Stretches that wait for the same ones are
/// one segment.
#[derive(Clone, Debug, Default)]
pub(super) struct Segments(BTreeMap<Pending, Vec<Passed>>);

impl Segments {
    /// Where to look again: a transaction has ended that was running when the reader passed.
    pub(super) fn to_read(&self, now: &Snapshot) -> Vec<Span> {
        let mut spans: Vec<Span> = self
            .0
            .iter()
            .filter(|(pending, passed)| wanted(pending, passed, now))
            .flat_map(|(_, passed)| passed.iter().map(|passed| passed.span))
            .collect();
        spans.sort_unstable_by_key(|span| (span.shard, span.beyond));
        spans
    }

    /// Of what was found in the spans of [`Self::to_read`], sorted, what has not been returned before.
    pub(super) fn unknown(&self, found: &[(u16, i64)], now: &Snapshot) -> Vec<(u16, i64)> {
        let mut unknown: Vec<(u16, i64)> = self
            .0
            .iter()
            .filter(|(pending, passed)| wanted(pending, passed, now))
            .flat_map(|(_, passed)| passed)
            .flat_map(|passed| {
                let rows = passed.span.of(found).iter().copied();
                rows.filter(|&(_, number)| !passed.knows(number))
            })
            .collect();
        unknown.sort_unstable();
        unknown
    }

    /// These rows, sorted, have been returned.
    pub(super) fn remember(&mut self, rows: &[(u16, i64)]) {
        for passed in self.0.values_mut().flatten() {
            for &(_, number) in passed.span.of(rows) {
                if let Err(place) = passed.returned.binary_search(&number) {
                    passed.returned.insert(place, number);
                }
            }
        }
    }

    /// The spans of [`Self::to_read`] have been read, and everything that was found there, sorted, is known now.
    pub(super) fn have_read(&mut self, found: &[(u16, i64)], now: &Snapshot) {
        let read = self
            .0
            .extract_if(.., |pending, passed| wanted(pending, passed, now))
            .collect::<Vec<_>>();
        for (pending, passed) in read {
            let pending = pending.still(now);
            for mut passed in passed {
                passed.returned = passed.span.of(found).iter().map(|row| row.1).collect();
                passed.kept = passed.returned.len();
                self.add(&pending, passed);
            }
        }
    }

    /// A stretch was passed, and these numbers in it, in order, returned.
    pub(super) fn pass(&mut self, pending: &Pending, span: Span, returned: Vec<i64>) {
        let kept = 0;
        self.add(pending, Passed { span, returned, kept });
    }

    /// Where the first stretch of each shard begins that may get late rows.
    pub(super) fn lowest(&self) -> BTreeMap<u16, i64> {
        let mut lowest = BTreeMap::new();
        for Span { shard, beyond, .. } in self.0.values().flatten().map(|passed| passed.span) {
            let first = lowest.entry(shard).or_insert(beyond);
            *first = beyond.min(*first);
        }
        lowest
    }

    /// Nothing of this shard matters any longer.
    pub(super) fn forget(&mut self, shard: u16) {
        for passed in self.0.values_mut() {
            passed.retain(|passed| passed.span.shard != shard);
        }
        self.0.retain(|_, passed| !passed.is_empty());
    }

    fn add(&mut self, pending: &Pending, mut new: Passed) {
        if pending.is_empty() {
            return;
        }
        let passed = match self.0.get_mut(pending) {
            Some(passed) => passed,
            None => self.0.entry(pending.clone()).or_default(),
        };
        let before = passed
            .iter_mut()
            .find(|before| before.span.shard == new.span.shard && before.span.up_to == new.span.beyond);
        match before {
            Some(before) => {
                before.span.up_to = new.span.up_to;
                before.returned.append(&mut new.returned);
                before.kept += new.kept;
            }
            None => passed.push(new),
        }
    }
}

fn wanted(pending: &Pending, passed: &[Passed], now: &Snapshot) -> bool {
    pending.has_ended(now) || passed.iter().any(Passed::is_crowded)
}

#[cfg(test)]
#[path = "segments_tests.rs"]
mod tests;
