//! What an operator looks at: who is at work, what comes due, which lanes stand, how much room it takes.

use super::{
    Factory, Failure,
    failure::{Outcome, check, none, same},
    subject::{HOUR, Subject, act, only, park, retry},
};
use crate::{
    DeadReason, MessageId, NewMessage,
    desk::{Depth, Outlook, Standing, StandingLane},
    store::{LaneId, Until, Verdict},
};

pub(super) async fn s240_the_pulse_is_the_cheap_half_of_the_figures(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    subject.worker_of("w", 3).await?;
    subject.desk.pause("billing", &act()).await?;
    let ids = subject.enqueue_some(5).await?;
    let (pulse, status) = (subject.desk.pulse().await?, subject.desk.status().await?);
    same!(pulse.workers, status.workers, "the workers");
    same!(pulse.holds, status.holds, "the holds");
    same!(
        (pulse.shards, pulse.shards_without_owner, pulse.in_flight),
        (4, 1, status.in_flight),
        "shards, those without an owner, and what is on its way"
    );
    check!(pulse.now <= status.now, "the clock");
    same!(pulse.sequence, ids[4].number(), "the highest number");
    Ok(())
}

pub(super) async fn s241_the_sequence_is_the_highest_number(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    same!(subject.desk.sequence().await?, 0, "of an empty outbox");
    for count in [1, 3] {
        let ids = subject.enqueue_some(count).await?;
        same!(
            Some(subject.desk.sequence().await?),
            ids.last().map(|id| id.number()),
            "the sequence"
        );
    }
    Ok(())
}

pub(super) async fn s242_the_outlook_counts_what_is_scheduled(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let worker = subject.worker("w").await?;
    let empty = subject.desk.outlook().await?;
    same!(empty.buckets, vec![0; Outlook::BUCKETS], "an empty outbox");
    let ids = subject.enqueue_some(9).await?;
    let minute = 60_000;
    for (index, millis) in [
        -5 * minute,
        5 * minute,
        6 * minute,
        20 * minute,
        24 * 60 * minute - 2 * minute,
        24 * 60 * minute + 2 * minute,
        90 * 24 * 60 * minute,
    ]
    .into_iter()
    .enumerate()
    {
        subject.make_due(ids[index], -millis).await?;
    }
    let put_away = Verdict::Postponed(Until::Recovered);
    subject.settle_one(&worker, ids[7], put_away).await?;
    let outlook = subject.desk.outlook().await?;
    let mut buckets = vec![0; Outlook::BUCKETS];
    (buckets[0], buckets[1], buckets[95]) = (2, 1, 1);
    same!(outlook.buckets, buckets, "by the quarter of an hour");
    same!(
        (outlook.overdue, outlook.beyond, outlook.put_away),
        (1, 2, 1),
        "overdue, beyond, put away"
    );
    Ok(())
}

fn keyed(destination: &str, key: &str) -> NewMessage {
    NewMessage::to(destination).key(key).payload("{}")
}

fn find<'a>(lanes: &'a [StandingLane], destination: &str, key: &str) -> Outcome<&'a StandingLane> {
    let wanted = LaneId {
        destination: destination.to_owned(),
        key: key.to_owned(),
    };
    let found = lanes.iter().find(|lane| lane.lane == wanted);
    found.ok_or_else(|| Failure::new(format!("the lane {wanted:?} is not among {lanes:?}")))
}

const fn deep(messages: u64) -> Depth {
    Depth {
        messages,
        or_more: false,
    }
}

