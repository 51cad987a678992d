//! What became of a message, written once however often it is told.

use std::time::Duration;

use super::{
    Factory,
    failure::{Outcome, check, none, same},
    subject::{HOUR, Subject, Worker, attempted, bury, dead, delivered, ids, only, retry},
};
use crate::{
    DeadReason, MessageId, Timestamp,
    desk::{Detail, Filter, Page},
    state::Status,
    store::{AfterDeath, Until, Verdict},
};

pub(super) async fn one(factory: &dyn Factory) -> Outcome<(Subject, Worker, MessageId)> {
    let subject = Subject::fresh(factory, 2).await?;
    let worker = subject.worker("w").await?;
    let id = subject.enqueue_some(1).await?[0];
    Ok((subject, worker, id))
}

/// The classes of the attempts in the log.
fn log(detail: &Detail) -> Vec<(u32, u32, &str)> {
    let classes = detail.attempts.iter();
    classes
        .map(|record| (record.redrive, record.attempt, record.class.as_str()))
        .collect()
}

pub(super) async fn s070_what_was_delivered_is_history(factory: &dyn Factory) -> Outcome {
    let (subject, mut worker, id) = one(factory).await?;
    let before = subject.now().await?;
    subject.settle_one(&worker, id, delivered(1)).await?;
    let detail = subject.detail(id).await?;
    same!(detail.record.status, Status::Sent, "the status");
    same!(detail.record.attempts, 1, "attempts");
    same!(detail.record.next_attempt_at, None, "the next attempt");
    let sent = detail.record.sent_at;
    check!(
        sent.is_some_and(|sent| sent >= before),
        "it was sent at {sent:?}, after {before}"
    );
    none!(detail.attempts, "failed attempts");
    let rows = subject
        .harness
        .rows("SELECT number FROM redeliver_outbox")
        .await?;
    same!(rows.len(), 0, "rows of the hot table");
    same!(worker.read_fresh().await?.len(), 0, "messages read");
    Ok(())
}

pub(super) async fn s071_a_retry_is_scheduled_and_logged(factory: &dyn Factory) -> Outcome {
    let (subject, worker, id) = one(factory).await?;
    let before = subject.now().await?;
    let verdict = Verdict::Retry {
        attempted: attempted(1, "throttled", "429 Too Many Requests"),
        wait: Duration::from_millis(90_500),
    };
    subject.settle_one(&worker, id, verdict).await?;
    let after = subject.now().await?;
    let detail = subject.detail(id).await?;
    let record = &detail.record;
    same!(record.status, Status::Failed, "the status");
    same!(record.attempts, 1, "attempts");
    same!(
        record.last_error.as_deref(),
        Some("429 Too Many Requests"),
        "the last error"
    );
    let next = record.next_attempt_at.unwrap_or_default();
    let wait = Duration::from_millis(90_500);
    check!(
        next >= before.plus(wait) && next <= after.plus(wait).plus(Duration::from_millis(1)),
        "the next attempt is at {next}; it was settled between {before} and {after} with a wait of {wait:?}"
    );
    let last = record.last_attempt_at;
    check!(
        last.is_some_and(|last| last >= before && last <= after),
        "the last attempt was at {last:?}"
    );
    let [logged] = &detail.attempts[..] else {
        check!(false, "one attempt is in the log: {:?}", detail.attempts);
        return Ok(());
    };
    same!((logged.redrive, logged.attempt), (0, 1), "which attempt");
    same!(logged.class, "throttled", "its class");
    same!(logged.error, "429 Too Many Requests", "its error");
    same!(logged.took, Some(Duration::from_millis(12)), "how long it took");
    same!(logged.worker, "w", "who tried");
    Ok(())
}

pub(super) async fn s072_told_twice_is_written_once(factory: &dyn Factory) -> Outcome {
    let verdicts = [
        (delivered(1), Status::Sent, 0),
        (retry(1, HOUR), Status::Failed, 1),
        (bury(), Status::DeadLettered, 1),
    ];
    for (verdict, status, logged) in verdicts {
        let (subject, worker, id) = one(factory).await?;
        let settlement = [worker.settlement(&subject.record(id).await?, verdict.clone())?];
        for time in 1..=3 {
            let settled = subject.store.settle(&worker.id, &settlement).await?;
            none!(settled.stale, "stale shards, told {time} times");
            let detail = subject.detail(id).await?;
            same!(
                detail.record.status,
                status,
                "the status after {verdict:?}, told {time} times"
            );
            same!(
                detail.record.attempts,
                1,
                "attempts after {verdict:?}, told {time} times"
            );
            same!(
                detail.attempts.len(),
                logged,
                "attempts in the log after {verdict:?}, told {time} times"
            );
        }
        same!(subject.desk.count(&only(id)).await?, 1, "messages");
    }
    Ok(())
}

pub(super) async fn s073_an_attempt_counted_before_the_send_counts_once(factory: &dyn Factory) -> Outcome {
    let (subject, worker, id) = one(factory).await?;
    for time in 1..=2 {
        subject
            .settle_one(&worker, id, Verdict::Counted { attempt: 1 })
            .await?;
        let detail = subject.detail(id).await?;
        same!(detail.record.attempts, 1, "attempts, counted {time} times");
        same!(
            log(&detail),
            [(0, 1, "interrupted")],
            "the log, counted {time} times"
        );
        check!(
            detail.attempts.iter().all(|record| record.took.is_none()),
            "how long it took is not known"
        );
    }
    subject.settle_one(&worker, id, retry(1, HOUR)).await?;
    let detail = subject.detail(id).await?;
    same!(detail.record.attempts, 1, "attempts after its failure");
    same!(log(&detail), [(0, 1, "transient")], "the log after its failure");
    same!(detail.record.status, Status::Failed, "the status");
    // Told again by a settle whose answer was lost: what came of the attempt is not forgotten.
    subject
        .settle_one(&worker, id, Verdict::Counted { attempt: 1 })
        .await?;
    same!(
        subject.detail(id).await?.attempts,
        detail.attempts,
        "the log, counted once more"
    );
    Ok(())
}

