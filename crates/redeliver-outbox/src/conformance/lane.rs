//! Lanes: read on from where they were let go, stand still behind a dead head, and go on.

use super::{
    Factory,
    failure::{Outcome, check, none, same},
    subject::{HOUR, Subject, attempted, dead, delivered, ids, only, park, retry},
};
use crate::{
    DeadReason, MessageId, NewMessage,
    state::Status,
    store::{AfterDeath, Demand, LaneDemand, LaneId, ParkedLane, Verdict},
};

fn read_on(key: Option<&str>, from: MessageId, limit: usize) -> Demand {
    Demand {
        lanes: vec![LaneDemand {
            shard: 0,
            destination: "billing".to_owned(),
            key: key.map(ToOwned::to_owned),
            from: from.number(),
            limit,
        }],
        ..Demand::default()
    }
}

pub(super) fn lane_demand(key: &str, from: MessageId, limit: usize) -> Demand {
    read_on(Some(key), from, limit)
}

pub(super) fn keyed(key: &str, payload: usize) -> NewMessage {
    NewMessage::to("billing").key(key).payload(payload.to_string())
}

pub(super) async fn s050_a_lane_is_read_on_from_where_it_was_let_go(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut lane = Vec::new();
    for index in 0..10 {
        lane.push(subject.enqueue_one(keyed("mine", index)).await?);
        subject.enqueue_one(keyed("other", index)).await?;
    }
    let mut worker = subject.worker("w").await?;
    same!(worker.read_fresh().await?.len(), 20, "messages read forward");
    let later = subject.enqueue_one(keyed("mine", 10)).await?;

    let found = worker.reader.read(&lane_demand("mine", lane[4], 3)).await?;
    same!(found.lanes.len(), 1, "answers to one demand");
    same!(
        ids(&found.lanes[0].messages),
        lane[4..7],
        "three of the lane, from the fifth on"
    );
    check!(!found.lanes[0].complete, "three of six are not all");
    check!(found.fresh.is_empty(), "no fresh messages were asked for");

    let found = worker.reader.read(&lane_demand("mine", lane[7], 100)).await?;
    same!(
        ids(&found.lanes[0].messages),
        lane[7..],
        "the rest, up to where the reader has been"
    );
    check!(found.lanes[0].complete, "that is all");
    same!(
        ids(&worker.read_fresh().await?),
        [later],
        "the one beyond is read forward"
    );
    Ok(())
}

pub(super) async fn s051_a_lane_is_read_without_what_is_scheduled_or_gone(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut lane = Vec::new();
    for index in 0..6 {
        lane.push(subject.enqueue_one(keyed("mine", index)).await?);
    }
    let mut worker = subject.worker("w").await?;
    worker.read_fresh().await?;
    let verdicts = [
        (lane[0], delivered(1)),
        (lane[2], retry(1, HOUR)),
        (lane[3], park()),
    ];
    subject.settle(&worker, &verdicts).await?;
    let found = worker.reader.read(&lane_demand("mine", lane[0], 100)).await?;
    same!(
        ids(&found.lanes[0].messages),
        [lane[1], lane[4], lane[5]],
        "what was never scheduled and is live"
    );
    let mut demands = lane_demand("nobody's", lane[0], 5);
    demands.lanes.extend(lane_demand("mine", lane[5], 5).lanes);
    let found = worker.reader.read(&demands).await?;
    let met: Vec<_> = found
        .lanes
        .iter()
        .map(|lane| (ids(&lane.messages), lane.complete))
        .collect();
    same!(
        met,
        [(vec![], true), (vec![lane[5]], true)],
        "the answers in the order of the demands"
    );
    Ok(())
}

