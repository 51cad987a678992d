//! Events of the history, delivered once more.

use super::{
    Factory,
    failure::{Outcome, check, none, same},
    fan_out::{event, one, to},
    subject::{Subject, Worker, act},
};
use crate::{
    Message, NewMessage, Timestamp,
    desk::{Replay, Replayed, Retention},
    limits::REPLAY_BATCH,
    state::Status,
    store::{History, StoreErrorKind},
};

fn replay(topic: &str) -> Outcome<Replay> {
    Ok(Replay {
        to: "late".to_owned(),
        topic: topic
            .parse()
            .map_err(|_| super::Failure::new("the suite's own pattern is broken"))?,
        since: Timestamp::default(),
        until: None,
    })
}

/// Every step of a replay, summed up.
async fn whole(subject: &Subject, replay: &Replay, wanted: bool) -> Outcome<Replayed> {
    let (act, mut sum, mut after) = (act(), Replayed::default(), 0);
    loop {
        let step = subject.desk.replay(replay, after, wanted.then_some(&act)).await?;
        sum.messages += step.messages;
        sum.there_before += step.there_before;
        sum.without_payload += step.without_payload;
        sum.oldest = step.oldest;
        match step.next {
            Some(next) => after = next,
            None => return Ok(sum),
        }
    }
}

/// So many events of two topics, fanned out to `first`.
async fn events(subject: &Subject, worker: &mut Worker, count: usize) -> Outcome {
    let messages: Vec<NewMessage> = (0..count)
        .map(|index| match index % 2 {
            0 => event("k", index),
            _ => NewMessage::on("users.new").payload(format!("{{\"index\":{index}}}")),
        })
        .collect();
    subject.enqueue(&messages).await?;
    let read = worker.read_until(count).await?;
    let mut settlements = Vec::new();
    for message in &read {
        let lease = worker.lease(message.shard)?;
        settlements.push(crate::store::Settlement::of(message, lease, to(&["first"])));
    }
    subject.store.settle(&worker.id, &settlements).await?;
    worker.read_until(count).await?;
    Ok(())
}

pub(super) async fn s200_each_event_is_replayed_once_in_order(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let mut worker = subject.worker("w").await?;
    let count = 2 * REPLAY_BATCH + 20;
    events(&subject, &mut worker, count).await?;
    let asked = replay("orders.*")?;
    let would = whole(&subject, &asked, false).await?;
    same!(would.messages as usize, count / 2, "what would be made");
    none!(worker.read_fresh().await?, "what a trial makes");
    let before = subject.now().await?;
    let done = whole(&subject, &asked, true).await?;
    same!(done.messages as usize, count / 2, "what was made");
    check!(
        done.oldest.is_some_and(|oldest| oldest <= before),
        "the oldest: {:?}",
        done.oldest
    );
    let mut made = worker.read_until(count / 2).await?;
    made.sort_by_key(Message::number);
    let met: Vec<&str> = made
        .iter()
        .filter_map(|message| message.payload.as_text())
        .collect();
    let expected: Vec<String> = (0..count)
        .step_by(2)
        .map(|index| format!("{{\"index\":{index}}}"))
        .collect();
    same!(met, expected, "the payloads, by number");
    let right = made.iter().all(|message| {
        message.destination == "late"
            && message.key.as_deref() == Some("k")
            && message.topic.as_deref() == Some("orders.paid")
            && message.created_at >= before
            && message.headers.is_some()
    });
    check!(
        right,
        "each is a new message to the destination, of the same event"
    );
    let again = whole(&subject, &asked, true).await?;
    same!(
        (again.messages, again.there_before as usize),
        (0, count / 2),
        "made again, and there before"
    );
    none!(worker.read_fresh().await?, "what the second time makes");
    let audit = subject.desk.audit(10).await?;
    let acts: Vec<_> = audit.iter().filter(|record| record.action == "replay").collect();
    check!(!acts.is_empty(), "it is on record: {audit:?}");
    let told = acts
        .iter()
        .all(|record| record.who == "ana" && record.detail.contains("orders.*"));
    check!(told, "who, and what: {acts:?}");
    Ok(())
}

