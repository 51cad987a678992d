//! Exercise C: a person looks at the last error, mends the payload and puts the message back; what had arrived before does no harm.

use redeliver::Policy;
use redeliver_outbox::{
    DeadReason, Timestamp,
    desk::{Act, Detail, Edit, Filter, MessageRef},
    destination::Routes,
    state::Status,
    store::Verdict,
};
use serde_json::json;
use tokio::task::block_in_place;

use super::{
    super::{
        narrator::Actor,
        shop::{End, Shop},
        stage::{BILLING, POLICY, Running},
    },
    Sheet, settled,
};

/// The same API over a line that loses the first answer, and only one attempt.
const LOSSY: &str = "billing-over-a-bad-line";
const LOSES_ANSWERS: &str = "?lose=100";
const ONE_ATTEMPT: Policy = POLICY.max_attempts(1);

pub(super) async fn run(sheet: &mut Sheet) -> anyhow::Result<()> {
    let mut relay = sheet.stage.relay(routes(sheet)?);
    let lacking = order(sheet, BILLING, r#"{"order":1}"#)?;
    let answerless = order(sheet, LOSSY, &Shop::payload(2))?;
    relay.hint.wake();
    ends(&mut relay, 2).await?;
    // So that the rows can be looked at before they are due.
    relay.stop().await?;

    let before = sheet.stage.look(lacking).await?;
    let error = before.record.last_error.as_deref().unwrap_or_default();
    let held = before.record.status == Status::DeadLettered && error.contains("total");
    let words = format!("last_error of message {lacking}: {error}");
    sheet.step(1, held, &words, json!({ "number": lacking, "last_error": error }));

    let mended = Shop::payload(1);
    mend(sheet, lacking, &mended).await?;
    let after = sheet.stage.look(lacking).await?;
    let held = payload(&after) == mended && after.original_payload == before.record.payload;
    let words = format!(
        "the payload was {}, and is now {mended}; the original is kept",
        payload(&before)
    );
    sheet.step(2, held, &words, json!({ "number": lacking, "payload": mended }));

    let asked = Timestamp::wall();
    redrive(sheet, lacking, "the payload is mended").await?;
    let back = sheet.stage.look(lacking).await?;
    let record = &back.record;
    let due = record.next_attempt_at;
    let held = record.status == Status::Pending
        && record.attempts == 0
        && due.is_some_and(|due| due >= asked && due <= Timestamp::wall());
    let due = due.map_or("none".to_owned(), |due| due.to_string());
    let words = format!(
        "put back: status {}, attempts {}, next_attempt_at {due}, which is now",
        record.status, record.attempts
    );
    let figures = json!({
        "number": lacking,
        "status": record.status.as_str(),
        "attempts": record.attempts,
        "next_attempt_at": due,
        "audit": back.audit.iter().map(|act| &act.action).collect::<Vec<_>>(),
    });
    sheet.step(3, held, &words, figures);

    let mut relay = sheet.stage.relay(routes(sheet)?);
    ends(&mut relay, 1).await?;
    let arrived = sheet.stage.look(lacking).await?.record;
    let words = format!(
        "and it arrives: {}, attempts {}",
        arrived.status, arrived.attempts
    );
    let held = arrived.status == Status::Sent && arrived.attempts == 1;
    sheet.step(
        3,
        held,
        &words,
        json!({ "number": lacking, "status": arrived.status.as_str() }),
    );

    again(sheet, &mut relay, answerless).await?;
    relay.stop().await?;
    Ok(())
}

/// Step 4: the receiver knows the message's id, so that what had arrived before may be put back without fear.
async fn again(sheet: &mut Sheet, relay: &mut Running, number: i64) -> anyhow::Result<()> {
    let dead = sheet.stage.look(number).await?.record;
    let error = dead.last_error.as_deref().unwrap_or_default();
    let words = format!("message {number} was charged, but its answer got lost: {error}");
    sheet.note(
        Actor::Relay,
        &words,
        json!({ "number": number, "last_error": error }),
    );
    redrive(sheet, number, "nobody knows whether it arrived").await?;
    relay.hint.wake();
    ends(relay, 1).await?;
    let sent = sheet.stage.look(number).await?.record;
    let stats = sheet.stage.server.stats();
    let asked = stats
        .idempotency_keys
        .get(&sent.id.to_string())
        .copied()
        .unwrap_or(0);
    let (charged, replayed) = (stats.payments.authorized, stats.payments.replayed);
    let held = dead.dead_letter_reason == Some(DeadReason::AttemptsExhausted)
        && sent.status == Status::Sent
        && (asked, charged, replayed) == (2, 2, 1);
    let words = format!(
        "put back as well, it reached the API a second time under the same id ({asked} requests) and was not charged twice: \
         {charged} charges for two orders"
    );
    let figures = json!({
        "number": number,
        "status": sent.status.as_str(),
        "requests": asked,
        "charged": charged,
        "replayed": replayed,
    });
    sheet.step(4, held, &words, figures);
    Ok(())
}

fn routes(sheet: &Sheet) -> anyhow::Result<Routes> {
    let mut lossy = sheet.stage.route(LOSES_ANSWERS)?;
    lossy.policy = ONE_ATTEMPT;
    Ok(sheet.stage.billing()?.with(LOSSY, lossy))
}

fn order(sheet: &mut Sheet, destination: &str, payload: &str) -> anyhow::Result<i64> {
    let order = sheet.shop.next();
    let id = block_in_place(|| sheet.shop.order(destination, payload, End::Commit))?;
    let words = format!("order {order} committed, with its message to {destination}: {payload}");
    sheet.note(
        Actor::Shop,
        &words,
        json!({ "number": id.number(), "payload": payload }),
    );
    Ok(id.number())
}

/// Waits until so many messages have come to an end.
async fn ends(relay: &mut Running, messages: usize) -> anyhow::Result<()> {
    let mut ended = 0;
    while ended < messages {
        let verdict = settled(relay).await?.verdict;
        ended += usize::from(matches!(verdict, Verdict::Delivered(_) | Verdict::Dead { .. }));
    }
    Ok(())
}

fn act(why: &str) -> Act {
    Act {
        who: "demo".to_owned(),
        why: why.to_owned(),
    }
}

async fn mend(sheet: &Sheet, number: i64, payload: &str) -> anyhow::Result<()> {
    let edit = Edit {
        payload: Some(payload.into()),
        ..Edit::default()
    };
    let desk = &sheet.stage.opened.desk;
    desk.edit(MessageRef::Number(number), &edit, &act("the total was missing"))
        .await?;
    Ok(())
}

async fn redrive(sheet: &Sheet, number: i64, why: &str) -> anyhow::Result<()> {
    let filter = Filter {
        messages: vec![MessageRef::Number(number)],
        ..Filter::default()
    };
    sheet.stage.opened.desk.redrive(&filter, 1, &act(why)).await?;
    Ok(())
}

fn payload(detail: &Detail) -> &str {
    detail
        .record
        .payload
        .as_ref()
        .and_then(|payload| payload.as_text())
        .unwrap_or_default()
}
