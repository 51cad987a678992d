//! Findings that are the same whatever the database.

#[cfg(any(feature = "postgres", feature = "mysql"))]
use crate::limits::CLOCK_TOLERANCE;
use crate::{
    Timestamp,
    desk::{Finding, Grade},
    store::{
        Result,
        columns::{Columns, Known as _},
    },
};

/// What `shards.sql` tells.
pub(in crate::store) struct Shards {
    /// The clock of the store.
    pub(in crate::store) now: Timestamp,
    /// How many there are.
    pub(in crate::store) all: u32,
    /// How many of them have no live owner.
    pub(in crate::store) without_owner: u32,
    /// How many workers are alive.
    workers: u32,
}

impl Shards {
    pub(in crate::store) fn of(row: &mut dyn Columns) -> Result<Self> {
        Ok(Self {
            now: row.known_time()?,
            all: row.count()?,
            without_owner: row.count()?,
            workers: row.count()?,
        })
    }

    /// Without any relay there is nothing wrong yet; with one, a free shard is one that it does not take.
    pub(in crate::store) fn finding(&self) -> Finding {
        let Self {
            all,
            without_owner,
            workers,
            ..
        } = self;
        if *without_owner == 0 {
            let what = format!("each of {all} shards has a live owner");
            return Finding::new(Grade::Good, "shards", what, "");
        }
        let what = format!("{without_owner} of {all} shards have no live owner: nothing of theirs is sent");
        if *workers == 0 {
            return Finding::new(Grade::Advice, "shards", what, "start a relay: none is running");
        }
        let what = format!("{what}, and {workers} live workers have not taken them");
        let next = "look again in some seconds; if they stay free, see the logs of the relays";
        Finding::new(Grade::Problem, "shards", what, next)
    }
}

/// Above this, too few numbers are left for the sequence to go on behind them.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
const LAST_ROOM: i64 = 1 << 59;

/// A message has a number that was not given yet; `set` says how the next one becomes a higher one.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(in crate::store) fn numbers(highest: i64, last: i64, set: &str) -> Finding {
    let what = format!(
        "a message has the number {highest}, and the last that was given is {last}: an insert that gets a number in use fails"
    );
    if highest > LAST_ROOM {
        let next = "remove the rows with the highest numbers: too few numbers are left above them";
        return Finding::problem("sequence", what, next);
    }
    Finding::problem("sequence", what, set)
}

/// A server's clock beside this machine's.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(in crate::store) fn clocks(there: Timestamp, here: Timestamp) -> Finding {
    let apart = there.since(here).max(here.since(there));
    if apart <= CLOCK_TOLERANCE {
        let what = format!("the database's clock says {there}");
        return Finding::new(Grade::Good, "clock", what, "");
    }
    let what = format!(
        "the database's clock says {there}, this machine's {here}: they are {} s apart",
        apart.as_secs()
    );
    let next = "set both clocks by NTP; retries and leases go by the database's alone, but times that messages name do not";
    Finding::new(Grade::Advice, "clock", what, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(any(feature = "postgres", feature = "mysql"))]
    #[test]
    fn clocks_that_are_apart_are_told_whichever_is_ahead() {
        let (early, late) = (Timestamp::from_millis(1_000), Timestamp::from_millis(61_000));
        for (there, here) in [(early, late), (late, early)] {
            let finding = clocks(there, here);
            assert_eq!(finding.grade, Grade::Advice);
            assert!(finding.what.contains("60 s apart"), "{}", finding.what);
        }
        assert_eq!(clocks(early, early).grade, Grade::Good);
    }

    #[test]
    fn free_shards_are_a_problem_only_where_somebody_could_take_them() {
        for (without_owner, workers, grade) in [
            (0, 0, Grade::Good),
            (0, 2, Grade::Good),
            (16, 0, Grade::Advice),
            (1, 2, Grade::Problem),
        ] {
            let shards = Shards {
                now: Timestamp::default(),
                all: 16,
                without_owner,
                workers,
            };
            assert_eq!(shards.finding().grade, grade, "{without_owner} {workers}");
        }
    }
}
