//! Writing down what became of messages.

use std::collections::{BTreeMap, BTreeSet};

use mysql_async::Params;
use serde_json::{Value as Json, json};

use super::{
    MySqlStore, Work,
    fan_out::{self, Branch},
    row::{self, table},
};
use crate::{
    Fingerprint, MessageId, Timestamp,
    limits::error_text,
    state::{Event, Place, State, apply},
    store::{
        AfterDeath, Attempted, History, INTERRUPTED, Result, Settled, Settlement, Until, Verdict, WorkerId,
        columns::Known as _,
    },
};

pub(super) async fn settle(
    store: &MySqlStore,
    worker: &WorkerId,
    settlements: &[Settlement],
) -> Result<Settled> {
    if settlements.is_empty() {
        return Ok(Settled::default());
    }
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    let stale = fence(&mut work, worker, settlements).await?;
    let mut states = lock(&mut work, settlements, &stale).await?;
    let mut batch = Batch::default();
    let mut sorted: Vec<&Settlement> = settlements.iter().collect();
    // Messages that are made of events have their numbers in the order of the events.
    sorted.sort_by_key(|settlement| settlement.number());
    for settlement in sorted {
        let number = settlement.number();
        if batch.numbers.contains(&number) {
            batch.write(&mut work, worker).await?;
            batch = Batch::default();
        }
        // What is not there any more was settled before; so was what does not fit its state.
        let Some(state) = states
            .get_mut(&number)
            .filter(|row| row.id == settlement.id && row.shard == settlement.lease.shard)
            .filter(|row| row.state.redrives == settlement.redrives)
            .filter(|row| row.event || !matches!(settlement.verdict, Verdict::FannedOut { .. }))
        else {
            continue;
        };
        if let Ok(next) = apply(state.state, event(&settlement.verdict), Timestamp::default()) {
            batch.add(number, *state, &settlement.verdict);
            state.state = next;
        }
    }
    batch.write(&mut work, worker).await?;
    work.commit().await?;
    Ok(Settled {
        stale: stale.into_iter().collect(),
    })
}

/// The shards that are not this worker's any more in the epoch that a settlement names. The rows of the others stay locked against a
/// change of owner until the end of the transaction; one that is under way is waited for.
async fn fence(work: &mut Work<'_>, worker: &WorkerId, settlements: &[Settlement]) -> Result<BTreeSet<u16>> {
    let shards: BTreeSet<u16> = settlements
        .iter()
        .map(|settlement| settlement.lease.shard)
        .collect();
    let shards: Vec<u16> = shards.into_iter().collect();
    let sql = include_str!("sql/fence.sql").replace("{shards}", &row::places(shards.len()));
    let mut values = row::padded(&shards);
    values.push(worker.0.as_str().into());
    let mut epochs = BTreeMap::new();
    for mut row in work.rows(&sql, Params::Positional(values)).await? {
        epochs.insert(row.take::<u16>()?, row.take::<i64>()?);
    }
    let held =
        |settlement: &&Settlement| epochs.get(&settlement.lease.shard) != Some(&settlement.lease.epoch);
    Ok(settlements
        .iter()
        .filter(held)
        .map(|settlement| settlement.lease.shard)
        .collect())
}

#[derive(Clone, Copy)]
struct Row {
    id: MessageId,
    /// As in the column, which may hold more bits than the id.
    salt: i64,
    shard: u16,
    state: State,
    event: bool,
}

/// Locks the live rows, all of them at once and by number, so that no two settles wait for each other.
async fn lock(
    work: &mut Work<'_>,
    settlements: &[Settlement],
    stale: &BTreeSet<u16>,
) -> Result<BTreeMap<i64, Row>> {
    let live = settlements
        .iter()
        .filter(|settlement| !stale.contains(&settlement.lease.shard));
    let numbers: BTreeSet<i64> = live.map(|settlement| settlement.number()).collect();
    let numbers: Vec<i64> = numbers.into_iter().collect();
    let mut states = BTreeMap::new();
    if numbers.is_empty() {
        return Ok(states);
    }
    let numbers = (row::list(&numbers),);
    for mut row in work.rows(include_str!("sql/lock.sql"), numbers).await? {
        let (number, salt) = (row.take()?, row.take()?);
        let id = MessageId::new(number, salt);
        let shard = row.take()?;
        let state = State {
            place: Place::Live,
            attempts: row.take()?,
            redrives: row.take()?,
            next_attempt_at: None,
            reason: None,
        };
        let event = row.take()?;
        states.insert(
            id.number(),
            Row {
                id,
                salt,
                shard,
                state,
                event,
            },
        );
    }
    Ok(states)
}

