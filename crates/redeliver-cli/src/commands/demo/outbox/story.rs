//! What happens, one thing after the other, told as the database has it.

use std::time::Duration;

use redeliver::{Moment, clock};
use redeliver_outbox::{
    DeadReason, Timestamp,
    desk::{Act, Edit, Filter, MessageRef},
    state::Status,
    store::{Settlement, Verdict},
};
use serde_json::json;
use tokio::task::block_in_place;

use super::super::{
    narrator::{Actor, Narrator},
    shop::{End, Shop},
    stage::{BILLING, POLICY, Running, Stage, briefly},
};
use crate::readable;

/// The shop takes an order this often, so that the eye can follow.
const PACE: Duration = Duration::from_millis(400);
/// A person comes this long after something was quarantined.
const UNTIL_SOMEBODY_LOOKS: Duration = Duration::from_millis(1500);
/// The order whose message lacks its total.
const BROKEN: u32 = 3;
/// The first order that is rolled back.
const ROLLED_BACK: u32 = 5;
/// Percent of later orders that are rolled back.
const ROLLED_BACK_RATE: u8 = 15;
/// How often it is looked whether all has arrived, where no news come.
const LOOK: Duration = Duration::from_millis(100);

/// What happened, in figures.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) rolled_back: u64,
    pub(super) attempts: u64,
    pub(super) retried: u64,
    pub(super) quarantined: u64,
    pub(super) rescued: u64,
    /// The message that a person rescued.
    pub(super) rescue: Option<i64>,
}

pub(super) struct Story<'a> {
    stage: &'a Stage,
    narrator: &'a Narrator,
    shop: &'a mut Shop,
    chance: fastrand::Rng,
    pub(super) tally: Tally,
    /// A dead letter that a person can mend, and when they come.
    letter: Option<(i64, Moment)>,
}

impl<'a> Story<'a> {
    pub(super) fn new(stage: &'a Stage, narrator: &'a Narrator, shop: &'a mut Shop, seed: u64) -> Self {
        Self {
            stage,
            narrator,
            shop,
            chance: fastrand::Rng::with_seed(seed),
            tally: Tally::default(),
            letter: None,
        }
    }

    /// Takes orders for this time, then waits until nothing is on its way and nobody is needed any more.
    pub(super) async fn play(&mut self, relay: &mut Running, time: Duration) -> anyhow::Result<()> {
        let start = clock::now();
        let end = start.plus(time);
        let mut next = start;
        loop {
            let now = clock::now();
            // However short the time is, there is something to rescue.
            let taking = now < end || self.shop.next() <= BROKEN;
            if taking && now >= next {
                self.order()?;
                relay.hint.wake();
                next = now.plus(PACE);
            }
            if let Some((letter, _)) = self.letter.take_if(|(_, come)| now >= *come) {
                self.rescue(letter).await?;
                relay.hint.wake();
            }
            if !taking && self.letter.is_none() && self.arrived().await? {
                return Ok(());
            }
            let pause = match taking {
                true => next.since(clock::now()).min(LOOK),
                false => LOOK,
            };
            tokio::select! {
                Some(settlement) = relay.settled.recv() => self.tell(&settlement).await?,
                () = clock::sleep(pause) => {}
            }
        }
    }

    /// Whether nothing is on its way, and what could be mended is told.
    async fn arrived(&self) -> anyhow::Result<bool> {
        let live = [Status::Pending, Status::Processing, Status::Failed];
        Ok(self.stage.count(&live).await? == 0 && self.tally.quarantined > 0)
    }

    fn order(&mut self) -> anyhow::Result<()> {
        let order = self.shop.next();
        let payload = match order {
            BROKEN => json!({ "order": order }).to_string(),
            _ => Shop::payload(order),
        };
        let unlucky = order > ROLLED_BACK && self.chance.u8(..100) < ROLLED_BACK_RATE || order == ROLLED_BACK;
        let end = if unlucky { End::RollBack } else { End::Commit };
        let id = block_in_place(|| self.shop.order(BILLING, &payload, end))?;
        let (words, event) = match end {
            End::Commit => (
                format!("order {order} committed, with its message {payload}"),
                "committed",
            ),
            End::RollBack => {
                self.tally.rolled_back += 1;
                (
                    format!("order {order} rolled back, and its message with it"),
                    "rolled_back",
                )
            }
        };
        let figures = json!({ "event": event, "order": order, "message": id.to_string() });
        self.narrator.tell(Actor::Shop, &words, figures);
        Ok(())
    }

