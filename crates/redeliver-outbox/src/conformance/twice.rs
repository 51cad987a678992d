//! Numbers that are given twice: after a restore, a reset of the sequence, by a producer that writes the column.

use super::{
    Factory,
    failure::{Failure, Outcome, check, same},
    subject::{HOUR, Subject, Worker, bury, delivered, only, park, retry},
};
use crate::{
    MessageId, NewMessage,
    desk::{Filter, Retention},
    state::Status,
    store::{Settlement, Verdict},
};

/// Another message with the number of this one.
pub(super) async fn namesake(subject: &Subject, id: MessageId, lane: Option<&str>) -> Outcome<MessageId> {
    let other = MessageId::new(id.number(), id.salt() ^ 1);
    let lane = lane.map_or_else(|| "NULL".to_owned(), |lane| format!("'{lane}'"));
    let statement = format!(
        "INSERT INTO redeliver_outbox (number, salt, destination, lane, payload)
         VALUES ({}, {}, 'billing', {lane}, 'again')",
        other.number(),
        other.salt()
    );
    subject.execute(&statement).await?;
    Ok(other)
}

/// Settles twice, as after a lost answer.
async fn settle_twice(subject: &Subject, worker: &Worker, id: MessageId, verdict: Verdict) -> Outcome {
    let settlement: [Settlement; 1] = [worker.settlement(&subject.record(id).await?, verdict)?];
    for _ in 0..2 {
        subject.store.settle(&worker.id, &settlement).await?;
    }
    Ok(())
}

pub(super) async fn s420_a_dead_letter_stands_in_no_ones_way(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let worker = subject.worker("w").await?;
    let first = subject
        .dead_letter(&worker, NewMessage::to("billing").payload("first"))
        .await?;
    let second = namesake(&subject, first, None).await?;
    settle_twice(&subject, &worker, second, retry(1, HOUR)).await?;
    settle_twice(&subject, &worker, second, bury()).await?;
    for (id, payload) in [(first, "first"), (second, "again")] {
        let record = subject.record(id).await?;
        same!(record.status, Status::DeadLettered, "the status of {payload}");
        let text = record.payload.as_ref().and_then(|payload| payload.as_text());
        same!(text, Some(payload), "the payload");
    }
    let dead = Filter {
        statuses: vec![Status::DeadLettered],
        ..Filter::default()
    };
    same!(subject.matching(&dead).await?.len(), 2, "dead letters");
    Ok(())
}

pub(super) async fn s421_an_operator_acts_on_the_letter_that_was_named(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let worker = subject.worker("w").await?;
    let first = subject
        .dead_letter(&worker, NewMessage::to("billing").payload("first"))
        .await?;
    let second = namesake(&subject, first, None).await?;
    settle_twice(&subject, &worker, second, bury()).await?;
    same!(
        subject.redrive(&only(second)).await?,
        vec![second],
        "what was redriven"
    );
    same!(
        subject.status(first).await?,
        Status::DeadLettered,
        "the other's status"
    );
    same!(
        subject.redrive(&only(first)).await?,
        vec![],
        "redriven while the number is live"
    );
    settle_twice(&subject, &worker, second, delivered(1)).await?;
    same!(
        subject.redrive(&only(first)).await?,
        vec![first],
        "redriven once it is not"
    );
    settle_twice(&subject, &worker, first, bury()).await?;
    let third = namesake(&subject, second, None).await?;
    same!(third, first, "the id of a row that a restore brought back");
    settle_twice(&subject, &worker, first, bury()).await?;
    same!(
        subject.discard(&only(first)).await?,
        vec![first],
        "what was discarded"
    );
    Ok(())
}

