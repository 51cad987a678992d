//! What the writers did.

use std::{
    collections::HashSet,
    fmt,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use redeliver_outbox::Message;
use tokio::sync::watch;

/// What a message says of itself in its payload: its key, its place there, and the transaction that wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Row {
    pub(crate) key: Option<String>,
    /// From 1 on; without a key, within the transaction.
    pub(crate) version: u64,
    pub(crate) transaction: u64,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.as_deref().unwrap_or("-");
        write!(f, "{key} {} {}", self.version, self.transaction)
    }
}

impl Row {
    pub(crate) fn of(message: &Message) -> Self {
        let text = message.payload.as_text().unwrap();
        let mut parts = text.split(' ');
        let key = parts.next().filter(|&key| key != "-").map(ToOwned::to_owned);
        assert_eq!(key, message.key, "the lane of {text} is another one");
        let mut number = || parts.next().unwrap().parse().unwrap();
        let (version, transaction) = (number(), number());
        Self {
            key,
            version,
            transaction,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) target: u64,
    transactions: AtomicU64,
    rows: watch::Sender<u64>,
    committed: Mutex<Vec<Row>>,
    rolled_back: Mutex<HashSet<u64>>,
}

impl Ledger {
    pub(crate) fn new(target: u64) -> Self {
        Self {
            target,
            transactions: AtomicU64::new(0),
            rows: watch::channel(0).0,
            committed: Mutex::default(),
            rolled_back: Mutex::default(),
        }
    }

    pub(crate) fn begin(&self) -> u64 {
        self.transactions.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn commit(&self, rows: Vec<Row>) {
        let mut committed = self.committed.lock().unwrap();
        committed.extend(rows);
        self.rows.send_replace(committed.len() as u64);
    }

    pub(crate) fn roll_back(&self, transaction: u64) {
        self.rolled_back.lock().unwrap().insert(transaction);
    }

    pub(crate) fn rows(&self) -> u64 {
        *self.rows.borrow()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.rows() >= self.target
    }

    /// Waits until so many percent of the rows are there.
    pub(crate) async fn percent(&self, percent: u64) {
        let wanted = self.target * percent / 100;
        self.rows
            .subscribe()
            .wait_for(|&rows| rows >= wanted)
            .await
            .unwrap();
    }

    /// How many transactions there were, and how many of them were rolled back.
    pub(crate) fn transactions(&self) -> (u64, usize) {
        let rolled_back = self.rolled_back.lock().unwrap().len();
        (self.transactions.load(Ordering::Relaxed), rolled_back)
    }

    pub(crate) fn committed(&self) -> Vec<Row> {
        self.committed.lock().unwrap().clone()
    }

    pub(crate) fn rolled_back(&self) -> HashSet<u64> {
        self.rolled_back.lock().unwrap().clone()
    }
}
