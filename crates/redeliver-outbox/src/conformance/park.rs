//! Lanes that an operator parks by hand, and lets go on.

use std::time::Duration;

use super::{
    Factory,
    failure::{Outcome, check, none, same},
    subject::{HOUR, Subject, Worker, act, attempted, bury, ids, only, park, retry},
};
use crate::{
    MessageId, NewMessage,
    desk::{Act, Depth, Edit, MessageRef, Parked, SeenLane, Standing},
    state::Status,
    store::{Demand, LaneDemand, LaneId, ParkedLane, StoreErrorKind, Until, Verdict},
};

fn lane(key: &str) -> LaneId {
    LaneId {
        destination: "billing".to_owned(),
        key: key.to_owned(),
    }
}

fn keyed(key: &str) -> NewMessage {
    NewMessage::to("billing").key(key).payload("{}")
}

async fn parked(subject: &Subject, key: &str) -> Outcome<Parked> {
    Ok(subject.desk.park_lane(&lane(key), &act()).await?)
}

async fn three(subject: &Subject) -> Outcome<Vec<MessageId>> {
    subject.enqueue(&[keyed("a"), keyed("a"), keyed("a")]).await
}

fn goes_on(key: &str, head: i64) -> (u16, ParkedLane) {
    let lane = lane(key);
    (0, ParkedLane { lane, head })
}

/// What a read tells of lanes: the parked ones, and those that go on.
type News = (Vec<(u16, LaneId)>, Vec<(u16, ParkedLane)>);

async fn told(worker: &mut Worker) -> Outcome<News> {
    let found = worker.read().await?;
    Ok((found.parked, found.resumed))
}

pub(super) async fn s280_a_lane_is_parked_by_hand_and_goes_on(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut worker = subject.worker("w").await?;
    let mine = three(&subject).await?;
    let other = subject.enqueue_one(keyed("a ")).await?;
    worker.read_fresh().await?;
    let before = subject.now().await?;

    let first = parked(&subject, "a").await?;
    check!(first.new, "it was not parked before");
    same!(
        (&first.hold.lane, first.hold.who.as_str(), first.hold.why.as_str()),
        (&lane("a"), "ana", "the suite"),
        "the hold"
    );
    check!(first.hold.since >= before, "it begins now");
    let again = Act {
        who: "bob".to_owned(),
        why: "as well".to_owned(),
    };
    let second = subject.desk.park_lane(&lane("a"), &again).await?;
    same!(
        second,
        Parked {
            new: false,
            ..first.clone()
        },
        "parked twice"
    );
    for id in &mine {
        let detail = subject.detail(*id).await?;
        same!(detail.record.status, Status::Parked, "the status of all of it");
        same!(detail.lane_hold.as_ref(), Some(&first.hold), "why it stands");
        same!(detail.parked_behind, None, "a message that it stands still for");
    }
    same!(
        subject.status(other).await?,
        Status::Processing,
        "the status in a lane that looks alike"
    );
    same!(
        told(&mut worker).await?,
        (vec![(0, lane("a"))], vec![]),
        "what a read tells"
    );
    same!(told(&mut worker).await?, (vec![], vec![]), "it is told once");

    let resumed = subject.desk.resume_lane(&lane("a"), None, &act()).await?;
    let resumed = resumed.map(|resumed| (resumed.hold, resumed.without));
    same!(resumed, Some((Some(first.hold), None)), "what has ended");
    same!(
        subject.desk.resume_lane(&lane("a"), None, &act()).await?,
        None,
        "a second end of it"
    );
    same!(
        told(&mut worker).await?,
        (vec![], vec![goes_on("a", 0)]),
        "what a read tells then"
    );
    same!(
        told(&mut worker).await?,
        (vec![], vec![]),
        "that is told once too"
    );
    same!(
        subject.status(mine[0]).await?,
        Status::Processing,
        "the status then"
    );
    let said: Vec<_> = subject.desk.audit(10).await?.into_iter().rev().collect();
    let actions: Vec<_> = said
        .iter()
        .map(|record| (record.action.as_str(), record.message))
        .collect();
    same!(
        actions,
        [("park_lane", None), ("resume_lane", None)],
        "the audit, once for each"
    );
    check!(
        said.iter().all(|record| record.detail.contains("billing")),
        "the audit names the lane"
    );
    Ok(())
}

