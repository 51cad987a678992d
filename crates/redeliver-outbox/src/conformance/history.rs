//! What is kept of messages that arrived.

use super::{
    Factory,
    failure::{Outcome, none, same},
    settle::one,
    subject::{HOUR, Subject, Worker, delivered, retry},
};
use crate::{MessageId, NewMessage, Payload, desk::Filter, state::Status, store::History};

/// The messages are settled by a store with another history; the verdict is written as often as the relay tells it.
async fn settle(
    subject: &Subject,
    worker: &Worker,
    history: History,
    id: MessageId,
    attempt: u32,
) -> Outcome {
    let settlement = worker.settlement(&subject.record(id).await?, delivered(attempt))?;
    let store = subject.harness.store_keeping(history)?;
    for _ in 0..2 {
        store
            .settle(&worker.id, std::slice::from_ref(&settlement))
            .await?;
    }
    Ok(())
}

pub(super) async fn s078_a_history_without_payloads_keeps_the_rest(factory: &dyn Factory) -> Outcome {
    let (subject, worker, text) = one(factory).await?;
    let binary = NewMessage::to("billing").payload(Payload::Binary(vec![0, 255].into()));
    let binary = subject.enqueue_one(binary).await?;
    for id in [text, binary] {
        settle(&subject, &worker, History::WithoutPayloads, id, 1).await?;
        let record = subject.detail(id).await?.record;
        same!(record.status, Status::Sent, "the status");
        same!(record.destination, "billing", "the destination");
        same!(record.payload, None, "the payload");
    }
    Ok(())
}

pub(super) async fn s079_without_a_history_nothing_is_left_of_what_arrived(factory: &dyn Factory) -> Outcome {
    let (subject, worker, id) = one(factory).await?;
    subject.settle_one(&worker, id, retry(1, HOUR)).await?;
    settle(&subject, &worker, History::Off, id, 2).await?;
    same!(subject.find(id).await?, None, "the message");
    same!(subject.desk.count(&Filter::default()).await?, 0, "messages");
    let log = subject
        .harness
        .rows("SELECT number FROM redeliver_attempts")
        .await?;
    none!(log, "lines in the log of attempts");
    Ok(())
}
