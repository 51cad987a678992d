//! Shards change hands whole, and what the owner before left behind is told.

use std::collections::BTreeSet;

use super::{
    Factory,
    failure::{Outcome, check, none, same},
    subject::{HOUR, Subject, WINDOW, delivered, park, retry},
};
use crate::{
    NewMessage,
    store::{LaneId, Left, ParkedLane, WorkerId},
};

fn worker(name: &str) -> WorkerId {
    WorkerId(name.to_owned())
}

pub(super) async fn s020_the_first_claim_finds_every_shard_clean(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 8).await?;
    let first = subject.worker("a").await?;
    let shards: BTreeSet<u16> = first.claimed.iter().map(|claimed| claimed.lease.shard).collect();
    same!(shards, (0..8).collect(), "the shards claimed");
    for claimed in &first.claimed {
        same!(claimed.left, Left::Clean, "what was left in {:?}", claimed.lease);
        same!(claimed.highest, 0, "the highest number of an empty shard");
        check!(claimed.parked.is_empty(), "nothing waits in {claimed:?}");
    }
    Ok(())
}

pub(super) async fn s021_a_shard_that_is_owned_is_not_claimed(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 8).await?;
    let first = subject.worker_of("a", 5).await?;
    let second = subject.worker("b").await?;
    same!(
        (first.claimed.len(), second.claimed.len()),
        (5, 3),
        "shards claimed, five at most by the first"
    );
    let all: BTreeSet<u16> = first
        .leases()
        .iter()
        .chain(&second.leases())
        .map(|lease| lease.shard)
        .collect();
    same!(all.len(), 8, "different shards");
    same!(
        subject.store.claim(&worker("b"), 8, WINDOW).await?.len(),
        0,
        "shards claimed when none is free"
    );
    same!(
        subject.store.claim(&worker("a"), 8, WINDOW).await?.len(),
        0,
        "of one's own shards claimed again"
    );
    Ok(())
}

pub(super) async fn s022_claims_at_the_same_time_share_nothing(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 32).await?;
    let workers: Vec<WorkerId> = (0..6).map(|index| worker(&format!("w{index}"))).collect();
    for worker in &workers {
        subject.beat(worker).await?;
    }
    let mut owners = std::collections::BTreeMap::new();
    for _ in 0..6 {
        let claims = workers
            .iter()
            .map(|worker| subject.store.claim(worker, 2, WINDOW));
        for (worker, claimed) in workers.iter().zip(futures_util::future::join_all(claims).await) {
            let claimed = claimed?;
            check!(
                claimed.len() <= 2,
                "{worker} asked for 2 and was given {}",
                claimed.len()
            );
            for claimed in claimed {
                let before = owners.insert(claimed.lease.shard, worker.clone());
                check!(
                    before.is_none(),
                    "{:?} went to {before:?} and to {worker}",
                    claimed.lease
                );
            }
        }
    }
    same!(owners.len(), 32, "shards owned in the end");
    for worker in &workers {
        let owned = subject.beat(worker).await?.owned.len();
        let claimed = owners.values().filter(|owner| *owner == worker).count();
        same!(owned, claimed, "shards of {worker} by its beat");
    }
    Ok(())
}

pub(super) async fn s023_a_silent_owner_is_taken_over_from(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let first = subject.worker("a").await?;
    same!(
        subject.worker("b").await?.claimed.len(),
        0,
        "shards taken from a living owner"
    );
    subject.expire(&first.id).await?;
    let second = subject.worker("b").await?;
    same!(second.claimed.len(), 4, "shards taken over");
    for claimed in &second.claimed {
        same!(
            claimed.left,
            Left::Crashed { window: WINDOW },
            "what was left in {:?}",
            claimed.lease
        );
        same!(
            claimed.lease.epoch,
            first.lease(claimed.lease.shard)?.epoch + 1,
            "the epoch"
        );
    }
    Ok(())
}

pub(super) async fn s024_a_clean_release_leaves_nothing_behind(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let first = subject.worker("a").await?;
    subject.store.release(&first.id, &first.leases(), true).await?;
    none!(
        subject.beat(&first.id).await?.owned,
        "shards of the one that gave them back"
    );
    let second = subject.worker("b").await?;
    same!(second.claimed.len(), 4, "shards claimed after the release");
    for claimed in &second.claimed {
        same!(claimed.left, Left::Clean, "what was left in {:?}", claimed.lease);
        let before = first.lease(claimed.lease.shard)?.epoch;
        check!(
            claimed.lease.epoch > before,
            "the epoch grows from {before}: {:?}",
            claimed.lease
        );
    }
    Ok(())
}

