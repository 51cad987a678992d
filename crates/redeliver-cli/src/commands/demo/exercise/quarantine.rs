//! Exercise B: a payload that lacks a required field, and one that is no JSON, are judged before they are sent and quarantined.

use redeliver_outbox::{DeadReason, desk::Record, state::Status, store::Verdict};
use serde_json::{Value, json};
use tokio::task::block_in_place;

use super::{
    super::{
        narrator::Actor,
        shop::{End, Shop},
        stage::BILLING,
    },
    Sheet, settled,
};

pub(super) async fn run(sheet: &mut Sheet) -> anyhow::Result<()> {
    let mut relay = sheet.stage.relay(sheet.stage.billing()?);
    let mut numbers = Vec::new();
    for (what, payload) in [
        ("lacks its total", r#"{"order":1}"#.to_owned()),
        ("is cut off", r#"{"order":2,"total":"#.to_owned()),
        ("is sound", Shop::payload(3)),
    ] {
        let order = sheet.shop.next();
        let id = block_in_place(|| sheet.shop.order(BILLING, &payload, End::Commit))?;
        numbers.push(id.number());
        let words = format!("order {order} committed; its message {what}: {payload}");
        sheet.note(
            Actor::Shop,
            &words,
            json!({ "number": id.number(), "payload": payload }),
        );
    }
    relay.hint.wake();
    let inserted = sheet.stage.count(&[]).await?;
    let words = "two payloads are broken on purpose, and a sound one comes after them";
    sheet.step(1, inserted == 3, words, json!({ "messages": inserted }));

    let mut ended = 0;
    while ended < numbers.len() {
        let verdict = settled(&mut relay).await?.verdict;
        ended += usize::from(matches!(verdict, Verdict::Delivered(_) | Verdict::Dead { .. }));
    }
    relay.stop().await?;

    let mut records = Vec::new();
    for &number in &numbers {
        records.push(sheet.stage.look(number).await?.record);
    }
    let [lacking, cut, sound] = &records[..] else {
        anyhow::bail!("a message is missing");
    };
    let requests = sheet.stage.server.stats().requests;
    let unsent = lacking.attempts == 0 && cut.attempts == 0 && requests == 1;
    let words = format!(
        "the relay judged both before sending them: no attempt was made; the API heard {requests} request, the sound order's"
    );
    let figures = json!({ "attempts": [lacking.attempts, cut.attempts], "requests": requests });
    sheet.step(2, unsent, &words, figures);

    for (record, reason) in [
        (lacking, DeadReason::SchemaViolation),
        (cut, DeadReason::InvalidPayload),
    ] {
        let held = record.status == Status::DeadLettered
            && record.dead_letter_reason == Some(reason)
            && record.dead_lettered_at.is_some();
        sheet.step(3, held, &told(record), figures_of(record));
    }
    let words = "the sound order was not held up: sent";
    sheet.step(3, sound.status == Status::Sent, words, figures_of(sound));
    Ok(())
}

fn told(record: &Record) -> String {
    let reason = record
        .dead_letter_reason
        .map_or("no reason", |reason| reason.as_str());
    let error = record.last_error.as_deref().unwrap_or("no error");
    format!(
        "message {}: {}, {reason}: {error}",
        record.id.number(),
        record.status
    )
}

fn figures_of(record: &Record) -> Value {
    json!({
        "number": record.id.number(),
        "status": record.status.as_str(),
        "reason": record.dead_letter_reason.map(|reason| reason.as_str()),
        "last_error": record.last_error,
    })
}
