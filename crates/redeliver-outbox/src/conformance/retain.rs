//! What is old is forgotten in bounded steps; what nobody has looked at is not.

use std::time::Duration;

use super::{
    Factory,
    failure::{Outcome, check, same},
    subject::{HOUR, Subject, delivered, only, retry},
};
use crate::{
    NewMessage,
    desk::{Filter, Page, Retention},
    limits,
};

const DAY: Duration = Duration::from_secs(24 * 3600);

fn everything_older_than_a_day() -> Retention {
    Retention {
        sent: Some(DAY),
        discarded: Some(DAY),
        inbox: Some(DAY),
        audit: Some(DAY),
    }
}

/// Moves what happened two days into the past.
async fn two_days_pass(subject: &Subject) -> Outcome {
    let past = subject.time_from_now(-2 * 24 * 3_600_000).await?;
    for (table, columns) in [
        ("sent", &["created_at", "sent_at"][..]),
        ("dead", &["created_at", "dead_lettered_at"]),
        ("audit", &["at"]),
        ("inbox", &["received_at"]),
        ("attempts", &["at"]),
    ] {
        for column in columns {
            subject
                .execute(&format!("UPDATE redeliver_{table} SET {column} = {past}"))
                .await?;
        }
    }
    let statement = format!("UPDATE redeliver_dead SET discarded_at = {past} WHERE discarded_at IS NOT NULL");
    subject.execute(&statement).await
}

pub(super) async fn s130_only_what_is_old_is_forgotten(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let worker = subject.worker("w").await?;
    let message = || NewMessage::to("billing").payload("{}");
    let sent = subject.enqueue_one(message()).await?;
    subject.settle_one(&worker, sent, retry(1, HOUR)).await?;
    subject.settle_one(&worker, sent, delivered(2)).await?;
    let discarded = subject.dead_letter(&worker, message()).await?;
    subject.discard(&only(discarded)).await?;
    let dead = subject.dead_letter(&worker, message()).await?;
    let live = subject.enqueue_one(message()).await?;
    subject
        .execute("INSERT INTO redeliver_inbox (consumer, message_id) VALUES ('c', 'old')")
        .await?;

    let nothing = subject.desk.retain(&everything_older_than_a_day()).await?;
    same!(
        (nothing.rows, nothing.more),
        (0, false),
        "rows forgotten while nothing is old"
    );
    two_days_pass(&subject).await?;
    let for_ever = subject.desk.retain(&Retention::default()).await?;
    same!(
        for_ever.rows,
        0,
        "rows forgotten when everything is kept for ever"
    );

    let young = subject.enqueue_one(message()).await?;
    subject.settle_one(&worker, young, delivered(1)).await?;
    let removed = subject.desk.retain(&everything_older_than_a_day()).await?;
    check!(
        removed.rows >= 4 && !removed.more,
        "a message sent, one discarded, an act and an id: {removed:?}"
    );
    same!(
        subject.matching(&Filter::default()).await?,
        [dead, live, young],
        "the messages that are left"
    );
    same!(subject.desk.audit(10).await?.len(), 0, "acts that are left");
    let inbox = subject
        .harness
        .rows("SELECT message_id FROM redeliver_inbox")
        .await?;
    same!(inbox.len(), 0, "ids that are left in the inbox");
    let log = format!(
        "SELECT number FROM redeliver_attempts WHERE number <> {}",
        dead.number()
    );
    same!(
        subject.harness.rows(&log).await?.len(),
        0,
        "attempts that are left of forgotten messages"
    );
    same!(
        subject.detail(dead).await?.attempts.len(),
        1,
        "attempts of the dead letter that is kept"
    );
    Ok(())
}