pub(super) async fn s201_a_replay_that_ended_in_the_middle_goes_on(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let mut worker = subject.worker("w").await?;
    let count = REPLAY_BATCH + 50;
    events(&subject, &mut worker, count).await?;
    let asked = replay("**")?;
    let first = subject.desk.replay(&asked, 0, Some(&act())).await?;
    check!(first.next.is_some(), "there is more: {first:?}");
    let rest = whole(&subject, &asked, true).await?;
    same!(
        (first.messages + rest.messages) as usize,
        count,
        "messages made in all"
    );
    same!(worker.read_until(count).await?.len(), count, "messages read");
    none!(worker.read_fresh().await?, "and no more");
    Ok(())
}

pub(super) async fn s202_replays_at_the_same_time_make_each_message_once(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let mut worker = subject.worker("w").await?;
    events(&subject, &mut worker, 100).await?;
    let (asked, act) = (replay("**")?, act());
    let replays = (0..4).map(|_| subject.desk.replay(&asked, 0, Some(&act)));
    let mut made = 0;
    for step in futures_util::future::join_all(replays).await {
        match step {
            Ok(step) => made += step.messages,
            // One that waited too long, or was chosen to end a deadlock, made nothing and may ask again.
            Err(error) => same!(error.kind(), StoreErrorKind::Busy, "the kind of {error}"),
        }
    }
    same!(made, 100, "messages made by four at once");
    same!(worker.read_until(100).await?.len(), 100, "messages read");
    none!(worker.read_fresh().await?, "and no more");
    Ok(())
}

pub(super) async fn s203_what_the_history_has_not_kept_is_told(factory: &dyn Factory) -> Outcome {
    let (subject, worker, id) = one(factory).await?;
    let settlement = worker.settlement(&subject.record(id).await?, to(&["first"]))?;
    let nothing = whole(&subject, &replay("**")?, true).await?;
    same!(nothing, Replayed::default(), "of an empty history");
    let store = subject.harness.store_keeping(History::WithoutPayloads)?;
    store.settle(&worker.id, &[settlement]).await?;
    let step = whole(&subject, &replay("**")?, true).await?;
    same!(
        (step.messages, step.without_payload),
        (0, 1),
        "messages, and events without a payload"
    );
    check!(step.oldest.is_some(), "the history has an event");
    let mut wrong = replay("**")?;
    wrong.to = String::new();
    let error = subject.desk.replay(&wrong, 0, None).await.err();
    same!(
        error.map(|error| error.kind()),
        Some(StoreErrorKind::BadInput),
        "the kind of error of a replay to nobody"
    );
    Ok(())
}

pub(super) async fn s204_the_time_of_the_insert_narrows_a_replay(factory: &dyn Factory) -> Outcome {
    let (subject, worker, id) = one(factory).await?;
    subject.settle_one(&worker, id, to(&["first"])).await?;
    let at = subject.record(id).await?.created_at;
    // A time is told in whole milliseconds, and kept by some in finer ones.
    let [before, later] = [-1, 1].map(|millis| Timestamp::from_millis(at.as_millis() + millis));
    for (since, until, count) in [
        (before, None, 1),
        (later, None, 0),
        (Timestamp::default(), Some(before), 0),
        (before, Some(later), 1),
    ] {
        let asked = Replay {
            since,
            until,
            ..replay("**")?
        };
        let step = subject.desk.replay(&asked, 0, None).await?;
        same!(step.messages, count, "messages from {since} to {until:?}");
    }
    Ok(())
}

pub(super) async fn s205_old_events_are_forgotten_with_what_they_became(factory: &dyn Factory) -> Outcome {
    let (subject, worker, old) = one(factory).await?;
    let young = subject.enqueue_one(event("k", 1)).await?;
    for id in [old, young] {
        subject.settle_one(&worker, id, to(&["a", "b"])).await?;
    }
    let past = subject.time_from_now(-10_000_000).await?;
    let number = old.number();
    subject
        .execute(&format!(
            "UPDATE redeliver_events SET fanned_out_at = {past} WHERE number = {number}"
        ))
        .await?;
    let retention = Retention {
        sent: Some(super::subject::HOUR),
        ..Retention::default()
    };
    subject.desk.retain(&retention).await?;
    same!(subject.find(old).await?, None, "the old event");
    same!(subject.status(young).await?, Status::FannedOut, "the young one");
    let rows = subject
        .harness
        .rows("SELECT DISTINCT event_number FROM redeliver_fan_out")
        .await?;
    same!(rows, [[Some(young.number().to_string())]], "events with messages");
    Ok(())
}
