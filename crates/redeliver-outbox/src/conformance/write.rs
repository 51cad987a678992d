//! What goes in: the desk's enqueue, and plain SQL in anybody's transaction.

use std::{collections::BTreeSet, time::Duration};

use super::{
    Factory,
    failure::{Outcome, check, none, same},
    subject::{Subject, delivered, ids},
};
use crate::{NewMessage, Payload, desk::Enqueued, desk::Filter, limits, store::StoreErrorKind};

pub(super) async fn s001_every_field_comes_back_as_it_was_given(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let given = NewMessage::to("billing")
        .key("order-7")
        .payload(r#"{"order":7}"#)
        .content_type("application/json")
        .header("x-tenant", "acme")
        .traceparent(traceparent);
    let id = subject.enqueue_one(given).await?;
    let mut worker = subject.worker("w").await?;
    let read = worker.read_fresh().await?;
    same!(ids(&read), [id], "the messages read");
    for message in read {
        same!(message.destination, "billing", "the destination");
        same!(message.key.as_deref(), Some("order-7"), "the key");
        same!(message.payload, Payload::from(r#"{"order":7}"#), "the payload");
        same!(
            message.content_type.as_deref(),
            Some("application/json"),
            "the content type"
        );
        same!(
            message.traceparent.as_deref(),
            Some(traceparent),
            "the trace context"
        );
        let headers = message.headers.unwrap_or_default();
        let headers: serde_json::Value = serde_json::from_str(&headers).unwrap_or_default();
        same!(headers, serde_json::json!({"x-tenant": "acme"}), "the headers");
        same!(
            (message.attempts, message.redrives),
            (0, 0),
            "attempts and redrives"
        );
        same!(
            message.next_attempt_at,
            None,
            "the time of a message that was never scheduled"
        );
        same!(message.last_attempt_at, None, "the last attempt");
        same!(message.last_error, None, "the last error");
        let age = subject.now().await?.as_millis() - message.created_at.as_millis();
        check!(
            (0..60_000).contains(&age),
            "it was created {age} ms ago by the database's clock"
        );
    }
    Ok(())
}

pub(super) async fn s002_a_plain_insert_is_a_message(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    subject
        .execute("INSERT INTO redeliver_outbox (destination, payload) VALUES ('billing', '{}')")
        .await?;
    let read = subject.worker("w").await?.read_fresh().await?;
    same!(read.len(), 1, "messages read");
    check!(
        read.iter()
            .all(|message| message.shard < 4 && message.key.is_none()),
        "its shard is one of the four, and it has no key: {read:?}"
    );
    Ok(())
}

pub(super) async fn s003_a_message_that_was_rolled_back_never_was(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut worker = subject.worker("w").await?;
    let mut transaction = subject.harness.begin().await?;
    transaction
        .execute("INSERT INTO redeliver_outbox (destination, payload) VALUES ('billing', 'no')")
        .await?;
    same!(
        worker.read_fresh().await?.len(),
        0,
        "messages read before the end of their transaction"
    );
    transaction.roll_back().await?;
    let id = subject
        .enqueue_one(NewMessage::to("billing").payload("yes"))
        .await?;
    same!(ids(&worker.read_until(1).await?), [id], "the messages read");
    same!(worker.read_fresh().await?.len(), 0, "messages read after that");
    same!(
        subject.matching(&Filter::default()).await?,
        [id],
        "the messages listed"
    );
    Ok(())
}

pub(super) async fn s004_a_batch_is_inserted_whole_or_not_at_all(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let batch = [
        NewMessage::to("billing").payload("1"),
        NewMessage::to("").payload("2"),
    ];
    match subject.desk.enqueue(&batch).await {
        Ok(enqueued) => check!(false, "a message to nowhere was taken: {enqueued:?}"),
        Err(error) => same!(
            error.kind(),
            StoreErrorKind::BadInput,
            "the kind of error of '{error}'"
        ),
    }
    same!(
        subject.desk.count(&Filter::default()).await?,
        0,
        "messages after a refused batch"
    );
    none!(subject.desk.enqueue(&[]).await?, "the ids of an empty batch");
    Ok(())
}

pub(super) async fn s005_a_batch_keeps_its_order(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let batch: Vec<_> = (0..300)
        .map(|index| NewMessage::to("billing").key("one").payload(index.to_string()))
        .collect();
    let enqueued = subject.enqueue(&batch).await?;
    check!(enqueued.is_sorted(), "numbers follow the order of the batch");
    let read = subject.worker("w").await?.read_fresh().await?;
    same!(ids(&read), enqueued, "the order of the lane");
    for (message, given) in read.iter().zip(&batch) {
        same!(message.payload, given.payload, "the payload of {}", message.id);
    }
    Ok(())
}

pub(super) async fn s006_a_deduplication_key_is_taken_once(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let message = |key: &str| NewMessage::to("billing").payload("{}").deduplication_key(key);
    let first = subject.enqueue_one(message("a")).await?;
    let again = subject
        .desk
        .enqueue(&[message("a"), message("b"), message("b")])
        .await?;
    let [
        Enqueued::Duplicate(same),
        Enqueued::New(b),
        Enqueued::Duplicate(same_b),
    ] = again[..]
    else {
        check!(false, "one new message between two duplicates: {again:?}");
        return Ok(());
    };
    same!(
        (same, same_b),
        (Some(first), Some(b)),
        "the messages that were there before"
    );
    let worker = subject.worker("w").await?;
    subject.settle_one(&worker, first, delivered(1)).await?;
    same!(
        subject.desk.enqueue(&[message("a")]).await?,
        [Enqueued::Duplicate(Some(first))],
        "the key of a message that was sent"
    );
    same!(subject.desk.count(&Filter::default()).await?, 2, "messages");
    Ok(())
}

pub(super) async fn s007_a_deduplication_key_in_a_race_is_taken_once(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let batch = [NewMessage::to("billing").payload("{}").deduplication_key("race")];
    let writes = (0..6).map(|_| subject.desk.enqueue(&batch));
    let mut taken = BTreeSet::new();
    let mut new = 0;
    for enqueued in futures_util::future::join_all(writes).await {
        for enqueued in enqueued? {
            match enqueued {
                Enqueued::New(id) => {
                    new += 1;
                    taken.insert(id);
                }
                Enqueued::Duplicate(id) => {
                    taken.extend(id);
                }
            }
        }
    }
    same!((new, taken.len()), (1, 1), "new messages, and ids that were told");
    same!(subject.desk.count(&Filter::default()).await?, 1, "messages");
    Ok(())
}

pub(super) async fn s008_times_are_counted_on_the_databases_clock(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let before = subject.now().await?;
    let at = crate::Timestamp::from_millis(before.as_millis() + 7_200_123);
    let (delay, age) = (Duration::from_secs(3600), Duration::from_secs(7200));
    let relative = NewMessage::to("billing").delay(delay).expires_after(age);
    let absolute = NewMessage::to("billing").not_before(at).expires_at(at);
    let enqueued = subject.enqueue(&[relative, absolute]).await?;
    let after = subject.now().await?;
    let read = subject.worker("w").await?.read_fresh().await?;
    same!(
        ids(&read),
        enqueued,
        "messages read, due or not: the relay schedules them"
    );
    let [relative, absolute] = &read[..] else {
        return Ok(());
    };
    for (what, time, wait) in [
        ("not before", relative.not_before, delay),
        ("expires at", relative.expires_at, age),
    ] {
        let right = time.is_some_and(|time| (before.plus(wait)..=after.plus(wait)).contains(&time));
        check!(
            right,
            "{what} is {wait:?} after the insert: {time:?}, inserted from {before} to {after}"
        );
    }
    same!(
        (absolute.not_before, absolute.expires_at),
        (Some(at), Some(at)),
        "named times"
    );
    Ok(())
}

pub(super) async fn s009_what_is_too_large_is_refused_by_name(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let cases = [
        (
            "destination",
            NewMessage::to("x".repeat(limits::DESTINATION_LIMIT + 1)),
        ),
        ("key", NewMessage::to("x").key("k".repeat(limits::KEY_LIMIT + 1))),
        (
            "payload",
            NewMessage::to("x").payload("p".repeat(limits::PAYLOAD_LIMIT + 1)),
        ),
        (
            "de-duplication key",
            NewMessage::to("x").deduplication_key("d".repeat(limits::DEDUPLICATION_KEY_LIMIT + 1)),
        ),
    ];
    for (field, message) in cases {
        match subject.desk.enqueue(&[message]).await {
            Ok(_) => check!(false, "a {field} that is too large was taken"),
            Err(error) => {
                same!(
                    error.kind(),
                    StoreErrorKind::BadInput,
                    "the kind of error of '{error}'"
                );
                check!(
                    error.to_string().contains(field),
                    "the error names the {field}: {error}"
                );
            }
        }
    }
    same!(subject.desk.count(&Filter::default()).await?, 0, "messages");
    Ok(())
}
