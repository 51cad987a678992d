//! The figures.
//!
//! SQLite groups by sorting, which takes four times as long as looking at each row does. Here a row is looked at once.

use std::collections::HashMap;

use rusqlite::{Row, Rows, types::ValueRef};

use super::{Done, Session, hold, look};
use crate::{
    Timestamp,
    desk::{Figures, StatusReport},
    store::desk::status,
};

pub(super) fn status(session: &Session<'_>) -> Done<StatusReport> {
    let mut report = status::begin(&look::shards(session)?);
    let mut tally = Tally::new(session)?;
    tally.live(session)?;
    tally.sent(session)?;
    report.attempts = tally.attempts.into_iter().collect();
    for (destination, place) in &tally.destinations.places {
        let name = String::from_utf8_lossy(destination).into_owned();
        status::add(&mut report, name, &tally.destinations.figures[*place]);
    }
    session.read(include_str!("../sql/figures_ended.sql"), [], |row| {
        status::ended(&mut report, row)
    })?;
    let (workers, holds) = (hold::workers(session)?, hold::all(session)?);
    Ok(status::finish(report, workers, holds))
}

/// What was counted so far.
struct Tally {
    now: i64,
    /// Lanes whose head waits, and all behind it with it.
    blocked: Heads,
    parked: Heads,
    destinations: Destinations,
    attempts: HashMap<u32, u64>,
}

impl Tally {
    fn new(session: &Session<'_>) -> Done<Self> {
        let now = session.now.as_millis();
        let mut blocked = session.prepare(include_str!("../sql/figures_blocked.sql"))?;
        let mut parked = session.prepare(include_str!("../sql/figures_parked.sql"))?;
        Ok(Self {
            now,
            blocked: Heads::read(blocked.query([now])?)?,
            parked: Heads::read(parked.query([])?)?,
            destinations: Destinations::default(),
            attempts: HashMap::new(),
        })
    }

    fn live(&mut self, session: &Session<'_>) -> Done<()> {
        let mut statement = session.prepare(include_str!("../sql/figures_live.sql"))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            self.message(row)?;
        }
        Ok(())
    }

    fn message(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        let (destination, lane) = (bytes(row, 0)?.unwrap_or_default(), bytes(row, 1)?);
        let number: i64 = row.get(2)?;
        let (next, not_before): (Option<i64>, Option<i64>) = (row.get(3)?, row.get(4)?);
        let deferred = row.get::<_, Option<bool>>(7)?.unwrap_or_default();
        let head = |heads: &Heads| heads.of(destination, lane?);
        let parked = head(&self.parked).is_some_and(|head| head != number);
        let waits = next.or(not_before).is_some_and(|time| time > self.now)
            || head(&self.blocked).is_some_and(|head| head < number);
        let figures = self.destinations.of(destination);
        if parked {
            figures.parked += 1;
        } else if deferred {
            figures.put_away += 1;
        } else if waits {
            figures.waiting += 1;
        } else {
            figures.due_now += 1;
            let created: i64 = row.get(5)?;
            let due = next.unwrap_or_else(|| created.max(not_before.unwrap_or(0)));
            let lag = Timestamp::from_millis(self.now).since(Timestamp::from_millis(due));
            figures.oldest_lag = figures.oldest_lag.max(Some(lag));
        }
        let attempts: i64 = row.get(6)?;
        *self
            .attempts
            .entry(u32::try_from(attempts).unwrap_or(u32::MAX))
            .or_default() += 1;
        Ok(())
    }

    fn sent(&mut self, session: &Session<'_>) -> Done<()> {
        let mut statement = session.prepare(include_str!("../sql/figures_sent.sql"))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            self.destinations.of(bytes(row, 0)?.unwrap_or_default()).sent += 1;
        }
        Ok(())
    }
}

/// The number at which each of some lanes stands, by destination and key.
struct Heads(HashMap<Vec<u8>, HashMap<Vec<u8>, i64>>);

impl Heads {
    fn read(mut rows: Rows<'_>) -> rusqlite::Result<Self> {
        let mut heads: HashMap<Vec<u8>, HashMap<Vec<u8>, i64>> = HashMap::new();
        while let Some(row) = rows.next()? {
            let [destination, lane] = [bytes(row, 0)?, bytes(row, 1)?].map(Option::unwrap_or_default);
            let lanes = heads.entry(destination.to_vec()).or_default();
            lanes.insert(lane.to_vec(), row.get(2)?);
        }
        Ok(Self(heads))
    }

    fn of(&self, destination: &[u8], lane: &[u8]) -> Option<i64> {
        self.0.get(destination)?.get(lane).copied()
    }
}

/// Figures by destination.
#[derive(Default)]
struct Destinations {
    places: HashMap<Vec<u8>, usize>,
    figures: Vec<Figures>,
}

impl Destinations {
    fn of(&mut self, name: &[u8]) -> &mut Figures {
        let place = self.places.get(name).copied().unwrap_or_else(|| {
            self.figures.push(Figures::default());
            self.places.insert(name.to_vec(), self.figures.len() - 1);
            self.figures.len() - 1
        });
        &mut self.figures[place]
    }
}

/// A text as it is stored, which need not be UTF-8.
fn bytes<'a>(row: &'a Row<'_>, column: usize) -> rusqlite::Result<Option<&'a [u8]>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes),
        _ => None,
    })
}
