//! Honest producers: plain SQL as the documentation says, in transactions of varying length, some of them rolled back.

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
    case::{Commit, Fate, Honest, Micros, ONCE, PARKING, Ticket},
    configuration::{BRITTLE, LIMITED, STEADY, TICKET},
    database::{Connection, Failure, Family, Home},
    record::{Record, micros},
};

pub(super) const PRODUCERS: usize = 3;
const KEYS: usize = 8;
/// What is tested is not how much a relay can do.
const MOST_MESSAGES: usize = 400;
const AFTER_TROUBLE: Duration = Duration::from_millis(50);

/// What the producers of a trial share.
pub(super) struct Shop {
    pub(super) record: Arc<Record>,
    pub(super) home: Arc<RwLock<Home>>,
    /// A producer holds a key until its transaction has ended: only so do the messages of a key have an order.
    keys: Vec<Mutex<()>>,
    closed: AtomicBool,
}

/// An honest message, and the SQL that inserts it.
pub(super) struct Draft {
    pub(super) ticket: Ticket,
    pub(super) sql: String,
}

impl Shop {
    pub(super) fn new(record: Arc<Record>, home: Arc<RwLock<Home>>) -> Self {
        Self {
            record,
            home,
            keys: (0..KEYS).map(|_| Mutex::new(())).collect(),
            closed: AtomicBool::new(false),
        }
    }

    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    pub(super) async fn produce(self: Arc<Self>, mut rng: Rng) {
        let mut open: Option<(String, Connection)> = None;
        while !self.closed.load(Ordering::Relaxed) {
            clock::sleep(Duration::from_millis(rng.u64(5..60))).await;
            if self.record.state().case.messages.len() >= MOST_MESSAGES {
                continue;
            }
            // The guard is held for the transaction: a restore waits for it.
            let home = self.home.read().await;
            let mut connection = match open.take().filter(|(name, _)| *name == home.name) {
                Some((_, connection)) => connection,
                None => match home.connect().await {
                    Ok(connection) => connection,
                    Err(_) => {
                        drop(home);
                        clock::sleep(AFTER_TROUBLE).await;
                        continue;
                    }
                },
            };
            if self.transact(&mut connection, home.family(), &mut rng).await {
                open = Some((home.name.clone(), connection));
            }
        }
    }

    /// Says whether the connection can be used again.
    async fn transact(&self, connection: &mut Connection, family: Family, rng: &mut Rng) -> bool {
        let key = rng.bool().then(|| rng.usize(..KEYS));
        let _turn = match key {
            Some(key) => Some(self.keys[key].lock().await),
            None => None,
        };
        let held = Duration::from_millis(match (rng.u32(0..100), family) {
            (0..3, Family::Postgres | Family::Mysql) => rng.u64(100..700),
            (0..20, _) => rng.u64(1..30),
            _ => 0,
        });
        let commits = rng.u32(0..100) >= 15;
        let drafts: Vec<Draft> = (0..rng.usize(1..=4))
            .map(|_| self.draft(family, key, rng))
            .collect();
        let tickets: Vec<Ticket> = drafts.iter().map(|draft| draft.ticket).collect();
        let ended = transact(connection, family, &drafts, held, commits).await;
        let (commit, usable) = match ended {
            Ok(()) if commits => (Commit::Committed, true),
            Ok(()) => (Commit::RolledBack, true),
            Err(Ended::Before(failure)) => (Commit::RolledBack, matches!(failure, Failure::Refused(_))),
            Err(Ended::AtCommit(Failure::Refused(_))) => (Commit::RolledBack, true),
            Err(Ended::AtCommit(Failure::Lost(_))) => (Commit::Unknown, false),
        };
        self.record.ended(&tickets, commit);
        usable
    }

    pub(super) fn draft(&self, family: Family, key: Option<usize>, rng: &mut Rng) -> Draft {
        let kind = draw(key, rng);
        let (ticket, message) = self.record.insert(|ticket, now| kind.message(ticket, now));
        let sql = kind.insert(family, ticket, &message);
        Draft { ticket, sql }
    }

    /// One message for this destination, to show that its shard works.
    pub(super) fn probe(&self, family: Family, destination: &'static str, key: String) -> Draft {
        let kind = Kind {
            key: Some(key),
            ..Kind::to(destination)
        };
        let (ticket, message) = self.record.insert(|ticket, now| kind.message(ticket, now));
        let sql = kind.insert(family, ticket, &message);
        Draft { ticket, sql }
    }
}

/// Where a transaction failed.
pub(super) enum Ended {
    Before(Failure),
    AtCommit(Failure),
}

