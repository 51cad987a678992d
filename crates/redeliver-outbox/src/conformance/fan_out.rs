//! Events, and the messages that they become.

use super::{
    Factory,
    failure::{Outcome, check, none, same},
    subject::{HOUR, Subject, Worker, bury, dead, delivered, ids, only},
};
use crate::{
    DeadReason, Message, MessageId, NewMessage, Payload,
    desk::{Filter, Layout},
    state::Status,
    store::{AfterDeath, History, Settlement, Verdict},
};

pub(super) fn to(destinations: &[&str]) -> Verdict {
    Verdict::FannedOut {
        destinations: destinations.iter().map(|&name| name.to_owned()).collect(),
    }
}

/// An outbox with an event on `orders.paid`, and a worker that owns everything.
pub(super) async fn one(factory: &dyn Factory) -> Outcome<(Subject, Worker, MessageId)> {
    let subject = Subject::fresh(factory, 4).await?;
    let worker = subject.worker("w").await?;
    let event = subject.enqueue_one(event("order-7", 7)).await?;
    Ok((subject, worker, event))
}

pub(super) fn event(key: &str, index: usize) -> NewMessage {
    NewMessage::on("orders.paid")
        .key(key)
        .payload(format!("{{\"index\":{index}}}"))
        .content_type("application/json")
        .header("x-tenant", "acme")
        .traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
}

async fn count(subject: &Subject, table: &str) -> Outcome<usize> {
    let rows = subject
        .harness
        .rows(&format!("SELECT number FROM redeliver_{table}"))
        .await?;
    Ok(rows.len())
}

pub(super) async fn s190_an_event_becomes_a_message_for_each_destination(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let mut worker = subject.worker("w").await?;
    let id = subject
        .enqueue_one(event("order-7", 7).expires_after(HOUR))
        .await?;
    let read = worker.read_fresh().await?;
    same!(ids(&read), [id], "what is read");
    let [event] = &read[..] else { return Ok(()) };
    check!(event.is_event(), "it is an event: {event:?}");
    same!(event.topic.as_deref(), Some("orders.paid"), "the topic");
    subject
        .settle_one(&worker, id, to(&["audit", "billing", "mail"]))
        .await?;
    let made = worker.read_until(3).await?;
    let mut made: Vec<&Message> = made.iter().collect();
    made.sort_by_key(|message| message.number());
    let destinations: Vec<&str> = made.iter().map(|message| message.destination.as_str()).collect();
    same!(
        destinations,
        ["audit", "billing", "mail"],
        "the destinations, by number"
    );
    for message in made {
        let expected = Message {
            id: message.id,
            shard: message.shard,
            destination: message.destination.clone(),
            ..event.clone()
        };
        same!(*message, expected, "the message");
        check!(message.number() > id.number(), "its number is its own");
        same!(message.shard, event.shard, "the shard of the same key");
        let detail = subject.detail(message.id).await?;
        same!(detail.event, Some(id), "the event that it was made of");
        none!(detail.fan_out, "what was made of it");
    }
    let detail = subject.detail(id).await?;
    same!(detail.record.status, Status::FannedOut, "the status of the event");
    same!(detail.record.topic.as_deref(), Some("orders.paid"), "its topic");
    same!(detail.record.destination, "", "its destination");
    same!(detail.record.payload, Some(event.payload.clone()), "its payload");
    check!(detail.record.fanned_out_at.is_some(), "when it fanned out");
    same!(detail.event, None, "the event that the event was made of");
    let branches: Vec<_> = detail
        .fan_out
        .iter()
        .map(|branch| branch.destination.as_str())
        .collect();
    same!(branches, ["audit", "billing", "mail"], "what was made of it");
    let known = detail.fan_out.iter().all(|branch| {
        let record = branch.record.as_ref();
        record.is_some_and(|record| {
            record.destination == branch.destination && record.id.number() == branch.number
        })
    });
    check!(known, "each with its message: {:?}", detail.fan_out);
    Ok(())
}

pub(super) async fn s191_an_event_told_twice_fans_out_once(factory: &dyn Factory) -> Outcome {
    for history in [History::Full, History::WithoutPayloads, History::Off] {
        let (subject, worker, id) = one(factory).await?;
        let settlement = [worker.settlement(&subject.record(id).await?, to(&["a", "b"]))?];
        let store = subject.harness.store_keeping(history)?;
        for time in 1..=3 {
            let settled = store.settle(&worker.id, &settlement).await?;
            none!(settled.stale, "stale shards, told {time} times");
            same!(
                count(&subject, "outbox").await?,
                2,
                "live rows, told {time} times"
            );
        }
        let kept = usize::from(history != History::Off);
        same!(
            count(&subject, "events").await?,
            kept,
            "events kept with {history:?}"
        );
        same!(
            count(&subject, "fan_out").await?,
            2 * kept,
            "rows of who came from whom"
        );
        let payload = subject.find(id).await?.and_then(|detail| detail.record.payload);
        let expected = (history == History::Full).then(|| Payload::from("{\"index\":7}"));
        same!(payload, expected, "the payload kept with {history:?}");
    }
    Ok(())
}