pub(super) async fn s052_a_lane_that_an_operator_let_go_on_is_told(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut worker = subject.worker("w").await?;
    let head = subject.enqueue_one(keyed("mine", 0)).await?;
    let next = subject.enqueue_one(keyed("mine", 1)).await?;
    worker.read_fresh().await?;
    subject.settle_one(&worker, head, park()).await?;
    none!(worker.read().await?.resumed, "lanes that go on");
    same!(subject.discard(&only(head)).await?, [head], "discarded");
    let lane = ParkedLane {
        lane: LaneId {
            destination: "billing".to_owned(),
            key: "mine".to_owned(),
        },
        head: head.number(),
    };
    same!(
        worker.read().await?.resumed,
        [(0, lane)],
        "lanes that go on, after their head was discarded"
    );
    same!(
        subject.desk.parked_lanes().await?.len(),
        0,
        "parked lanes that the operator sees"
    );
    let found = worker.reader.read(&lane_demand("mine", head, 10)).await?;
    same!(
        ids(&found.lanes[0].messages),
        [next],
        "what the lane goes on with"
    );
    Ok(())
}

pub(super) async fn s054_what_has_no_key_is_read_on_by_destination(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut mine = Vec::new();
    for index in 0..5 {
        mine.extend(subject.enqueue_some(1).await?);
        subject.enqueue_one(keyed("lane", index)).await?;
        subject.enqueue_one(NewMessage::to("mail").payload("{}")).await?;
    }
    let mut worker = subject.worker("w").await?;
    same!(worker.read_fresh().await?.len(), 15, "messages read forward");
    subject.settle_one(&worker, mine[3], retry(1, HOUR)).await?;
    let found = worker.reader.read(&read_on(None, mine[1], 2)).await?;
    same!(
        ids(&found.lanes[0].messages),
        mine[1..3],
        "two without a key, from the second on"
    );
    check!(!found.lanes[0].complete, "there is another one");
    let found = worker.reader.read(&read_on(None, mine[3], 2)).await?;
    same!(
        ids(&found.lanes[0].messages),
        mine[4..],
        "the rest, without what is scheduled"
    );
    check!(found.lanes[0].complete, "that is all");
    Ok(())
}

pub(super) async fn s078_a_lane_goes_on_over_a_gap(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let worker = subject.worker("w").await?;
    let message = || NewMessage::to("billing").key("lane").payload("{}");
    let lane = subject.enqueue(&[message(), message()]).await?;
    let verdict = dead(Some(1), DeadReason::LaneSkipped, AfterDeath::Gap);
    subject.settle_one(&worker, lane[0], verdict).await?;
    check!(
        subject.detail(lane[0]).await?.gap,
        "the gap is kept with the dead letter"
    );
    same!(subject.desk.parked_lanes().await?.len(), 0, "parked lanes");
    same!(
        subject.status(lane[1]).await?,
        Status::Processing,
        "the status of the next one"
    );
    Ok(())
}

pub(super) async fn s079_a_parked_lane_stands_still_behind_its_head(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let worker = subject.worker("w").await?;
    let message = |key: &str| NewMessage::to("billing").key(key).payload("{}");
    let ids = subject
        .enqueue(&[message("lane"), message("lane"), message("other")])
        .await?;
    let elsewhere = subject
        .enqueue_one(NewMessage::to("mail").key("lane").payload("{}"))
        .await?;
    subject.settle_one(&worker, ids[0], park()).await?;
    let parked = subject.desk.parked_lanes().await?;
    let met: Vec<_> = parked
        .iter()
        .map(|(lane, head, _)| (lane.destination.as_str(), lane.key.as_str(), *head))
        .collect();
    same!(met, [("billing", "lane", ids[0])], "the parked lanes");
    let detail = subject.detail(ids[1]).await?;
    same!(
        detail.record.status,
        Status::Parked,
        "the status of the one behind"
    );
    same!(detail.parked_behind, Some(ids[0]), "what it is parked behind");
    same!(
        subject.status(ids[2]).await?,
        Status::Processing,
        "the status in another lane"
    );
    same!(
        subject.status(elsewhere).await?,
        Status::Processing,
        "the status with the key elsewhere"
    );
    Ok(())
}

