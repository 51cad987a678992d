//! A read brings no more bytes than it may, and nothing of a message that is too large but what identifies it.

use std::collections::BTreeSet;

use super::{
    Factory,
    failure::{Outcome, check, same},
    subject::{Subject, demand, ids},
};
use crate::{
    DeadReason, Message, NewMessage,
    limits::KEY_LIMIT,
    store::{AfterDeath, Bytes, Demand, LaneDemand, Until, Verdict},
};

const LARGE: usize = 300_000;
const BYTES: Bytes = Bytes {
    all: 200_000,
    largest: 100_000,
};

fn of_bytes(fresh: usize, due: usize) -> Demand {
    Demand {
        bytes: BYTES,
        ..demand(fresh, due)
    }
}

fn weight<'a>(messages: impl IntoIterator<Item = &'a Message>) -> usize {
    messages.into_iter().map(Message::weight).sum()
}

pub(super) async fn s442_a_message_that_is_too_large_comes_without_its_payload(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let payload = "x".repeat(LARGE);
    let large = subject
        .enqueue_one(NewMessage::to("billing").payload(payload.clone()))
        .await?;
    let binary = subject
        .enqueue_one(NewMessage::to("billing").payload(vec![0xff_u8; LARGE]))
        .await?;
    let small = subject.enqueue_one(NewMessage::to("billing")).await?;
    let mut worker = subject.worker("w").await?;
    let found = worker.reader.read(&of_bytes(100, 100)).await?;
    same!(ids(&found.fresh), [large, binary, small], "read forward");
    for message in &found.fresh[..2] {
        check!(
            message.payload.is_empty() && message.withheld >= Some(LARGE as u64),
            "{message:?} is withheld"
        );
    }
    same!(found.fresh[2].withheld, None, "of a small one");
    let verdict = Verdict::Dead {
        attempted: None,
        reason: DeadReason::TooLarge,
        error: "too large".to_owned(),
        lane: AfterDeath::None,
    };
    subject.settle_one(&worker, large, verdict).await?;
    let record = subject.detail(large).await?.record;
    same!(
        record.dead_letter_reason,
        Some(DeadReason::TooLarge),
        "the reason"
    );
    let length = subject
        .harness
        .rows("SELECT OCTET_LENGTH(payload) FROM redeliver_dead")
        .await?;
    same!(length, [[Some(LARGE.to_string())]], "bytes of the dead letter");
    Ok(())
}

pub(super) async fn s443_a_read_brings_no_more_bytes_than_it_may(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let messages: Vec<NewMessage> = (0..40)
        .map(|n| {
            let message = NewMessage::to("billing").payload("x".repeat(if n % 4 == 0 { 10 } else { 40_000 }));
            if n % 2 == 0 {
                message.key("order-7")
            } else {
                message
            }
        })
        .collect();
    let inserted = subject.enqueue(&messages).await?;
    let mut worker = subject.worker("w").await?;
    let mut read = Vec::new();
    loop {
        let found = worker.reader.read(&of_bytes(500, 500)).await?;
        let bytes = weight(&found.fresh);
        check!(bytes <= BYTES.all + BYTES.largest, "{bytes} bytes in one read");
        check!(
            !found.fresh.is_empty() || !found.more,
            "a read that brings nothing"
        );
        check!(
            found.fresh.iter().all(|message| message.withheld.is_none()),
            "all of what was read is there"
        );
        read.extend(found.fresh);
        if !found.more {
            break;
        }
    }
    let mut fresh = ids(&read);
    fresh.sort_unstable();
    same!(fresh, inserted, "each message once");
    let lane: Vec<&Message> = read.iter().filter(|message| message.key.is_some()).collect();
    check!(
        lane.is_sorted_by_key(|message| message.number()),
        "in their order"
    );
    again(&mut worker, &lane).await?;

    for &id in &inserted {
        subject
            .settle_one(&worker, id, Verdict::Postponed(Until::Recovered))
            .await?;
    }
    same!(subject.store.unpark(&[0, 1], "billing", 99).await?, 40, "due");
    let mut due = BTreeSet::new();
    while due.len() < inserted.len() {
        let found = worker.reader.read(&of_bytes(500, 500)).await?;
        let bytes = weight(&found.due);
        check!(bytes <= BYTES.all + BYTES.largest, "{bytes} bytes in one read");
        check!(!found.due.is_empty(), "a read that brings nothing");
        for message in found.due {
            check!(message.withheld.is_none(), "{message:?} is withheld");
            due.insert(message.number());
            let verdict = Verdict::Postponed(Until::Recovered);
            subject.settle_one(&worker, message.id, verdict).await?;
        }
    }
    Ok(())
}

/// Reads a lane again, piece by piece.
async fn again(worker: &mut super::subject::Worker, lane: &[&Message]) -> Outcome {
    let mut from = 0;
    let mut read = Vec::new();
    loop {
        let asked = LaneDemand {
            shard: lane.first().map_or(0, |first| first.shard),
            destination: "billing".to_owned(),
            key: Some("order-7".to_owned()),
            from,
            limit: 32,
        };
        let wanted = Demand {
            lanes: vec![asked],
            ..of_bytes(0, 0)
        };
        let mut found = worker.reader.read(&wanted).await?.lanes.remove(0);
        let bytes = weight(&found.messages);
        check!(bytes <= BYTES.all + BYTES.largest, "{bytes} bytes in one read");
        from = found.messages.last().map_or(from, |last| last.number() + 1);
        read.extend(ids(&found.messages));
        if found.complete {
            break;
        }
        check!(!found.messages.is_empty(), "a read that brings nothing");
        found.messages.clear();
    }
    let lane: Vec<_> = lane.iter().map(|message| message.id).collect();
    same!(read, lane, "of the lane");
    Ok(())
}

pub(super) async fn s444_a_row_is_weighed_as_a_whole(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let text = "k".repeat(LARGE);
    let mut inserted = 0;
    for (column, value) in [
        ("headers", format!("'{text}'")),
        ("lane", format!("'{text}'")),
        ("topic", format!("'{text}'")),
        ("content_type", format!("'{text}'")),
        ("traceparent", format!("'{text}'")),
        ("last_error", format!("'{text}'")),
        ("destination", format!("'{text}'")),
        ("headers", format!("'{}'", "k".repeat(60_000))),
    ] {
        let (columns, values) = match column {
            "destination" => ("destination".to_owned(), value),
            other => (format!("destination, {other}"), format!("'billing', {value}")),
        };
        let statement =
            format!("INSERT INTO redeliver_outbox ({columns}, payload) VALUES ({values}, '{{}}')");
        inserted += usize::from(subject.execute(&statement).await.is_ok());
    }
    let mut worker = subject.worker("w").await?;
    let mut read = Vec::new();
    loop {
        let found = worker.reader.read(&of_bytes(100, 100)).await?;
        read.extend(found.fresh);
        if !found.more {
            break;
        }
    }
    same!(read.len(), inserted, "read forward");
    for message in &read {
        check!(
            message.withheld >= Some(60_000),
            "{} is withheld",
            message.number()
        );
        check!(message.weight() < 10_000, "{} bytes of it came", message.weight());
        let key = message.key.as_ref();
        check!(
            key.is_none_or(|key| key.len() > KEY_LIMIT),
            "the key is still too long"
        );
    }
    Ok(())
}