pub(super) async fn s025_an_unclean_release_tells_the_window(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let first = subject.worker("a").await?;
    subject.store.release(&first.id, &first.leases(), false).await?;
    let second = subject.worker("b").await?;
    same!(second.claimed.len(), 2, "shards claimed after the release");
    for claimed in &second.claimed {
        same!(
            claimed.left,
            Left::Crashed { window: WINDOW },
            "what was left in {:?}",
            claimed.lease
        );
    }
    Ok(())
}

pub(super) async fn s026_one_who_left_without_releasing_has_crashed(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let first = subject.worker("a").await?;
    subject.store.leave(&first.id).await?;
    let second = subject.worker("b").await?;
    same!(second.claimed.len(), 2, "shards claimed");
    for claimed in &second.claimed {
        same!(
            claimed.left,
            Left::Crashed { window: WINDOW },
            "what was left in {:?}",
            claimed.lease
        );
    }
    Ok(())
}

pub(super) async fn s027_a_crash_is_remembered_until_a_clean_end(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut epoch = 0;
    for name in ["a", "b", "c"] {
        let owner = subject.worker(name).await?;
        same!(owner.claimed.len(), 1, "shards of {name}");
        for claimed in &owner.claimed {
            check!(
                claimed.lease.epoch > epoch,
                "the epoch grows from {epoch}: {claimed:?}"
            );
            epoch = claimed.lease.epoch;
            let expected = if name == "a" {
                Left::Clean
            } else {
                Left::Crashed { window: WINDOW }
            };
            same!(claimed.left, expected, "what {name} finds");
        }
        subject.expire(&owner.id).await?;
    }
    let last = subject.worker("d").await?;
    subject.store.release(&last.id, &last.leases(), true).await?;
    let after = subject.worker("e").await?;
    check!(
        after.claimed.iter().all(|claimed| claimed.left == Left::Clean) && after.claimed.len() == 1,
        "after a clean end nothing is left: {:?}",
        after.claimed
    );
    Ok(())
}

pub(super) async fn s028_a_claim_tells_the_highest_number(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let enqueued = subject.enqueue_some(40).await?;
    let owner = subject.worker("a").await?;
    for claimed in &owner.claimed {
        let mut highest = 0;
        for id in &enqueued {
            if subject.record(*id).await?.shard == claimed.lease.shard {
                highest = highest.max(id.number());
            }
        }
        same!(
            claimed.highest,
            highest,
            "the highest number in shard {}",
            claimed.lease.shard
        );
    }
    Ok(())
}

pub(super) async fn s029_a_claim_tells_which_lanes_are_parked(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let first = subject.worker("a").await?;
    let message = |key: &str| NewMessage::to("billing").key(key).payload("{}");
    let waiting = subject.enqueue_one(message("waits")).await?;
    let due = subject.enqueue_one(message("due")).await?;
    let head = subject.enqueue_one(message("parked")).await?;
    let sent = subject.enqueue_one(message("sent")).await?;
    let without_key = subject.enqueue_some(1).await?[0];
    subject.enqueue_one(message("fresh")).await?;
    let verdicts = [
        (waiting, retry(1, HOUR)),
        (due, retry(1, HOUR)),
        (head, park()),
        (sent, delivered(1)),
        (without_key, retry(1, HOUR)),
    ];
    subject.settle(&first, &verdicts).await?;
    subject.make_due(due, 1000).await?;
    subject.expire(&first.id).await?;

    let second = subject.worker("b").await?;
    let [claimed] = &second.claimed[..] else {
        check!(false, "one shard is claimed: {:?}", second.claimed);
        return Ok(());
    };
    let lane = |key: &str| LaneId {
        destination: "billing".to_owned(),
        key: key.to_owned(),
    };
    let expected = [ParkedLane {
        lane: lane("parked"),
        head: head.number(),
    }];
    same!(claimed.parked, expected, "the parked lanes");
    Ok(())
}
