//! An application: it commits and rolls back, and writes down what it promised.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use fastrand::Rng;
use redeliver::clock;
use tokio::sync::{Mutex, RwLock};

use super::{
    database::{Connection, Database, Transaction},
    record::{Ended, Record},
    relay::{BRITTLE, BRITTLE_ATTEMPTS, STEADY, STEADY_ATTEMPTS},
};
use crate::history::{Fate, Message, Ticket};

/// So many at a time.
pub(super) const PRODUCERS: usize = 4;
const KEYS: usize = 24;
/// Beyond this, producers wait: what is tested is not how much a relay can do.
const MOST_WAITING: usize = 1000;
const AFTER_TROUBLE: Duration = Duration::from_millis(50);

/// What the producers of an arena share.
#[derive(Debug)]
pub(super) struct Shop {
    pub(super) record: Arc<Record>,
    pub(super) database: Arc<RwLock<Database>>,
    /// Whoever writes a key holds it until the transaction has ended: only so do the messages of a key have an order.
    keys: Vec<Mutex<()>>,
    closed: AtomicBool,
}

impl Shop {
    pub(super) fn new(record: Arc<Record>, database: Arc<RwLock<Database>>) -> Self {
        Self {
            record,
            database,
            keys: (0..KEYS).map(|_| Mutex::new(())).collect(),
            closed: AtomicBool::new(false),
        }
    }

    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    pub(super) async fn produce(self: Arc<Self>, mut rng: Rng) {
        let mut connection: Option<Connection> = None;
        while !self.closed.load(Ordering::Relaxed) {
            clock::sleep(Duration::from_millis(rng.u64(5..60))).await;
            if self.record.backlog() > MOST_WAITING {
                continue;
            }
            let mut open = match connection.take() {
                Some(open) => open,
                None => match self.connect().await {
                    Some(open) => open,
                    None => {
                        clock::sleep(AFTER_TROUBLE).await;
                        continue;
                    }
                },
            };
            if self.transact(&mut open, &mut rng).await {
                connection = Some(open);
            }
        }
    }

    /// The server may be away just now.
    async fn connect(&self) -> Option<Connection> {
        let database = self.database.try_read().ok()?;
        database.connect().await.ok()
    }

    /// Says whether the connection can be used again.
    async fn transact(&self, connection: &mut Connection, rng: &mut Rng) -> bool {
        let key = rng.bool().then(|| rng.usize(..KEYS));
        let _turn = match key {
            Some(key) => Some(self.keys[key].lock().await),
            None => None,
        };
        let messages: Vec<(Ticket, Message)> = (0..rng.usize(1..=3))
            .map(|_| self.record.inserting(|ticket| message(ticket, key, rng)))
            .collect();
        let tickets: Vec<Ticket> = messages.iter().map(|(ticket, _)| *ticket).collect();
        let transaction = Transaction {
            messages: &messages,
            held: Duration::from_millis(match rng.u32(0..100) {
                0..2 => rng.u64(100..600),
                2..20 => rng.u64(1..40),
                _ => 0,
            }),
            commit: rng.u32(0..100) >= 20,
            record: &self.record,
        };
        let ended = connection.carry_out(&transaction).await;
        self.record.ended(&tickets, ended.unwrap_or(Ended::RolledBack));
        ended.is_some_and(|ended| ended != Ended::Unknown)
    }
}

fn message(ticket: Ticket, key: Option<usize>, rng: &mut Rng) -> Message {
    let fate = match rng.u32(0..1000) {
        0..20 => Fate::Rejected,
        20..30 => Fate::PutOff,
        30..35 => Fate::Broken,
        35..40 => Fate::Unroutable,
        _ => Fate::Taken,
    };
    let (destination, max_attempts) = match fate {
        Fate::PutOff => (BRITTLE, BRITTLE_ATTEMPTS),
        Fate::Unroutable => ("nowhere", STEADY_ATTEMPTS),
        _ => (STEADY, STEADY_ATTEMPTS),
    };
    let end = if fate == Fate::Broken { "" } else { "\"}" };
    let filling = "é".repeat(rng.usize(0..200));
    Message {
        committed: false,
        ended_at: 0,
        shard: None,
        destination: destination.to_owned(),
        key: key.map(|key| format!("order-{key}")),
        payload: format!("{{\"ticket\":{ticket},\"note\":\"{filling}{end}").into_bytes(),
        fate,
        max_attempts,
    }
}