pub(super) async fn s080_the_heads_delivery_sets_its_lane_free(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let worker = subject.worker("w").await?;
    let message = || NewMessage::to("billing").key("lane").payload("{}");
    let ids = subject.enqueue(&[message(), message()]).await?;
    subject.settle_one(&worker, ids[0], park()).await?;
    same!(subject.redrive(&only(ids[0])).await?, [ids[0]], "redriven");
    let mut attempt = attempted(1, "", "");
    attempt.resumes_lane = true;
    subject
        .settle_one(&worker, ids[0], Verdict::Delivered(attempt))
        .await?;
    same!(subject.desk.parked_lanes().await?.len(), 0, "parked lanes");
    same!(
        subject.status(ids[0]).await?,
        Status::Sent,
        "the status of the head"
    );
    same!(
        subject.status(ids[1]).await?,
        Status::Processing,
        "the status of the next one"
    );
    subject.expire(&worker.id).await?;
    let next = subject.worker("next").await?;
    check!(
        next.claimed.iter().all(|claimed| claimed.parked.is_empty()),
        "nothing is held back any more: {:?}",
        next.claimed
    );
    Ok(())
}

pub(super) async fn s081_a_redriven_head_that_dies_again_parks_its_lane_again(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let worker = subject.worker("w").await?;
    let message = || NewMessage::to("billing").key("lane").payload("{}");
    let ids = subject.enqueue(&[message(), message()]).await?;
    for _ in 0..3 {
        subject.settle_one(&worker, ids[0], park()).await?;
        same!(
            subject.status(ids[1]).await?,
            Status::Parked,
            "the status of the one behind"
        );
        let parked: Vec<_> = subject
            .desk
            .parked_lanes()
            .await?
            .into_iter()
            .map(|(_, head, _)| head)
            .collect();
        same!(parked, [ids[0]], "the heads of parked lanes");
        subject.redrive(&only(ids[0])).await?;
    }
    Ok(())
}

pub(super) async fn s103_a_discarded_head_lets_its_lane_go_on(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let worker = subject.worker("w").await?;
    let keyed = || keyed("lane", 0);
    let ids = subject.enqueue(&[keyed(), keyed()]).await?;
    subject.settle_one(&worker, ids[0], park()).await?;
    same!(
        subject.status(ids[1]).await?,
        Status::Parked,
        "the status of the one behind"
    );
    subject.discard(&only(ids[0])).await?;
    same!(
        subject.status(ids[1]).await?,
        Status::Processing,
        "the status after its head was given up"
    );
    subject.expire(&worker.id).await?;
    let next = subject.worker("next").await?;
    check!(
        next.claimed.iter().all(|claimed| claimed.parked.is_empty()),
        "the next owner finds no parked lane: {:?}",
        next.claimed
    );
    Ok(())
}

pub(super) async fn s104_a_lane_is_parked_and_let_go_on_again_and_again(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut worker = subject.worker("w").await?;
    let mut lane = Vec::new();
    for index in 0..4 {
        lane.push(subject.enqueue_one(keyed("lane", index)).await?);
    }
    worker.read_fresh().await?;
    for pair in lane.windows(2) {
        subject.settle_one(&worker, pair[0], park()).await?;
        none!(
            worker.read().await?.resumed,
            "lanes that go on, when the next head has died"
        );
        let parked: Vec<_> = subject
            .desk
            .parked_lanes()
            .await?
            .into_iter()
            .map(|(_, head, _)| head)
            .collect();
        same!(parked, [pair[0]], "the heads of parked lanes");
        same!(
            subject.status(pair[1]).await?,
            Status::Parked,
            "the status of the one behind"
        );
        subject.discard(&only(pair[0])).await?;
        same!(
            worker.read().await?.resumed.len(),
            1,
            "lanes that go on, when their head is given up"
        );
        same!(
            subject.status(pair[1]).await?,
            Status::Processing,
            "the status of the one behind, then"
        );
    }
    Ok(())
}
