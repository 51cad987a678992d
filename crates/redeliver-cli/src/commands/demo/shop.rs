//! The application: a shop that writes each order and its message in one transaction.

use std::{collections::BTreeMap, path::Path, time::Duration};

use anyhow::Context as _;
use redeliver_outbox::{Enqueued, MessageId, NewMessage, Outbox};
use rusqlite::{Connection, TransactionBehavior};
use serde_json::json;

/// How long the shop waits for the relay's transactions, and they for the shop's.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The shop, with a connection of its own to the database that it shares with the relay.
pub(super) struct Shop {
    database: Connection,
    outbox: Outbox,
    orders: u32,
    by_message: BTreeMap<i64, (u32, MessageId)>,
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Commit,
    RollBack,
}

impl Shop {
    pub(super) fn open(file: &Path) -> anyhow::Result<Self> {
        let database = Connection::open(file).context("the shop cannot open its database")?;
        database.busy_timeout(BUSY_TIMEOUT)?;
        database.execute_batch("CREATE TABLE orders (number INTEGER PRIMARY KEY, total TEXT NOT NULL)")?;
        Ok(Self {
            database,
            outbox: Outbox::default(),
            orders: 0,
            by_message: BTreeMap::new(),
        })
    }

    /// The number of the next order.
    pub(super) const fn next(&self) -> u32 {
        self.orders + 1
    }

    /// The order that a message is about.
    pub(super) fn order_of(&self, message: i64) -> u32 {
        self.by_message.get(&message).map_or(0, |(order, _)| *order)
    }

    /// The messages of all orders that were committed.
    pub(super) fn committed(&self) -> impl Iterator<Item = MessageId> {
        self.by_message.values().map(|(_, id)| *id)
    }

    /// What an order costs: chosen so that every one is different, and kept by the shop whatever its message says.
    fn total(order: u32) -> String {
        format!("{}.{:02}", 10 + order * 7 % 90, order * 13 % 100)
    }

    /// The payload of a sound order.
    pub(super) fn payload(order: u32) -> String {
        json!({ "order": order, "total": Self::total(order) }).to_string()
    }

    /// Takes the next order with its message, in one transaction; the message's id is told even if it is rolled back.
    pub(super) fn order(&mut self, destination: &str, payload: &str, end: End) -> anyhow::Result<MessageId> {
        let message = NewMessage::to(destination).payload(payload);
        let ids = self.order_with(&[message], end)?;
        ids.first().copied().context("the order has no message")
    }

    /// The same for an order with these messages.
    pub(super) fn order_with(&mut self, messages: &[NewMessage], end: End) -> anyhow::Result<Vec<MessageId>> {
        self.orders += 1;
        let order = self.orders;
        let transaction = self
            .database
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute(
            "INSERT INTO orders (number, total) VALUES (?1, ?2)",
            (order, Self::total(order)),
        )?;
        let mut ids = Vec::with_capacity(messages.len());
        for message in messages {
            let (Enqueued::New(id) | Enqueued::Duplicate(Some(id))) =
                self.outbox.enqueue(&transaction, message)?
            else {
                anyhow::bail!("order {order} was taken for another one");
            };
            ids.push(id);
        }
        match end {
            End::Commit => {
                transaction.commit()?;
                self.by_message
                    .extend(ids.iter().map(|id| (id.number(), (order, *id))));
            }
            End::RollBack => transaction.rollback()?,
        }
        Ok(ids)
    }

    /// The shop's own connection, to look into its database with.
    pub(super) const fn database(&self) -> &Connection {
        &self.database
    }

    /// What the shop's own table says that an order costs.
    pub(super) fn recorded_total(&self, order: u32) -> anyhow::Result<String> {
        let sql = "SELECT total FROM orders WHERE number = ?1";
        Ok(self.database.query_row(sql, [order], |row| row.get(0))?)
    }
}
