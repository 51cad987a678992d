//! What is put away until its destination is well again.

use super::{
    Factory,
    failure::{Outcome, check, none, same},
    subject::{HOUR, Subject, ids, retry},
};
use crate::{
    MessageId, NewMessage,
    state::Status,
    store::{Until, Verdict},
};

const AWAY: Verdict = Verdict::Postponed(Until::Recovered);

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

pub(super) async fn s171_what_is_put_away_shows_no_time(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let both = some(&subject, "billing", 2).await?;
    let worker = subject.worker("w").await?;
    subject.settle_one(&worker, both[1], retry(1, HOUR)).await?;
    for &id in &both {
        subject.settle_one(&worker, id, AWAY).await?;
    }
    for (&id, status) in both.iter().zip([Status::Pending, Status::Failed]) {
        let record = subject.record(id).await?;
        same!(
            (
                record.status,
                record.next_attempt_at,
                record.put_away,
                record.locked_by
            ),
            (status, None, true, None),
            "status, next attempt, whether it is put away, and by whom it is sent"
        );
    }
    let query = "SELECT COUNT(*) FROM redeliver_messages WHERE put_away AND next_attempt_at IS NULL";
    let seen = subject.harness.rows(query).await?;
    same!(
        seen,
        [[Some("2".to_owned())]],
        "those that the view says are put away"
    );
    let figures = subject.desk.status().await?.total;
    same!(
        (figures.put_away, figures.waiting, figures.due_now),
        (2, 0, 0),
        "put away, waiting and due"
    );
    subject.store.unpark(&[0], "billing", 2).await?;
    for &id in &both {
        let record = subject.record(id).await?;
        same!(
            (record.status, record.put_away),
            (Status::Processing, false),
            "the status of one that was brought back"
        );
        check!(record.next_attempt_at.is_some(), "its time is told");
    }
    Ok(())
}

pub(super) async fn s172_what_is_put_away_for_any_other_destination_comes_back(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let known = some(&subject, "billing", 3).await?;
    let mut others = some(&subject, "mail", 3).await?;
    others.extend(some(&subject, "Billing", 1).await?);
    others.push(subject.enqueue_one(NewMessage::on("orders")).await?);
    let later = subject.enqueue_one(NewMessage::to("mail")).await?;
    let mut worker = subject.worker("w").await?;
    same!(worker.read_fresh().await?.len(), 9, "messages read forward");
    for &id in known.iter().chain(&others) {
        subject.settle_one(&worker, id, AWAY).await?;
    }
    subject.settle_one(&worker, later, retry(1, HOUR)).await?;

    let store = &subject.store;
    let names = ["billing", "shipping", "it's"].map(str::to_owned);
    same!(store.unpark_others(&[], &names, 9).await?, 0, "of no shard");
    same!(
        store.unpark_others(&[0, 1], &names, 2).await?,
        2,
        "as many as asked for"
    );
    same!(store.unpark_others(&[0, 1], &names, 9).await?, 3, "the rest");
    same!(
        store.unpark_others(&[0, 1], &names, 9).await?,
        0,
        "nothing is left"
    );
    let mut due = ids(&worker.read().await?.due);
    due.sort_unstable();
    others.sort_unstable();
    same!(
        due,
        others,
        "due, and neither what is of a known destination nor what waits for its retry"
    );
    same!(
        store.unpark_others(&[0, 1], &[], 9).await?,
        3,
        "all that is away, where no destination is known"
    );
    Ok(())
}
