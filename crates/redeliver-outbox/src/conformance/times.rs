//! Times that no ordinary producer writes: the end of the calendar, before its beginning, none at all.

use super::{
    Factory,
    failure::{Outcome, check, none, same},
    subject::{Subject, ids},
};
use crate::{
    NewMessage, Timestamp,
    state::Status,
    store::{Until, Verdict},
};

/// 31 December 9999, which people write for "never".
const NEVER: Timestamp = Timestamp::from_millis(253_402_214_400_000);

pub(super) async fn s440_a_message_for_the_year_9999_waits_for_it(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let id = subject
        .enqueue_one(NewMessage::to("billing").not_before(NEVER))
        .await?;
    let mut worker = subject.worker("w").await?;
    same!(ids(&worker.read_fresh().await?), [id], "read forward");
    subject
        .settle_one(&worker, id, Verdict::Postponed(Until::At(NEVER)))
        .await?;
    let record = subject.record(id).await?;
    same!(
        (record.status, record.put_away, record.next_attempt_at),
        (Status::Pending, false, Some(NEVER)),
        "status, whether it is deferred, and its time"
    );
    let figures = subject.desk.status().await?.total;
    same!(
        (figures.put_away, figures.waiting, figures.due_now),
        (0, 1, 0),
        "deferred, scheduled and due"
    );
    let outlook = subject.desk.outlook().await?;
    same!((outlook.beyond, outlook.put_away), (1, 0), "beyond, and deferred");
    same!(subject.store.unpark(&[0], "billing", 9).await?, 0, "brought back");
    same!(
        subject.store.unpark_others(&[0], &[], 9).await?,
        0,
        "brought back"
    );
    none!(worker.read().await?.due, "due");
    Ok(())
}

/// Each is an expression of some database's SQL; the others refuse it.
const STRANGE: [&str; 15] = [
    "'infinity'",
    "'-infinity'",
    "'4713-01-01 00:00:00 BC'",
    "'294276-12-31 23:59:59.999999'",
    "'0000-00-00 00:00:00'",
    "'0000-01-01 00:00:00'",
    "'9999-12-31 23:59:59.999'",
    "'9999-12-31'",
    "'tomorrow'",
    "'2026-13-45'",
    "0",
    "253402214400000",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
];

pub(super) async fn s441_strange_times_are_refused_or_wait_or_are_due(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut inserted = 0;
    for column in ["not_before", "expires_at", "created_at"] {
        for time in STRANGE {
            let statement = format!(
                "INSERT INTO redeliver_outbox (destination, payload, {column}) VALUES ('billing', '{{}}', {time})"
            );
            inserted += usize::from(subject.execute(&statement).await.is_ok());
        }
    }
    check!(inserted >= 9, "only {inserted} of the rows are in the outbox");
    let mut worker = subject.worker("w").await?;
    let now = subject.now().await?;
    let messages = worker.read_fresh().await?;
    same!(messages.len(), inserted, "read forward");
    let mut waiting = 0;
    for message in &messages {
        let asked = message.not_before.filter(|&asked| asked > now);
        if let Some(until) = asked {
            let verdict = Verdict::Postponed(Until::At(until));
            subject.settle_one(&worker, message.id, verdict).await?;
            waiting += 1;
            let record = subject.record(message.id).await?;
            check!(!record.put_away, "{message:?} is deferred");
            check!(record.next_attempt_at > Some(now), "{message:?} is due");
        }
    }
    check!(waiting >= 2, "only {waiting} wait");
    none!(worker.read().await?.due, "due");
    same!(
        subject.store.unpark(&[0], "billing", 99).await?,
        0,
        "brought back"
    );
    same!(
        subject.store.unpark_others(&[0], &[], 99).await?,
        0,
        "brought back"
    );
    let figures = subject.desk.status().await?.total;
    same!(figures.waiting, waiting, "scheduled");
    let outlook = subject.desk.outlook().await?;
    let ahead = outlook.beyond + outlook.buckets.iter().sum::<u64>();
    same!(ahead, waiting, "in the outlook");
    Ok(())
}
