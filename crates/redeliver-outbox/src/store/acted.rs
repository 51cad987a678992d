//! Which lanes operators have parked or let go on, as a reader tells it: each change once.

use std::collections::HashMap;

use super::{
    Found, LaneId, ParkedLane, Result,
    columns::{Columns, Known as _},
};
use crate::Timestamp;

/// A row of `read_acted.sql`.
pub(super) struct Acted {
    lane: (u16, LaneId),
    /// What died last in it; 0 if nothing did.
    died: i64,
    /// None while it is parked.
    resumed_at: Option<Timestamp>,
}

pub(super) fn acted(row: &mut dyn Columns) -> Result<Acted> {
    Ok(Acted {
        lane: (row.count()?, row.lane()?),
        died: row.number()?,
        resumed_at: row.time()?,
    })
}

/// What a reader has told.
#[derive(Clone, Debug, Default)]
pub(super) struct Told(HashMap<(u16, LaneId), Saying>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Saying {
    Parked,
    Resumed(i64, Timestamp),
}

impl Told {
    /// Puts what has changed since into what was found, and returns what is told then.
    #[must_use = "it counts once the read has succeeded"]
    pub(super) fn tell(&self, acted: Vec<Acted>, found: &mut Found) -> Self {
        let mut told = HashMap::with_capacity(acted.len());
        for Acted {
            lane,
            died,
            resumed_at,
        } in acted
        {
            let saying = resumed_at.map_or(Saying::Parked, |at| Saying::Resumed(died, at));
            if self.0.get(&lane) != Some(&saying) {
                match saying {
                    Saying::Parked => found.parked.push(lane.clone()),
                    Saying::Resumed(..) => found.resumed.push(freed(lane.clone(), died)),
                }
            }
            told.insert(lane, saying);
        }
        // A lane that was let go on and stands still for a dead letter since then is not parked by hand any more.
        let ended = self.0.iter().filter(|(_, saying)| **saying == Saying::Parked);
        let ended = ended.filter(|(lane, _)| !told.contains_key(*lane));
        found
            .resumed
            .extend(ended.map(|(lane, _)| freed(lane.clone(), 0)));
        found.resumed.sort_unstable();
        Self(told)
    }

    pub(super) fn forget(&mut self, shard: u16) {
        self.0.retain(|(of, _), _| *of != shard);
    }
}

fn freed((shard, lane): (u16, LaneId), head: i64) -> (u16, ParkedLane) {
    (shard, ParkedLane { lane, head })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(key: &str) -> LaneId {
        LaneId {
            destination: "billing".to_owned(),
            key: key.to_owned(),
        }
    }

    fn row(key: &str, died: i64, resumed_at: Option<i64>) -> Acted {
        Acted {
            lane: (3, lane(key)),
            died,
            resumed_at: resumed_at.map(Timestamp::from_millis),
        }
    }

    type News = (Vec<(u16, LaneId)>, Vec<(u16, ParkedLane)>);

    fn tell(told: &mut Told, acted: Vec<Acted>) -> News {
        let mut found = Found::default();
        *told = told.tell(acted, &mut found);
        (found.parked, found.resumed)
    }

    #[test]
    fn each_change_is_told_once() {
        let mut told = Told::default();
        let parked = || vec![row("a", 0, None)];
        assert_eq!(tell(&mut told, parked()), (vec![(3, lane("a"))], vec![]));
        assert_eq!(tell(&mut told, parked()), (vec![], vec![]));
        let resumed = |at| vec![row("a", 7, Some(at))];
        let goes_on = vec![freed((3, lane("a")), 7)];
        assert_eq!(tell(&mut told, resumed(5)), (vec![], goes_on.clone()));
        assert_eq!(tell(&mut told, resumed(5)), (vec![], vec![]));
        assert_eq!(tell(&mut told, resumed(6)), (vec![], goes_on));
        assert_eq!(tell(&mut told, parked()), (vec![(3, lane("a"))], vec![]));
    }

    #[test]
    fn a_hold_that_has_ended_unseen_is_told_without_a_head() {
        let mut told = Told::default();
        let _ = tell(&mut told, vec![row("a", 4, None), row("b", 0, Some(1))]);
        assert_eq!(tell(&mut told, vec![]), (vec![], vec![freed((3, lane("a")), 0)]));
    }

    #[test]
    fn a_shard_that_is_owned_again_is_told_of_again() {
        let mut told = Told::default();
        let _ = tell(&mut told, vec![row("a", 0, None)]);
        told.forget(3);
        assert_eq!(tell(&mut told, vec![row("a", 0, None)]).0.len(), 1);
    }
}
