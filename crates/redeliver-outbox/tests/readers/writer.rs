//! Transactions of random length and content.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use fastrand::Rng;

use crate::{
    ledger::{Ledger, Row},
    server::{Conflict, Server, Session},
};

/// Half of the work is on the first few of them.
const KEYS: u64 = 200;
const HOT_KEYS: u64 = 8;
/// Only the held writer's, who would make all others wait.
pub(crate) const HELD_KEYS: [&str; 3] = ["held-a", "held-b", "held-c"];

pub(crate) async fn create_aggregates(session: &mut dyn Session) -> Result<(), Conflict> {
    session
        .query("CREATE TABLE aggregates (id VARCHAR(20) PRIMARY KEY, version BIGINT NOT NULL)")
        .await?;
    let mut names: Vec<String> = (0..KEYS).map(key).collect();
    names.extend(HELD_KEYS.map(ToOwned::to_owned));
    let values: Vec<String> = names.iter().map(|name| format!("('{name}', 0)")).collect();
    let sql = format!("INSERT INTO aggregates VALUES {}", values.join(", "));
    session.query(&sql).await?;
    Ok(())
}

fn key(number: u64) -> String {
    format!("key-{number:03}")
}

/// Writes until there are rows enough.
pub(crate) async fn write(server: Arc<dyn Server>, ledger: Arc<Ledger>, seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let mut session = server.connect().await;
    while !ledger.is_full() {
        let mut transaction = Transaction::new(session.as_mut(), ledger.begin());
        let written = transaction.random(&mut rng).await;
        let commits = written.is_ok() && rng.u8(..100) >= 8;
        transaction.end(&ledger, commits).await;
        pause(&mut rng).await;
    }
}

/// Most transactions take as long as the server does, some a little longer, few very long.
async fn pause(rng: &mut Rng) {
    let millis = match rng.u16(..1000) {
        0..=799 => 0,
        800..=969 => rng.u64(1..8),
        970..=996 => rng.u64(20..120),
        _ => rng.u64(300..1500),
    };
    if millis > 0 {
        redeliver::clock::sleep(Duration::from_millis(millis)).await;
    } else {
        tokio::task::yield_now().await;
    }
}

pub(crate) struct Transaction<'a> {
    session: &'a mut dyn Session,
    number: u64,
    loose: u64,
    rows: Vec<Row>,
}

impl<'a> Transaction<'a> {
    pub(crate) fn new(session: &'a mut dyn Session, number: u64) -> Self {
        Self {
            session,
            number,
            loose: 0,
            rows: Vec::new(),
        }
    }

    async fn random(&mut self, rng: &mut Rng) -> Result<(), Conflict> {
        self.begin().await?;
        let mut keys: Vec<u64> = (0..rng.usize(..4))
            .map(|_| {
                let of = if rng.bool() { HOT_KEYS } else { KEYS };
                rng.u64(..of)
            })
            .collect();
        // In one order for all, lest they wait for each other.
        keys.sort_unstable();
        keys.dedup();
        if keys.is_empty() || rng.u8(..3) == 0 {
            self.insert(None, count(rng)).await?;
            pause(rng).await;
        }
        for number in keys {
            self.insert(Some(&key(number)), count(rng)).await?;
            pause(rng).await;
            if rng.u8(..4) == 0 {
                self.insert(None, count(rng)).await?;
            }
        }
        pause(rng).await;
        Ok(())
    }

    pub(crate) async fn begin(&mut self) -> Result<(), Conflict> {
        self.session.query("BEGIN").await.map(drop)
    }

    /// Rows of a key, whose aggregate stays locked until the end, or of none; all in one statement.
    pub(crate) async fn insert(&mut self, key: Option<&str>, count: u64) -> Result<(), Conflict> {
        let before = match key {
            None => {
                self.loose += count;
                self.loose - count
            }
            Some(key) => self.lock(key, count).await?,
        };
        let mut sql = "INSERT INTO redeliver_outbox (destination, lane, payload) VALUES ".to_owned();
        for version in before + 1..=before + count {
            let row = Row {
                key: key.map(ToOwned::to_owned),
                version,
                transaction: self.number,
            };
            let comma = if version > before + 1 { ", " } else { "" };
            let lane = key.map_or_else(|| "NULL".to_owned(), |key| format!("'{key}'"));
            write!(sql, "{comma}('d', {lane}, '{row}')").unwrap();
            self.rows.push(row);
        }
        self.session.query(&sql).await.map(drop)
    }

    /// The version before, which is the transaction's own from now on to bump.
    async fn lock(&mut self, key: &str, count: u64) -> Result<u64, Conflict> {
        let lock = format!("SELECT version FROM aggregates WHERE id = '{key}' FOR UPDATE");
        let before = self.session.query(&lock).await?[0];
        let bump = format!("UPDATE aggregates SET version = version + {count} WHERE id = '{key}'");
        self.session.query(&bump).await?;
        Ok(before.try_into().unwrap())
    }

    pub(crate) async fn end(self, ledger: &Ledger, commits: bool) {
        let sql = if commits { "COMMIT" } else { "ROLLBACK" };
        let ended = self.session.query(sql).await;
        if commits && ended.is_ok() {
            ledger.commit(self.rows);
        } else {
            ledger.roll_back(self.number);
        }
    }
}

/// How many rows a statement inserts.
fn count(rng: &mut Rng) -> u64 {
    match rng.u8(..100) {
        0..=69 => 1,
        70..=94 => rng.u64(2..6),
        _ => rng.u64(30..150),
    }
}