pub(super) async fn s074_an_attempt_counted_and_delivered_leaves_no_trace(factory: &dyn Factory) -> Outcome {
    let (subject, worker, id) = one(factory).await?;
    subject.settle_one(&worker, id, retry(1, HOUR)).await?;
    subject
        .settle_one(&worker, id, Verdict::Counted { attempt: 2 })
        .await?;
    subject.settle_one(&worker, id, delivered(2)).await?;
    let detail = subject.detail(id).await?;
    same!(
        (detail.record.status, detail.record.attempts),
        (Status::Sent, 2),
        "status and attempts"
    );
    same!(log(&detail), [(0, 1, "transient")], "the log");
    Ok(())
}

pub(super) async fn s075_a_counted_message_is_still_read(factory: &dyn Factory) -> Outcome {
    let (subject, worker, id) = one(factory).await?;
    subject
        .settle_one(&worker, id, Verdict::Counted { attempt: 1 })
        .await?;
    subject.expire(&worker.id).await?;
    let mut next = subject.worker("next").await?;
    let read = next.read_fresh().await?;
    same!(ids(&read), [id], "what the next owner reads");
    check!(
        read.iter().all(|message| message.attempts == 1),
        "with the attempt counted: {read:?}"
    );
    Ok(())
}

pub(super) async fn s076_a_dead_letter_has_its_reason(factory: &dyn Factory) -> Outcome {
    for reason in DeadReason::ALL {
        let (subject, worker, id) = one(factory).await?;
        let before = subject.now().await?;
        let verdict = dead(Some(1), *reason, AfterDeath::None);
        subject.settle_one(&worker, id, verdict).await?;
        let detail = subject.detail(id).await?;
        let record = &detail.record;
        same!(record.status, Status::DeadLettered, "the status");
        same!(record.dead_letter_reason, Some(*reason), "the reason");
        same!(
            record.last_error.as_deref(),
            Some("422 Unprocessable Content"),
            "the error"
        );
        same!(record.attempts, 1, "attempts");
        same!(record.next_attempt_at, None, "the next attempt");
        let at = record.dead_lettered_at;
        check!(
            at.is_some_and(|at| at >= before),
            "it was quarantined at {at:?}, after {before}"
        );
        same!(log(&detail), [(0, 1, "permanent")], "the log");
        check!(!detail.gap, "a message without a lane leaves no gap");
    }
    Ok(())
}

pub(super) async fn s077_a_message_dies_without_an_attempt(factory: &dyn Factory) -> Outcome {
    let (subject, mut worker, id) = one(factory).await?;
    let verdict = dead(None, DeadReason::TooLarge, AfterDeath::None);
    subject.settle_one(&worker, id, verdict).await?;
    let detail = subject.detail(id).await?;
    same!(detail.record.attempts, 0, "attempts");
    same!(detail.record.last_attempt_at, None, "the last attempt");
    none!(detail.attempts, "the log");
    same!(worker.read_fresh().await?.len(), 0, "messages read");
    Ok(())
}

pub(super) async fn s082_a_named_time_is_kept_exactly(factory: &dyn Factory) -> Outcome {
    let (subject, worker, id) = one(factory).await?;
    let at = Timestamp::from_millis(subject.now().await?.as_millis() + 7_654_321);
    subject
        .settle_one(&worker, id, Verdict::Postponed(Until::At(at)))
        .await?;
    let record = subject.record(id).await?;
    same!(record.next_attempt_at, Some(at), "the next attempt");
    same!(
        (record.status, record.attempts),
        (Status::Pending, 0),
        "status and attempts"
    );
    Ok(())
}

pub(super) async fn s083_verdicts_of_all_kinds_in_one_batch(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 8).await?;
    let worker = subject.worker("w").await?;
    let enqueued = subject.enqueue_some(500).await?;
    let verdict = |index: usize| match index % 5 {
        0 => (delivered(1), Status::Sent),
        1 => (retry(1, HOUR), Status::Failed),
        2 => (bury(), Status::DeadLettered),
        3 => (Verdict::Postponed(Until::After(HOUR)), Status::Pending),
        _ => (Verdict::Counted { attempt: 1 }, Status::Processing),
    };
    let page = Page {
        until: None,
        after: None,
        limit: 1000,
        newest_first: false,
    };
    let records = subject.desk.list(&Filter::default(), page, false).await?;
    let mut settlements = Vec::new();
    for (index, record) in records.iter().enumerate() {
        settlements.push(worker.settlement(record, verdict(index).0)?);
    }
    let settled = subject.store.settle(&worker.id, &settlements).await?;
    none!(settled.stale, "stale shards");
    let records = subject.desk.list(&Filter::default(), page, false).await?;
    same!(records.len(), enqueued.len(), "messages");
    for (index, record) in records.iter().enumerate() {
        same!(record.status, verdict(index).1, "the status of message {index}");
    }
    Ok(())
}
