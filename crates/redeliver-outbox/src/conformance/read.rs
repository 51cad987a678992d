//! The way through the rows of one's shards: forward, each message once, in bounded steps; and what is due.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{
    Factory,
    failure::{Outcome, check, none, same},
    subject::{HOUR, Subject, Worker, demand, ids, only, retry},
};
use crate::{
    Message, MessageId, NewMessage,
    store::{Until, Verdict},
};

/// Within each shard, the numbers grow.
fn in_order_by_shard(messages: &[Message]) -> bool {
    let mut last = BTreeMap::new();
    messages.iter().all(|message| {
        last.insert(message.shard, message.number())
            .is_none_or(|before| before < message.number())
    })
}

pub(super) async fn s041_every_message_is_read_once_in_order(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 8).await?;
    let mut worker = subject.worker("w").await?;
    let mut enqueued = subject.enqueue_some(150).await?;
    let mut read = worker.read_fresh().await?;
    check!(in_order_by_shard(&read), "numbers grow within each shard");
    same!(worker.read_fresh().await?.len(), 0, "messages read again");
    enqueued.extend(subject.enqueue_some(50).await?);
    let more = worker.read_fresh().await?;
    check!(
        in_order_by_shard(&more),
        "numbers grow within each shard, the second time"
    );
    same!(more.len(), 50, "messages read after more were inserted");
    read.extend(more);
    let mut met = ids(&read);
    met.sort();
    same!(met, enqueued, "the messages read");
    let shards: BTreeSet<u16> = read.iter().map(|message| message.shard).collect();
    same!(
        shards,
        (0..8).collect(),
        "the shards over which 200 messages without a key are spread"
    );
    Ok(())
}

pub(super) async fn s042_the_limit_is_over_all_shards_and_loses_nothing(factory: &dyn Factory) -> Outcome {
    for limit in [1, 3, 7, 64] {
        let subject = Subject::fresh(factory, 4).await?;
        let enqueued = subject.enqueue_some(64).await?;
        let mut worker = subject.worker("w").await?;
        let mut read = Vec::new();
        for step in 0.. {
            let found = worker.reader.read(&demand(limit, 0)).await?;
            check!(
                found.fresh.len() <= limit,
                "{} messages for a limit of {limit}",
                found.fresh.len()
            );
            check!(found.due.is_empty(), "nothing is due, and nothing was asked for");
            check!(
                step <= 64,
                "after {step} reads of {limit}, {} of 64 messages have come",
                read.len()
            );
            read.extend(found.fresh);
            if !found.more {
                break;
            }
        }
        check!(
            in_order_by_shard(&read),
            "numbers grow within each shard with a limit of {limit}"
        );
        let mut met = ids(&read);
        met.sort();
        same!(met, enqueued, "the messages read with a limit of {limit}");
    }
    Ok(())
}

pub(super) async fn s043_no_demand_reads_nothing_and_passes_nothing(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let mut worker = subject.worker("w").await?;
    let mut enqueued = subject.enqueue_some(5).await?;
    same!(
        worker.reader.read(&demand(0, 10)).await?.fresh.len(),
        0,
        "fresh messages without a demand for them"
    );
    enqueued.extend(subject.enqueue_some(5).await?);
    let mut met = ids(&worker.read_fresh().await?);
    met.sort();
    same!(met, enqueued, "the messages read then");
    Ok(())
}

pub(super) async fn s044_a_reader_reads_its_own_shards_only(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let enqueued = subject.enqueue_some(60).await?;
    let mut first = subject.worker_of("a", 2).await?;
    let mut second = subject.worker("b").await?;
    let mut met = BTreeSet::new();
    for worker in [&mut first, &mut second] {
        let owned: BTreeSet<u16> = worker.leases().iter().map(|lease| lease.shard).collect();
        for message in worker.read_fresh().await? {
            check!(
                owned.contains(&message.shard),
                "{} read from shard {}",
                worker.id,
                message.shard
            );
            check!(met.insert(message.id), "{} was read by both", message.id);
        }
    }
    same!(met, enqueued.into_iter().collect(), "the messages read by both");
    Ok(())
}

pub(super) async fn s045_a_shard_that_is_owned_anew_is_read_from_its_first_message(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let enqueued = subject.enqueue_some(20).await?;
    let mut worker = subject.worker("w").await?;
    same!(worker.read_fresh().await?.len(), 20, "messages read");
    let lease = worker.lease(0)?;
    worker.reader.disown(0);
    let later = subject.enqueue_some(20).await?;
    let read = worker.read_fresh().await?;
    check!(
        read.iter().all(|message| message.shard == 1),
        "nothing comes from a shard that was given up"
    );
    worker.reader.own(lease);
    let read = worker.read_fresh().await?;
    check!(
        read.iter().all(|message| message.shard == 0),
        "only the shard that was taken anew has something"
    );
    let mut expected = Vec::new();
    for id in enqueued.into_iter().chain(later) {
        if subject.record(id).await?.shard == 0 {
            expected.push(id);
        }
    }
    same!(
        ids(&read),
        expected,
        "the messages of the shard, from its first on"
    );
    Ok(())
}

