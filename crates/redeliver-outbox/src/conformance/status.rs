//! The operator's figures.

use std::{collections::BTreeMap, time::Duration};

use super::{
    Factory,
    failure::{Outcome, check, none, same},
    subject::{HOUR, Subject, delivered, park, retry},
};
use crate::{NewMessage, desk::Figures, store::WorkerId};

pub(super) async fn s120_an_empty_outbox_has_no_figures(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let status = subject.desk.status().await?;
    same!(status.total, Figures::default(), "the figures");
    same!(status.destinations, BTreeMap::new(), "the destinations");
    same!(status.attempts, BTreeMap::new(), "the attempts");
    same!(
        (status.shards, status.shards_without_owner),
        (4, 4),
        "shards, and those without an owner"
    );
    none!(status.workers, "the workers");
    Ok(())
}

pub(super) async fn s121_the_figures_add_up(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let worker = subject.worker("w").await?;
    let mail = |key: &str| NewMessage::to("mail").key(key).payload("{}");
    let billing = subject.enqueue_some(6).await?;
    let lane = subject
        .enqueue(&[mail("a"), mail("a"), mail("a"), mail("b")])
        .await?;
    let verdicts = [
        (billing[0], delivered(1)),
        (billing[1], delivered(1)),
        (billing[2], retry(1, HOUR)),
        (billing[3], retry(1, HOUR)),
        (lane[0], park()),
    ];
    subject.settle(&worker, &verdicts).await?;
    subject.settle_one(&worker, billing[3], retry(2, HOUR)).await?;
    subject.make_due(billing[2], 5_000_000).await?;
    let status = subject.desk.status().await?;
    let without_lag = |figures: &Figures| Figures {
        oldest_lag: None,
        ..*figures
    };
    let expected_billing = Figures {
        due_now: 3,
        waiting: 1,
        sent: 2,
        ..Figures::default()
    };
    let expected_mail = Figures {
        due_now: 1,
        parked: 2,
        dead: 1,
        ..Figures::default()
    };
    let met: BTreeMap<&str, Figures> = status
        .destinations
        .iter()
        .map(|(name, figures)| (name.as_str(), without_lag(figures)))
        .collect();
    same!(
        met,
        BTreeMap::from([("billing", expected_billing), ("mail", expected_mail)]),
        "the figures by destination"
    );
    let expected = Figures {
        due_now: 4,
        waiting: 1,
        put_away: 0,
        parked: 2,
        sent: 2,
        dead: 1,
        oldest_lag: None,
    };
    same!(without_lag(&status.total), expected, "the sums");
    let lag = status.total.oldest_lag.unwrap_or_default();
    check!(
        lag >= Duration::from_secs(5000) && lag < Duration::from_secs(5600),
        "the oldest is due since {lag:?}"
    );
    same!(
        status.attempts,
        BTreeMap::from([(0, 5), (1, 1), (2, 1)]),
        "live messages by attempts"
    );
    Ok(())
}

pub(super) async fn s124_what_waits_behind_a_head_waits_too(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let worker = subject.worker("w").await?;
    let keyed = |destination: &str, key: &str| NewMessage::to(destination).key(key).payload("{}");
    let lane = subject
        .enqueue(&[
            keyed("mail", "a"),
            keyed("mail", "a"),
            keyed("mail", "b"),
            keyed("billing", "a"),
        ])
        .await?;
    subject.settle_one(&worker, lane[0], retry(1, HOUR)).await?;
    // Inserted long ago for a time that has come since.
    let (long_ago, since) = (
        subject.time_from_now(-9_000_000).await?,
        subject.time_from_now(-1_000_000).await?,
    );
    let number = lane[3].number();
    subject
        .execute(&format!(
            "UPDATE redeliver_outbox SET created_at = {long_ago}, not_before = {since} WHERE number = {number}"
        ))
        .await?;
    let status = subject.desk.status().await?;
    let of = |name: &str| status.destinations.get(name).copied().unwrap_or_default();
    same!(
        (of("mail").due_now, of("mail").waiting, of("billing").due_now),
        (1, 2, 1),
        "due and waiting in the lane's destination, due in another with the same key"
    );
    let lag = of("billing").oldest_lag.unwrap_or_default();
    check!(
        lag >= Duration::from_secs(1000) && lag < Duration::from_secs(1600),
        "the message is due since {lag:?}"
    );
    Ok(())
}

pub(super) async fn s122_workers_are_told_with_their_shards(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 8).await?;
    let first = subject.worker_of("a", 5).await?;
    subject.worker_of("b", 2).await?;
    subject.beat(&WorkerId("c".to_owned())).await?;
    let status = subject.desk.status().await?;
    let told = |status: &crate::desk::StatusReport| {
        let mut workers: Vec<_> = status
            .workers
            .iter()
            .map(|worker| (worker.id.clone(), worker.alive, worker.shards))
            .collect();
        workers.sort();
        workers
    };
    let named = |name: &str, alive, shards| (name.to_owned(), alive, shards);
    same!(
        told(&status),
        [named("a", true, 5), named("b", true, 2), named("c", true, 0)],
        "the workers"
    );
    same!(status.shards_without_owner, 1, "shards without an owner");
    subject.expire(&first.id).await?;
    let status = subject.desk.status().await?;
    same!(status.shards_without_owner, 6, "shards without a live owner");
    let alive: Vec<_> = told(&status)
        .into_iter()
        .filter(|(_, alive, _)| *alive)
        .map(|(id, ..)| id)
        .collect();
    same!(alive, ["b", "c"], "the workers that are alive");
    Ok(())
}

pub(super) async fn s123_the_database_is_examined(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let findings = subject.desk.examine().await?;
    check!(
        !findings.is_empty(),
        "a look at the database finds something to say, good or bad"
    );
    for finding in findings {
        check!(
            !finding.what.is_empty() && !finding.topic.is_empty(),
            "a finding says what: {finding:?}"
        );
        check!(
            finding.grade == crate::desk::Grade::Good || !finding.next.is_empty(),
            "what could be better comes with a next step: {finding:?}"
        );
    }
    Ok(())
}
