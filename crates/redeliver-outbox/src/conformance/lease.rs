//! Who is alive, whose shards are whose, and what an epoch that has passed can no longer do.

use std::time::Duration;

use super::{
    Factory,
    failure::{Outcome, check, none, same},
    subject::{HOUR, LEASE, Subject, WINDOW, bury, delivered, demand, retry},
};
use crate::{
    live::Live,
    state::Status,
    store::{Beat, Lease, Settlement, Until, Verdict, WorkerId},
};

pub(super) async fn s030_a_beat_tells_who_is_alive(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 8).await?;
    let before = subject.now().await?;
    let alone = subject.beat(&WorkerId("a".to_owned())).await?;
    same!(
        (alone.workers, alone.shards, alone.claimable),
        (1, 8, 8),
        "workers, shards and free shards"
    );
    none!(alone.owned, "the shards of a worker that has claimed none");
    same!(
        alone.next_expiry,
        None,
        "the end of another's lease where there is no other"
    );
    check!(
        alone.now >= before,
        "the database's clock went from {before} to {}",
        alone.now
    );

    let first = subject.worker_of("a", 5).await?;
    let second = subject.beat(&WorkerId("b".to_owned())).await?;
    same!(
        (second.workers, second.claimable),
        (2, 3),
        "workers and free shards beside another"
    );
    let ends = second.next_expiry.unwrap_or_default();
    check!(
        ends > LEASE / 2 && ends <= LEASE + Duration::from_millis(1),
        "the other's lease ends in {ends:?}, of {LEASE:?}"
    );

    subject.expire(&first.id).await?;
    let second = subject.beat(&WorkerId("b".to_owned())).await?;
    same!(
        (second.workers, second.claimable),
        (1, 8),
        "workers and free shards after the other's silence"
    );
    Ok(())
}

pub(super) async fn s031_a_late_beat_keeps_what_nobody_took(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let first = subject.worker("a").await?;
    subject.expire(&first.id).await?;
    let mut owned = subject.beat(&first.id).await?.owned;
    owned.sort();
    let mut leases = first.leases();
    leases.sort();
    same!(owned, leases, "the shards and epochs after a late beat");
    same!(
        subject.worker("b").await?.claimed.len(),
        0,
        "shards that another takes then"
    );
    Ok(())
}

pub(super) async fn s032_a_late_beat_does_not_win_back_what_was_taken(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let first = subject.worker("a").await?;
    subject.expire(&first.id).await?;
    let second = subject.worker_of("b", 3).await?;
    let late = subject.beat(&first.id).await?;
    same!(late.owned.len(), 1, "shards that are left to the first");
    let owned = subject.beat(&second.id).await?.owned.len();
    same!(owned, 3, "shards of the second");
    Ok(())
}

pub(super) async fn s033_a_release_in_a_past_epoch_changes_nothing(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let first = subject.worker("a").await?;
    subject.expire(&first.id).await?;
    let second = subject.worker("b").await?;
    subject.store.release(&first.id, &first.leases(), true).await?;
    // Not even by its present owner.
    subject.store.release(&second.id, &first.leases(), true).await?;
    let mut owned = subject.beat(&second.id).await?.owned;
    owned.sort();
    let mut leases = second.leases();
    leases.sort();
    same!(owned, leases, "the shards of the new owner");
    Ok(())
}

pub(super) async fn s034_a_release_of_some_keeps_the_others(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let first = subject.worker("a").await?;
    let leases = first.leases();
    let (given, kept) = leases.split_at(1);
    for _ in 0..2 {
        subject.store.release(&first.id, given, true).await?;
        let mut owned = subject.beat(&first.id).await?.owned;
        owned.sort();
        let mut kept = kept.to_vec();
        kept.sort();
        same!(owned, kept, "the shards that were kept");
    }
    let taken = subject.worker("b").await?.leases();
    let shards = |leases: &[Lease]| leases.iter().map(|lease| lease.shard).collect::<Vec<_>>();
    same!(shards(&taken), shards(given), "the shards that another takes");
    Ok(())
}

pub(super) async fn s035_a_worker_that_left_is_gone(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let first = subject.worker("a").await?;
    let second = WorkerId("b".to_owned());
    same!(subject.beat(&second).await?.workers, 2, "workers");
    subject.store.release(&first.id, &first.leases(), true).await?;
    for _ in 0..2 {
        subject.store.leave(&first.id).await?;
        same!(subject.beat(&second).await?.workers, 1, "workers after one left");
    }
    let workers = subject.desk.status().await?.workers;
    let names: Vec<_> = workers.iter().map(|worker| worker.id.as_str()).collect();
    same!(names, ["b"], "workers that the operator sees");
    Ok(())
}

