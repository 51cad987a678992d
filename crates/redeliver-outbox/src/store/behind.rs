//! The look behind the cursors: rows that appeared where a reader has been before.
//!
//! An honest row never does, except by a late commit, which each store finds in its own way. A row with a forged number does, and so does
//! one that a restored copy brings back. A look covers a part of the numbers behind the cursors, and the next look goes on from there.
//! Deleted rows that the database has not removed yet, and scheduled rows, cost time without being found: a look that was slow is
//! followed by one that covers fewer numbers. Nothing here asks a database.

use std::time::Duration;

use super::{
    Outline, Result,
    columns::{Columns, Known as _},
};
use crate::limits::{LOOK_BEHIND_NUMBERS, LOOK_BEHIND_TIME};

/// Numbers of a shard: more than the first, up to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) shard: u16,
    pub(super) above: i64,
    pub(super) to: i64,
}

/// How far the look has come.
#[derive(Clone, Debug)]
pub(super) struct Behind {
    /// The last shard and number that were covered.
    place: (u16, i64),
    /// How many numbers the next look covers, over all shards.
    width: i64,
}

impl Default for Behind {
    fn default() -> Self {
        Self {
            place: (0, 0),
            width: LOOK_BEHIND_NUMBERS,
        }
    }
}

impl Behind {
    /// The stretches to look at now, by shard. `ends` tells for each shard, in order, up to which number it may be looked at.
    pub(super) fn stretches(&self, ends: &[(u16, i64)]) -> Vec<Stretch> {
        let stretches = self.after(self.place, ends);
        match stretches.is_empty() {
            true => self.after((0, 0), ends),
            false => stretches,
        }
    }

    fn after(&self, (first, number): (u16, i64), ends: &[(u16, i64)]) -> Vec<Stretch> {
        let mut left = self.width;
        let mut stretches = Vec::new();
        for &(shard, end) in ends.iter().filter(|&&(shard, _)| shard >= first) {
            let above = if shard == first { number } else { 0 };
            let to = end.min(above.saturating_add(left));
            if to > above {
                stretches.push(Stretch { shard, above, to });
                left -= to - above;
            }
        }
        stretches
    }

    /// The stretches were looked at. With as many rows as were asked for, the look ended at the last of them.
    pub(super) fn looked(&mut self, stretches: &[Stretch], found: &[Outline], asked: usize, took: Duration) {
        let covered: i64 = stretches.iter().map(|stretch| stretch.to - stretch.above).sum();
        let is_cut = covered >= self.width;
        self.place = match (found.last(), stretches.last()) {
            (Some(last), _) if found.len() >= asked => (last.shard, last.id.number()),
            (_, Some(last)) if is_cut => (last.shard, last.to),
            _ => (0, 0),
        };
        if took > LOOK_BEHIND_TIME {
            self.width = (self.width / 4).max(LOOK_BEHIND_NUMBERS);
        } else if is_cut && found.len() < asked {
            self.width = self.width.saturating_mul(4);
        }
    }
}

/// A row of `read_behind.sql`.
pub(super) fn outline(row: &mut dyn Columns) -> Result<Outline> {
    Ok(Outline {
        id: row.id()?,
        shard: row.count()?,
        redrives: row.times()?,
        destination: row.known_text()?,
        topic: row.text()?,
        key: row.text()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MessageId;

    const QUICK: Duration = Duration::ZERO;
    const SLOW: Duration = Duration::from_secs(1);

    fn row(shard: u16, number: i64) -> Outline {
        Outline {
            id: MessageId::new(number, 7),
            shard,
            redrives: 0,
            destination: "billing".to_owned(),
            topic: None,
            key: None,
        }
    }

    /// Looks once through a table with these rows.
    fn look(behind: &mut Behind, rows: &[(u16, i64)], ends: &[(u16, i64)], asked: usize) -> Vec<(u16, i64)> {
        let stretches = behind.stretches(ends);
        let within = |&&(shard, number): &&(u16, i64)| {
            let holds =
                |stretch: &Stretch| stretch.shard == shard && stretch.above < number && number <= stretch.to;
            stretches.iter().any(holds)
        };
        let found: Vec<_> = rows.iter().filter(within).take(asked).copied().collect();
        let outlines: Vec<Outline> = found.iter().map(|&(shard, number)| row(shard, number)).collect();
        behind.looked(&stretches, &outlines, asked, QUICK);
        found
    }

    #[test]
    fn a_small_table_is_covered_by_each_look() {
        let (rows, ends) = ([(0, 3), (0, 9), (2, 4)], [(0, 9), (1, 0), (2, 9)]);
        let mut behind = Behind::default();
        for _ in 0..3 {
            assert_eq!(look(&mut behind, &rows, &ends, 10), rows);
        }
        assert_eq!(look(&mut behind, &rows, &[(0, 8), (2, 9)], 10), [(0, 3), (2, 4)]);
    }

    #[test]
    fn pages_go_on_and_begin_again() {
        let (rows, ends) = ([(0, 3), (0, 9), (2, 4)], [(0, 9), (2, 9)]);
        let mut behind = Behind::default();
        assert_eq!(look(&mut behind, &rows, &ends, 2), rows[..2]);
        assert_eq!(look(&mut behind, &rows, &ends, 2), rows[2..]);
        assert_eq!(look(&mut behind, &rows, &ends, 2), rows[..2]);
        assert_eq!(
            look(&mut behind, &rows[..2], &ends[..1], 2),
            rows[..2],
            "the last shard is gone"
        );
    }

    #[test]
    fn large_numbers_are_reached_soon() {
        let last = (1 << 60) - 1;
        let (rows, ends) = ([(5, last)], [(0, last), (5, last)]);
        let mut behind = Behind::default();
        let looks = (1..).find(|_| !look(&mut behind, &rows, &ends, 10).is_empty());
        assert!(looks.is_some_and(|looks| looks <= 25), "{looks:?}");
    }

    #[test]
    fn slow_looks_cover_fewer_numbers_and_come_to_the_end_all_the_same() {
        let end = 10 * LOOK_BEHIND_NUMBERS;
        let mut behind = Behind::default();
        let mut covered = 0;
        loop {
            let stretches = behind.stretches(&[(3, end)]);
            assert_eq!(stretches.len(), 1);
            assert_eq!(stretches[0].above, covered);
            assert!(stretches[0].to - covered <= LOOK_BEHIND_NUMBERS);
            covered = stretches[0].to;
            behind.looked(&stretches, &[], 10, SLOW);
            if covered == end {
                break;
            }
        }
        assert_eq!(
            behind.stretches(&[(3, end)])[0].above,
            0,
            "from the beginning again"
        );
    }

    #[test]
    fn nothing_to_look_at_is_no_stretch() {
        assert!(Behind::default().stretches(&[(0, 0), (1, 0)]).is_empty());
        assert!(Behind::default().stretches(&[]).is_empty());
    }
}
