//! What is put away until its destination is well again.

use super::{
    Factory,
    failure::{Outcome, none, same},
    subject::{Subject, ids},
};
use crate::{
    MessageId, NewMessage, Timestamp,
    store::{Until, Verdict},
};

const AWAY: Verdict = Verdict::Postponed(Until::At(Timestamp::PARKED));

async fn some(subject: &Subject, destination: &str, count: usize) -> Outcome<Vec<MessageId>> {
    let mut some = Vec::new();
    for _ in 0..count {
        some.push(subject.enqueue_one(NewMessage::to(destination)).await?);
    }
    Ok(some)
}

pub(super) async fn s170_what_is_put_away_comes_back_in_its_order(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let (mine, other) = (
        some(&subject, "billing", 5).await?,
        some(&subject, "mail", 2).await?,
    );
    let mut worker = subject.worker("w").await?;
    same!(worker.read_fresh().await?.len(), 7, "messages read forward");
    for &id in mine.iter().chain(&other) {
        subject.settle_one(&worker, id, AWAY).await?;
    }
    none!(worker.read().await?.due, "due while they are away");

    let back = subject.store.unpark(&[0, 1], "billing", 3).await?;
    same!(back, 3, "brought back, of five and three asked for");
    let mut due = ids(&worker.read().await?.due);
    due.sort_unstable();
    same!(
        due,
        mine[..3],
        "the first ones are due, and nothing of the other destination"
    );
    same!(subject.store.unpark(&[0, 1], "billing", 9).await?, 2, "the rest");
    same!(
        subject.store.unpark(&[0, 1], "billing", 9).await?,
        0,
        "nothing is left"
    );
    same!(subject.store.unpark(&[], "mail", 9).await?, 0, "of no shard");
    same!(
        subject.store.unpark(&[0, 1], "mail", 9).await?,
        2,
        "the other destination's"
    );
    same!(worker.read().await?.due.len(), 7, "due in the end");
    Ok(())
}
