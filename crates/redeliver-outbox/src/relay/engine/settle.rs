use std::{collections::VecDeque, sync::Arc, time::Duration};

use redeliver::{Moment, clock};

use super::{Engine, Event};
use crate::{
    Message,
    plants::{Plant, planted},
    relay::{
        trouble::{Statement, Trouble},
        witness::Happening,
    },
    store::{Result, Settled, Settlement, Store, StoreError, StoreErrorKind, Verdict, WorkerId},
    trace::TraceParent,
};

/// Verdicts on their way to the database.
#[derive(Debug, Default)]
pub(super) struct Settling {
    pending: Vec<Settlement>,
    /// Halves of batches that failed because of something in them, each to be written by itself.
    halves: VecDeque<Vec<Settlement>>,
    since: Option<Moment>,
    under_way: bool,
    /// Whether the last batch was a half: they take turns with what is pending.
    was_half: bool,
    /// How often a batch has failed since the last one that was written, not counting an outage of the whole database.
    blamed: u32,
    /// Whether the database has taken a beat since a batch failed: it is there, and writes.
    answered: bool,
    pub(super) trouble: Trouble,
}

/// Where a batch was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Pending,
    Half,
    Stuck,
}

/// With an error that says nothing, a batch is at fault if it failed so often while the database took beats.
const UNEXPLAINED: u32 = 2;
/// With one that blames the database.
const EXPLAINED: u32 = 5;

impl Settling {
    pub(super) fn push(&mut self, settlement: Settlement, now: Moment) {
        self.since.get_or_insert(now);
        self.pending.push(settlement);
    }

    /// What is still to be written when a relay ends.
    pub(super) fn unwritten(&mut self) -> Vec<Settlement> {
        let halves = std::mem::take(&mut self.halves).into_iter().flatten();
        halves.chain(std::mem::take(&mut self.pending)).collect()
    }

    pub(super) fn forget(&mut self, shard: u16) {
        let stays = |settlement: &Settlement| settlement.lease.shard != shard;
        self.pending.retain(stays);
        self.halves.iter_mut().for_each(|half| half.retain(stays));
        self.halves.retain(|half| !half.is_empty());
    }

    pub(super) fn deadline(&self, linger: Duration) -> Moment {
        if self.under_way {
            return Moment::FAR_FUTURE;
        }
        let gathered = match self.since {
            _ if !self.halves.is_empty() => Moment::ZERO,
            Some(since) => since.plus(linger),
            None => return Moment::FAR_FUTURE,
        };
        // A deadline that has passed while nothing may begin would be a loop without a pause.
        self.trouble.until.map_or(gathered, |until| until.max(gathered))
    }

    /// The database has taken a beat.
    pub(super) fn database_answered(&mut self, now: Moment) {
        self.answered = true;
        self.trouble.answered(now);
    }

    /// Whether a batch that has just failed is at fault itself, and not the database.
    fn blames(&mut self, origin: Origin, kind: StoreErrorKind) -> bool {
        let answered = std::mem::take(&mut self.answered);
        self.blamed += u32::from(answered);
        let enough = match kind {
            StoreErrorKind::Other => UNEXPLAINED,
            _ => EXPLAINED,
        };
        kind.is_about_content() || (answered && (origin == Origin::Half || self.blamed >= enough))
    }

    /// What is to be tried apart: one half, then the other.
    fn split(&mut self, mut batch: Vec<Settlement>) {
        let other = batch.split_off(batch.len() / 2);
        self.halves.push_front(other);
        self.halves.push_front(batch);
    }

    /// A half, or what has gathered if there is enough of it; they take turns.
    fn next_batch(&mut self, most: usize, ready: bool, now: Moment) -> Option<(Vec<Settlement>, Origin)> {
        if let Some(half) = (!(self.was_half && ready))
            .then(|| self.halves.pop_front())
            .flatten()
        {
            self.was_half = true;
            return Some((half, Origin::Half));
        }
        if !ready {
            return None;
        }
        self.was_half = false;
        let rest = self.pending.split_off(self.pending.len().min(most.max(1)));
        let batch = std::mem::replace(&mut self.pending, rest);
        // The next batch is about as large, and to grow by doubling would move it several times.
        self.pending.reserve(batch.len());
        self.since = (!self.pending.is_empty()).then_some(now);
        Some((batch, Origin::Pending))
    }
}

impl Engine {
    /// Verdicts gather while one batch is being written; with nothing else on its way there is nothing to wait for.
    pub(super) fn begin_settle(&mut self, now: Moment) {
        let config = &self.relay.config;
        let settling = &mut self.settling;
        if settling.pending.is_empty() {
            settling.since = None;
        }
        debug_assert!(
            settling.pending.is_empty() || settling.since.is_some(),
            "verdicts that nobody writes"
        );
        if settling.under_way || !settling.trouble.allows(now) {
            return;
        }
        let full = settling.pending.len() >= config.settle_batch;
        let ready = settling.since.is_some_and(|since| {
            full || now >= since.plus(config.settle_linger) || self.window.in_flight() == 0
        });
        let Some((batch, origin)) = settling.next_batch(config.settle_batch, ready, now) else {
            return;
        };
        settling.under_way = true;
        let (store, worker) = (Arc::clone(&self.relay.store), config.worker.clone());
        self.tasks.push(Box::pin(async move {
            let result = store.settle(&worker, &batch).await;
            let took = clock::now().since(now);
            Event::Settled {
                batch,
                result,
                took,
                origin,
            }
        }));
    }

