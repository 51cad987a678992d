//! The reckoning: what the shop wrote, what the database has, what the API heard, and whether they agree.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use redeliver_outbox::{MessageId, Timestamp, state::Status};
use rusqlite::Connection;

use super::{heard::Heard, producer::Written, setting::INTERESTED};

const ROWS: &str = include_str!("rows.sql");

/// A message or an event, as the view has it.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) id: MessageId,
    pub(super) destination: String,
    pub(super) status: Status,
    pub(super) created_at: Timestamp,
    pub(super) sent_at: Option<Timestamp>,
    /// The event that it was made of.
    pub(super) event: Option<i64>,
}

/// Reads everything, with the shop's own connection.
pub(super) fn rows(database: &Connection) -> anyhow::Result<Vec<Row>> {
    let mut statement = database.prepare(ROWS)?;
    let mut found = statement.query([])?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        rows.push(Row {
            id: row.get::<_, String>(0)?.parse()?,
            destination: row.get(1)?,
            status: row.get::<_, String>(2)?.parse()?,
            created_at: Timestamp::from_millis(row.get(3)?),
            sent_at: row.get::<_, Option<i64>>(4)?.map(Timestamp::from_millis),
            event: row.get(5)?,
        });
    }
    Ok(rows)
}

/// The messages of one destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) sent: u64,
    pub(super) dead: u64,
    pub(super) live: u64,
    /// The longest time from the commit to the arrival, or until now.
    pub(super) worst_lag: Duration,
}

impl Tally {
    fn count(&mut self, row: &Row, now: Timestamp) {
        let count = match row.status {
            Status::Sent => &mut self.sent,
            // What is quarantined waits for a person, not for its destination.
            Status::DeadLettered | Status::Discarded => return self.dead += 1,
            _ => &mut self.live,
        };
        *count += 1;
        let lag = row.sent_at.unwrap_or(now).since(row.created_at);
        self.worst_lag = self.worst_lag.max(lag);
    }
}

/// What it comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Account {
    /// By destination; whoever wrote them.
    pub(super) tallies: BTreeMap<String, Tally>,
    /// Messages that the shop committed, and those that were made of its events.
    pub(super) committed: u64,
    /// What became of these.
    pub(super) sent: u64,
    pub(super) dead: u64,
    pub(super) live: u64,
    /// Events that are no messages yet.
    pub(super) events_waiting: u64,
    /// Messages that somebody else wrote meanwhile.
    pub(super) others: u64,
    /// Rows of transactions that were rolled back.
    pub(super) ghosts: u64,
    /// Messages of transactions that were rolled back, of which the API heard.
    pub(super) ghosts_heard: u64,
    /// Messages that count as sent, and of which the API took none.
    pub(super) never_taken: u64,
    /// Attempts that began before they were due.
    pub(super) early: u64,
}

impl Account {
    pub(super) fn of(rows: &[Row], written: &Written, heard: &Heard, early: u64, now: Timestamp) -> Self {
        let events: HashMap<i64, MessageId> = written
            .events
            .iter()
            .map(|event| (event.number(), *event))
            .collect();
        let messages: HashSet<MessageId> = written.messages.iter().copied().collect();
        let rolled_back: HashSet<MessageId> = written.rolled_back.iter().copied().collect();
        let mut account = Self {
            early,
            ghosts_heard: rolled_back.intersection(&heard.asked).count() as u64,
            ..Self::default()
        };
        let (mut fanned_out, mut all) = (0, Tally::default());
        for row in rows {
            account.ghosts += u64::from(rolled_back.contains(&row.id));
            if events.get(&row.id.number()) == Some(&row.id) {
                match row.status {
                    Status::FannedOut => fanned_out += 1,
                    _ => account.events_waiting += 1,
                }
                continue;
            }
            let tally = account.tallies.entry(row.destination.clone()).or_default();
            tally.count(row, now);
            // What was not followed is not known.
            let unheard = heard.missed == 0 && row.status == Status::Sent && !heard.taken.contains(&row.id);
            account.never_taken += u64::from(unheard);
            // A replay leads an event to others, too.
            let made_of_ours = row.event.is_some_and(|event| events.contains_key(&event))
                && INTERESTED.contains(&row.destination.as_str());
            match made_of_ours || messages.contains(&row.id) {
                true => all.count(row, now),
                false => account.others += 1,
            }
        }
        account.others -= account.ghosts.min(account.others);
        let made = fanned_out * INTERESTED.len() as u64;
        account.committed = messages.len() as u64 + made;
        // An event that is nowhere is as lost as the messages that it was to become.
        let lost = (events.len() as u64).saturating_sub(fanned_out + account.events_waiting);
        account.committed += lost;
        (account.sent, account.dead, account.live) = (all.sent, all.dead, all.live);
        account
    }

    /// The first rule that does not hold, if one does not.
    pub(super) fn broken(&self) -> Option<&'static str> {
        let found = self.sent + self.dead + self.live;
        let rules = [
            (found >= self.committed, "a message that was committed is missing"),
            (found <= self.committed, "a message is there twice"),
            (
                self.ghosts == 0,
                "a message of a transaction that was rolled back is in the outbox",
            ),
            (
                self.ghosts_heard == 0,
                "a message of a transaction that was rolled back reached the API",
            ),
            (self.early == 0, "an attempt was made before it was due"),
            (
                self.never_taken == 0,
                "a message counts as sent that the API never took",
            ),
        ];
        rules
            .into_iter()
            .find(|(kept, _)| !kept)
            .map(|(_, broken)| broken)
    }
}

#[cfg(test)]
mod tests;
