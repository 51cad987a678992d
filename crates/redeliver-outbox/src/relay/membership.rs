//! Which shards a worker should own: pure.

use crate::store::Membership;

/// What to do about the shards after a beat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rebalance {
    /// Claim at most so many.
    pub claim: usize,
    /// Give so many back.
    pub give_back: usize,
    /// Beat again soon: there is something to wait for.
    pub soon: bool,
}

/// Everyone's fair share, rounded up: with less than that a worker claims, with more it gives back. Rounding both ways alike is what
/// keeps a shard from wandering to and fro.
pub(super) fn rebalance(membership: &Membership, staying: usize) -> Rebalance {
    let share = membership.shards.div_ceil(membership.workers.max(1));
    let missing = share.saturating_sub(staying);
    let fewest = membership.shards / membership.workers.max(1);
    Rebalance {
        claim: missing.min(membership.claimable),
        give_back: staying.saturating_sub(share),
        soon: staying < fewest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    fn membership(shards: usize, workers: usize, claimable: usize) -> Membership {
        Membership {
            now: Timestamp::default(),
            workers,
            shards,
            owned: Vec::new(),
            claimable,
            next_expiry: None,
            holds: Vec::new(),
        }
    }

    #[test]
    fn shards_are_shared_and_then_rest() {
        for shards in [1, 16, 64] {
            for workers in 1..=70 {
                let mut owned = vec![0_usize; workers];
                let mut free = shards;
                for _ in 0..3 {
                    for mine in &mut owned {
                        let step = rebalance(&membership(shards, workers, free), *mine);
                        *mine = *mine + step.claim - step.give_back;
                        free = free + step.give_back - step.claim;
                    }
                }
                assert_eq!(free, 0, "{shards} shards, {workers} workers");
                let quiet = owned.iter().all(|&mine| {
                    let step = rebalance(&membership(shards, workers, 0), mine);
                    step.claim == 0 && step.give_back == 0
                });
                assert!(quiet, "{shards} shards, {workers} workers: {owned:?}");
            }
        }
    }

    #[test]
    fn a_newcomer_is_given_its_share() {
        let first = rebalance(&membership(64, 2, 0), 64);
        assert_eq!(first.give_back, 32);
        let second = rebalance(&membership(64, 2, 32), 0);
        assert_eq!(
            second,
            Rebalance {
                claim: 32,
                give_back: 0,
                soon: true
            }
        );
    }
}