pub(super) async fn s281_only_a_lane_with_something_live_is_parked(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    subject.enqueue_one(keyed("a")).await?;
    subject
        .enqueue_one(NewMessage::to("billing").payload("{}"))
        .await?;
    for (destination, key, kind) in [
        ("billing", "b", StoreErrorKind::NotFound),
        ("mail", "a", StoreErrorKind::NotFound),
        ("billing", "", StoreErrorKind::BadInput),
        ("", "a", StoreErrorKind::BadInput),
    ] {
        let id = LaneId {
            destination: destination.to_owned(),
            key: key.to_owned(),
        };
        let refused = subject.desk.park_lane(&id, &act()).await;
        same!(refused.map_err(|error| error.kind()), Err(kind), "parking {id:?}");
    }
    same!(
        subject.desk.resume_lane(&lane("a"), None, &act()).await?,
        None,
        "an end of what is not"
    );
    none!(subject.desk.audit(10).await?, "records of what did not happen");
    check!(parked(&subject, "a").await?.new, "this one can be");
    Ok(())
}

pub(super) async fn s282_a_new_owner_is_told_of_a_park_by_hand(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let worker = subject.worker("w").await?;
    three(&subject).await?;
    parked(&subject, "a").await?;
    subject.expire(&worker.id).await?;
    let next = subject.worker("next").await?;
    let claimed: Vec<_> = next.claimed.iter().flat_map(|claimed| &claimed.parked).collect();
    let expected = ParkedLane {
        lane: lane("a"),
        head: 0,
    };
    same!(claimed, [&expected], "the parked lanes of a claim");
    subject.desk.resume_lane(&lane("a"), None, &act()).await?;
    subject.expire(&next.id).await?;
    let last = subject.worker("last").await?;
    check!(
        last.claimed.iter().all(|claimed| claimed.parked.is_empty()),
        "nothing is parked any more: {:?}",
        last.claimed
    );
    Ok(())
}

pub(super) async fn s283_what_dies_in_a_parked_lane_does_not_undo_the_park(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut worker = subject.worker("w").await?;
    let mine = three(&subject).await?;
    worker.read_fresh().await?;
    let hold = parked(&subject, "a").await?.hold;
    subject.settle_one(&worker, mine[0], park()).await?;
    same!(
        subject.detail(mine[1]).await?.lane_hold,
        Some(hold.clone()),
        "the hold, when the head has died"
    );
    subject.redrive(&only(mine[0])).await?;
    same!(
        subject.status(mine[0]).await?,
        Status::Parked,
        "the status of a head that is put back"
    );
    subject.settle_one(&worker, mine[0], park()).await?;
    told(&mut worker).await?;
    let resumed = subject.desk.resume_lane(&lane("a"), None, &act()).await?;
    let resumed = resumed.map(|resumed| (resumed.hold, resumed.without));
    same!(
        resumed,
        Some((Some(hold), Some(mine[0]))),
        "what has ended, and what the lane goes on without"
    );
    same!(
        told(&mut worker).await?,
        (vec![], vec![goes_on("a", mine[0].number())]),
        "what a read tells"
    );
    let detail = subject.detail(mine[0]).await?;
    same!(
        (detail.record.status, detail.gap),
        (Status::DeadLettered, true),
        "the dead letter, with its gap"
    );
    same!(
        subject.status(mine[1]).await?,
        Status::Processing,
        "the status of the next one"
    );
    // What dies from now on parks the lane as ever.
    subject.settle_one(&worker, mine[1], park()).await?;
    let behind = subject.detail(mine[2]).await?;
    same!(
        (behind.record.status, behind.parked_behind, behind.lane_hold),
        (Status::Parked, Some(mine[1]), None),
        "what is behind the next dead letter"
    );
    Ok(())
}