pub(super) async fn s192_a_stale_epoch_fans_nothing_out(factory: &dyn Factory) -> Outcome {
    let (subject, worker, id) = one(factory).await?;
    let settlement = worker.settlement(&subject.record(id).await?, to(&["a"]))?;
    subject.expire(&worker.id).await?;
    let next = subject.worker("next").await?;
    let settled = subject
        .store
        .settle(&worker.id, std::slice::from_ref(&settlement))
        .await?;
    same!(settled.stale, [settlement.lease.shard], "stale shards");
    same!(count(&subject, "outbox").await?, 1, "live rows");
    subject.settle_one(&next, id, to(&["a"])).await?;
    same!(subject.status(id).await?, Status::FannedOut, "the status");
    same!(
        count(&subject, "outbox").await?,
        1,
        "live rows after the new owner's word"
    );
    Ok(())
}

pub(super) async fn s193_numbers_come_in_the_order_of_events_and_destinations(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let mut worker = subject.worker("w").await?;
    let events: Vec<_> = (0..40)
        .map(|index| event(&format!("key-{}", index % 7), index))
        .collect();
    let events = subject.enqueue(&events).await?;
    let mut settlements: Vec<Settlement> = Vec::new();
    // Told in another order than they were inserted.
    for id in events.iter().rev() {
        settlements.push(worker.settlement(&subject.record(*id).await?, to(&["a", "b", "c"]))?);
    }
    worker.read_fresh().await?;
    subject.store.settle(&worker.id, &settlements).await?;
    let mut made = worker.read_until(3 * events.len()).await?;
    made.sort_by_key(Message::number);
    let met: Vec<(String, &str)> = made
        .iter()
        .map(|message| {
            let payload = message.payload.as_text().unwrap_or_default().to_owned();
            (payload, message.destination.as_str())
        })
        .collect();
    let expected: Vec<(String, &str)> = (0..40)
        .flat_map(|index| ["a", "b", "c"].map(|name| (format!("{{\"index\":{index}}}"), name)))
        .collect();
    same!(met, expected, "the messages, by number");
    Ok(())
}

pub(super) async fn s194_an_event_for_nobody_is_history(factory: &dyn Factory) -> Outcome {
    let (subject, mut worker, id) = one(factory).await?;
    worker.read_fresh().await?;
    subject.settle_one(&worker, id, to(&[])).await?;
    let detail = subject.detail(id).await?;
    same!(detail.record.status, Status::FannedOut, "the status");
    none!(detail.fan_out, "what was made of it");
    same!(count(&subject, "outbox").await?, 0, "live rows");
    Ok(())
}

pub(super) async fn s195_only_an_event_fans_out(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let worker = subject.worker("w").await?;
    let message = NewMessage::to("billing").topic("orders.paid").payload("{}");
    let id = subject.enqueue_one(message).await?;
    subject.settle_one(&worker, id, to(&["a", "b"])).await?;
    let record = subject.record(id).await?;
    same!(record.status, Status::Processing, "the status");
    same!(record.topic.as_deref(), Some("orders.paid"), "the topic");
    same!(count(&subject, "outbox").await?, 1, "live rows");
    subject.settle_one(&worker, id, delivered(1)).await?;
    same!(
        subject.record(id).await?.topic.as_deref(),
        Some("orders.paid"),
        "the topic once sent"
    );
    Ok(())
}

pub(super) async fn s196_a_redriven_event_fans_out_again(factory: &dyn Factory) -> Outcome {
    let (subject, mut worker, id) = one(factory).await?;
    worker.read_fresh().await?;
    let lost = dead(None, DeadReason::NoRoute, AfterDeath::Gap);
    let settlement = worker.settlement(&subject.record(id).await?, to(&["former"]))?;
    subject.settle_one(&worker, id, lost).await?;
    let record = subject.record(id).await?;
    same!(record.dead_letter_reason, Some(DeadReason::NoRoute), "the reason");
    same!(
        record.topic.as_deref(),
        Some("orders.paid"),
        "the topic of the dead letter"
    );
    same!(subject.redrive(&only(id)).await?, [id], "what is put back");
    // A verdict on its life before says nothing of this one.
    subject.store.settle(&worker.id, &[settlement]).await?;
    same!(
        subject.record(id).await?.redrives,
        1,
        "it is there, redriven once"
    );
    subject.settle_one(&worker, id, to(&["a"])).await?;
    let made = worker.read_until(1).await?;
    let made: Vec<(&str, u32)> = made
        .iter()
        .map(|message| (message.destination.as_str(), message.redrives))
        .collect();
    same!(
        made,
        [("a", 1)],
        "what was made of it, and that a person wanted it"
    );
    Ok(())
}

