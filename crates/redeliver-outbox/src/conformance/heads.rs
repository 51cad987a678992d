//! The scheduled messages that lanes wait for.

use std::time::Duration;

use super::{
    Factory,
    failure::{Outcome, check, same},
    lane::{keyed, lane_demand},
    subject::{Subject, bury, delivered, demand, ids, retry},
};
use crate::{
    MessageId, NewMessage,
    store::{Found, Until, Verdict},
};

const HOUR: Duration = Duration::from_secs(3600);

fn heads(found: &Found) -> Vec<(&str, MessageId)> {
    let mut heads: Vec<_> = found
        .heads
        .iter()
        .map(|head| (head.lane.key.as_str(), head.id))
        .collect();
    heads.sort_unstable();
    heads
}

pub(super) async fn s500_a_read_names_the_first_scheduled_messages_of_a_lane(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 8).await?;
    let mut lane = Vec::new();
    for index in 0..5 {
        lane.push(subject.enqueue_one(keyed("mine", index)).await?);
    }
    let alone = subject.enqueue_one(keyed("alone", 0)).await?;
    let free = subject.enqueue_one(keyed("free", 0)).await?;
    let elsewhere = NewMessage::to("mail").key("mine").payload("{}");
    let elsewhere = subject.enqueue_one(elsewhere).await?;
    let unkeyed = subject.enqueue_some(1).await?[0];
    let first = subject.worker("a").await?;
    let verdicts = [
        (lane[1], retry(1, HOUR)),
        (lane[2], retry(1, HOUR)),
        (lane[3], retry(1, HOUR)),
        (alone, retry(1, HOUR)),
        (unkeyed, retry(1, HOUR)),
    ];
    subject.settle(&first, &verdicts).await?;
    subject.expire(&first.id).await?;

    let mut second = subject.worker("b").await?;
    let found = second.reader.read(&demand(100, 100)).await?;
    let mut fresh = ids(&found.fresh);
    fresh.sort_unstable();
    same!(
        fresh,
        [lane[0], lane[4], free, elsewhere],
        "what was never scheduled"
    );
    same!(
        heads(&found),
        [("mine", lane[1]), ("mine", lane[2])],
        "two of the only lane among those read that has scheduled messages"
    );
    let scheduled = subject.record(lane[1]).await?.next_attempt_at;
    let head = found.heads.iter().find(|head| head.id == lane[1]);
    let Some(head) = head else { return Ok(()) };
    same!(Some(head.until), scheduled.map(Until::At), "its time");
    same!(head.lane.destination, "billing", "its destination");
    same!(head.shard, subject.record(lane[1]).await?.shard, "its shard");
    Ok(())
}

pub(super) async fn s501_due_messages_and_lanes_read_again_come_with_their_heads(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut lane = Vec::new();
    for index in 0..3 {
        lane.push(subject.enqueue_one(keyed("mine", index)).await?);
    }
    let mut worker = subject.worker("w").await?;
    worker.read_fresh().await?;
    let verdicts = [(lane[0], retry(1, HOUR)), (lane[1], retry(1, HOUR))];
    subject.settle(&worker, &verdicts).await?;
    let idle = worker.reader.read(&demand(10, 10)).await?;
    check!(idle.heads.is_empty(), "no message, no head: {:?}", idle.heads);
    let found = worker.reader.read(&lane_demand("mine", lane[2], 9)).await?;
    same!(ids(&found.lanes[0].messages), [lane[2]], "the lane read again");
    let both = [("mine", lane[0]), ("mine", lane[1])];
    same!(heads(&found), both, "what it waits for");

    subject.make_due(lane[1], 1000).await?;
    let found = worker.reader.read(&demand(10, 10)).await?;
    same!(ids(&found.due), [lane[1]], "what is due");
    same!(heads(&found), both, "what it waits for");
    subject.make_due(lane[0], 1).await?;
    let found = worker.reader.read(&demand(10, 10)).await?;
    same!(heads(&found), both, "the head itself is due");
    Ok(())
}

pub(super) async fn s502_a_head_that_has_ended_is_not_named(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut worker = subject.worker("w").await?;
    let mut lane = Vec::new();
    for index in 0..4 {
        lane.push(subject.enqueue_one(keyed("mine", index)).await?);
    }
    worker.read_fresh().await?;
    let all = lane[..3].iter().map(|&id| (id, retry(1, HOUR)));
    subject.settle(&worker, &all.collect::<Vec<_>>()).await?;
    let asked = lane_demand("mine", lane[3], 9);
    for (end, ended, next) in [(delivered(2), lane[0], lane[1]), (bury(), lane[1], lane[2])] {
        subject.settle_one(&worker, ended, end).await?;
        let found = worker.reader.read(&asked).await?;
        same!(heads(&found).first(), Some(&("mine", next)), "the next head");
    }
    let number = lane[2].number();
    let statement = format!("DELETE FROM redeliver_outbox WHERE number = {number}");
    subject.execute(&statement).await?;
    let found = worker.reader.read(&asked).await?;
    same!(ids(&found.lanes[0].messages), [lane[3]], "what is left");
    check!(found.heads.is_empty(), "nothing scheduled: {:?}", found.heads);
    Ok(())
}

pub(super) async fn s503_a_deferred_head_waits_for_its_destination(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut worker = subject.worker("w").await?;
    let head = subject.enqueue_one(keyed("mine", 0)).await?;
    let next = subject.enqueue_one(keyed("mine", 1)).await?;
    worker.read_fresh().await?;
    let deferred = Verdict::Postponed(Until::Recovered);
    subject.settle_one(&worker, head, deferred).await?;
    let asked = lane_demand("mine", next, 9);
    let found = worker.reader.read(&asked).await?;
    same!(heads(&found), [("mine", head)], "the head");
    same!(
        found.heads[0].until,
        Until::Recovered,
        "until its destination recovers"
    );
    subject.store.unpark(&[0], "billing", 9).await?;
    let found = worker.reader.read(&asked).await?;
    check!(
        matches!(found.heads[0].until, Until::At(_)),
        "it is due: {:?}",
        found.heads
    );
    Ok(())
}

pub(super) async fn s504_keys_that_look_alike_are_other_lanes(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut worker = subject.worker("w").await?;
    let long = "x".repeat(1000);
    let keys = ["k", "k ", "K", "ｋ", "k\u{301}", " ", "\u{fffd}", &long];
    let mut first = Vec::new();
    for key in keys {
        first.push(subject.enqueue_one(keyed(key, 0)).await?);
    }
    worker.read_fresh().await?;
    for (place, key) in keys.into_iter().enumerate() {
        subject.settle_one(&worker, first[place], retry(1, HOUR)).await?;
        for other in keys {
            subject.enqueue_one(keyed(other, 1)).await?;
        }
        let found = worker.reader.read(&demand(100, 100)).await?;
        same!(found.fresh.len(), keys.len(), "one message of each lane");
        let mut expected: Vec<(&str, MessageId)> = keys.into_iter().zip(first.clone()).collect();
        expected.truncate(place + 1);
        expected.sort_unstable();
        same!(heads(&found), expected, "the heads once {key:?} has one");
    }
    Ok(())
}