pub(super) async fn s284_a_lane_behind_a_dead_letter_is_let_go_on_by_hand(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut worker = subject.worker("w").await?;
    let mine = three(&subject).await?;
    worker.read_fresh().await?;
    subject.settle_one(&worker, mine[0], park()).await?;
    let resumed = subject.desk.resume_lane(&lane("a"), None, &act()).await?;
    let resumed = resumed.map(|resumed| (resumed.hold, resumed.without));
    same!(resumed, Some((None, Some(mine[0]))), "what has ended");
    same!(
        told(&mut worker).await?,
        (vec![], vec![goes_on("a", mine[0].number())]),
        "what a read tells"
    );
    let detail = subject.detail(mine[0]).await?;
    same!(
        (detail.record.status, detail.gap),
        (Status::DeadLettered, true),
        "the dead letter, with its gap"
    );
    let demand = Demand {
        lanes: vec![LaneDemand {
            shard: 0,
            destination: "billing".to_owned(),
            key: Some("a".to_owned()),
            from: 0,
            limit: 10,
        }],
        ..Demand::default()
    };
    let found = worker.reader.read(&demand).await?;
    same!(
        ids(&found.lanes[0].messages),
        mine[1..],
        "what the lane goes on with"
    );
    Ok(())
}

pub(super) async fn s285_a_park_by_hand_outlasts_the_head_that_it_was_laid_over(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut worker = subject.worker("w").await?;
    let mine = three(&subject).await?;
    worker.read_fresh().await?;
    subject.settle_one(&worker, mine[0], park()).await?;
    subject.redrive(&only(mine[0])).await?;
    let hold = parked(&subject, "a").await?;
    check!(
        hold.new,
        "a lane that stands still for a dead letter is parked by hand"
    );
    let mut attempt = attempted(1, "", "");
    attempt.resumes_lane = true;
    let arrived = Verdict::Delivered(attempt);
    subject.settle_one(&worker, mine[0], arrived).await?;
    same!(
        subject.detail(mine[1]).await?.lane_hold,
        Some(hold.hold),
        "the hold, when the head has arrived"
    );
    // The same with one that is given up.
    subject.desk.resume_lane(&lane("a"), None, &act()).await?;
    subject.settle_one(&worker, mine[1], park()).await?;
    let hold = parked(&subject, "a").await?;
    subject.discard(&only(mine[1])).await?;
    same!(
        subject.detail(mine[2]).await?.lane_hold,
        Some(hold.hold),
        "the hold, when the head was given up"
    );
    told(&mut worker).await?;
    subject.desk.resume_lane(&lane("a"), None, &act()).await?;
    same!(
        told(&mut worker).await?.1,
        [goes_on("a", mine[1].number())],
        "the head that it goes on without"
    );
    Ok(())
}

pub(super) async fn s286_a_park_by_hand_is_told_and_counted(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let worker = subject.worker("w").await?;
    let mine = three(&subject).await?;
    let other = subject.enqueue_one(keyed("b")).await?;
    subject.settle_one(&worker, mine[0], retry(1, HOUR)).await?;
    subject.settle_one(&worker, other, bury()).await?;
    let hold = parked(&subject, "a").await?.hold;
    let lanes = subject.desk.lanes(10).await?;
    same!(lanes.len(), 1, "lanes that stand: {lanes:?}");
    same!(
        (&lanes[0].lane, lanes[0].head, lanes[0].depth),
        (
            &lane("a"),
            None,
            Depth {
                messages: 3,
                or_more: false
            }
        ),
        "the lane"
    );
    let expected = Standing::Held {
        who: hold.who,
        why: hold.why,
        since: hold.since,
    };
    same!(lanes[0].standing, expected, "how it stands");
    let figures = subject.desk.status().await?.total;
    same!(
        (figures.parked, figures.waiting, figures.due_now),
        (3, 0, 0),
        "parked, waiting and due"
    );
    same!(
        subject.desk.parked_lanes().await?.len(),
        1,
        "lanes that stand still"
    );
    subject.settle_one(&worker, mine[0], park()).await?;
    same!(
        subject.desk.lanes(10).await?[0].head,
        Some(mine[0]),
        "what has died in it"
    );
    Ok(())
}