pub(super) async fn transact(
    connection: &mut Connection,
    family: Family,
    drafts: &[Draft],
    held: Duration,
    commits: bool,
) -> Result<(), Ended> {
    let begin = if family == Family::Sqlite {
        "BEGIN IMMEDIATE"
    } else {
        "BEGIN"
    };
    connection.execute(begin).await.map_err(Ended::Before)?;
    for draft in drafts {
        if let Err(failure) = connection.execute(&draft.sql).await {
            // If this does not reach the server, the end of the connection does the same.
            drop(connection.execute("ROLLBACK").await);
            return Err(Ended::Before(failure));
        }
    }
    clock::sleep(held).await;
    if !commits {
        return connection.execute("ROLLBACK").await.map_err(Ended::Before);
    }
    connection.execute("COMMIT").await.map_err(Ended::AtCommit)
}

/// What a message is to be.
struct Kind {
    event: bool,
    topic: &'static str,
    destinations: Vec<&'static str>,
    key: Option<String>,
    fate: Fate,
    /// `not_before` and `expires_at`, in milliseconds from now.
    delay: Option<u64>,
    expires: Option<u64>,
}

impl Kind {
    fn to(destination: &'static str) -> Self {
        Self {
            event: false,
            topic: "",
            destinations: vec![destination],
            key: None,
            fate: Fate::Delivered,
            delay: None,
            expires: None,
        }
    }

    fn event(topic: &'static str, destinations: Vec<&'static str>, fate: Fate) -> Self {
        Self {
            event: true,
            topic,
            destinations,
            fate,
            ..Self::to("")
        }
    }

    fn dead(self, reason: &'static str) -> Self {
        Self {
            fate: Fate::Dead(reason),
            ..self
        }
    }

    fn message(&self, ticket: Ticket, now: Micros) -> Honest {
        let end = if self.fate == Fate::Dead("invalid_payload") {
            ""
        } else {
            "\"}"
        };
        Honest {
            commit: Commit::Open,
            began_at: now,
            ended_at: now,
            destinations: self.destinations.clone(),
            key: self.key.clone(),
            payload: format!("{{\"ticket\":{ticket},\"note\":\"é{end}").into_bytes(),
            due_at: self
                .delay
                .map_or(0, |delay| now + micros(Duration::from_millis(delay))),
            fate: self.fate,
        }
    }

    fn insert(&self, family: Family, ticket: Ticket, message: &Honest) -> String {
        let headers = format!(r#"{{"{TICKET}":"{ticket}"}}"#);
        let mut columns = vec![
            ("payload", family.text(&message.payload)),
            ("headers", family.text(headers.as_bytes())),
        ];
        if self.event {
            columns.push(("topic", family.text(self.topic.as_bytes())));
        } else {
            columns.push(("destination", family.text(self.destinations[0].as_bytes())));
        }
        if let Some(key) = &self.key {
            columns.push(("lane", family.text(key.as_bytes())));
        }
        for (column, millis) in [("not_before", self.delay), ("expires_at", self.expires)] {
            if let Some(millis) = millis {
                columns.push((column, family.time_in(i64::try_from(millis).unwrap_or(0))));
            }
        }
        let (names, values): (Vec<&str>, Vec<String>) = columns.into_iter().unzip();
        format!(
            "INSERT INTO redeliver_outbox ({}) VALUES ({})",
            names.join(", "),
            values.join(", ")
        )
    }
}

fn draw(key: Option<usize>, rng: &mut Rng) -> Kind {
    let mut kind = match rng.u32(0..100) {
        0..3 => Kind::to(STEADY).dead("permanent"),
        3..5 => Kind::to(PARKING).dead("permanent"),
        5..6 => Kind::to(BRITTLE).dead("attempts_exhausted"),
        6..8 => Kind::to(STEADY).dead("invalid_payload"),
        8..9 => Kind::to("nowhere").dead("unknown_destination"),
        9..10 => Kind::event("unheard.of", vec![""], Fate::Dead("no_route")),
        10..12 => Kind {
            delay: Some(400),
            expires: Some(10),
            ..Kind::to(STEADY).dead("expired")
        },
        12..25 => Kind::event("orders.paid", vec![STEADY, LIMITED], Fate::Delivered),
        25..30 => Kind::event("parcels.sent", vec![PARKING], Fate::Delivered),
        30..42 => Kind::to(PARKING),
        42..45 => Kind::to(ONCE),
        45..60 => Kind::to(LIMITED),
        _ => Kind::to(STEADY),
    };
    // An event becomes messages of later numbers: only events have an order among themselves.
    let of = if kind.event { "event" } else { "order" };
    kind.key = key.map(|key| format!("{of}-{key}"));
    if kind.fate == Fate::Delivered && rng.u32(0..10) == 0 {
        kind.delay = Some(rng.u64(50..1200));
    }
    kind
}
