//! What is delivered is what was inserted, byte for byte; and names that look alike are not the same.

use super::{
    Factory,
    failure::{Outcome, check, same},
    subject::{HOUR, Subject, act, attempted, bury, delivered, only, park},
};
use crate::{
    NewMessage, Payload,
    desk::{Edit, Enqueued, Filter, MessageRef},
    limits,
    store::{LaneId, Verdict},
};

async fn comes_back(factory: &dyn Factory, payload: Payload) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let id = subject
        .enqueue_one(NewMessage::to("billing").payload_of(payload.clone()))
        .await?;
    let mut worker = subject.worker("w").await?;
    let read = worker.read_fresh().await?;
    let [message] = &read[..] else {
        check!(false, "one message is read, not {}", read.len());
        return Ok(());
    };
    check!(
        message.payload.as_bytes() == payload.as_bytes(),
        "read, it is another"
    );
    let listed = subject.record(id).await?.payload;
    check!(
        listed.is_some_and(|listed| listed.as_bytes() == payload.as_bytes()),
        "found by the desk, it is another"
    );
    subject.settle_one(&worker, id, bury()).await?;
    let quarantined = subject.record(id).await?.payload;
    check!(
        quarantined.is_some_and(|quarantined| quarantined.as_bytes() == payload.as_bytes()),
        "as a dead letter it is another"
    );
    let edit = Edit {
        payload: Some(Payload::from("mended")),
        ..Edit::default()
    };
    subject.desk.edit(MessageRef::Id(id), &edit, &act()).await?;
    let original = subject.detail(id).await?.original_payload;
    check!(
        original.is_some_and(|original| original.as_bytes() == payload.as_bytes()),
        "the original is kept as another"
    );
    same!(subject.redrive(&only(id)).await?, [id], "redriven");
    let due = worker.read().await?.due;
    check!(
        due.iter().all(|message| message.payload.as_bytes() == b"mended") && due.len() == 1,
        "redriven, it has the payload of the edit: {due:?}"
    );
    Ok(())
}

impl NewMessage {
    fn payload_of(mut self, payload: Payload) -> Self {
        self.payload = payload;
        self
    }
}

pub(super) async fn s010_an_empty_payload(factory: &dyn Factory) -> Outcome {
    comes_back(factory, Payload::from("")).await
}

pub(super) async fn s011_an_empty_binary_payload(factory: &dyn Factory) -> Outcome {
    comes_back(factory, Payload::Binary(bytes::Bytes::new())).await
}

pub(super) async fn s012_the_largest_payload(factory: &dyn Factory) -> Outcome {
    comes_back(
        factory,
        Payload::from("0123456789abcdef".repeat(limits::PAYLOAD_LIMIT / 16)),
    )
    .await
}

pub(super) async fn s013_a_payload_with_nul(factory: &dyn Factory) -> Outcome {
    comes_back(factory, Payload::from("a\0b")).await
}

pub(super) async fn s014_a_payload_that_is_no_utf_8(factory: &dyn Factory) -> Outcome {
    comes_back(factory, Payload::from((0..=255).collect::<Vec<u8>>())).await
}

pub(super) async fn s015_a_payload_beyond_the_basic_plane(factory: &dyn Factory) -> Outcome {
    comes_back(factory, Payload::from("🦀 𝔘𝔫𝔦 e\u{301} \u{feff} \r\n\t 再送")).await
}

pub(super) async fn s016_a_payload_that_looks_like_sql(factory: &dyn Factory) -> Outcome {
    comes_back(
        factory,
        Payload::from(r#"'); DROP TABLE redeliver_outbox; -- " \ $1 ? %s :x"#),
    )
    .await
}

pub(super) async fn s017_names_that_look_alike_are_different(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let keys = [
        "a", "A", "á", "a ", " a", "\u{ff41}", "ß", "ss", "🦀", "🦞", "'", "%",
    ];
    let messages: Vec<_> = keys
        .iter()
        .map(|key| {
            NewMessage::to("billing")
                .key(*key)
                .payload("{}")
                .deduplication_key(*key)
        })
        .collect();
    let enqueued = subject.desk.enqueue(&messages).await?;
    for (key, enqueued) in keys.iter().zip(&enqueued) {
        check!(
            matches!(enqueued, Enqueued::New(_)),
            "the de-duplication key {key:?} was taken for another"
        );
    }
    for key in keys {
        let filter = Filter {
            key: Some(key.to_owned()),
            ..Filter::default()
        };
        same!(
            subject.desk.count(&filter).await?,
            1,
            "messages with the key {key:?}"
        );
    }
    // Each lane is parked by its own head, and by no other's.
    let worker = subject.worker("w").await?;
    for (key, enqueued) in keys.iter().zip(enqueued) {
        let Enqueued::New(id) = enqueued else { continue };
        subject.settle_one(&worker, id, park()).await?;
        let parked = subject.desk.parked_lanes().await?;
        let lane = LaneId {
            destination: "billing".to_owned(),
            key: (*key).to_owned(),
        };
        check!(
            parked
                .iter()
                .any(|(parked, head, _)| *parked == lane && *head == id),
            "the lane {key:?} is parked behind its own head: {parked:?}"
        );
    }
    same!(
        subject.desk.parked_lanes().await?.len(),
        keys.len(),
        "parked lanes"
    );
    Ok(())
}

pub(super) async fn s018_the_longest_names(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let destination = "d".repeat(limits::DESTINATION_LIMIT);
    // Four bytes a character: the limit is in bytes, and no database may cut it at another border.
    let key = "🦀".repeat(limits::KEY_LIMIT / 4);
    let deduplication = "ü".repeat(limits::DEDUPLICATION_KEY_LIMIT / 2);
    let message = || {
        NewMessage::to(&destination)
            .key(&key)
            .deduplication_key(&deduplication)
            .payload("{}")
    };
    let id = subject.enqueue_one(message()).await?;
    same!(
        subject.desk.enqueue(&[message()]).await?,
        [Enqueued::Duplicate(Some(id))],
        "the second time"
    );
    let worker = subject.worker("w").await?;
    subject.settle_one(&worker, id, park()).await?;
    let lane = LaneId { destination, key };
    let parked = subject.desk.parked_lanes().await?;
    check!(
        parked.iter().any(|(parked, ..)| *parked == lane),
        "its lane is parked under its whole name"
    );
    Ok(())
}

pub(super) async fn s019_the_longest_error(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let worker = subject.worker("w").await?;
    let id = subject.enqueue_some(1).await?[0];
    let error = limits::error_text(&"é🦀".repeat(limits::ERROR_LIMIT));
    let verdict = Verdict::Retry {
        attempted: attempted(1, "transient", &error),
        wait: HOUR,
    };
    subject.settle_one(&worker, id, verdict).await?;
    let detail = subject.detail(id).await?;
    same!(detail.record.last_error.as_ref(), Some(&error), "the error");
    same!(
        detail.attempts.first().map(|record| &record.error),
        Some(&error),
        "the error in the log"
    );
    subject.settle_one(&worker, id, delivered(2)).await
}
