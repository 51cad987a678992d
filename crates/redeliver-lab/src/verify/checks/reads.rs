//! Reads: each message once on the way forward, nothing passed over, nothing that is not due, and no more than there is room for.

use std::collections::BTreeMap;

use redeliver_outbox::{
    Message,
    store::{Demand, Found, LaneDemand, LaneFound},
};

use crate::verify::{history::ProcessId, look, world::World};

/// How far a reader has come, by our own count.
#[derive(Debug, Default)]
pub(in crate::verify) struct Progress(BTreeMap<u16, i64>);

pub(in crate::verify) fn check_demand(world: &World, process: ProcessId, demand: &Demand) {
    let busy = world.state().records.life(process).busy.len();
    let limits = world.scenario.relay;
    // Each destination has room for twice what runs at a time, however many there are.
    let destinations = &world.scenario.destinations;
    // Events, if there are any, have their place like a destination that takes one at a time.
    let events = (!world.scenario.interested.is_empty()).then_some(1);
    let count = destinations.len() + events.iter().len();
    let share = |concurrency: usize| (limits.window / count.max(1)).max(2 * concurrency);
    let shares = destinations
        .iter()
        .map(|destination| destination.concurrency)
        .chain(events)
        .map(share)
        .sum();
    let room = limits
        .window
        .max(shares)
        .saturating_sub(busy)
        .min(limits.read_batch);
    if demand.fresh > room {
        let what = format!(
            "{process} asked for {} messages while it has {busy} on their way, and there is room for {room}",
            demand.fresh
        );
        world.object("limits", None, what);
    }
}

impl Progress {
    pub(in crate::verify) fn own(&mut self, shard: u16) {
        self.0.insert(shard, 0);
    }

    pub(in crate::verify) fn disown(&mut self, shard: u16) {
        self.0.remove(&shard);
    }

    pub(in crate::verify) fn check(&mut self, world: &World, demand: &Demand, found: &Found) {
        for (asked, answered) in demand.lanes.iter().zip(&found.lanes) {
            self.check_lane(world, asked, answered);
        }
        self.check_due(world, demand, found);
        self.check_fresh(world, demand, found);
    }

    fn check_fresh(&mut self, world: &World, demand: &Demand, found: &Found) {
        let mut returned: BTreeMap<u16, Vec<i64>> = BTreeMap::new();
        for message in &found.fresh {
            returned.entry(message.shard).or_default().push(message.number());
        }
        let complete = found.fresh.len() < demand.fresh;
        for (&shard, cursor) in &mut self.0 {
            let there = world.look(|connection| {
                let sql = "SELECT number FROM redeliver_outbox
                           WHERE shard = ?1 AND number > ?2 AND next_attempt_at IS NULL ORDER BY number";
                look::numbers(connection, sql, (shard, *cursor))
            });
            let there = there.unwrap_or_default();
            let mine = returned.remove(&shard).unwrap_or_default();
            if !there.starts_with(&mine) || (complete && demand.fresh > 0 && there.len() != mine.len()) {
                let what = format!(
                    "shard {shard} was read from {cursor} on: found {mine:?}, and there are {there:?}"
                );
                world.object(
                    "reading",
                    there.iter().find(|number| !mine.contains(number)).copied(),
                    what,
                );
            }
            if let Some(&last) = mine.last() {
                *cursor = last;
            }
        }
        if let Some(shard) = returned.keys().next() {
            world.object(
                "reading",
                None,
                format!("messages of shard {shard} were read, which is not owned"),
            );
        }
    }

    fn check_due(&self, world: &World, demand: &Demand, found: &Found) {
        let now = found.now.as_millis();
        let shards = self
            .0
            .keys()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ");
        let looked = world.look(|connection| {
            let sql = format!(
                "SELECT number FROM redeliver_outbox WHERE next_attempt_at <= ?1 AND shard IN ({shards}) ORDER BY number"
            );
            let due = look::numbers(connection, &sql, [now])?;
            let sql = format!("SELECT MIN(next_attempt_at) FROM redeliver_outbox WHERE next_attempt_at > ?1 AND shard IN ({shards})");
            let next: Option<i64> = connection.prepare_cached(&sql)?.query_row([now], |row| row.get(0))?;
            Ok((due, next))
        });
        let Some((due, next)) = looked else { return };
        let mine: Vec<i64> = found.due.iter().map(Message::number).collect();
        let early = mine.iter().find(|number| !due.contains(number));
        let missing = (mine.len() < demand.due)
            .then(|| due.iter().find(|number| !mine.contains(number)))
            .flatten();
        if let Some(&number) = early {
            world.object("time", Some(number), "it was read as due, and is not".to_owned());
        }
        if let Some(&number) = missing {
            world.object(
                "reading",
                Some(number),
                "its time has come, and it was not read".to_owned(),
            );
        }
        let told = found
            .next_due
            .map(|wait| i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
        if told != next.map(|at| at - now) {
            world.object(
                "reading",
                None,
                format!("the next message is due in {next:?}, and the relay was told {told:?} ms"),
            );
        }
    }

    fn check_lane(&self, world: &World, asked: &LaneDemand, answered: &LaneFound) {
        let cursor = self.0.get(&asked.shard).copied().unwrap_or(0);
        let there = world.look(|connection| {
            let sql = "SELECT number FROM redeliver_outbox
                       WHERE shard = ?1 AND destination = ?2 AND lane IS ?3 AND number >= ?4 AND number <= ?5
                       AND next_attempt_at IS NULL ORDER BY number";
            look::numbers(
                connection,
                sql,
                (asked.shard, &asked.destination, &asked.key, asked.from, cursor),
            )
        });
        let there = there.unwrap_or_default();
        let mine: Vec<i64> = answered.messages.iter().map(Message::number).collect();
        let right = there.starts_with(&mine)
            && mine.len() <= asked.limit
            && answered.complete == (mine.len() == there.len());
        if !right {
            let what = format!(
                "lane {:?} of {} was read again from {} on: found {mine:?}, complete: {}, and there are {there:?}",
                asked.key, asked.destination, asked.from, answered.complete
            );
            world.object(
                "reading",
                there.iter().find(|number| !mine.contains(number)).copied(),
                what,
            );
        }
    }
}