pub(super) async fn s046_what_waits_is_not_read_and_its_time_is_told(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let mut worker = subject.worker("w").await?;
    let enqueued = subject.enqueue_some(3).await?;
    same!(
        worker.read().await?.next_due,
        None,
        "the next due time where nothing is scheduled"
    );
    let soon = Duration::from_secs(600);
    let verdicts = [
        (enqueued[0], retry(1, HOUR)),
        (enqueued[1], retry(1, soon)),
        (enqueued[2], retry(1, HOUR * 3)),
    ];
    subject.settle(&worker, &verdicts).await?;
    let found = worker.read().await?;
    check!(
        found.due.is_empty() && found.fresh.is_empty(),
        "nothing comes before its time: {found:?}"
    );
    let next = found.next_due.unwrap_or_default();
    check!(
        next > soon / 2 && next <= soon,
        "the next is due in {next:?}, and the soonest in {soon:?}"
    );
    // A reader that begins now must not take them for fresh ones either.
    let mut other = subject.store.reader();
    for lease in worker.leases() {
        other.own(lease);
    }
    same!(
        other.read(&demand(10, 10)).await?.fresh.len(),
        0,
        "scheduled messages read as fresh ones"
    );
    Ok(())
}

/// Messages that are due, the first the longest.
async fn some_due(subject: &Subject, worker: &Worker, count: usize) -> Outcome<Vec<MessageId>> {
    let mut enqueued = subject.enqueue_some(count).await?;
    let verdicts: Vec<_> = enqueued.iter().map(|id| (*id, retry(1, HOUR))).collect();
    subject.settle(worker, &verdicts).await?;
    // The order of their times is not the order of their numbers.
    enqueued.reverse();
    for (index, id) in enqueued.iter().enumerate() {
        subject.make_due(*id, 60_000 - 1000 * index as i64).await?;
    }
    Ok(enqueued)
}

pub(super) async fn s047_the_longest_due_come_first(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let mut worker = subject.worker("w").await?;
    let due = some_due(&subject, &worker, 12).await?;
    let found = worker.read().await?;
    same!(ids(&found.due), due, "what is due, the longest due first");
    check!(found.fresh.is_empty(), "what was scheduled is not fresh");
    for message in &found.due {
        same!(message.attempts, 1, "attempts");
        same!(
            message.last_error.as_deref(),
            Some("503 Service Unavailable"),
            "the last error"
        );
        same!(message.last_wait_ms, 3_600_000, "the wait that its policy said");
        check!(
            message.last_attempt_at.is_some(),
            "the last attempt's time is known"
        );
    }
    same!(
        ids(&worker.read().await?.due),
        due,
        "what is due stays due until it is settled"
    );
    Ok(())
}

pub(super) async fn s048_the_limit_of_what_is_due_holds(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let mut worker = subject.worker("w").await?;
    let due = some_due(&subject, &worker, 12).await?;
    let found = worker.reader.read(&demand(10, 5)).await?;
    same!(ids(&found.due), due[..5], "the five that are due the longest");
    check!(found.more, "there is more");
    let found = worker.reader.read(&demand(10, 0)).await?;
    check!(found.due.is_empty(), "nothing due without a demand for it");
    Ok(())
}

pub(super) async fn s049_a_postponed_message_comes_at_its_time(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let mut worker = subject.worker("w").await?;
    let id = subject.enqueue_some(1).await?[0];
    same!(ids(&worker.read_fresh().await?), [id], "read as a fresh one");
    subject
        .settle_one(&worker, id, Verdict::Postponed(Until::After(HOUR)))
        .await?;
    same!(worker.read().await?.due.len(), 0, "due before its time");
    subject.make_due(id, 1).await?;
    let due = worker.read().await?.due;
    same!(ids(&due), [id], "due at its time");
    check!(
        due.iter().all(|message| message.attempts == 0),
        "no attempt was counted"
    );
    Ok(())
}

pub(super) async fn s053_a_redriven_message_is_due_at_once(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let mut worker = subject.worker("w").await?;
    let id = subject
        .dead_letter(&worker, NewMessage::to("billing").payload("{}"))
        .await?;
    worker.read_fresh().await?;
    subject.redrive(&only(id)).await?;
    let found = worker.read().await?;
    same!(ids(&found.due), [id], "due");
    none!(ids(&found.fresh), "fresh");
    check!(
        found
            .due
            .iter()
            .all(|message| message.attempts == 0 && message.redrives == 1),
        "its attempts begin again: {:?}",
        found.due
    );
    Ok(())
}

pub(super) async fn s055_a_shard_that_was_read_to_its_end_is_told(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let mut worker = subject.worker("w").await?;
    let told = |mut shards: Vec<u16>| {
        shards.sort_unstable();
        shards
    };
    same!(
        told(worker.read().await?.caught_up),
        [0, 1, 2, 3],
        "shards without messages, read to their ends"
    );
    let enqueued = subject.enqueue_some(40).await?;
    let mut unread: BTreeMap<u16, BTreeSet<MessageId>> = BTreeMap::new();
    for id in enqueued {
        unread
            .entry(subject.record(id).await?.shard)
            .or_default()
            .insert(id);
    }
    loop {
        let found = worker.reader.read(&demand(7, 0)).await?;
        for message in &found.fresh {
            unread.entry(message.shard).or_default().remove(&message.id);
        }
        for shard in &found.caught_up {
            let left = unread.get(shard).map_or(0, BTreeSet::len);
            same!(
                left,
                0,
                "messages left in shard {shard}, which was read to its end"
            );
        }
        if !found.more {
            break;
        }
    }
    same!(
        told(worker.read().await?.caught_up),
        [0, 1, 2, 3],
        "shards read to their ends"
    );
    Ok(())
}
