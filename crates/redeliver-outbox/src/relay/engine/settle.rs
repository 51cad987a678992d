use std::{sync::Arc, time::Duration};

use redeliver::{Moment, clock};

use super::{Engine, Event};
use crate::{
    Message,
    plants::{Plant, planted},
    relay::{
        trouble::{Statement, Trouble},
        witness::Happening,
    },
    store::{Result, Settled, Settlement, Verdict},
    trace::TraceParent,
};

/// Verdicts on their way to the database.
#[derive(Debug, Default)]
pub(super) struct Settling {
    pending: Vec<Settlement>,
    since: Option<Moment>,
    under_way: bool,
    pub(super) trouble: Trouble,
}

impl Settling {
    pub(super) fn push(&mut self, settlement: Settlement, now: Moment) {
        self.since.get_or_insert(now);
        self.pending.push(settlement);
    }

    /// What is still to be written when a relay ends.
    pub(super) fn unwritten(&mut self) -> Vec<Settlement> {
        std::mem::take(&mut self.pending)
    }

    pub(super) fn forget(&mut self, shard: u16) {
        self.pending.retain(|settlement| settlement.lease.shard != shard);
    }

    pub(super) fn deadline(&self, linger: Duration) -> Moment {
        match self.since {
            Some(since) if !self.under_way => {
                let gathered = since.plus(linger);
                // A deadline that has passed while nothing may begin would be a loop without a pause.
                self.trouble.until.map_or(gathered, |until| until.max(gathered))
            }
            _ => Moment::FAR_FUTURE,
        }
    }
}

impl Engine {
    /// Verdicts gather while one batch is being written; with nothing else on its way there is nothing to wait for.
    pub(super) fn begin_settle(&mut self, now: Moment) {
        let config = &self.relay.config;
        let settling = &mut self.settling;
        let Some(since) = settling.since else { return };
        let full = settling.pending.len() >= config.settle_batch;
        let waited = now >= since.plus(config.settle_linger);
        let ready = full || waited || self.window.in_flight() == 0;
        if settling.under_way || settling.pending.is_empty() || !ready || !settling.trouble.allows(now) {
            if settling.pending.is_empty() {
                settling.since = None;
            }
            return;
        }
        let rest = settling
            .pending
            .split_off(settling.pending.len().min(config.settle_batch.max(1)));
        let batch = std::mem::replace(&mut settling.pending, rest);
        // The next batch is about as large, and to grow by doubling would move it several times.
        settling.pending.reserve(batch.len());
        settling.since = (!settling.pending.is_empty()).then_some(now);
        settling.under_way = true;
        let (store, worker) = (Arc::clone(&self.relay.store), config.worker.clone());
        self.tasks.push(Box::pin(async move {
            let result = store.settle(&worker, &batch).await;
            let took = clock::now().since(now);
            Event::Settled { batch, result, took }
        }));
    }

    pub(super) fn settle_ended(&mut self, batch: Vec<Settlement>, result: Result<Settled>, now: Moment) {
        self.settling.under_way = false;
        let result = if planted(Plant::LostAnswerIsSuccess) {
            result.or_else(|_| Ok(Settled::default()))
        } else {
            result
        };
        match result {
            Ok(settled) => {
                self.settling.trouble.worked(Statement::Settle);
                let time = self.database_now(now);
                let mut fanned_out = false;
                for settlement in &batch {
                    if settled.stale.contains(&settlement.lease.shard) {
                        self.lose(settlement.lease);
                    } else {
                        self.count(settlement);
                        fanned_out |= matches!(settlement.verdict, Verdict::FannedOut { .. });
                        self.window.settled(settlement, time);
                        self.relay.witness.saw(Happening::Settled(settlement));
                    }
                }
                if fanned_out {
                    self.reading.wake();
                }
            }
            Err(error) => {
                let mut trouble = std::mem::take(&mut self.settling.trouble);
                self.trouble(&mut trouble, Statement::Settle, &error, now);
                self.settling.trouble = trouble;
                // Written or not, the same again is right: doing it twice is doing it once.
                let leases: Vec<_> = self.window.leases().collect();
                let held = batch
                    .into_iter()
                    .filter(|settlement| leases.contains(&settlement.lease))
                    .filter(|_| !planted(Plant::LostAnswerForgotten));
                self.settling.pending.splice(0..0, held);
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
            Verdict::Postponed(_) | Verdict::Counted { .. } => return,
        };
        counter.add(1);
    }
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
