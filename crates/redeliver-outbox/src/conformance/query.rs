//! Lists, filters, pages, and the view that every other program reads.

use std::collections::BTreeSet;

use super::{
    Factory,
    failure::{Outcome, check, none, same},
    subject::{HOUR, Subject, attempted, bury, dead, delivered, only, park, retry},
};
use crate::{
    DeadReason, MessageId, NewMessage, Timestamp,
    desk::{Filter, MessageRef},
    state::Status,
    store::{AfterDeath, Verdict},
};

/// One message in each status but `processing`; nobody owns the shards.
async fn one_of_each(subject: &Subject) -> Outcome<Vec<(Status, MessageId)>> {
    let worker = subject.worker("w").await?;
    let keyed = || NewMessage::to("mail").key("lane").payload("{}");
    let pending = subject.enqueue_some(1).await?[0];
    let failed = subject.enqueue_some(1).await?[0];
    let sent = subject.enqueue_some(1).await?[0];
    let head = subject.enqueue_one(keyed()).await?;
    let parked = subject.enqueue_one(keyed()).await?;
    let discarded = subject.enqueue_some(1).await?[0];
    let twice = Verdict::Retry {
        attempted: attempted(2, "transient", "Connection RESET by 100%_peer's ünit"),
        wait: HOUR,
    };
    let verdicts = [(failed, retry(1, HOUR)), (sent, delivered(1)), (head, park())];
    subject.settle(&worker, &verdicts).await?;
    subject.settle_one(&worker, failed, twice).await?;
    let verdict = dead(Some(1), DeadReason::Expired, AfterDeath::None);
    subject.settle_one(&worker, discarded, verdict).await?;
    subject.discard(&only(discarded)).await?;
    subject.store.release(&worker.id, &worker.leases(), true).await?;
    subject.store.leave(&worker.id).await?;
    Ok(vec![
        (Status::Pending, pending),
        (Status::Failed, failed),
        (Status::Sent, sent),
        (Status::DeadLettered, head),
        (Status::Parked, parked),
        (Status::Discarded, discarded),
    ])
}

pub(super) async fn s110_every_status_is_told_and_filtered_by(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let messages = one_of_each(&subject).await?;
    let all: Vec<_> = messages.iter().map(|(_, id)| *id).collect();
    same!(subject.matching(&Filter::default()).await?, all, "all messages");
    same!(
        subject.desk.count(&Filter::default()).await?,
        6,
        "how many they are"
    );
    for (status, id) in &messages {
        same!(subject.status(*id).await?, *status, "the status of {id}");
        let filter = Filter {
            statuses: vec![*status],
            ..Filter::default()
        };
        same!(
            subject.matching(&filter).await?,
            [*id],
            "messages that are {status}"
        );
        same!(subject.desk.count(&filter).await?, 1, "how many are {status}");
    }
    let two = Filter {
        statuses: vec![Status::Sent, Status::Pending],
        ..Filter::default()
    };
    same!(
        subject.matching(&two).await?,
        [all[0], all[2]],
        "messages of two statuses"
    );
    Ok(())
}