pub(super) async fn s287_what_was_put_off_in_a_parked_lane_is_due_when_it_goes_on(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut worker = subject.worker("w").await?;
    let mine = three(&subject).await?;
    worker.read_fresh().await?;
    parked(&subject, "a").await?;
    // One that was due and was put off by the relay, one that waits for its retry, and one of another lane.
    let soon = subject.now().await?.plus(Duration::from_secs(30));
    let put_off = Verdict::Postponed(Until::At(soon));
    let other = subject.enqueue_one(keyed("b")).await?;
    let verdicts = [
        (mine[0], retry(1, Duration::ZERO)),
        (mine[1], retry(1, Duration::from_secs(30))),
        (other, put_off.clone()),
    ];
    subject.settle(&worker, &verdicts).await?;
    subject.settle_one(&worker, mine[0], put_off).await?;
    none!(worker.read().await?.due, "due messages before");
    subject.desk.resume_lane(&lane("a"), None, &act()).await?;
    same!(
        ids(&worker.read().await?.due),
        [mine[0]],
        "due messages, when the lane goes on"
    );
    Ok(())
}

pub(super) async fn s288_a_dead_letter_that_was_moved_elsewhere_leaves_no_gap(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let worker = subject.worker("w").await?;
    let mine = three(&subject).await?;
    parked(&subject, "a").await?;
    subject.settle_one(&worker, mine[0], park()).await?;
    let elsewhere = Edit {
        destination: Some("mail".to_owned()),
        ..Edit::default()
    };
    subject
        .desk
        .edit(MessageRef::Id(mine[0]), &elsewhere, &act())
        .await?;
    let resumed = subject.desk.resume_lane(&lane("a"), None, &act()).await?;
    same!(
        resumed.map(|resumed| resumed.without),
        Some(None),
        "what the lane goes on without"
    );
    check!(!subject.detail(mine[0]).await?.gap, "it is of another lane now");
    Ok(())
}

pub(super) async fn s289_a_lane_goes_on_without_what_was_seen_or_not_at_all(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let worker = subject.worker("w").await?;
    let mine = three(&subject).await?;
    subject.settle_one(&worker, mine[0], park()).await?;
    parked(&subject, "a").await?;
    for seen in [None, Some(mine[1])] {
        let seen = Some(SeenLane { without: seen });
        let refused = subject.desk.resume_lane(&lane("a"), seen, &act()).await;
        same!(
            refused.map_err(|error| error.kind()),
            Err(StoreErrorKind::Conflict),
            "going on with {seen:?}"
        );
    }
    same!(subject.status(mine[1]).await?, Status::Parked, "it stands still");
    check!(!subject.detail(mine[0]).await?.gap, "nothing was skipped");
    same!(
        subject.desk.lanes(10).await?[0].head,
        Some(mine[0]),
        "what is told that it goes on without"
    );
    let seen = SeenLane {
        without: Some(mine[0]),
    };
    let resumed = subject.desk.resume_lane(&lane("a"), Some(seen), &act()).await?;
    same!(
        resumed.and_then(|resumed| resumed.without),
        Some(mine[0]),
        "what it goes on without"
    );
    same!(
        subject.desk.audit(10).await?.len(),
        2,
        "records, one for each that was done"
    );
    Ok(())
}
