//! Exercise A: sends fail at random, attempts grow, the next one is in the future, and in the end everything is sent.

use redeliver_outbox::{
    Timestamp,
    state::Status,
    store::{Attempted, Verdict},
};
use serde_json::json;
use tokio::task::block_in_place;

use super::{
    super::{
        narrator::Actor,
        outbox::USUAL_FAIL_RATE,
        shop::{End, Shop},
        stage::{BILLING, POLICY, briefly},
    },
    Sheet, settled,
};
use crate::readable;

/// Enough that some fail whatever the seed is (all but one of 40,000 seeds).
const ORDERS: u64 = 30;

/// What the rows said after failed attempts.
#[derive(Default)]
struct Seen {
    failed: u64,
    /// Rows that were found as the failed attempt had left them.
    rows: u64,
    /// Of these, rows with the number of the attempt that had failed.
    grown: u64,
    most: u32,
    /// Of these, rows whose next attempt is as far from the last as the policy says.
    scheduled: u64,
    /// Of these, rows whose next attempt was still to come when it was looked.
    future: u64,
}

pub(super) async fn run(sheet: &mut Sheet) -> anyhow::Result<()> {
    let mut relay = sheet.stage.relay(sheet.stage.billing()?);
    for _ in 0..ORDERS {
        let payload = Shop::payload(sheet.shop.next());
        block_in_place(|| sheet.shop.order(BILLING, &payload, End::Commit))?;
    }
    relay.hint.wake();
    let words = format!("{ORDERS} orders are committed; the API answers {USUAL_FAIL_RATE} % with 503");
    let live = sheet.stage.count(&[]).await?;
    sheet.step(
        1,
        live == ORDERS,
        &words,
        json!({ "orders": ORDERS, "fail_rate": USUAL_FAIL_RATE }),
    );

    let mut seen = Seen::default();
    let mut ended = 0;
    while ended < ORDERS {
        let settlement = settled(&mut relay).await?;
        match &settlement.verdict {
            Verdict::Retry { attempted, .. } => {
                look(sheet, settlement.number(), attempted, &mut seen).await?;
            }
            Verdict::Delivered(_) | Verdict::Dead { .. } => ended += 1,
            Verdict::Postponed(_)
            | Verdict::Counted { .. }
            | Verdict::Uncounted { .. }
            | Verdict::FannedOut { .. } => {}
        }
    }
    let early = relay.stop().await?.early;

    let words = format!(
        "attempts grew: {} attempts failed, and each row that was looked at said which; up to {}",
        seen.failed, seen.most
    );
    let figures = json!({ "failed_attempts": seen.failed, "rows": seen.rows, "most": seen.most });
    sheet.step(2, seen.rows > 0 && seen.grown == seen.rows, &words, figures);

    let words = format!(
        "next_attempt_at was in the future, as far as the policy says ({POLICY}); {early} attempts came before it"
    );
    let held = seen.future > 0 && seen.scheduled == seen.rows && early == 0;
    let figures = json!({ "in_the_future": seen.future, "scheduled": seen.scheduled, "early": early });
    sheet.step(3, held, &words, figures);

    let sent = sheet.stage.count(&[Status::Sent]).await?;
    let charged = sheet.stage.server.stats().payments.authorized;
    let words = format!("{sent} of {ORDERS} orders are sent in the end, and the API charged {charged}");
    let figures = json!({ "sent": sent, "charged": charged });
    sheet.step(4, sent == ORDERS && charged == ORDERS, &words, figures);
    Ok(())
}

/// Looks at the row of a message whose attempt has just failed.
async fn look(sheet: &Sheet, number: i64, attempted: &Attempted, seen: &mut Seen) -> anyhow::Result<()> {
    seen.failed += 1;
    let record = sheet.stage.look(number).await?.record;
    let (Some(last), Some(next)) = (record.last_attempt_at, record.next_attempt_at) else {
        return Ok(());
    };
    let now = Timestamp::wall();
    let shortest = POLICY.bounds(attempted.attempt - 1).0;
    seen.rows += 1;
    seen.grown += u64::from(record.attempts >= attempted.attempt);
    seen.most = seen.most.max(record.attempts);
    seen.scheduled += u64::from(next >= last.plus(shortest));
    seen.future += u64::from(next > now);
    let words = format!(
        "order {}: {}; status {}, attempts {}, next_attempt_at {next} (in {})",
        sheet.shop.order_of(number),
        briefly(&attempted.error),
        record.status,
        record.attempts,
        readable::duration(next.since(now)),
    );
    let figures = json!({
        "number": number,
        "status": record.status.as_str(),
        "attempts": record.attempts,
        "next_attempt_at": next.to_string(),
        "in_the_future": next > now,
    });
    sheet.note(Actor::Relay, &words, figures);
    Ok(())
}
