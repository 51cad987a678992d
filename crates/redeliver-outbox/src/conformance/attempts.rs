//! The attempts of messages that share a number: each message has its own.

use super::{
    Factory,
    failure::{Outcome, check, none, same},
    subject::{HOUR, Subject, bury, delivered, only, retry},
    twice::namesake,
};
use crate::{
    MessageId, NewMessage,
    desk::{Layout, Retention},
    store::Verdict,
};

fn message() -> NewMessage {
    NewMessage::to("billing").payload("first")
}

/// Redrive, attempt and class of each logged attempt.
async fn logged(subject: &Subject, id: MessageId) -> Outcome<Vec<(u32, u32, String)>> {
    let attempts = subject.detail(id).await?.attempts;
    let attempts = attempts.into_iter();
    Ok(attempts
        .map(|logged| (logged.redrive, logged.attempt, logged.class))
        .collect())
}

/// Removes the live rows, as a TRUNCATE or a restore does.
async fn lose_live(subject: &Subject) -> Outcome {
    subject.execute("DELETE FROM redeliver_outbox").await
}

pub(super) async fn s425_a_number_given_again_has_no_attempts(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let worker = subject.worker("w").await?;
    let first = subject.enqueue_one(message()).await?;
    subject
        .settle_one(&worker, first, Verdict::Counted { attempt: 1 })
        .await?;
    lose_live(&subject).await?;
    let second = namesake(&subject, first, None).await?;
    none!(logged(&subject, second).await?, "attempts of the new message");
    // As in a backup that holds the row, but not the log of its attempts.
    subject
        .execute("UPDATE redeliver_outbox SET attempts = 1, last_attempt_at = created_at")
        .await?;
    let mut next = subject.worker_after(worker, "w2").await?;
    let read = next.read_until(1).await?;
    same!(read[0].id, second, "the message");
    check!(!read[0].interrupted, "its attempt was not interrupted");
    Ok(())
}

pub(super) async fn s426_an_interruption_is_logged_beside_a_namesakes_attempt(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let worker = subject.worker("w").await?;
    let first = subject.enqueue_one(message()).await?;
    subject.settle_one(&worker, first, retry(1, HOUR)).await?;
    lose_live(&subject).await?;
    let second = namesake(&subject, first, None).await?;
    let counted = Verdict::Counted { attempt: 1 };
    subject.settle_one(&worker, second, counted.clone()).await?;
    let interrupted = (0, 1, "interrupted".to_owned());
    same!(
        logged(&subject, second).await?,
        [interrupted],
        "attempts of the new message"
    );
    let mut next = subject.worker_after(worker, "w2").await?;
    let read = next.read_until(1).await?;
    check!(read[0].interrupted, "its attempt was interrupted");
    subject
        .settle_one(&next, second, Verdict::Uncounted { attempt: 1 })
        .await?;
    none!(logged(&subject, second).await?, "attempts once it is uncounted");
    subject.settle_one(&next, second, counted).await?;
    subject.settle_one(&next, second, delivered(1)).await?;
    none!(logged(&subject, second).await?, "attempts once it is delivered");
    Ok(())
}

pub(super) async fn s427_attempts_stay_as_long_as_their_message(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let worker = subject.worker("w").await?;
    let dead = subject.enqueue_one(message()).await?;
    subject.settle_one(&worker, dead, retry(1, HOUR)).await?;
    subject.settle_one(&worker, dead, bury()).await?;
    let before = logged(&subject, dead).await?;
    let sent = namesake(&subject, dead, None).await?;
    subject.settle_one(&worker, sent, retry(1, HOUR)).await?;
    subject.settle_one(&worker, sent, delivered(2)).await?;
    same!(
        logged(&subject, sent).await?.len(),
        1,
        "attempts of the delivered message"
    );
    let past = subject.time_from_now(-3_600_000).await?;
    subject
        .execute(&format!("UPDATE redeliver_sent SET sent_at = {past}"))
        .await?;
    let retention = Retention {
        sent: Some(HOUR / 2),
        discarded: Some(HOUR / 2),
        inbox: None,
        audit: None,
    };
    subject.desk.retain(&retention).await?;
    same!(
        logged(&subject, dead).await?,
        before,
        "attempts of the dead letter"
    );
    same!(
        log_size(&subject).await?,
        before.len(),
        "attempts once the delivered message is gone"
    );
    subject.discard(&only(dead)).await?;
    let statement = format!("UPDATE redeliver_dead SET discarded_at = {past}");
    subject.execute(&statement).await?;
    subject.desk.retain(&retention).await?;
    same!(
        log_size(&subject).await?,
        0,
        "attempts once the dead letter is gone"
    );
    Ok(())
}

async fn log_size(subject: &Subject) -> Outcome<usize> {
    let query = "SELECT number FROM redeliver_attempts";
    Ok(subject.harness.rows(query).await?.len())
}

pub(super) async fn s428_old_attempts_find_their_message(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let worker = subject.worker("w").await?;
    let mut messages = Vec::new();
    for last in [Some(bury()), Some(delivered(2)), None] {
        let id = subject.enqueue_one(message()).await?;
        subject.settle_one(&worker, id, retry(1, HOUR)).await?;
        if let Some(verdict) = last {
            subject.settle_one(&worker, id, verdict).await?;
        }
        messages.push((id, logged(&subject, id).await?));
    }
    let lost = subject.enqueue_one(message()).await?;
    subject.settle_one(&worker, lost, retry(1, HOUR)).await?;
    subject
        .execute(&format!(
            "DELETE FROM redeliver_outbox WHERE number = {}",
            lost.number()
        ))
        .await?;
    let (layout, size) = (Layout { shards: 1 }, log_size(&subject).await?);
    let old = subject.before("attempts_by_id");
    subject.desk.migrate(layout, Some(old)).await?;
    same!(log_size(&subject).await?, size, "attempts in the old tables");
    subject.desk.migrate(layout, None).await?;
    same!(log_size(&subject).await?, size, "attempts in the new tables");
    for (id, before) in messages {
        same!(logged(&subject, id).await?, before, "attempts of {id}");
    }
    Ok(())
}