const fn event(verdict: &Verdict) -> Event {
    match verdict {
        Verdict::Delivered(attempted) => Event::Delivered {
            attempt: attempted.attempt,
        },
        Verdict::Retry { attempted, wait } => Event::Retry {
            attempt: attempted.attempt,
            wait: *wait,
        },
        Verdict::Dead {
            attempted, reason, ..
        } => Event::Dead {
            attempt: match attempted {
                Some(attempted) => Some(attempted.attempt),
                None => None,
            },
            reason: *reason,
        },
        Verdict::FannedOut { .. } => Event::FannedOut,
        Verdict::Postponed(_) => Event::Postponed {
            until: Timestamp::from_millis(0),
        },
        Verdict::Counted { attempt } => Event::Counted { attempt: *attempt },
        Verdict::Uncounted { attempt } => Event::Uncounted { attempt: *attempt },
    }
}

/// A dead letter to be written.
struct Dead {
    number: i64,
    attempt: Option<u32>,
    reason: &'static str,
    error: String,
    gap: bool,
}

/// Dead letters as rows, each with the issue that it is of. Where it was to go is known to the database alone.
async fn identified(work: &mut Work<'_>, dead: &[Dead]) -> Result<Vec<Json>> {
    if dead.is_empty() {
        return Ok(Vec::new());
    }
    let numbers: Vec<i64> = dead.iter().map(|letter| letter.number).collect();
    let mut destinations = BTreeMap::new();
    let statement = include_str!("sql/destinations_of.sql");
    for mut row in work.rows(statement, (row::list(&numbers),)).await? {
        destinations.insert(row.take::<i64>()?, row.known_text()?);
    }
    let row = |letter: &Dead| {
        let destination = destinations.get(&letter.number).map_or("", String::as_str);
        let fingerprint = Fingerprint::of(destination, letter.reason, &letter.error);
        json!([
            letter.number,
            letter.attempt,
            letter.reason,
            letter.error,
            u8::from(letter.gap),
            fingerprint.column()
        ])
    };
    Ok(dead.iter().map(row).collect())
}

/// Verdicts that fit, by what is written for them. Each list goes to the server as one JSON array, read there as a table: one statement
/// for any number of messages.
#[derive(Default)]
struct Batch {
    numbers: BTreeSet<i64>,
    delivered: Vec<Json>,
    delivered_numbers: Vec<i64>,
    moved: Vec<i64>,
    /// Delivered, and not at the first attempt.
    tried: Vec<i64>,
    heard_of: Vec<Json>,
    resumed: Vec<i64>,
    retried: Vec<Json>,
    dead: Vec<Dead>,
    parked: Vec<MessageId>,
    postponed: Vec<Json>,
    counted: Vec<Json>,
    attempts: Vec<Json>,
    fanned_out: Vec<i64>,
    branches: Vec<Branch>,
}

