//! The outbox under test and its workers, in the words of the cases.

use std::{sync::Arc, time::Duration};

use super::{
    Factory, Failure, Harness,
    failure::{Outcome, check},
};
use crate::{
    DeadReason, Message, MessageId, NewMessage, Timestamp,
    desk::{Act, Detail, Enqueued, Filter, JobDesk, Layout, MessageRef, Page, Record},
    live::Live,
    state::Status,
    store::{
        AfterDeath, Attempted, Beat, Bytes, Claimed, Demand, Found, Lease, Membership, Reader, Settled,
        Settlement, Store, Verdict, WorkerId,
    },
};

pub(super) const LEASE: Duration = Duration::from_secs(600);
pub(super) const HOUR: Duration = Duration::from_secs(3600);
pub(super) const WINDOW: u32 = 8;
/// How long a case looks for what has been committed before it says that it was lost.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Subject {
    pub(super) harness: Arc<dyn Harness>,
    pub(super) store: Arc<dyn Store>,
    pub(super) desk: Arc<dyn JobDesk>,
}

impl Subject {
    /// A new outbox with so many shards.
    pub(super) async fn fresh(factory: &dyn Factory, shards: u16) -> Outcome<Self> {
        let subject = Self::without_tables(factory).await?;
        subject.desk.migrate(Layout { shards }, None).await?;
        Ok(subject)
    }

    pub(super) async fn without_tables(factory: &dyn Factory) -> Outcome<Self> {
        let harness = factory.empty().await?;
        let (store, desk) = (harness.store(), harness.desk());
        Ok(Self { harness, store, desk })
    }

    /// The version of the tables before this step.
    pub(super) fn before(&self, step: &str) -> u32 {
        let steps = self.desk.migrations(self.desk.usual_layout());
        let taken = steps.iter().take_while(|taken| taken.name != step);
        taken.last().map_or(0, |last| last.version)
    }

    pub(super) async fn now(&self) -> Outcome<Timestamp> {
        Ok(self.desk.status().await?.now)
    }

    /// A time before or after the database's now, as its SQL.
    pub(super) async fn time_from_now(&self, millis: i64) -> Outcome<String> {
        let now = self.now().await?.as_millis();
        Ok(self.harness.time(Timestamp::from_millis(now + millis)))
    }

    pub(super) async fn execute(&self, statement: &str) -> Outcome {
        Ok(self.harness.execute(statement).await?)
    }

    pub(super) async fn enqueue(&self, messages: &[NewMessage]) -> Outcome<Vec<MessageId>> {
        let mut ids = Vec::new();
        for enqueued in self.desk.enqueue(messages).await? {
            match enqueued {
                Enqueued::New(id) => ids.push(id),
                Enqueued::Duplicate(id) => {
                    return Err(Failure::new(format!("a new message was taken for {id:?}")));
                }
            }
        }
        check!(
            ids.len() == messages.len(),
            "{} ids for {} messages",
            ids.len(),
            messages.len()
        );
        Ok(ids)
    }

    pub(super) async fn enqueue_one(&self, message: NewMessage) -> Outcome<MessageId> {
        let ids = self.enqueue(&[message]).await?;
        ids.first()
            .copied()
            .ok_or_else(|| Failure::new("no id for a message"))
    }

    /// So many messages to `billing` without a key.
    pub(super) async fn enqueue_some(&self, count: usize) -> Outcome<Vec<MessageId>> {
        let messages: Vec<_> = (0..count)
            .map(|index| NewMessage::to("billing").payload(format!("{{\"index\":{index}}}")))
            .collect();
        self.enqueue(&messages).await
    }

    pub(super) async fn beat(&self, worker: &WorkerId) -> Outcome<Membership> {
        Ok(self.store.beat(&beat(worker)).await?)
    }

    /// A worker that owns every shard that is free.
    pub(super) async fn worker(&self, name: &str) -> Outcome<Worker> {
        self.worker_of(name, usize::from(u16::MAX)).await
    }