pub(super) async fn s131_much_is_forgotten_in_steps(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let worker = subject.worker("w").await?;
    let count = limits::RETENTION_BATCH + 200;
    subject.enqueue_some(count).await?;
    let page = Page {
        until: None,
        after: None,
        limit: 2 * limits::RETENTION_BATCH,
        newest_first: false,
    };
    let mut settlements = Vec::new();
    for record in subject.desk.list(&Filter::default(), page, false).await? {
        settlements.push(worker.settlement(&record, delivered(1))?);
    }
    for batch in settlements.chunks(limits::SETTLE_BATCH) {
        subject.store.settle(&worker.id, batch).await?;
    }
    two_days_pass(&subject).await?;
    let retention = everything_older_than_a_day();
    let first = subject.desk.retain(&retention).await?;
    check!(first.more, "one step does not forget everything");
    let left = subject.desk.count(&Filter::default()).await?;
    same!(
        left,
        (count - limits::RETENTION_BATCH) as u64,
        "messages left after one step"
    );
    for step in 0.. {
        check!(step < 10, "the steps come to an end");
        if !subject.desk.retain(&retention).await?.more {
            break;
        }
    }
    same!(
        subject.desk.count(&Filter::default()).await?,
        0,
        "messages left in the end"
    );
    Ok(())
}

/// Makes the history as long as this at least, of copies of its one message, and the history of events with it.
async fn lengthen_history(subject: &Subject, at_least: usize) -> Outcome {
    let mut length = 1;
    while length < at_least {
        let copies = format!(
            "INSERT INTO redeliver_sent (number, salt, shard, destination, payload, created_at, attempts, redrives, sent_at, took_ms) \
             SELECT number + {length}, salt, shard, destination, payload, created_at, attempts, redrives, sent_at, took_ms FROM redeliver_sent"
        );
        subject.execute(&copies).await?;
        length *= 2;
    }
    subject
        .execute(
            "INSERT INTO redeliver_events (number, salt, shard, topic, payload, created_at, fanned_out_at) \
             SELECT number, salt, shard, 'orders', payload, created_at, sent_at FROM redeliver_sent",
        )
        .await
}

async fn forget_all_that_is_old(subject: &Subject) -> Outcome {
    for step in 0.. {
        check!(step < 100, "the steps come to an end");
        if !subject.desk.retain(&everything_older_than_a_day()).await?.more {
            break;
        }
    }
    Ok(())
}

async fn history(subject: &Subject) -> Outcome<Vec<Vec<Option<String>>>> {
    let count = "SELECT (SELECT COUNT(*) FROM redeliver_sent), (SELECT COUNT(*) FROM redeliver_events)";
    Ok(subject.harness.rows(count).await?)
}

pub(super) async fn s132_what_arrived_late_does_not_keep_the_history_behind_it(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let worker = subject.worker("w").await?;
    let first = subject
        .enqueue_one(NewMessage::to("billing").payload("{}"))
        .await?;
    subject.settle_one(&worker, first, delivered(1)).await?;
    let late = limits::RETENTION_LOOK + limits::RETENTION_BATCH;
    lengthen_history(&subject, late + limits::RETENTION_BATCH).await?;
    let past = subject.time_from_now(-2 * 24 * 3_600_000).await?;
    let last = first.number() + i64::try_from(late).unwrap_or_default();
    for (table, column) in [("sent", "sent_at"), ("events", "fanned_out_at")] {
        for statement in [
            format!("UPDATE redeliver_{table} SET created_at = {past}"),
            format!("UPDATE redeliver_{table} SET {column} = {past} WHERE number >= {last}"),
        ] {
            subject.execute(&statement).await?;
        }
    }
    forget_all_that_is_old(&subject).await?;
    let kept = Some(late.to_string());
    same!(history(&subject).await?, [[kept.clone(), kept]], "what is kept");
    for (table, column) in [("sent", "sent_at"), ("events", "fanned_out_at")] {
        let statement = format!("UPDATE redeliver_{table} SET {column} = {past}");
        subject.execute(&statement).await?;
    }
    forget_all_that_is_old(&subject).await?;
    let none = Some("0".to_owned());
    same!(
        history(&subject).await?,
        [[none.clone(), none]],
        "what is kept in the end"
    );
    Ok(())
}