impl Batch {
    fn add(&mut self, number: i64, row: Row, verdict: &Verdict) {
        self.numbers.insert(number);
        let State {
            attempts, redrives, ..
        } = row.state;
        match verdict {
            Verdict::Delivered(attempted) => {
                let attempt = attempted.attempt;
                self.delivered
                    .push(json!([number, attempt, row::millis(attempted.took)]));
                self.delivered_numbers.push(number);
                self.moved.push(number);
                if attempts > 0 || redrives > 0 {
                    self.tried.push(number);
                }
                if attempts == attempt {
                    self.heard_of
                        .push(json!([number, row.salt.to_string(), redrives, attempt]));
                }
                if attempted.resumes_lane {
                    self.resumed.push(number);
                }
            }
            Verdict::Retry { attempted, wait } => {
                let error = error_text(&attempted.error);
                self.retried
                    .push(json!([number, attempted.attempt, row::delay(*wait), error]));
                self.log(&row, attempted);
            }
            Verdict::Dead {
                attempted,
                reason,
                error,
                lane,
            } => {
                let attempt = attempted.as_ref().map(|attempted| attempted.attempt);
                let gap = *lane == AfterDeath::Gap;
                self.dead.push(Dead {
                    number,
                    attempt,
                    reason: reason.as_str(),
                    error: error_text(error),
                    gap,
                });
                self.moved.push(number);
                if let Some(attempted) = attempted {
                    self.log(&row, attempted);
                }
                match lane {
                    AfterDeath::Park => self.parked.push(row.id),
                    // The head of a parked lane may die again where lanes no longer stand still for it.
                    AfterDeath::Gap => self.resumed.push(number),
                    AfterDeath::None => {}
                }
            }
            Verdict::FannedOut { destinations } => {
                self.fanned_out.push(number);
                self.moved.push(number);
                let made = destinations
                    .iter()
                    .map(|destination| Branch::new(row.id, destination));
                self.branches.extend(made);
            }
            Verdict::Postponed(Until::At(time)) => {
                self.postponed
                    .push(json!([number, row::datetime(*time), null, 0]));
            }
            Verdict::Postponed(Until::After(wait)) => {
                self.postponed.push(json!([number, null, row::delay(*wait), 0]));
            }
            Verdict::Postponed(Until::Recovered) => {
                let parked = row::datetime(Timestamp::PARKED);
                self.postponed.push(json!([number, parked, null, 1]));
            }
            Verdict::Counted { attempt } => {
                self.counted.push(json!([number, attempt]));
                self.attempts.push(json!([
                    number,
                    row.salt.to_string(),
                    redrives,
                    attempt,
                    null,
                    "interrupted",
                    INTERRUPTED
                ]));
            }
            Verdict::Uncounted { attempt } => {
                self.counted.push(json!([number, attempt.saturating_sub(1)]));
                self.heard_of
                    .push(json!([number, row.salt.to_string(), redrives, attempt]));
            }
        }
    }

    fn log(&mut self, row: &Row, attempted: &Attempted) {
        let (took, error) = (row::millis(attempted.took), error_text(&attempted.error));
        self.attempts.push(json!([
            row.id.number(),
            row.salt.to_string(),
            row.state.redrives,
            attempted.attempt,
            took,
            attempted.class,
            error
        ]));
    }

    async fn write(self, work: &mut Work<'_>, worker: &WorkerId) -> Result<()> {
        let worker = worker.0.as_str();
        let history = work.store.history;
        if history != History::Off && !self.delivered.is_empty() {
            let payloads = history == History::Full;
            let rows = (payloads, payloads, table(self.delivered.iter().cloned()));
            work.insert_over(
                (include_str!("sql/settle_delivered.sql"), rows.into()),
                (
                    include_str!("sql/remove_sent.sql"),
                    row::list(&self.delivered_numbers),
                ),
            )
            .await?;
        }
        let dead = identified(work, &self.dead).await?;
        for (sql, rows) in [
            (include_str!("sql/settle_counted.sql"), &self.counted),
            (include_str!("sql/settle_postponed.sql"), &self.postponed),
            (include_str!("sql/settle_retry.sql"), &self.retried),
            (include_str!("sql/remove_dead_again.sql"), &dead),
            (include_str!("sql/settle_dead.sql"), &dead),
            (include_str!("sql/forget_interrupted.sql"), &self.heard_of),
        ] {
            if !rows.is_empty() {
                work.run(sql, (table(rows.iter().cloned()),)).await?;
            }
        }
        if !self.attempts.is_empty() {
            work.run(
                include_str!("sql/log_attempt.sql"),
                (worker, table(self.attempts.iter().cloned())),
            )
            .await?;
        }
        fan_out::write(work, &self.fanned_out, &self.branches).await?;
        if !self.resumed.is_empty() {
            work.run(include_str!("sql/resume_lane.sql"), (row::list(&self.resumed),))
                .await?;
        }
        if !self.parked.is_empty() {
            work.run(include_str!("sql/park_lane.sql"), (row::ids(&self.parked),))
                .await?;
        }
        if !self.moved.is_empty() {
            work.run(include_str!("sql/remove.sql"), (row::list(&self.moved),))
                .await?;
        }
        // Without a history nothing would ever remove the log.
        if history == History::Off && !self.tried.is_empty() {
            work.run(include_str!("sql/remove_attempts.sql"), (row::list(&self.tried),))
                .await?;
        }
        Ok(())
    }
}