    /// A worker that owns at most so many shards.
    pub(super) async fn worker_of(&self, name: &str, at_most: usize) -> Outcome<Worker> {
        let id = WorkerId(name.to_owned());
        self.beat(&id).await?;
        let claimed = self.store.claim(&id, at_most, WINDOW).await?;
        let mut reader = self.store.reader();
        for shard in &claimed {
            reader.own(shard.lease);
        }
        Ok(Worker { id, claimed, reader })
    }

    /// The next owner of every shard, after this worker has left.
    pub(super) async fn worker_after(&self, worker: Worker, name: &str) -> Outcome<Worker> {
        self.store.release(&worker.id, &worker.leases(), true).await?;
        self.store.leave(&worker.id).await?;
        self.worker(name).await
    }

    /// Lets the worker's lease end.
    pub(super) async fn expire(&self, worker: &WorkerId) -> Outcome {
        let past = self.time_from_now(-1000).await?;
        let statement =
            format!("UPDATE redeliver_workers SET lease_until = {past} WHERE worker = '{worker}'");
        self.execute(&statement).await
    }

    /// Makes a scheduled message due this many milliseconds ago.
    pub(super) async fn make_due(&self, message: MessageId, ago: i64) -> Outcome {
        let past = self.time_from_now(-ago).await?;
        let number = message.number();
        let statement =
            format!("UPDATE redeliver_outbox SET next_attempt_at = {past} WHERE number = {number}");
        self.execute(&statement).await
    }

    pub(super) async fn find(&self, message: MessageId) -> Outcome<Option<Detail>> {
        Ok(self.desk.find(MessageRef::Id(message)).await?)
    }

    pub(super) async fn detail(&self, message: MessageId) -> Outcome<Detail> {
        self.find(message)
            .await?
            .ok_or_else(|| Failure::new(format!("message {} is nowhere", message.number())))
    }

    pub(super) async fn record(&self, message: MessageId) -> Outcome<Record> {
        Ok(self.detail(message).await?.record)
    }

    pub(super) async fn status(&self, message: MessageId) -> Outcome<Status> {
        Ok(self.record(message).await?.status)
    }

    /// Settles messages, each in its own shard, under the worker's leases.
    pub(super) async fn settle(
        &self,
        worker: &Worker,
        verdicts: &[(MessageId, Verdict)],
    ) -> Outcome<Settled> {
        let mut settlements = Vec::new();
        for (message, verdict) in verdicts {
            let record = self.record(*message).await?;
            settlements.push(worker.settlement(&record, verdict.clone())?);
        }
        Ok(self.store.settle(&worker.id, &settlements).await?)
    }

    pub(super) async fn settle_one(&self, worker: &Worker, message: MessageId, verdict: Verdict) -> Outcome {
        let settled = self.settle(worker, &[(message, verdict)]).await?;
        check!(
            settled.stale.is_empty(),
            "the worker's own shard was called stale"
        );
        Ok(())
    }

    /// A message that was attempted once and refused for good.
    pub(super) async fn dead_letter(&self, worker: &Worker, message: NewMessage) -> Outcome<MessageId> {
        let id = self.enqueue_one(message).await?;
        self.settle_one(worker, id, bury()).await?;
        Ok(id)
    }

    pub(super) async fn redrive(&self, filter: &Filter) -> Outcome<Vec<MessageId>> {
        Ok(self.desk.redrive(filter, usize::MAX, &act()).await?)
    }

    pub(super) async fn discard(&self, filter: &Filter) -> Outcome<Vec<MessageId>> {
        Ok(self.desk.discard(filter, usize::MAX, &act()).await?)
    }

    /// The ids of all messages that match, in the order of their numbers.
    pub(super) async fn matching(&self, filter: &Filter) -> Outcome<Vec<MessageId>> {
        let page = Page {
            until: None,
            after: None,
            limit: 10_000,
            newest_first: false,
        };
        let records = self.desk.list(filter, page, false).await?;
        Ok(records.iter().map(|record| record.id).collect())
    }
}

/// A worker and what it owns.
pub(super) struct Worker {
    pub(super) id: WorkerId,
    pub(super) claimed: Vec<Claimed>,
    pub(super) reader: Box<dyn Reader>,
}

