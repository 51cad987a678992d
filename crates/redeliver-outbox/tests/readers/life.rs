//! One worker from its first beat to its end: it claims, reads and settles.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use fastrand::Rng;
use redeliver::{Moment, clock};
use redeliver_outbox::{
    Message,
    store::{
        Beat, Demand, Found, Head, Lease, Reader, Settled, Settlement, Store, StoreErrorKind, Verdict,
        WorkerId,
    },
};

use crate::{
    lane::{Lane, verdict},
    ledger::Row,
    log::{How, Log, Ownership, Returned, Written},
};

pub(crate) const LEASE: Duration = Duration::from_millis(1_500);

/// Asks the store until it has time: a deadlock is no failure.
macro_rules! again {
    ($ask:expr) => {{
        let mut tries = 0;
        loop {
            match $ask.await {
                Ok(answer) => break answer,
                Err(error) if error.kind() == StoreErrorKind::Busy && tries < 50 => tries += 1,
                Err(error) => panic!("{error}: {error:?}"),
            }
        }
    }};
}

struct Owned {
    log: Ownership,
    /// Returned, or found to be scheduled by an owner before.
    known: HashSet<i64>,
    caught_up: bool,
}

pub(crate) struct Life {
    pub(crate) id: WorkerId,
    store: Arc<dyn Store>,
    log: Arc<Log>,
    rng: Rng,
    reader: Box<dyn Reader>,
    owned: BTreeMap<u16, Owned>,
    /// The most shards that it wants.
    share: usize,
    lanes: BTreeMap<(u16, String), Lane>,
    /// Messages without a key.
    loose: Vec<Message>,
    next_beat: Moment,
    returned: usize,
    pub(crate) delivered: usize,
}

impl Life {
    pub(crate) fn new(id: WorkerId, store: Arc<dyn Store>, log: Arc<Log>, rng: Rng, share: usize) -> Self {
        Self {
            id,
            reader: store.reader(),
            store,
            log,
            rng,
            owned: BTreeMap::new(),
            share,
            lanes: BTreeMap::new(),
            loose: Vec::new(),
            next_beat: Moment::ZERO,
            returned: 0,
            delivered: 0,
        }
    }

    pub(crate) fn leases(&self) -> Vec<Lease> {
        self.owned.values().map(|owned| owned.log.lease).collect()
    }

    /// Gives no sign of life from now on.
    pub(crate) const fn fall_silent(&mut self) {
        self.next_beat = Moment::FAR_FUTURE;
    }

    /// A sign of life, if it is time for one; what was lost is let go, what is free is taken.
    pub(crate) async fn beat(&mut self) {
        let now = clock::now();
        if now < self.next_beat {
            return;
        }
        let beat = Beat {
            worker: self.id.clone(),
            lease: LEASE,
            in_flight: 0,
            destinations: redeliver_outbox::live::Live::new(),
        };
        let membership = again!(self.store.beat(&beat));
        self.next_beat = now.plus(LEASE / 5);
        let kept: HashSet<Lease> = membership.owned.into_iter().collect();
        for lease in self.leases() {
            if !kept.contains(&lease) {
                self.let_go(lease.shard);
            }
        }
        let room = self.share.saturating_sub(self.owned.len());
        if membership.claimable > 0 && room > 0 {
            self.claim(room).await;
        }
    }

    async fn claim(&mut self, at_most: usize) {
        let began = self.log.tick();
        let claimed = again!(self.store.claim(&self.id, at_most, 100));
        let ended = self.log.tick();
        for claimed in claimed {
            let lease = claimed.lease;
            self.reader.own(lease);
            let owned = Owned {
                known: HashSet::new(),
                log: Ownership {
                    lease,
                    owner: self.id.to_string(),
                    claimed: (began, ended),
                    scheduled: Vec::new(),
                    returned: Vec::new(),
                    written: Vec::new(),
                    unread: Vec::new(),
                    odd: Vec::new(),
                },
                caught_up: false,
            };
            self.owned.insert(lease.shard, owned);
        }
    }

    /// The shard is not this worker's any more.
    fn let_go(&mut self, shard: u16) {
        self.reader.disown(shard);
        self.lanes.retain(|(of, _), _| *of != shard);
        self.loose.retain(|message| message.shard != shard);
        if let Some(owned) = self.owned.remove(&shard) {
            self.log.file(owned.log);
        }
    }

    /// Reads on while what could go is settled, as the relay does. Says whether there was anything to do.
    pub(crate) async fn turn(&mut self) -> bool {
        self.beat().await;
        let batch = if self.rng.u8(..8) == 0 {
            Vec::new()
        } else {
            self.batch()
        };
        let settlements: Vec<Settlement> = batch.iter().map(|(_, settlement)| settlement.clone()).collect();
        let demand = self.demand();
        let at = self.log.tick();
        let (found, settled) =
            futures_util::future::join(async { again!(self.reader.read(&demand)) }, async {
                if settlements.is_empty() {
                    return Settled::default();
                }
                again!(self.store.settle(&self.id, &settlements))
            })
            .await;
        let busy = !batch.is_empty() || !found.fresh.is_empty() || found.more;
        let settling: HashSet<i64> = batch.iter().map(|(message, _)| message.number()).collect();
        self.written(&batch, &settled, at);
        self.take_in(found, &demand, &settling);
        busy
    }

