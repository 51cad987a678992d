//! What an operator looks at, from the rows that tell it.

use crate::{
    Hold, MessageId, Timestamp,
    desk::{Depth, Outlook, Pulse, Standing, StandingLane, WorkerRecord},
    limits,
    store::{
        LaneId, Result,
        columns::{Columns, Known as _},
        desk::examine::Shards,
    },
};

pub(in crate::store) fn pulse(
    shards: &Shards,
    workers: Vec<WorkerRecord>,
    holds: Vec<Hold>,
    sequence: i64,
) -> Pulse {
    Pulse {
        now: shards.now,
        shards: shards.all,
        shards_without_owner: shards.without_owner,
        in_flight: in_flight(&workers),
        workers,
        holds,
        sequence,
    }
}

/// What the workers that are alive were sending at their last beats.
pub(in crate::store) fn in_flight(workers: &[WorkerRecord]) -> u64 {
    let alive = workers.iter().filter(|worker| worker.alive);
    alive.map(|worker| u64::from(worker.in_flight)).sum()
}

/// From the rows of `outlook.sql`: the bucket, from 0 on and below 0 for what is overdue, none for what is put away; and how many.
pub(in crate::store) fn outlook(now: Timestamp, rows: &[(Option<i64>, u64)]) -> Outlook {
    let mut outlook = Outlook {
        now,
        buckets: vec![0; Outlook::BUCKETS],
        ..Outlook::default()
    };
    for &(bucket, count) in rows {
        let place = match bucket {
            None => &mut outlook.put_away,
            Some(bucket) => match usize::try_from(bucket) {
                Err(_) => &mut outlook.overdue,
                Ok(bucket) => outlook.buckets.get_mut(bucket).unwrap_or(&mut outlook.beyond),
            },
        };
        *place += count;
    }
    outlook
}

pub(in crate::store) fn bucket(row: &mut dyn Columns) -> Result<(Option<i64>, u64)> {
    Ok((row.integer()?, row.count()?))
}

/// A lane before its depth is known.
pub(in crate::store) struct Lane {
    shard: u16,
    lane: StandingLane,
}

impl Lane {
    /// Its shard and its name.
    pub(in crate::store) const fn named(&self) -> (u16, &LaneId) {
        (self.shard, &self.lane.lane)
    }
}

/// A row of `lanes_parked.sql`.
pub(in crate::store) fn parked(row: &mut dyn Columns) -> Result<Lane> {
    let (shard, lane, head) = (row.count()?, row.lane()?, row.id()?);
    // A word of a later version is no reason to hide the lane.
    let reason = row.text()?.and_then(|reason| reason.parse().ok());
    let (since, by_hand) = (row.known_time()?, row.flag()?);
    let standing = if by_hand {
        Standing::Held {
            who: row.known_text()?,
            why: row.known_text()?,
            since,
        }
    } else {
        Standing::Parked { reason, since }
    };
    Ok(of(shard, lane, (head.number() != 0).then_some(head), standing))
}

/// A row of `lanes_blocked.sql`.
pub(in crate::store) fn blocked(row: &mut dyn Columns) -> Result<Lane> {
    let (shard, lane, head) = (row.count()?, row.lane()?, row.id()?);
    let standing = Standing::Blocked {
        attempts: row.count()?,
        next_attempt_at: row.known_time()?,
        error: row.text()?.unwrap_or_default(),
        oldest: row.known_time()?,
    };
    Ok(of(shard, lane, Some(head), standing))
}

/// Those that were parked by hand apart from the others, whose heads say where to begin to count.
pub(in crate::store) fn by_cause(parked: Vec<Lane>) -> [Vec<Lane>; 2] {
    let by_hand = |lane: &Lane| matches!(lane.lane.standing, Standing::Held { .. });
    let (held, parked) = parked.into_iter().partition(by_hand);
    [held, parked]
}

fn of(shard: u16, lane: LaneId, head: Option<MessageId>, standing: Standing) -> Lane {
    let lane = StandingLane {
        lane,
        head,
        standing,
        depth: Depth::default(),
    };
    Lane { shard, lane }
}

/// The number that the messages of some lanes begin with: any, where there is no head to say it.
pub(in crate::store) fn beginning(lanes: &[Lane]) -> Option<i64> {
    let by_hand = |lane: &StandingLane| matches!(lane.standing, Standing::Held { .. });
    let of = |lane: &StandingLane| {
        lane.head
            .filter(|_| !by_hand(lane))
            .map_or(0, |head| head.number())
    };
    lanes.iter().map(|lane| of(&lane.lane)).min()
}

/// A row of `lane_depths.sql`: how many messages of a lane are among those that were looked at.
pub(in crate::store) struct Counted {
    shard: u16,
    lane: LaneId,
    messages: u64,
    /// Not all were looked at.
    more: bool,
}

pub(in crate::store) fn counted(row: &mut dyn Columns) -> Result<Counted> {
    Ok(Counted {
        shard: row.count()?,
        lane: row.lane()?,
        messages: row.count()?,
        more: row.flag()?,
    })
}

/// The lanes with their depths.
pub(in crate::store) fn with_depths(lanes: Vec<Lane>, counted: &[Counted]) -> Vec<StandingLane> {
    lanes
        .into_iter()
        .map(|Lane { shard, mut lane }| {
            let is_it = |counted: &&Counted| counted.shard == shard && counted.lane == lane.lane;
            if let Some(Counted { messages, more, .. }) = counted.iter().find(is_it) {
                // The head of a blocked lane is live, also where nobody looked that far.
                let least = u64::from(matches!(lane.standing, Standing::Blocked { .. }));
                lane.depth = Depth {
                    messages: (*messages).clamp(least, limits::DEEPEST_LANE),
                    or_more: *more || *messages > limits::DEEPEST_LANE,
                };
            }
            lane
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_has_its_place_in_the_outlook() {
        let rows = [
            (Some(-3), 1),
            (Some(-1), 2),
            (Some(0), 3),
            (Some(95), 4),
            (Some(96), 5),
            (Some(700_000), 6),
            (None, 7),
        ];
        let outlook = outlook(Timestamp::from_millis(9), &rows);
        assert_eq!(outlook.now, Timestamp::from_millis(9));
        assert_eq!((outlook.overdue, outlook.beyond, outlook.put_away), (3, 11, 7));
        assert_eq!((outlook.buckets[0], outlook.buckets[95]), (3, 4));
        assert_eq!(outlook.buckets.iter().sum::<u64>(), 7);
    }

    #[test]
    fn a_depth_that_was_cut_off_says_so() {
        let lane = |key: &str| LaneId {
            destination: "billing".to_owned(),
            key: key.to_owned(),
        };
        let standing = Standing::Parked {
            reason: None,
            since: Timestamp::default(),
        };
        let standing = |shard, key| of(shard, lane(key), Some(MessageId::new(9, 0)), standing.clone());
        let counted = |shard, key, messages, more| Counted {
            shard,
            lane: lane(key),
            messages,
            more,
        };
        let lanes = vec![standing(0, "a"), standing(0, "b"), standing(1, "c")];
        let depths = [
            counted(0, "a", 3, false),
            counted(0, "b", 20_000, false),
            counted(1, "c", 4, true),
        ];
        let told: Vec<_> = with_depths(lanes, &depths)
            .iter()
            .map(|lane| (lane.depth.messages, lane.depth.or_more))
            .collect();
        assert_eq!(told, [(3, false), (10_000, true), (4, true)]);
    }
}