pub(super) async fn s036_a_stale_epoch_changes_nothing(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let id = subject.enqueue_some(1).await?[0];
    let first = subject.worker("a").await?;
    subject.expire(&first.id).await?;
    let second = subject.worker("b").await?;
    let before = subject.detail(id).await?;
    for verdict in [
        delivered(1),
        retry(1, HOUR),
        bury(),
        Verdict::Counted { attempt: 1 },
        Verdict::Postponed(Until::After(HOUR)),
    ] {
        let settled = subject.settle(&first, &[(id, verdict.clone())]).await?;
        same!(settled.stale, [0], "the stale shards of {verdict:?}");
        same!(
            subject.detail(id).await?,
            before,
            "the message after a stale {verdict:?}"
        );
    }
    subject.settle_one(&second, id, delivered(1)).await?;
    same!(
        subject.status(id).await?,
        Status::Sent,
        "the status after its owner's verdict"
    );
    Ok(())
}

pub(super) async fn s037_a_stale_shard_does_not_hold_up_the_others(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let enqueued = subject.enqueue_some(60).await?;
    let first = subject.worker("a").await?;
    subject.expire(&first.id).await?;
    let second = subject.worker_of("b", 2).await?;
    let lost: Vec<u16> = second.leases().iter().map(|lease| lease.shard).collect();
    let verdicts: Vec<_> = enqueued.iter().map(|id| (*id, delivered(1))).collect();
    let mut settled = subject.settle(&first, &verdicts).await?;
    settled.stale.sort_unstable();
    let mut expected = lost.clone();
    expected.sort_unstable();
    same!(settled.stale, expected, "the stale shards");
    let mut refused = 0;
    for id in enqueued {
        let record = subject.record(id).await?;
        let stale = lost.contains(&record.shard);
        refused += usize::from(stale);
        same!(
            record.sent_at.is_none(),
            stale,
            "not sent in shard {} of {lost:?}",
            record.shard
        );
    }
    check!(
        refused > 0,
        "some of 60 messages were in the shards that changed hands"
    );
    Ok(())
}

pub(super) async fn s038_a_lease_that_ended_but_was_not_taken_settles(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let id = subject.enqueue_some(1).await?[0];
    let first = subject.worker("a").await?;
    subject.expire(&first.id).await?;
    subject.settle_one(&first, id, delivered(1)).await?;
    same!(subject.status(id).await?, Status::Sent, "the status");
    Ok(())
}

pub(super) async fn s039_takeover_and_settle_at_the_same_time(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    for round in 0..12 {
        let id = subject.enqueue_some(1).await?[0];
        let first = subject.worker(&format!("a{round}")).await?;
        subject.expire(&first.id).await?;
        let second = WorkerId(format!("b{round}"));
        subject.beat(&second).await?;
        let settlement = [first.settlement(&subject.record(id).await?, delivered(1))?];
        let (settled, claimed) = futures_util::future::join(
            subject.store.settle(&first.id, &settlement),
            subject.store.claim(&second, 1, WINDOW),
        )
        .await;
        let (settled, mut claimed) = (settled?, claimed?);
        if claimed.is_empty() {
            // A claim passes over what a settle holds at the moment.
            claimed = subject.store.claim(&second, 1, WINDOW).await?;
        }
        same!(claimed.len(), 1, "shards taken over in round {round}");
        // Either the settle came first, and the new owner does not see the message, or it was refused, and the new owner does.
        let mut reader = subject.store.reader();
        for claimed in &claimed {
            reader.own(claimed.lease);
        }
        let found = reader.read(&demand(10, 10)).await?;
        same!(
            found.fresh.len(),
            settled.stale.len(),
            "messages that the new owner reads in round {round}, after stale shards {:?}",
            settled.stale
        );
        let leases: Vec<_> = claimed.iter().map(|claimed| claimed.lease).collect();
        for message in found.fresh {
            let settlement = Settlement::of(&message, leases[0], delivered(1));
            subject.store.settle(&second, &[settlement]).await?;
        }
        subject.store.release(&second, &leases, true).await?;
    }
    Ok(())
}

pub(super) async fn s040_a_lease_lasts_as_long_as_it_was_asked_for(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let (first, second) = (WorkerId("a".to_owned()), WorkerId("b".to_owned()));
    for lease in [Duration::from_secs(3600), Duration::from_secs(300)] {
        let beat = Beat {
            worker: first.clone(),
            lease,
            in_flight: 3,
            destinations: Live::new(),
        };
        subject.store.beat(&beat).await?;
        let ends = subject.beat(&second).await?.next_expiry.unwrap_or_default();
        check!(
            ends > lease / 2 && ends <= lease + Duration::from_millis(1),
            "a lease of {lease:?} ends in {ends:?}"
        );
    }
    let status = subject.desk.status().await?;
    same!(status.in_flight, 3, "messages in flight by the last beats");
    Ok(())
}
