//! The look behind the cursors: rows that appeared where a reader has been before.
//!
//! An honest row never does, except by a late commit, which each store finds in its own way. A row with a forged number does, and so does
//! one that a restored copy brings back. A look covers a part of the numbers behind the cursors, and the next look goes on from there.
//!
//! Deleted rows that the database has not removed yet cost time without being found, above all when they are met for the first time: on
//! PostgreSQL a million of them take a second and more, and later a few hundredths. So a look goes only a little way beyond what earlier
//! looks have covered, a slow one is followed by a shorter one, and a quick one that was cut short by a longer one. Nothing here asks a
//! database.

use std::{collections::BTreeMap, time::Duration};

use super::{
    Outline, Result,
    columns::{Columns, Known as _},
};
use crate::limits::{LOOK_BEHIND_NEW_NUMBERS, LOOK_BEHIND_NUMBERS, LOOK_BEHIND_TIME};

/// How much longer or shorter the next look is.
const STEP: i64 = 4;

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
    /// The last shard and number that were looked at.
    place: (u16, i64),
    /// How far the looks so far have gone in each shard.
    covered: BTreeMap<u16, i64>,
    /// How many numbers of those the next look covers, over all shards.
    width: i64,
    /// How far it goes beyond them, in each shard.
    advance: i64,
}

impl Default for Behind {
    fn default() -> Self {
        Self {
            place: (0, 0),
            covered: BTreeMap::new(),
            width: LOOK_BEHIND_NUMBERS,
            advance: LOOK_BEHIND_NEW_NUMBERS,
        }
    }
}

/// What to look at, and why it is not more.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) stretches: Vec<Stretch>,
    /// It ends before the last shard does: the next look goes on from there.
    ends_early: bool,
    /// A shard has more numbers that no look has covered.
    leaves_new: bool,
}

impl Behind {
    /// The stretches to look at now, by shard. `ends` tells for each shard, in order, up to which number it may be looked at.
    pub(super) fn plan(&self, ends: &[(u16, i64)]) -> Plan {
        let plan = self.after(self.place, ends);
        match plan.stretches.is_empty() {
            true => self.after((0, 0), ends),
            false => plan,
        }
    }

    fn after(&self, (first, number): (u16, i64), ends: &[(u16, i64)]) -> Plan {
        let mut left = self.width;
        let mut plan = Plan::default();
        for &(shard, end) in ends.iter().filter(|&&(shard, _)| shard >= first) {
            let above = if shard == first { number } else { 0 };
            let covered = self.covered.get(&shard).copied().unwrap_or(0);
            let known = covered.min(end).max(above);
            let mut to = known.min(above.saturating_add(left));
            left -= to - above;
            plan.ends_early = to < known;
            if !plan.ends_early {
                to = end.min(known.saturating_add(self.advance)).max(known);
                plan.leaves_new |= to < end;
            }
            if to > above {
                plan.stretches.push(Stretch { shard, above, to });
            }
            if plan.ends_early {
                break;
            }
        }
        plan
    }

    /// The plan was carried out. With as many rows as were asked for, the look ended at the last of them.
    pub(super) fn looked(&mut self, plan: &Plan, found: &[Outline], asked: usize, took: Duration) {
        let last = found.last().filter(|_| found.len() >= asked);
        let last = last.map(|row| (row.shard, row.id.number()));
        let mut width = 0;
        for stretch in &plan.stretches {
            let to = match last {
                Some((shard, number)) if shard == stretch.shard => number,
                Some((shard, _)) if shard < stretch.shard => break,
                _ => stretch.to,
            };
            let covered = self.covered.entry(stretch.shard).or_insert(0);
            *covered = to.max(*covered);
            width += to - stretch.above;
        }
        let early = plan.stretches.last().filter(|_| plan.ends_early);
        let early = early.map(|stretch| (stretch.shard, stretch.to));
        self.place = last.or(early).unwrap_or((0, 0));
        if took > LOOK_BEHIND_TIME {
            self.width = (self.width / STEP).max(LOOK_BEHIND_NUMBERS);
            self.advance = (self.advance / STEP).max(LOOK_BEHIND_NEW_NUMBERS);
        } else if last.is_some() {
            // So many rows may be deleted before the next look comes here.
            self.width = self
                .width
                .min(width.saturating_mul(STEP))
                .max(LOOK_BEHIND_NUMBERS);
        } else {
            let longer = |length: i64, cut: bool| if cut { length.saturating_mul(STEP) } else { length };
            self.width = longer(self.width, plan.ends_early);
            self.advance = longer(self.advance, plan.leaves_new);
        }
    }

