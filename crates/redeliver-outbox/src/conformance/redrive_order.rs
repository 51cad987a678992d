//! The order in which redriven messages come back, and the times of an act.

use super::{
    Factory,
    failure::{Outcome, none, same},
    subject::{Subject, Worker, act, dead, demand, ids, only, park},
};
use crate::{
    DeadReason, MessageId, NewMessage, Payload,
    desk::{Edit, Filter, MessageRef},
    state::Status,
    store::{AfterDeath, Verdict},
};

const COUNT: usize = 6;

/// Dead letters of one lane, which the lane has continued without. The highest number died first, and the first one was edited, so
/// that no table holds them by number.
async fn gaps(subject: &Subject, worker: &mut Worker) -> Outcome<Vec<MessageId>> {
    let keyed = NewMessage::to("billing").key("a").payload("{}");
    let letters = subject.enqueue(&vec![keyed; COUNT]).await?;
    worker.read_fresh().await?;
    for id in letters.iter().rev() {
        subject.settle_one(worker, *id, gap()).await?;
    }
    let edit = Edit {
        payload: Some(Payload::from(r#"{"edited":true}"#)),
        ..Edit::default()
    };
    let first = MessageRef::Id(letters[0]);
    subject.desk.edit(first, &edit, &act()).await?;
    Ok(letters)
}

fn gap() -> Verdict {
    dead(Some(1), DeadReason::Permanent, AfterDeath::Gap)
}

/// The text of this column for each message, by number.
async fn column(subject: &Subject, query: &str) -> Outcome<Vec<Option<String>>> {
    let rows = subject.harness.rows(query).await?;
    Ok(rows.into_iter().flatten().collect())
}

async fn one_time(subject: &Subject, query: &str, what: &str) -> Outcome {
    let mut times = column(subject, query).await?;
    same!(times.len(), COUNT, "messages with {what}");
    times.dedup();
    same!(times.len(), 1, "times of {what}: {times:?}");
    Ok(())
}

pub(super) async fn s490_messages_redriven_together_come_due_by_number(factory: &dyn Factory) -> Outcome {
    for limit in [1, 2, 100] {
        let subject = Subject::fresh(factory, 1).await?;
        let mut worker = subject.worker("w").await?;
        let letters = gaps(&subject, &mut worker).await?;
        same!(subject.redrive(&Filter::default()).await?, letters, "redriven");
        let query = "SELECT next_attempt_at FROM redeliver_outbox ORDER BY number";
        one_time(&subject, query, "the redrive").await?;
        let mut read = Vec::new();
        while read.len() < COUNT {
            let found = worker.reader.read(&demand(0, limit)).await?;
            let due = ids(&found.due);
            same!(
                due,
                letters[read.len()..(read.len() + limit).min(COUNT)],
                "due, {limit} at most"
            );
            for id in &due {
                subject.settle_one(&worker, *id, gap()).await?;
            }
            read.extend(due);
        }
    }
    Ok(())
}

pub(super) async fn s491_messages_discarded_together_have_one_time(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut worker = subject.worker("w").await?;
    gaps(&subject, &mut worker).await?;
    same!(
        subject.discard(&Filter::default()).await?.len(),
        COUNT,
        "discarded"
    );
    let query = "SELECT discarded_at FROM redeliver_dead ORDER BY number";
    one_time(&subject, query, "the discard").await
}

pub(super) async fn s492_a_settle_that_is_repeated_after_a_discard_pauses_nothing(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut worker = subject.worker("w").await?;
    let keyed = NewMessage::to("billing").key("a").payload("{}");
    let lane = subject.enqueue(&[keyed.clone(), keyed]).await?;
    worker.read_fresh().await?;
    let (head, next) = (lane[0], lane[1]);
    let settlement = worker.settlement(&subject.record(head).await?, park())?;
    subject
        .store
        .settle(&worker.id, std::slice::from_ref(&settlement))
        .await?;
    same!(subject.discard(&only(head)).await?, [head], "discarded");
    subject.store.settle(&worker.id, &[settlement]).await?;
    same!(subject.status(head).await?, Status::Discarded, "the head");
    same!(
        subject.status(next).await?,
        Status::Processing,
        "the next message"
    );
    let resumed: Vec<i64> = worker.read().await?.resumed.iter().map(|of| of.1.head).collect();
    same!(resumed, [head.number()], "lanes that continue");
    subject.expire(&worker.id).await?;
    let other = subject.worker("other").await?;
    let parked = other.claimed.iter().flat_map(|claimed| &claimed.parked);
    none!(parked.collect::<Vec<_>>(), "lanes paused for the next owner");
    Ok(())
}