    fn batch(&mut self) -> Vec<(Message, Settlement)> {
        let mut ready: Vec<(Message, Verdict)> = Vec::new();
        for lane in self.lanes.values_mut() {
            ready.extend(lane.take(&mut self.rng));
            if self.rng.u8(..100) == 0 {
                lane.spill();
            }
        }
        for message in self.loose.drain(..) {
            let verdict = verdict(&message, &mut self.rng);
            ready.push((message, verdict));
        }
        let with_lease = ready.into_iter().filter_map(|(message, verdict)| {
            let lease = self.owned.get(&message.shard)?.log.lease;
            let settlement = Settlement::of(&message, lease, verdict);
            Some((message, settlement))
        });
        with_lease.collect()
    }

    fn demand(&mut self) -> Demand {
        let mut demand = Demand {
            fresh: [3, 20, 100, 500][self.rng.usize(..4)],
            due: 100,
            lanes: Vec::new(),
            ..Demand::default()
        };
        for ((shard, key), lane) in &self.lanes {
            demand
                .lanes
                .extend(lane.demand(*shard, key, self.rng.usize(1..10)));
        }
        demand
    }

    fn written(&mut self, batch: &[(Message, Settlement)], settled: &Settled, at: u64) {
        let mut delivered = 0;
        for (message, settlement) in batch.iter().filter(|(of, _)| !settled.stale.contains(&of.shard)) {
            let written = Written {
                number: message.number(),
                row: Row::of(message),
                delivered: matches!(settlement.verdict, Verdict::Delivered(_)),
                at,
            };
            delivered += usize::from(written.delivered);
            if let Some(owned) = self.owned.get_mut(&message.shard) {
                owned.log.written.push(written);
            }
        }
        self.delivered += delivered;
        self.log.count(0, delivered);
        for &shard in &settled.stale {
            self.log.refused();
            self.let_go(shard);
        }
    }

    fn take_in(&mut self, found: Found, demand: &Demand, settling: &HashSet<i64>) {
        let at = self.log.tick();
        let before = self.returned;
        self.take_heads(&found.heads);
        for (asked, found) in demand.lanes.iter().zip(found.lanes) {
            for message in &found.messages {
                self.note(message, How::Lane, at);
            }
            let key = asked.key.clone().unwrap();
            if self.owned.contains_key(&asked.shard)
                && let Some(lane) = self.lanes.get_mut(&(asked.shard, key))
            {
                lane.read_again(found.messages, found.complete);
            }
        }
        for message in found.fresh {
            if self.note(&message, How::Fresh, at) {
                match &message.key {
                    Some(key) => self
                        .lanes
                        .entry((message.shard, key.clone()))
                        .or_default()
                        .push(message),
                    None => self.loose.push(message),
                }
            }
        }
        for shard in found.caught_up {
            if let Some(owned) = self.owned.get_mut(&shard) {
                owned.caught_up = true;
            }
        }
        for message in found.due {
            self.take_due(message, at, settling);
        }
        self.log.count(self.returned - before, 0);
    }

    /// Lanes wait for what an owner before has scheduled.
    fn take_heads(&mut self, heads: &[Head]) {
        for head in heads {
            let number = head.id.number();
            if let Some(owned) = self.owned.get_mut(&head.shard)
                && owned.known.insert(number)
            {
                owned.log.scheduled.push(number);
                let lane = (head.shard, head.lane.key.clone());
                self.lanes.entry(lane).or_default().schedule(number);
            }
        }
    }

    /// Puts down what was returned; false if the shard has been lost meanwhile.
    fn note(&mut self, message: &Message, how: How, at: u64) -> bool {
        let Some(owned) = self.owned.get_mut(&message.shard) else {
            return false;
        };
        owned.known.insert(message.number());
        owned.log.returned.push(Returned::new(message, how, at));
        self.returned += usize::from(how == How::Fresh);
        true
    }

    /// A due message comes with every read until it is settled.
    fn take_due(&mut self, message: Message, at: u64, settling: &HashSet<i64>) {
        let number = message.number();
        let Some(owned) = self.owned.get_mut(&message.shard) else {
            return;
        };
        let Some(key) = &message.key else {
            if !settling.contains(&number) && self.loose.iter().all(|held| held.number() != number) {
                self.note(&message, How::Due, at);
                self.loose.push(message);
            }
            return;
        };
        let lane = self.lanes.entry((message.shard, key.clone())).or_default();
        if settling.contains(&number) || lane.holds(number) || !owned.caught_up {
            return;
        }
        if lane.push_due(message.clone()) {
            self.note(&message, How::Due, at);
        } else {
            owned.log.odd.push(Returned::new(&message, How::Due, at));
        }
    }

    /// Which of these, all committed by now, the reader has not returned.
    pub(crate) fn unread(&self, committed: &[(u16, i64)]) -> Vec<(u16, i64)> {
        let unread = committed.iter().filter(|(shard, number)| {
            self.owned
                .get(shard)
                .is_some_and(|owned| !owned.known.contains(number))
        });
        unread.copied().collect()
    }

    pub(crate) fn complain(&mut self, unread: &[(u16, i64)]) {
        for (shard, number) in unread {
            if let Some(owned) = self.owned.get_mut(shard) {
                owned.log.unread.push(*number);
            }
        }
    }

    /// Gives shards back.
    pub(crate) async fn release(&mut self, leases: &[Lease]) {
        again!(self.store.release(&self.id, leases, true));
        for lease in leases {
            self.let_go(lease.shard);
        }
    }

    pub(crate) async fn leave(&mut self) {
        again!(self.store.leave(&self.id));
    }
}

impl Drop for Life {
    /// However it ends, what it did counts.
    fn drop(&mut self) {
        for (_, owned) in std::mem::take(&mut self.owned) {
            self.log.file(owned.log);
        }
    }
}