pub(super) async fn s111_each_filter_narrows(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let messages = one_of_each(&subject).await?;
    let [_, failed, _, head, parked, discarded] = messages[..] else {
        return Ok(());
    };
    let text = |text: &str| Some(text.to_owned());
    let none = Filter::default;
    let cases: Vec<(&str, Filter, Vec<MessageId>)> = vec![
        (
            "a destination",
            Filter {
                destination: text("mail"),
                ..none()
            },
            vec![head.1, parked.1],
        ),
        (
            "another case of it",
            Filter {
                destination: text("Mail"),
                ..none()
            },
            vec![],
        ),
        (
            "a key",
            Filter {
                key: text("lane"),
                ..none()
            },
            vec![head.1, parked.1],
        ),
        (
            "a reason",
            Filter {
                reason: Some(DeadReason::Expired),
                ..none()
            },
            vec![discarded.1],
        ),
        (
            "an error in another case",
            Filter {
                error: text("RESET BY 100%_PEER'S"),
                ..none()
            },
            vec![failed.1],
        ),
        (
            "a wildcard in an error",
            Filter {
                error: text("reset%peer"),
                ..none()
            },
            vec![],
        ),
        (
            "attempts",
            Filter {
                attempts_from: Some(2),
                ..none()
            },
            vec![failed.1],
        ),
        (
            "a number",
            Filter {
                messages: vec![MessageRef::Number(parked.1.number())],
                ..none()
            },
            vec![parked.1],
        ),
        (
            "two messages, and one that is none",
            Filter {
                messages: vec![
                    MessageRef::Id(failed.1),
                    MessageRef::Number(head.1.number()),
                    MessageRef::Id(MessageId::new(parked.1.number(), parked.1.salt() ^ 1)),
                ],
                ..none()
            },
            vec![failed.1, head.1],
        ),
        (
            "two fields",
            Filter {
                destination: text("mail"),
                statuses: vec![Status::Parked],
                ..none()
            },
            vec![parked.1],
        ),
    ];
    for (what, filter, expected) in cases {
        same!(subject.matching(&filter).await?, expected, "messages by {what}");
        same!(
            subject.desk.count(&filter).await?,
            expected.len() as u64,
            "how many by {what}"
        );
    }
    Ok(())
}

pub(super) async fn s112_a_filter_by_the_time_of_the_insert(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let ids = subject.enqueue_some(3).await?;
    let start = Timestamp::from_millis(1_700_000_000_500);
    for (index, id) in ids.iter().enumerate() {
        let at = subject
            .harness
            .time(Timestamp::from_millis(start.as_millis() + 1000 * index as i64));
        let statement = format!(
            "UPDATE redeliver_outbox SET created_at = {at} WHERE number = {}",
            id.number()
        );
        subject.execute(&statement).await?;
    }
    let second = Timestamp::from_millis(start.as_millis() + 1000);
    same!(
        subject.record(ids[1]).await?.created_at,
        second,
        "the time of the second"
    );
    let filter = |from, before| Filter {
        created_from: from,
        created_before: before,
        ..Filter::default()
    };
    same!(
        subject.matching(&filter(Some(second), None)).await?,
        ids[1..],
        "from the second on, itself included"
    );
    same!(
        subject.matching(&filter(None, Some(second))).await?,
        ids[..1],
        "before the second, itself excluded"
    );
    let both = filter(Some(start), Some(second));
    same!(subject.matching(&both).await?, ids[..1], "between two times");
    Ok(())
}

pub(super) async fn s119_a_filter_by_the_time_of_the_quarantine(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let worker = subject.worker("w").await?;
    let ids = subject.enqueue_some(3).await?;
    subject.settle_one(&worker, ids[1], bury()).await?;
    let died = subject.record(ids[1]).await?.dead_lettered_at;
    let by = |millis: i64| {
        let by = died.map(|died| Timestamp::from_millis(died.as_millis() + millis));
        Filter {
            died_by: by,
            ..Filter::default()
        }
    };
    // Servers round what they tell of a time to its milliseconds.
    none!(subject.matching(&by(-2)).await?, "what was dead before");
    same!(
        subject.matching(&by(0)).await?,
        ids[1..2],
        "what was dead by then: nothing that is live"
    );
    // The later one has the lower number.
    let first = ids[0];
    let later = subject.time_from_now(60_000).await?;
    subject.settle_one(&worker, first, bury()).await?;
    subject
        .execute(&format!(
            "UPDATE redeliver_dead SET dead_lettered_at = {later} WHERE number = {}",
            first.number()
        ))
        .await?;
    same!(
        subject.matching(&by(0)).await?,
        ids[1..2],
        "what died later is left out, whatever its number"
    );
    same!(
        subject.matching(&by(120_000)).await?,
        ids[..2],
        "and found by then"
    );
    Ok(())
}