    /// Tells what became of a message, as its row has it now.
    pub(super) async fn tell(&mut self, settlement: &Settlement) -> anyhow::Result<()> {
        let number = settlement.number();
        let order = self.shop.order_of(number);
        match &settlement.verdict {
            Verdict::Delivered(attempted) => {
                self.tally.attempts += 1;
                let words = match (settlement.redrives, attempted.attempt) {
                    (0, 1) => format!("order {order} arrived"),
                    (0, attempt) => format!("order {order} arrived with attempt {attempt}"),
                    (_, attempt) => format!("order {order} arrived after its rescue, with attempt {attempt}"),
                };
                let figures = json!({
                    "event": "sent",
                    "order": order,
                    "number": number,
                    "attempt": attempted.attempt,
                    "redrives": settlement.redrives,
                });
                self.narrator.tell(Actor::Relay, &words, figures);
            }
            Verdict::Retry { attempted, .. } => {
                self.tally.attempts += 1;
                self.tally.retried += 1;
                self.tell_retry(number, order, attempted.attempt, &attempted.error)
                    .await?;
            }
            Verdict::Dead {
                attempted,
                reason,
                error,
                ..
            } => {
                self.tally.attempts += u64::from(attempted.is_some());
                self.tally.quarantined += 1;
                if *reason == DeadReason::SchemaViolation {
                    self.letter = Some((number, clock::now().plus(UNTIL_SOMEBODY_LOOKS)));
                }
                let tried = match attempted {
                    Some(attempted) => format!("after attempt {}", attempted.attempt),
                    None => "unsent".to_owned(),
                };
                let error = readable::line(error, 200);
                let words = format!("order {order} quarantined {tried}, {reason}: {error}");
                let figures = json!({
                    "event": "dead_lettered",
                    "order": order,
                    "number": number,
                    "reason": reason.as_str(),
                    "error": error,
                });
                self.narrator.tell(Actor::Relay, &words, figures);
            }
            Verdict::Postponed(_)
            | Verdict::Counted { .. }
            | Verdict::Uncounted { .. }
            | Verdict::FannedOut { .. } => {}
        }
        Ok(())
    }

    async fn tell_retry(&self, number: i64, order: u32, attempt: u32, error: &str) -> anyhow::Result<()> {
        let record = self.stage.look(number).await?.record;
        let now = Timestamp::wall();
        let most = POLICY.max_attempts.unwrap_or(u32::MAX);
        let due = match record.next_attempt_at {
            Some(next) => format!("{next}, in {}", readable::duration(next.since(now))),
            None => "none".to_owned(),
        };
        let words = format!(
            "order {order}: attempt {attempt} of {most} met {}; its row: {}, attempts {}, next_attempt_at {due}",
            briefly(error),
            record.status,
            record.attempts,
        );
        let figures = json!({
            "event": "retry",
            "order": order,
            "number": number,
            "attempt": attempt,
            "error": error,
            "status": record.status.as_str(),
            "attempts": record.attempts,
            "next_attempt_at": record.next_attempt_at.map(|next| next.to_string()),
        });
        self.narrator.tell(Actor::Relay, &words, figures);
        Ok(())
    }

    /// What the person on call does: look, mend, put back.
    async fn rescue(&mut self, number: i64) -> anyhow::Result<()> {
        let order = self.shop.order_of(number);
        let desk = &self.stage.opened.desk;
        let act = Act {
            who: "demo".to_owned(),
            why: format!("the message of order {order} lacked its total"),
        };
        let total = block_in_place(|| self.shop.recorded_total(order))?;
        let mended = json!({ "order": order, "total": total }).to_string();
        let edit = Edit {
            payload: Some(mended.as_str().into()),
            ..Edit::default()
        };
        desk.edit(MessageRef::Number(number), &edit, &act).await?;
        let words = format!("looks up order {order} and mends its message: {mended}; the original is kept");
        let figures = json!({ "event": "edited", "order": order, "number": number, "payload": mended });
        self.narrator.tell(Actor::Person, &words, figures);

        let filter = Filter {
            messages: vec![MessageRef::Number(number)],
            ..Filter::default()
        };
        let redriven = desk.redrive(&filter, 1, &act).await?;
        self.tally.rescued += redriven.len() as u64;
        self.tally.rescue = Some(number);
        let words = format!("puts order {order} back: no attempts, due now; the audit says who and why");
        let figures = json!({ "event": "redriven", "order": order, "number": number });
        self.narrator.tell(Actor::Person, &words, figures);
        Ok(())
    }
}