    /// Forgets a shard.
    pub(super) fn forget(&mut self, shard: u16) {
        self.covered.remove(&shard);
    }
}

/// A row of `read_behind.sql`.
pub(super) fn outline(row: &mut dyn Columns) -> Result<Outline> {
    let (id, shard, redrives) = (row.id()?, row.count()?, row.times()?);
    let (destination, topic) = (row.known_text()?, row.text()?);
    let (key, exact) = row.exact_text()?;
    Ok(Outline {
        id,
        shard,
        redrives,
        destination,
        topic,
        key,
        unreadable_key: !exact,
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
            unreadable_key: false,
        }
    }

    /// Looks once through a table with these rows.
    fn look(behind: &mut Behind, rows: &[(u16, i64)], ends: &[(u16, i64)], asked: usize) -> Vec<(u16, i64)> {
        let plan = behind.plan(ends);
        let within = |&&(shard, number): &&(u16, i64)| {
            let holds =
                |stretch: &Stretch| stretch.shard == shard && stretch.above < number && number <= stretch.to;
            plan.stretches.iter().any(holds)
        };
        let found: Vec<_> = rows.iter().filter(within).take(asked).copied().collect();
        let outlines: Vec<Outline> = found.iter().map(|&(shard, number)| row(shard, number)).collect();
        behind.looked(&plan, &outlines, asked, QUICK);
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
        let last = 1_000_000_000;
        let (rows, ends) = ([(5, last)], [(0, last), (5, last)]);
        let mut behind = Behind::default();
        let looks = (1..).find(|_| !look(&mut behind, &rows, &ends, 10).is_empty());
        assert!(looks.is_some_and(|looks| looks <= 20), "{looks:?}");
    }

    #[test]
    fn slow_looks_go_forward_in_small_steps_and_come_to_the_end_all_the_same() {
        let end = 10 * LOOK_BEHIND_NEW_NUMBERS;
        let mut behind = Behind::default();
        for _ in 0..10 {
            let plan = behind.plan(&[(3, end), (4, end)]);
            for (stretch, shard) in plan.stretches.iter().zip([3, 4]) {
                assert_eq!(stretch.shard, shard);
                let covered = behind.covered.get(&shard).copied().unwrap_or(0);
                assert!(stretch.to - covered <= LOOK_BEHIND_NEW_NUMBERS);
            }
            behind.looked(&plan, &[], 10, SLOW);
        }
        assert_eq!(behind.covered, BTreeMap::from([(3, end), (4, end)]));
    }

    #[test]
    fn what_is_new_is_met_in_small_steps_however_much_is_covered() {
        let mut behind = Behind::default();
        let mut end = 1_000_000_000;
        while behind.covered.get(&0) != Some(&end) {
            look(&mut behind, &[], &[(0, end)], 10);
        }
        for _ in 0..5 {
            look(&mut behind, &[], &[(0, end)], 10);
        }
        let plan = behind.plan(&[(0, end)]);
        assert_eq!(
            plan.stretches,
            [Stretch {
                shard: 0,
                above: 0,
                to: end
            }],
            "all in one look"
        );
        behind.looked(&plan, &[], 10, SLOW);
        for _ in 0..40 {
            end += 1_000_000;
            let plan = behind.plan(&[(0, end)]);
            let new = plan.stretches.last().map_or(0, |last| last.to) - behind.covered[&0];
            assert!(new <= behind.advance, "{new}");
            behind.looked(&plan, &[], 10, SLOW);
        }
    }

    #[test]
    fn nothing_to_look_at_is_no_stretch() {
        assert!(Behind::default().plan(&[(0, 0), (1, 0)]).stretches.is_empty());
        assert!(Behind::default().plan(&[]).stretches.is_empty());
    }
}
