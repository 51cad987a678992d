//! Verdicts that the database refuses. Each is written by itself, again and again, and holds up nothing but its own lane.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use redeliver::{Moment, Policy, clock};

use super::{Engine, Event, settle::Origin};
use crate::{
    MessageId, limits,
    live::{LiveFigures, StuckVerdict},
    relay::{
        trouble::{Statement, Trouble},
        witness::Happening,
    },
    store::{Settlement, StoreError, Verdict},
};

/// How refused verdicts are tried again.
const AGAIN: Policy =
    Policy::exponential(limits::STUCK_RETRY_SOONEST, limits::STUCK_RETRY_LATEST).unlimited_attempts();

/// The verdicts that are refused. Two messages can have the same number in different shards.
#[derive(Debug, Default)]
pub(super) struct Stuck {
    verdicts: BTreeMap<MessageId, Refused>,
    /// How many there are of each destination; of messages without one, under none.
    counts: HashMap<Option<usize>, usize>,
    under_way: bool,
    /// Shards with messages that were forgotten because there were too many.
    unread: BTreeSet<u16>,
}

#[derive(Debug)]
struct Refused {
    settlement: Settlement,
    route: Option<usize>,
    destination: String,
    told: StuckVerdict,
    trouble: Trouble,
}

impl Stuck {
    pub(super) fn len(&self) -> usize {
        self.verdicts.len()
    }

    /// Whether messages were forgotten that are to be read again once the database takes verdicts.
    pub(super) fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Whether a destination has so many that it gets nothing more: each would be another one.
    pub(super) fn closes(&self, route: Option<usize>) -> bool {
        let count = self.counts.get(&route).copied().unwrap_or(0);
        count >= limits::STUCK_FOR_DESTINATION || (count > 0 && self.len() >= limits::STUCK_VERDICTS)
    }

    /// When the next one is tried again.
    pub(super) fn deadline(&self) -> Moment {
        if self.under_way {
            return Moment::FAR_FUTURE;
        }
        self.next().map_or(Moment::FAR_FUTURE, |(_, at)| at)
    }

    fn next(&self) -> Option<(MessageId, Moment)> {
        let times = self.verdicts.iter();
        times
            .map(|(&id, refused)| (id, refused.trouble.until.unwrap_or(Moment::ZERO)))
            .min_by_key(|&(_, at)| at)
    }

    fn insert(&mut self, refused: Refused) {
        let id = refused.settlement.id;
        self.remove(id);
        *self.counts.entry(refused.route).or_default() += 1;
        self.verdicts.insert(id, refused);
    }

    fn remove(&mut self, id: MessageId) -> Option<Refused> {
        let refused = self.verdicts.remove(&id)?;
        let count = self.counts.entry(refused.route).or_default();
        debug_assert!(*count > 0, "each is counted");
        *count = count.saturating_sub(1);
        Some(refused)
    }

    /// The shard is not ours any more.
    fn forget(&mut self, shard: u16) {
        let of_shard = |refused: &Refused| refused.settlement.lease.shard == shard;
        let gone = self.verdicts.iter().filter(|(_, refused)| of_shard(refused));
        let gone: Vec<MessageId> = gone.map(|(&id, _)| id).collect();
        for id in gone {
            self.remove(id);
        }
        self.unread.remove(&shard);
    }

    /// What people are told of a destination's refused verdicts: how many there are, and the first ones.
    pub(super) fn tell(&self, live: &mut BTreeMap<String, LiveFigures>) {
        for refused in self.verdicts.values() {
            let figures = live.entry(refused.destination.clone()).or_default();
            figures.stuck += 1;
            if figures.stuck_verdicts.len() < limits::STUCK_SHOWN {
                figures.stuck_verdicts.push(refused.told.clone());
            }
        }
    }
}

impl Engine {
    /// The database refuses this verdict, and would take it with any batch that it is in.
    pub(super) fn set_aside(&mut self, settlement: Settlement, error: &StoreError, now: Moment) {
        let (id, lease) = (settlement.id, settlement.lease);
        // Another message that has the number, in another shard, may be the one that is held.
        let known = self.window.is_held(id, lease) || self.window.is_aside(id, lease);
        let number = settlement.number();
        let route = self.window.route_of(number).filter(|_| known);
        let sent = matches!(
            &settlement.verdict,
            Verdict::Delivered(_)
                | Verdict::Retry { .. }
                | Verdict::Dead {
                    attempted: Some(_),
                    ..
                }
        );
        if !sent && self.stuck.closes(route) && self.window.drop_unsent(&settlement) {
            self.stuck.unread.insert(settlement.lease.shard);
            return;
        }
        let destination = match route {
            Some(route) => self.window.name(route).to_owned(),
            None => self.window.message(number).map_or_else(String::new, |message| {
                message.destination.chars().take(64).collect()
            }),
        };
        let told = StuckVerdict {
            id: settlement.id,
            since: self.database_now(now),
            reason: limits::error_text(&error.to_string()),
        };
        tracing::warn!(
            target: "redeliver",
            message_id = %settlement.id,
            destination,
            "the database refuses the verdict on message {}, which is tried again until it takes it: {error}",
            settlement.id
        );
        self.window.set_aside(&settlement, told.since);
        let mut refused = Refused {
            settlement,
            route,
            destination,
            told,
            trouble: Trouble::default(),
        };
        refused
            .trouble
            .put_off(&AGAIN, now, (self.relay.config.entropy)());
        self.stuck.insert(refused);
        self.count_stuck();
    }