pub(super) async fn s243_lanes_that_stand_are_told(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let worker = subject.worker("w").await?;
    none!(subject.desk.lanes(10).await?, "lanes of an empty outbox");
    let ids: Vec<MessageId> = subject
        .enqueue(&[
            keyed("billing", "a"),
            keyed("billing", "a"),
            keyed("billing", "a"),
            keyed("billing", "b"),
            keyed("billing", "b"),
            keyed("mail", "a"),
            keyed("mail", "free"),
            NewMessage::to("billing").payload("{}"),
        ])
        .await?;
    let verdicts = [
        (ids[0], park()),
        (ids[3], retry(1, HOUR)),
        (ids[5], park()),
        (ids[7], retry(1, HOUR)),
    ];
    subject.settle(&worker, &verdicts).await?;
    let lanes = subject.desk.lanes(10).await?;
    same!(lanes.len(), 3, "lanes that stand: {lanes:?}");
    let parked = find(&lanes, "billing", "a")?;
    same!(
        (parked.head, parked.depth),
        (Some(ids[0]), deep(2)),
        "head and depth of a parked lane"
    );
    let reason = match &parked.standing {
        Standing::Parked { reason, .. } => *reason,
        Standing::Held { .. } | Standing::Blocked { .. } => None,
    };
    same!(reason, Some(DeadReason::Permanent), "why it is parked");
    same!(
        find(&lanes, "mail", "a")?.depth,
        deep(0),
        "a parked lane with nothing behind its head"
    );
    let blocked = find(&lanes, "billing", "b")?;
    same!(
        (blocked.head, blocked.depth),
        (Some(ids[3]), deep(2)),
        "head and depth of a blocked lane"
    );
    let head = subject.record(ids[3]).await?;
    let expected = Standing::Blocked {
        attempts: 1,
        next_attempt_at: head.next_attempt_at.unwrap_or_default(),
        error: head.last_error.unwrap_or_default(),
        oldest: head.created_at,
    };
    same!(blocked.standing, expected, "what a blocked lane waits for");
    same!(subject.desk.lanes(1).await?.len(), 2, "one of each kind");
    subject.discard(&only(ids[0])).await?;
    same!(
        subject.desk.lanes(10).await?.len(),
        2,
        "lanes, once somebody has acted"
    );
    Ok(())
}

pub(super) async fn s244_a_parked_lane_is_not_blocked_as_well(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let worker = subject.worker("w").await?;
    let ids = subject
        .enqueue(&[keyed("billing", "a"), keyed("billing", "a")])
        .await?;
    subject.settle_one(&worker, ids[0], park()).await?;
    subject.redrive(&only(ids[0])).await?;
    subject.settle_one(&worker, ids[0], retry(1, HOUR)).await?;
    let lanes = subject.desk.lanes(10).await?;
    same!(lanes.len(), 1, "the lane is told once: {lanes:?}");
    let reason = match &lanes[0].standing {
        Standing::Parked { reason, .. } => Some(*reason),
        Standing::Held { .. } | Standing::Blocked { .. } => None,
    };
    same!(
        reason,
        Some(None),
        "it is parked, and its head is being tried again"
    );
    same!(lanes[0].depth, deep(2), "the head is live again");
    Ok(())
}

pub(super) async fn s245_the_storage_is_told(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    subject.enqueue_some(20).await?;
    let storage = subject.desk.storage().await?;
    for table in [
        "outbox",
        "dead",
        "sent",
        "events",
        "attempts",
        "audit",
        "jobs",
        "job_messages",
        "workers",
    ] {
        let found = storage
            .tables
            .iter()
            .find(|of| of.name.ends_with(&format!("_{table}")));
        let rows = found.map(|of| of.rows);
        check!(rows.is_some(), "the table {table} is told: {storage:?}");
        check!(rows <= Some(100), "rows of {table}: {rows:?}");
    }
    check!(
        storage.database_bytes > Some(0),
        "the size of the database: {storage:?}"
    );
    Ok(())
}

pub(super) async fn s246_the_audit_is_told_in_pages(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    for destination in ["a", "b", "c", "d", "e"] {
        subject.desk.pause(destination, &act()).await?;
    }
    let all = subject.desk.audit(10).await?;
    same!(all.len(), 5, "acts");
    check!(
        all.windows(2).all(|two| two[0].number > two[1].number),
        "the newest first: {all:?}"
    );
    let (mut met, mut before) = (Vec::new(), None);
    for round in 0.. {
        check!(round < 5, "the pages come to an end");
        let page = subject.desk.audit_page(before, 2).await?;
        let Some(last) = page.last() else {
            break;
        };
        before = Some(last.number);
        met.extend(page);
    }
    same!(met, all, "page by page");
    Ok(())
}