pub(super) async fn s115_the_view_agrees_with_the_desk(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let messages = one_of_each(&subject).await?;
    let query = "SELECT id, number, status, attempts, destination FROM redeliver_messages ORDER BY number";
    let rows = subject.harness.rows(query).await?;
    same!(rows.len(), messages.len(), "rows of the view");
    for ((status, id), row) in messages.iter().zip(rows) {
        let record = subject.record(*id).await?;
        let expected = [
            id.to_string(),
            id.number().to_string(),
            status.to_string(),
            record.attempts.to_string(),
            record.destination,
        ];
        let met: Vec<_> = row.into_iter().map(Option::unwrap_or_default).collect();
        same!(met, expected, "the view's row");
        same!(
            subject
                .desk
                .find(MessageRef::Number(id.number()))
                .await?
                .map(|found| found.record.id),
            Some(*id),
            "found by number"
        );
    }
    let columns = "SELECT status, attempts, next_attempt_at, last_attempt_at, last_error, locked_by, locked_at, \
                   dead_letter_reason, sent_at, dead_lettered_at, created_at, payload, payload_binary FROM redeliver_messages";
    same!(
        subject.harness.rows(columns).await?.len(),
        6,
        "rows with the documents' columns"
    );
    Ok(())
}

pub(super) async fn s116_processing_is_due_and_owned(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let id = subject.enqueue_some(1).await?[0];
    same!(
        subject.status(id).await?,
        Status::Pending,
        "the status in a shard without an owner"
    );
    let worker = subject.worker("w").await?;
    let record = subject.record(id).await?;
    same!(
        record.status,
        Status::Processing,
        "the status in a shard with an owner"
    );
    same!(record.locked_by.as_deref(), Some("w"), "the owner");
    check!(record.locked_at.is_some(), "since when is told");
    subject.settle_one(&worker, id, retry(1, HOUR)).await?;
    let record = subject.record(id).await?;
    same!(
        (record.status, record.locked_by),
        (Status::Failed, None),
        "status and owner while it waits"
    );
    subject.make_due(id, 1000).await?;
    same!(
        subject.status(id).await?,
        Status::Processing,
        "the status when its time has come"
    );
    subject.expire(&worker.id).await?;
    let record = subject.record(id).await?;
    same!(
        (record.status, record.locked_by),
        (Status::Failed, None),
        "status and owner after the owner's silence"
    );
    Ok(())
}

pub(super) async fn s117_a_message_tells_what_it_waits_behind(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let worker = subject.worker("w").await?;
    let keyed = |key: &str| NewMessage::to("billing").key(key).payload("{}");
    let lane = subject
        .enqueue(&[keyed("a"), keyed("b"), keyed("a"), keyed("a")])
        .await?;
    same!(
        subject.detail(lane[0]).await?.waits_behind,
        None,
        "what the head waits behind"
    );
    same!(
        subject.detail(lane[1]).await?.waits_behind,
        None,
        "what another lane's head waits behind"
    );
    let behind = subject.detail(lane[3]).await?.waits_behind;
    check!(
        behind == Some(lane[0]) || behind == Some(lane[2]),
        "it waits behind one that is before it in its lane: {behind:?}"
    );
    subject
        .settle(&worker, &[(lane[0], delivered(1)), (lane[2], delivered(1))])
        .await?;
    same!(
        subject.detail(lane[3]).await?.waits_behind,
        None,
        "what it waits behind in the end"
    );
    same!(
        subject.detail(lane[3]).await?.parked_behind,
        None,
        "what it is parked behind"
    );
    Ok(())
}

pub(super) async fn s118_the_shard_of_a_lane_is_one(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 16).await?;
    let mut shards = BTreeSet::new();
    for key in 0..40 {
        let message = || NewMessage::to("billing").key(format!("key-{key}")).payload("{}");
        let ids = subject.enqueue(&[message(), message(), message()]).await?;
        let mut of_lane = BTreeSet::new();
        for id in ids {
            of_lane.insert(subject.record(id).await?.shard);
        }
        same!(of_lane.len(), 1, "shards of one lane: {of_lane:?}");
        shards.extend(of_lane);
    }
    check!(
        shards.len() >= 8,
        "40 lanes are spread over {} of 16 shards",
        shards.len()
    );
    check!(
        shards.iter().all(|shard| *shard < 16),
        "there are 16 shards: {shards:?}"
    );
    Ok(())
}
