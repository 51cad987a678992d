//! After an error, nothing is lost and nothing is done by half.

use super::{
    Factory,
    failure::{Outcome, check, none, same},
    subject::{HOUR, Subject, act, bury, delivered, demand, ids, only, retry},
};
use crate::{NewMessage, state::Status};

async fn hide(subject: &Subject, table: &str) -> Outcome {
    subject
        .execute(&format!(
            "ALTER TABLE redeliver_{table} RENAME TO local_redeliver_hidden"
        ))
        .await
}

async fn show(subject: &Subject, table: &str) -> Outcome {
    subject
        .execute(&format!(
            "ALTER TABLE redeliver_hidden RENAME TO local_redeliver_{table}"
        ))
        .await
}

pub(super) async fn s150_a_read_after_an_error_returns_what_the_failed_one_would_have(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let mut worker = subject.worker("w").await?;
    let mut enqueued = subject.enqueue_some(10).await?;
    let mut met = ids(&worker.reader.read(&demand(6, 10)).await?.fresh);
    enqueued.extend(subject.enqueue_some(10).await?);
    hide(&subject, "outbox").await?;
    for _ in 0..2 {
        check!(
            worker.reader.read(&demand(6, 10)).await.is_err(),
            "a read without its table fails"
        );
    }
    show(&subject, "outbox").await?;
    met.extend(ids(&worker.read_fresh().await?));
    met.sort();
    same!(met, enqueued, "the messages read before and after");
    Ok(())
}

pub(super) async fn s151_a_settle_is_whole_or_not_at_all(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let worker = subject.worker("w").await?;
    let ids = subject.enqueue_some(9).await?;
    let mut settlements = Vec::new();
    let mut before = Vec::new();
    for (index, id) in ids.iter().enumerate() {
        let verdict = match index % 3 {
            0 => delivered(1),
            1 => retry(1, HOUR),
            _ => bury(),
        };
        let detail = subject.detail(*id).await?;
        settlements.push(worker.settlement(&detail.record, verdict)?);
        before.push(detail);
    }
    hide(&subject, "dead").await?;
    let failed = subject.store.settle(&worker.id, &settlements).await;
    show(&subject, "dead").await?;
    check!(
        failed.is_err(),
        "without its table, a dead letter cannot be written: {failed:?}"
    );
    for (id, before) in ids.iter().zip(before) {
        same!(
            subject.detail(*id).await?,
            before,
            "the message after a settle that failed"
        );
    }
    none!(
        subject.store.settle(&worker.id, &settlements).await?.stale,
        "stale shards, told again"
    );
    let expected = [Status::Sent, Status::Failed, Status::DeadLettered];
    for (index, id) in ids.iter().enumerate() {
        same!(
            subject.status(*id).await?,
            expected[index % 3],
            "the status of message {index}"
        );
    }
    Ok(())
}

pub(super) async fn s152_a_redrive_is_whole_or_not_at_all(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let worker = subject.worker("w").await?;
    let letter = subject
        .dead_letter(&worker, NewMessage::to("billing").payload("{}"))
        .await?;
    hide(&subject, "audit").await?;
    let filter = only(letter);
    let redriven = subject.desk.redrive(&filter, 1, &act()).await;
    let discarded = subject.desk.discard(&filter, 1, &act()).await;
    show(&subject, "audit").await?;
    check!(
        redriven.is_err() && discarded.is_err(),
        "without a record there is no act: {redriven:?}, {discarded:?}"
    );
    same!(subject.status(letter).await?, Status::DeadLettered, "the status");
    same!(
        subject.redrive(&filter).await?,
        [letter],
        "redriven when it can be recorded"
    );
    Ok(())
}
