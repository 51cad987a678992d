//! The look behind the cursors: it reports never-scheduled rows where the reader has been, and leaves late commits to the read.

use std::collections::BTreeSet;

use super::{
    Factory,
    failure::{Outcome, check, none, same},
    subject::{HOUR, PATIENCE, Subject, Worker, delivered, demand, retry},
};
use crate::{
    Message, NewMessage,
    store::{Demand, Outline},
};

async fn look(worker: &mut Worker, at_most: usize) -> Outcome<Vec<Outline>> {
    let demand = Demand {
        behind: at_most,
        ..demand(1000, 1000)
    };
    let found = worker.reader.read(&demand).await?;
    none!(found.fresh, "messages ahead of the cursors");
    Ok(found.behind)
}

fn numbers(rows: &[Outline]) -> BTreeSet<i64> {
    rows.iter().map(|row| row.id.number()).collect()
}

/// Looks until these rows have been reported. Transactions of others may keep what was read last from being looked at for a while.
async fn look_until(worker: &mut Worker, wanted: &BTreeSet<i64>, at_most: usize) -> Outcome<Vec<Outline>> {
    let begun = redeliver::clock::wall();
    let mut met: Vec<Outline> = Vec::new();
    while !numbers(&met).is_superset(wanted) {
        let rows = look(worker, at_most).await?;
        check!(rows.len() <= at_most, "{} rows for {at_most}", rows.len());
        met.extend(rows);
        let waited = redeliver::clock::wall().saturating_sub(begun);
        check!(waited < PATIENCE, "only {:?} in {waited:?}", numbers(&met));
        tokio::task::yield_now().await;
    }
    Ok(met)
}

pub(super) async fn s450_a_row_that_appears_behind_the_cursor_is_reported(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut worker = subject.worker("w").await?;
    let enqueued = subject.enqueue_some(5).await?;
    same!(worker.read_fresh().await?.len(), 5, "messages read");
    for id in &enqueued {
        subject.settle_one(&worker, *id, delivered(1)).await?;
    }
    let number = enqueued[2].number();
    let statement = format!(
        "INSERT INTO redeliver_outbox (number, salt, destination, lane, payload) VALUES ({number}, 77, 'billing', 'k', '{{}}')"
    );
    subject.execute(&statement).await?;
    let rows = look_until(&mut worker, &[number].into(), 10).await?;
    let row = rows.last();
    check!(row.is_some_and(|row| row.id.salt() == 77), "{row:?}");
    check!(
        row.is_some_and(|row| row.destination == "billing" && row.key.as_deref() == Some("k")),
        "{row:?}"
    );
    none!(look(&mut worker, 0).await?, "rows without a demand for them");
    Ok(())
}

pub(super) async fn s451_all_rows_behind_come_in_turn(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let mut worker = subject.worker("w").await?;
    let enqueued = subject.enqueue_some(25).await?;
    same!(worker.read_fresh().await?.len(), 25, "messages read");
    subject.settle_one(&worker, enqueued[0], retry(1, HOUR)).await?;
    subject.settle_one(&worker, enqueued[1], delivered(1)).await?;
    let expected: BTreeSet<i64> = enqueued[2..].iter().map(|id| id.number()).collect();
    for _ in 0..2 {
        let rows = look_until(&mut worker, &expected, 7).await?;
        same!(numbers(&rows), expected, "rows that were never scheduled");
    }
    worker.reader.disown(0);
    for _ in 0..8 {
        let rows = look(&mut worker, 7).await?;
        check!(rows.iter().all(|row| row.shard != 0), "a shard that was given up");
    }
    Ok(())
}

/// To report it from another place than its range would break the order of its lane.
pub(super) async fn s452_what_may_be_a_late_commit_is_left_to_the_read(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut worker = subject.worker("w").await?;
    if subject.harness.one_writer() {
        return Ok(());
    }
    let mut late = subject.harness.begin().await?;
    late.execute("INSERT INTO redeliver_outbox (destination, lane, payload) VALUES ('billing', 'k', 'late')")
        .await?;
    subject.enqueue_some(3).await?;
    let mut read = worker.read_until(3).await?;
    for _ in 0..5 {
        none!(
            look(&mut worker, 100).await?,
            "rows of a range that may get late ones"
        );
    }
    late.commit().await?;
    read.extend(worker.read_until(1).await?);
    let expected: BTreeSet<i64> = read.iter().map(Message::number).collect();
    same!(expected.len(), 4, "messages, each read once");
    look_until(&mut worker, &expected, 100).await?;
    Ok(())
}

pub(super) async fn s453_texts_of_a_row_behind_are_cut_and_stay_too_long(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut worker = subject.worker("w").await?;
    let fits = "k".repeat(1000);
    let message = NewMessage::to("billing").key(&fits).payload("{}");
    subject.enqueue_one(message).await?;
    let long = "\u{1f4a5}".repeat(900);
    let statement = format!(
        "INSERT INTO redeliver_outbox (destination, lane, payload) VALUES ('billing', '{long}', '{{}}')"
    );
    subject.execute(&statement).await?;
    let read = worker.read_until(2).await?;
    let expected = read.iter().map(Message::number).collect();
    let rows = look_until(&mut worker, &expected, 100).await?;
    let keys: BTreeSet<&str> = rows.iter().filter_map(|row| row.key.as_deref()).collect();
    check!(keys.contains(fits.as_str()), "a key that fits is whole");
    let longer = |key: &&str| key.len() > crate::limits::KEY_LIMIT && long.starts_with(*key);
    check!(keys.iter().any(longer), "a key that is too long stays so");
    Ok(())
}