    pub(super) fn settle_ended(
        &mut self,
        batch: Vec<Settlement>,
        result: Result<Settled>,
        origin: Origin,
        now: Moment,
    ) {
        match origin {
            Origin::Stuck => self.stuck_ended(),
            Origin::Pending | Origin::Half => self.settling.under_way = false,
        }
        let result = if planted(Plant::LostAnswerIsSuccess) {
            result.or_else(|_| Ok(Settled::default()))
        } else {
            result
        };
        match result {
            Ok(settled) => self.settled(&batch, &settled, origin, now),
            Err(error) if origin == Origin::Stuck => {
                for settlement in &batch {
                    self.stuck_again(settlement, &error, now);
                }
            }
            Err(error) => self.settle_failed(batch, &error, origin, now),
        }
    }

    fn settled(&mut self, batch: &[Settlement], settled: &Settled, origin: Origin, now: Moment) {
        if origin != Origin::Stuck {
            self.settling.trouble.worked(Statement::Settle);
            self.settling.blamed = 0;
        }
        let time = self.database_now(now);
        let mut fanned_out = false;
        for settlement in batch {
            if settled.stale.contains(&settlement.lease.shard) {
                self.lose(settlement.lease);
                continue;
            }
            self.count(settlement);
            fanned_out |= matches!(settlement.verdict, Verdict::FannedOut { .. });
            let next = self.window.settled(settlement, time);
            self.relay.witness.saw(Happening::Settled(settlement));
            if let Some(next) = next {
                self.settling.push(next, now);
            }
            if origin == Origin::Stuck {
                self.stuck_settled(settlement, now);
            }
        }
        if fanned_out {
            self.reading.wake();
        }
    }

    /// Written or not, the same again is right: doing it twice is doing it once. What fails because of something in it is split until
    /// that is alone.
    fn settle_failed(&mut self, mut batch: Vec<Settlement>, error: &StoreError, origin: Origin, now: Moment) {
        let blamed = self.settling.blames(origin, error.kind());
        if error.kind().is_about_content() {
            // The database is well: there is nothing to wait for.
            self.relay.figures.failed(Statement::Settle);
            self.relay
                .witness
                .saw(Happening::Trouble(Statement::Settle.words()));
        } else {
            let mut trouble = std::mem::take(&mut self.settling.trouble);
            self.trouble(&mut trouble, Statement::Settle, error, now);
            self.settling.trouble = trouble;
        }
        let leases: Vec<_> = self.window.leases().collect();
        batch.retain(|settlement| leases.contains(&settlement.lease) && !planted(Plant::LostAnswerForgotten));
        match (batch.len(), origin) {
            (0, _) => {}
            (1, _) if blamed => {
                for settlement in batch {
                    self.set_aside(settlement, error, now);
                }
            }
            _ if blamed => self.settling.split(batch),
            (_, Origin::Half) => self.settling.halves.push_front(batch),
            (_, Origin::Pending | Origin::Stuck) => {
                self.settling.pending.splice(0..0, batch);
                self.settling.since.get_or_insert(now);
            }
        }
    }

    fn count(&self, settlement: &Settlement) {
        let figures = &self.relay.figures;
        let route = self.window.route_of(settlement.number());
        figures.route(route).settled(&settlement.verdict);
        figures.settled.add(1);
        let counter = match settlement.verdict {
            Verdict::Delivered(_) => &figures.delivered,
            Verdict::Retry { .. } => &figures.retried,
            Verdict::FannedOut { .. } => &figures.fanned_out,
            Verdict::Dead { .. } => {
                if let Some(message) = self.window.message(settlement.number()) {
                    tell_death(message, settlement);
                }
                &figures.dead
            }
            Verdict::Postponed(_) | Verdict::Counted { .. } | Verdict::Uncounted { .. } => return,
        };
        counter.add(1);
    }
}

/// Writes all that the database does not refuse, for the last time, and says how many there were.
pub(super) async fn write_what_can_be(
    store: &dyn Store,
    worker: &WorkerId,
    settlements: Vec<Settlement>,
) -> Result<usize> {
    let mut written = 0;
    let mut batches = vec![settlements];
    while let Some(mut batch) = batches.pop().filter(|batch| !batch.is_empty()) {
        match store.settle(worker, &batch).await {
            Ok(_) => written += batch.len(),
            Err(error) if !error.kind().is_about_content() => return Err(error),
            Err(_) if batch.len() == 1 => {}
            Err(_) => {
                batches.push(batch.split_off(batch.len() / 2));
                batches.push(batch);
            }
        }
    }
    Ok(written)
}

/// A dead letter is told when it is one: the verdict is written.
fn tell_death(message: &Message, settlement: &Settlement) {
    if let Verdict::Dead {
        attempted,
        reason,
        error,
        ..
    } = &settlement.verdict
    {
        tracing::event!(
            name: "dead_lettered",
            target: "redeliver",
            tracing::Level::WARN,
            message_id = %message.id,
            destination = %message.destination,
            trace_id = TraceParent::of_message(message).map(TraceParent::trace_id),
            topic = message.topic.as_deref(),
            attempts = attempted.as_ref().map_or(message.attempts, |attempted| attempted.attempt),
            reason = %reason,
            error_message = %error,
            timestamp = %clock::timestamp(clock::wall()),
            "dead_lettered"
        );
    }
}
