//! The shop at work: orders at their pace and in rushes, each with its messages in one transaction.

use std::{path::Path, time::Duration};

use redeliver::{Moment, clock};
use redeliver_outbox::{MessageId, NewMessage};
use serde_json::json;
use tokio::task::block_in_place;

use super::{
    super::shop::{End, Shop},
    setting::{CRM, TOPIC, WAREHOUSE},
};

/// On average an order comes this often.
const PACE: Duration = Duration::from_millis(400);
/// So many orders at once are more than the search takes in a second.
const RUSH: u32 = 8;
const FIRST_RUSH: Duration = Duration::from_secs(1);
const RUSH_EVERY: Duration = Duration::from_secs(5);
/// Percent of orders that are rolled back.
const ROLLED_BACK: u8 = 10;
/// Every so many orders, what the CRM is to get is broken.
const BROKEN_EVERY: u32 = 6;
/// Whose orders these are: each customer is a lane.
const CUSTOMERS: u32 = 40;

/// What the shop wrote, as it remembers it.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    pub(super) orders: u64,
    pub(super) orders_rolled_back: u64,
    /// Messages straight to a destination that were committed.
    pub(super) messages: Vec<MessageId>,
    /// Events that were committed.
    pub(super) events: Vec<MessageId>,
    /// Messages and events that were not.
    pub(super) rolled_back: Vec<MessageId>,
}

pub(super) struct Producer {
    shop: Shop,
    chance: fastrand::Rng,
    next: Moment,
    next_rush: Moment,
    pub(super) written: Written,
}

impl Producer {
    pub(super) fn open(file: &Path, seed: u64) -> anyhow::Result<Self> {
        let now = clock::now();
        Ok(Self {
            shop: Shop::open(file)?,
            chance: fastrand::Rng::with_seed(seed),
            next: now,
            next_rush: now.plus(FIRST_RUSH),
            written: Written::default(),
        })
    }

    /// When there is something to do next.
    pub(super) fn due(&self) -> Moment {
        self.next.min(self.next_rush)
    }

    /// Takes the orders that have come by now.
    pub(super) fn work(&mut self, now: Moment) -> anyhow::Result<()> {
        if now >= self.next {
            self.order()?;
            let pace = u64::try_from(PACE.as_millis()).unwrap_or(u64::MAX);
            let wait = Duration::from_millis(self.chance.u64(pace / 2..=pace + pace / 2));
            self.next = now.plus(wait);
        }
        if now >= self.next_rush {
            for _ in 0..RUSH {
                self.order()?;
            }
            self.next_rush = now.plus(RUSH_EVERY);
        }
        Ok(())
    }

    fn order(&mut self) -> anyhow::Result<()> {
        let order = self.shop.next();
        let broken = order.is_multiple_of(BROKEN_EVERY);
        let unlucky = !broken && self.chance.u8(..100) < ROLLED_BACK;
        let end = if unlucky { End::RollBack } else { End::Commit };
        let messages = messages(order, self.chance.u32(1..=CUSTOMERS));
        let ids = block_in_place(|| self.shop.order_with(&messages, end))?;
        match (end, ids.as_slice()) {
            (End::Commit, [event, messages @ ..]) => {
                self.written.orders += 1;
                self.written.events.push(*event);
                self.written.messages.extend_from_slice(messages);
            }
            _ => {
                self.written.orders_rolled_back += 1;
                self.written.rolled_back.extend(ids);
            }
        }
        Ok(())
    }

    /// The end of its work: what it wrote, and its way into the database.
    pub(super) fn close(self) -> (Written, Shop) {
        (self.written, self.shop)
    }
}

/// An event for whoever is interested, the warehouse's order and the CRM's note.
fn messages(order: u32, customer: u32) -> [NewMessage; 3] {
    let customer = format!("customer-{customer}");
    [
        NewMessage::on(TOPIC)
            .key(customer.as_str())
            .payload(Shop::payload(order)),
        NewMessage::to(WAREHOUSE).payload(json!({ "order": order, "pick": order % 7 + 1 }).to_string()),
        NewMessage::to(CRM).payload(note(order, &customer)),
    ]
}

/// What the CRM is told of an order; now and then broken, in one of three ways.
fn note(order: u32, customer: &str) -> String {
    let email = format!("{customer}@example.com");
    let sound = json!({ "order": order, "customer": customer, "email": email });
    if !order.is_multiple_of(BROKEN_EVERY) {
        return sound.to_string();
    }
    match order / BROKEN_EVERY % 3 {
        1 => json!({ "order": order, "customer": customer }).to_string(),
        2 => json!({ "order": order, "customer": null, "email": email }).to_string(),
        _ => format!("{{\"order\": {order}, \"customer\": \"{customer}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_note_is_sound_but_for_every_sixth_which_is_broken_in_three_ways() {
        let read = |order| serde_json::from_str::<Value>(&note(order, "customer-7"));
        for order in (1..=36).filter(|order| order % BROKEN_EVERY != 0) {
            let note = read(order).unwrap();
            assert!(
                note["customer"].is_string() && note["email"].is_string(),
                "{note}"
            );
        }
        assert_eq!(read(6).unwrap().get("email"), None);
        assert_eq!(read(12).unwrap()["customer"], Value::Null);
        read(18).unwrap_err();
    }

    #[test]
    fn every_order_is_an_event_and_two_messages() {
        for message in messages(3, 9) {
            message.validate().unwrap();
        }
    }
}
