//! Verdicts that come too late, out of turn, or all at once.

use super::{
    Factory, Failure,
    failure::{Outcome, none, same},
    settle::one,
    subject::{HOUR, Subject, Worker, bury, dead, delivered, only, retry},
};
use crate::{
    DeadReason, MessageId,
    desk::Filter,
    state::Status,
    store::{AfterDeath, Lease, Settled, Settlement, StoreErrorKind, Until, Verdict},
};

pub(super) async fn s084_a_settle_of_nothing_and_of_nobody(factory: &dyn Factory) -> Outcome {
    let (subject, worker, id) = one(factory).await?;
    none!(
        subject.store.settle(&worker.id, &[]).await?.stale,
        "stale shards of no settlements"
    );
    let another = MessageId::new(id.number(), id.salt() ^ 1);
    for nobody in [MessageId::new(id.number() + 1000, id.salt()), another] {
        for verdict in [
            delivered(1),
            retry(1, HOUR),
            bury(),
            Verdict::Counted { attempt: 1 },
            Verdict::Postponed(Until::After(HOUR)),
        ] {
            let settlement = [Settlement {
                id: nobody,
                ..worker.settlement(&subject.record(id).await?, verdict)?
            }];
            none!(
                subject.store.settle(&worker.id, &settlement).await?.stale,
                "stale shards of a message that is gone"
            );
        }
    }
    same!(
        subject.status(id).await?,
        Status::Processing,
        "the status of the message that has the number now"
    );
    same!(subject.record(id).await?.attempts, 0, "its attempts");
    Ok(())
}

pub(super) async fn s085_an_epoch_that_never_was_is_stale(factory: &dyn Factory) -> Outcome {
    let (subject, worker, id) = one(factory).await?;
    let shard = subject.record(id).await?.shard;
    for lease in [
        Lease {
            shard,
            epoch: worker.lease(shard)?.epoch + 1,
        },
        Lease { shard: 999, epoch: 1 },
    ] {
        let settlement = [Settlement {
            lease,
            ..worker.settlement(&subject.record(id).await?, delivered(1))?
        }];
        let settled = subject.store.settle(&worker.id, &settlement).await?;
        same!(settled.stale, [lease.shard], "stale shards of {lease:?}");
        same!(
            subject.status(id).await?,
            Status::Processing,
            "the status after {lease:?}"
        );
    }
    Ok(())
}

pub(super) async fn s086_an_attempt_out_of_turn_changes_nothing(factory: &dyn Factory) -> Outcome {
    let (subject, worker, id) = one(factory).await?;
    // Attempts are counted from 1.
    let before = subject.detail(id).await?;
    for verdict in [delivered(0), retry(0, HOUR), Verdict::Counted { attempt: 0 }] {
        subject.settle_one(&worker, id, verdict.clone()).await?;
        same!(subject.detail(id).await?, before, "the message after {verdict:?}");
    }
    subject.settle_one(&worker, id, retry(1, HOUR)).await?;
    subject.settle_one(&worker, id, retry(2, HOUR)).await?;
    let before = subject.detail(id).await?;
    for verdict in [
        delivered(1),
        delivered(4),
        retry(1, HOUR),
        retry(5, HOUR),
        Verdict::Counted { attempt: 1 },
        Verdict::Counted { attempt: 9 },
        bury(),
    ] {
        subject.settle_one(&worker, id, verdict.clone()).await?;
        same!(subject.detail(id).await?, before, "the message after {verdict:?}");
    }
    Ok(())
}

/// Settles as the engine does: what was busy is told again.
async fn settle_until_done(
    subject: &Subject,
    worker: &Worker,
    settlements: &[Settlement],
) -> Outcome<Settled> {
    for _ in 0..20 {
        match subject.store.settle(&worker.id, settlements).await {
            Err(error) if error.kind() == StoreErrorKind::Busy => tokio::task::yield_now().await,
            settled => return Ok(settled?),
        }
    }
    Err(Failure::new("a settle was busy twenty times in a row"))
}

pub(super) async fn s087_settles_at_the_same_time_all_succeed_in_the_end(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let worker = subject.worker("w").await?;
    let mut settlements = Vec::new();
    for id in subject.enqueue_some(80).await? {
        settlements.push(worker.settlement(&subject.record(id).await?, delivered(1))?);
    }
    let batches = settlements
        .chunks(10)
        .map(|batch| settle_until_done(&subject, &worker, batch));
    for settled in futures_util::future::join_all(batches).await {
        none!(settled?.stale, "stale shards");
    }
    let sent = Filter {
        statuses: vec![Status::Sent],
        ..Filter::default()
    };
    same!(subject.desk.count(&sent).await?, 80, "messages sent");
    Ok(())
}

pub(super) async fn s088_a_verdict_on_a_former_life_says_nothing_of_this_one(
    factory: &dyn Factory,
) -> Outcome {
    let (subject, worker, id) = one(factory).await?;
    let first_life = subject.record(id).await?;
    subject.settle_one(&worker, id, bury()).await?;
    subject.redrive(&only(id)).await?;
    let before = subject.detail(id).await?;
    for verdict in [
        delivered(1),
        retry(1, HOUR),
        bury(),
        dead(None, DeadReason::Expired, AfterDeath::None),
        Verdict::Counted { attempt: 1 },
        Verdict::Postponed(Until::After(HOUR)),
    ] {
        let late = worker.settlement(&first_life, verdict.clone())?;
        let settled = subject.store.settle(&worker.id, &[late]).await?;
        none!(settled.stale, "stale shards: the worker owns them all");
        same!(
            subject.detail(id).await?,
            before,
            "the message after a late {verdict:?}"
        );
    }
    subject.settle_one(&worker, id, delivered(1)).await
}