pub(super) async fn s197_figures_and_filters_know_events(factory: &dyn Factory) -> Outcome {
    let (subject, worker, fanned_out) = one(factory).await?;
    subject.settle_one(&worker, fanned_out, to(&["a", "b"])).await?;
    let lost = subject.enqueue_one(event("x", 1)).await?;
    subject
        .settle_one(&worker, lost, dead(None, DeadReason::NoRoute, AfterDeath::Gap))
        .await?;
    let waiting = subject
        .enqueue_one(NewMessage::on("users.new").payload("{}"))
        .await?;
    let status = subject.desk.status().await?;
    let events = status.events;
    same!(
        (events.due_now, events.dead, events.sent),
        (1, 1, 1),
        "events due, dead, fanned out"
    );
    check!(!status.destinations.contains_key(""), "events are no destination");
    same!(
        (status.total.due_now, status.total.dead, status.total.sent),
        (3, 1, 0),
        "the sums"
    );
    let by_topic = |topic: &str| Filter {
        topic: Some(topic.to_owned()),
        ..Filter::default()
    };
    same!(
        subject.matching(&by_topic("users.new")).await?,
        [waiting],
        "those of a topic"
    );
    same!(
        subject.desk.count(&by_topic("orders.paid")).await?,
        4,
        "those of the other"
    );
    let ended = Filter {
        statuses: vec![Status::FannedOut],
        ..Filter::default()
    };
    same!(
        subject.matching(&ended).await?,
        [fanned_out],
        "those that fanned out"
    );
    Ok(())
}

pub(super) async fn s198_a_plain_insert_is_an_event(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let mut worker = subject.worker("w").await?;
    subject
        .execute("INSERT INTO redeliver_outbox (topic, payload) VALUES ('orders.paid', '{}')")
        .await?;
    let read = worker.read_until(1).await?;
    let event = read.first();
    check!(event.is_some_and(Message::is_event), "what is read: {read:?}");
    let neither = "INSERT INTO redeliver_outbox (payload) VALUES ('{}')";
    check!(
        subject.execute(neither).await.is_err(),
        "what has neither a destination nor a topic is refused"
    );
    let empty = "INSERT INTO redeliver_outbox (topic, payload) VALUES ('', '{}')";
    check!(subject.execute(empty).await.is_err(), "and so is an empty topic");
    Ok(())
}

pub(super) async fn s199_the_step_keeps_what_is_in_the_tables(factory: &dyn Factory) -> Outcome {
    let layout = Layout { shards: 4 };
    let subject = Subject::without_tables(factory).await?;
    subject.desk.migrate(layout, Some(2)).await?;
    for number in 1..=3 {
        let statement = format!(
            "INSERT INTO redeliver_outbox (number, destination, lane, payload) VALUES ({number}, 'billing', 'k{number}', '{number}')"
        );
        subject.execute(&statement).await?;
    }
    // The newest number is gone, and still never given again.
    subject
        .execute("INSERT INTO redeliver_outbox (number, destination, payload) VALUES (90, 'billing', 'x')")
        .await?;
    subject
        .execute("DELETE FROM redeliver_outbox WHERE number = 90")
        .await?;
    subject
        .execute("INSERT INTO redeliver_outbox (number, destination, payload) VALUES (80, '', 'nowhere')")
        .await?;
    // Another layout is asked for than the one that is there.
    subject.desk.migrate(Layout { shards: 16 }, None).await?;
    let mut worker = subject.worker("w").await?;
    let read = worker.read_until(4).await?;
    check!(
        read.iter().all(|message| message.shard < 4),
        "in the shards that are there: {read:?}"
    );
    let payloads: Vec<_> = read
        .iter()
        .filter_map(|message| message.payload.as_text())
        .collect();
    for payload in ["1", "2", "3", "nowhere"] {
        check!(payloads.contains(&payload), "{payload} is read: {payloads:?}");
    }
    if subject.harness.one_writer() {
        // Elsewhere it is a sequence that gives numbers, and nobody has asked it for those above.
        let next = subject.enqueue_some(1).await?[0];
        check!(next.number() > 90, "the next number is {}", next.number());
    }
    subject.execute("DELETE FROM redeliver_outbox").await?;
    let messages = (0..100).map(|index| event("k", index)).collect::<Vec<_>>();
    let before = subject.enqueue(&messages).await?;
    subject.settle_one(&worker, before[0], to(&["a", "b"])).await?;
    subject.settle_one(&worker, before[1], bury()).await?;
    subject
        .desk
        .migrate(layout, Some(subject.before("topics")))
        .await?;
    same!(count(&subject, "outbox").await?, 100, "live rows, one step back");
    same!(count(&subject, "dead").await?, 1, "dead letters, one step back");
    subject.desk.migrate(layout, None).await?;
    same!(
        subject.desk.count(&Filter::default()).await?,
        101,
        "messages, up again"
    );
    let after = subject.enqueue_one(event("k", 1)).await?;
    check!(
        before.iter().all(|id| id.number() < after.number()),
        "no number is given again: {after}"
    );
    Ok(())
}