    /// When there is something to try again, and the database is there.
    pub(super) fn stuck_deadline(&self) -> Moment {
        let deadline = self.stuck.deadline();
        self.settling
            .trouble
            .until
            .map_or(deadline, |until| until.max(deadline))
    }

    /// One at a time, beside the batches of the others.
    pub(super) fn begin_stuck(&mut self, now: Moment) {
        if self.stuck.under_way || !self.settling.trouble.allows(now) {
            return;
        }
        let Some((id, _)) = self.stuck.next().filter(|&(_, at)| now >= at) else {
            return;
        };
        let Some(refused) = self.stuck.verdicts.get(&id) else {
            return;
        };
        let batch = vec![refused.settlement.clone()];
        self.stuck.under_way = true;
        let (store, worker) = (Arc::clone(&self.relay.store), self.relay.config.worker.clone());
        self.tasks.push(Box::pin(async move {
            let result = store.settle(&worker, &batch).await;
            Event::Settled {
                batch,
                result,
                took: clock::now().since(now),
                origin: Origin::Stuck,
            }
        }));
    }

    pub(super) fn stuck_ended(&mut self) {
        self.stuck.under_way = false;
    }

    /// It was refused once more.
    pub(super) fn stuck_again(&mut self, settlement: &Settlement, error: &StoreError, now: Moment) {
        self.relay.figures.failed(Statement::Settle);
        self.relay
            .witness
            .saw(Happening::Trouble(Statement::Settle.words()));
        let entropy = (self.relay.config.entropy)();
        let Some(refused) = self.stuck.verdicts.get_mut(&settlement.id) else {
            return;
        };
        refused.trouble.put_off(&AGAIN, now, entropy);
        refused.told.reason = limits::error_text(&error.to_string());
    }

    /// One of them has been written. What kept it back may have kept back the others: they need not wait any longer.
    pub(super) fn stuck_settled(&mut self, settlement: &Settlement, now: Moment) {
        let Some(refused) = self.stuck.remove(settlement.id) else {
            return;
        };
        tracing::info!(
            target: "redeliver",
            message_id = %settlement.id,
            destination = refused.destination,
            "the database has taken the verdict on message {}",
            settlement.id
        );
        for other in self.stuck.verdicts.values_mut() {
            other.trouble.until = other.trouble.until.map(|until| until.min(now));
        }
        if let Verdict::Counted { attempt } = settlement.verdict
            && self.window.is_aside(settlement.id, settlement.lease)
        {
            // Its payload is not in memory any more: it is read again, and counted when it is its turn.
            let verdict = Verdict::Uncounted { attempt };
            self.settling.push(
                Settlement {
                    verdict,
                    ..settlement.clone()
                },
                now,
            );
        }
        self.read_forgotten();
        self.count_stuck();
    }

    /// The shard is not ours any more. Its verdicts may have been what closed a destination.
    pub(super) fn forget_stuck(&mut self, shard: u16) {
        let before = self.stuck.len();
        self.stuck.forget(shard);
        if self.stuck.len() < before {
            self.read_forgotten();
        }
        self.count_stuck();
    }

    /// Reads shards again of which something was forgotten.
    fn read_forgotten(&mut self) {
        for shard in std::mem::take(&mut self.stuck.unread) {
            let lease = self.window.leases().find(|lease| lease.shard == shard);
            if let Some(lease) = lease {
                self.window.read_again(shard);
                self.reading.disown(shard);
                self.reading.own(lease);
            }
        }
    }

    fn count_stuck(&self) {
        debug_assert_eq!(
            self.stuck.counts.values().sum::<usize>(),
            self.stuck.len(),
            "each refused verdict is counted once"
        );
        self.relay.figures.stuck.set(self.stuck.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Timestamp,
        store::{Lease, Until},
    };

    fn refused(salt: i64, route: Option<usize>) -> Refused {
        let id = MessageId::new(7, salt);
        Refused {
            settlement: Settlement {
                lease: Lease { shard: 0, epoch: 1 },
                id,
                redrives: 0,
                verdict: Verdict::Postponed(Until::Recovered),
            },
            route,
            destination: String::new(),
            told: StuckVerdict {
                id,
                since: Timestamp::from_millis(0),
                reason: String::new(),
            },
            trouble: Trouble::default(),
        }
    }

    #[test]
    fn two_messages_with_one_number_have_each_their_verdict() {
        let mut stuck = Stuck::default();
        stuck.insert(refused(1, Some(0)));
        stuck.insert(refused(2, None));
        assert_eq!(stuck.len(), 2);
        stuck.insert(refused(1, None));
        assert_eq!(
            stuck.len(),
            2,
            "the newer verdict on a message replaces the older"
        );
        assert_eq!(stuck.counts.get(&Some(0)), Some(&0));
        assert_eq!(stuck.counts.get(&None), Some(&2));
        assert!(stuck.remove(MessageId::new(7, 2)).is_some());
        assert_eq!(stuck.len(), 1);
    }
}