impl Worker {
    pub(super) fn lease(&self, shard: u16) -> Outcome<Lease> {
        self.leases()
            .into_iter()
            .find(|lease| lease.shard == shard)
            .ok_or_else(|| Failure::new(format!("{} does not own shard {shard}", self.id)))
    }

    pub(super) fn leases(&self) -> Vec<Lease> {
        self.claimed.iter().map(|claimed| claimed.lease).collect()
    }

    /// The verdict on a message as it is now.
    pub(super) fn settlement(&self, record: &Record, verdict: Verdict) -> Outcome<Settlement> {
        Ok(Settlement {
            lease: self.lease(record.shard)?,
            id: record.id,
            redrives: record.redrives,
            verdict,
        })
    }

    pub(super) async fn read(&mut self) -> Outcome<Found> {
        Ok(self.reader.read(&demand(1000, 1000)).await?)
    }

    /// Every message that was never scheduled and not read before.
    pub(super) async fn read_fresh(&mut self) -> Outcome<Vec<Message>> {
        let mut messages = Vec::new();
        loop {
            let found = self.read().await?;
            messages.extend(found.fresh);
            if !found.more {
                return Ok(messages);
            }
        }
    }

    /// Reads until so many messages have come that were never scheduled. What other transactions commit is found soon, not always by the
    /// next read. A store may return those with numbers that it has not given as due.
    pub(super) async fn read_until(&mut self, count: usize) -> Outcome<Vec<Message>> {
        let begun = redeliver::clock::wall();
        let mut messages: Vec<Message> = Vec::new();
        while messages.len() < count {
            let found = self.read().await?;
            let forged = found.due.into_iter().filter(|due| due.next_attempt_at.is_none());
            for message in found.fresh.into_iter().chain(forged) {
                if messages.iter().all(|known| known.id != message.id) {
                    messages.push(message);
                }
            }
            let waited = redeliver::clock::wall().saturating_sub(begun);
            check!(
                waited < PATIENCE,
                "{} of {count} committed messages were read in {waited:?}",
                messages.len()
            );
            tokio::task::yield_now().await;
        }
        Ok(messages)
    }
}

pub(super) fn beat(worker: &WorkerId) -> Beat {
    Beat {
        worker: worker.clone(),
        lease: LEASE,
        in_flight: 0,
        destinations: Live::new(),
    }
}

pub(super) fn demand(fresh: usize, due: usize) -> Demand {
    Demand {
        bytes: Bytes::default(),
        fresh,
        due,
        lanes: Vec::new(),
        behind: 0,
    }
}

pub(super) fn act() -> Act {
    Act {
        who: "ana".to_owned(),
        why: "the suite".to_owned(),
    }
}

pub(super) fn only(message: MessageId) -> Filter {
    Filter {
        messages: vec![MessageRef::Id(message)],
        ..Filter::default()
    }
}

pub(super) fn ids(messages: &[Message]) -> Vec<MessageId> {
    messages.iter().map(|message| message.id).collect()
}

pub(super) fn attempted(attempt: u32, class: &'static str, error: &str) -> Attempted {
    Attempted {
        attempt,
        took: Duration::from_millis(12),
        class,
        error: error.to_owned(),
        resumes_lane: false,
    }
}

pub(super) fn delivered(attempt: u32) -> Verdict {
    Verdict::Delivered(attempted(attempt, "", ""))
}

pub(super) fn retry(attempt: u32, wait: Duration) -> Verdict {
    Verdict::Retry {
        attempted: attempted(attempt, "transient", "503 Service Unavailable"),
        wait,
    }
}

pub(super) fn dead(attempt: Option<u32>, reason: DeadReason, lane: AfterDeath) -> Verdict {
    let error = "422 Unprocessable Content";
    Verdict::Dead {
        attempted: attempt.map(|attempt| attempted(attempt, "permanent", error)),
        reason,
        error: error.to_owned(),
        lane,
    }
}

/// How a message without a lane is quarantined.
pub(super) fn bury() -> Verdict {
    dead(Some(1), DeadReason::Permanent, AfterDeath::None)
}

/// How the head of a lane is quarantined.
pub(super) fn park() -> Verdict {
    dead(Some(1), DeadReason::Permanent, AfterDeath::Park)
}