pub(super) async fn s422_a_letter_outlasts_a_discarded_one(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let worker = subject.worker("w").await?;
    let first = subject
        .dead_letter(&worker, NewMessage::to("billing").payload("first"))
        .await?;
    let second = namesake(&subject, first, None).await?;
    settle_twice(&subject, &worker, second, bury()).await?;
    subject.discard(&only(first)).await?;
    let past = subject.time_from_now(-3_600_000).await?;
    subject
        .execute(&format!(
            "UPDATE redeliver_dead SET discarded_at = {past} WHERE discarded_at IS NOT NULL"
        ))
        .await?;
    let retention = Retention {
        sent: None,
        discarded: Some(HOUR / 2),
        inbox: None,
        audit: None,
    };
    subject.desk.retain(&retention).await?;
    same!(
        subject.find(first).await?.is_none(),
        true,
        "the discarded one is gone"
    );
    same!(
        subject.status(second).await?,
        Status::DeadLettered,
        "the other's status"
    );
    Ok(())
}

pub(super) async fn s423_the_history_takes_a_number_again(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let worker = subject.worker("w").await?;
    let first = subject
        .enqueue_one(NewMessage::to("billing").payload("first"))
        .await?;
    settle_twice(&subject, &worker, first, delivered(1)).await?;
    let second = namesake(&subject, first, None).await?;
    settle_twice(&subject, &worker, second, delivered(1)).await?;
    same!(
        subject.status(second).await?,
        Status::Sent,
        "the status of the second"
    );
    Ok(())
}

pub(super) async fn s424_a_lane_is_parked_for_a_number_given_twice(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let worker = subject.worker("w").await?;
    let first = subject
        .enqueue_one(NewMessage::to("billing").payload("first").key("a"))
        .await?;
    subject.settle_one(&worker, first, park()).await?;
    let second = namesake(&subject, first, Some("b")).await?;
    subject.settle_one(&worker, second, park()).await?;
    let mut heads: Vec<MessageId> = subject
        .desk
        .parked_lanes()
        .await?
        .into_iter()
        .map(|(_, head, _)| head)
        .collect();
    heads.sort_unstable();
    let mut both = vec![first, second];
    both.sort_unstable();
    same!(heads, both, "the heads of the parked lanes");
    Ok(())
}

/// With an operator's own unique index, a second row is refused and the first one stays.
pub(super) async fn s429_the_history_removes_no_other_row(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let worker = subject.worker("w").await?;
    for (table, column) in [("sent", "destination"), ("events", "topic")] {
        let index =
            format!("CREATE UNIQUE INDEX local_redeliver_{table}_one ON redeliver_{table} ({column})");
        subject.execute(&index).await?;
    }
    let fanned_out = Verdict::FannedOut {
        destinations: vec!["shipping".to_owned()],
    };
    for (message, verdict, status) in [
        (NewMessage::to("billing"), delivered(1), Status::Sent),
        (NewMessage::on("orders"), fanned_out, Status::FannedOut),
    ] {
        let message = message.payload("{}");
        let first = subject.enqueue_one(message.clone()).await?;
        settle_twice(&subject, &worker, first, verdict.clone()).await?;
        let second = subject.enqueue_one(message).await?;
        let settlement = worker.settlement(&subject.record(second).await?, verdict.clone())?;
        let refused = subject.store.settle(&worker.id, &[settlement]).await;
        let Err(error) = refused else {
            return Err(Failure::new(format!(
                "the second row took the place of the first: {status:?}"
            )));
        };
        check!(error.kind().is_about_content(), "{error} ({:?})", error.kind());
        same!(subject.status(first).await?, status, "the status of the first");
        same!(
            subject.status(second).await?,
            Status::Processing,
            "the status of the second"
        );
        // The same number again, which the history takes.
        subject.execute("DELETE FROM redeliver_outbox").await?;
        let other = MessageId::new(first.number(), first.salt() ^ 1);
        let column = if status == Status::Sent {
            "destination"
        } else {
            "topic"
        };
        let insert = format!(
            "INSERT INTO redeliver_outbox (number, salt, {column}, payload) VALUES ({}, {}, 'again', '{{}}')",
            other.number(),
            other.salt()
        );
        subject.execute(&insert).await?;
        settle_twice(&subject, &worker, other, verdict).await?;
        same!(subject.status(other).await?, status, "the status of the third");
    }
    Ok(())
}
