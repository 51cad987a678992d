use std::{collections::BTreeSet, sync::Arc, time::Duration};

use redeliver::Moment;

use super::{Engine, Event};
use crate::{
    plants::{Plant, planted},
    relay::trouble::{Statement, Trouble},
    store::Result,
};

/// What was put away while a destination was down comes back when it is well again, and at once if there is no such destination any more.
#[derive(Debug)]
pub(super) struct Unparking {
    /// Destinations of which something may be put away, by whomever.
    wanted: BTreeSet<usize>,
    /// When to look for what was put away for destinations without a route; not before there are shards.
    others: Moment,
    under_way: bool,
    next: Moment,
    trouble: Trouble,
}

impl Default for Unparking {
    fn default() -> Self {
        Self {
            wanted: BTreeSet::new(),
            others: Moment::FAR_FUTURE,
            under_way: false,
            next: Moment::ZERO,
            trouble: Trouble::default(),
        }
    }
}

/// So many come back at a time, at most.
const BATCH: usize = 200;
/// With nothing to be done about it now, it is looked at again after this long.
const PAUSE: Duration = Duration::from_millis(500);
/// So many without a route come back at a time, with a pause after each, so that what else is due is not kept waiting behind them.
const OTHERS: usize = 1000;
/// Only owners put messages away, so that all is found when shards come. But a server that loses its last commits puts away again what
/// had come back. The look passes over all that is away: about half a second for a million rows on SQLite.
const LOOK_FOR_OTHERS: Duration = Duration::from_secs(600);

impl Unparking {
    /// Something of this destination may be put away from now on.
    pub(super) fn want(&mut self, route: usize) {
        self.wanted.insert(route);
    }

    /// There is more of a destination, or of those without a route, which give way to the others for a while.
    fn want_again(&mut self, route: Option<usize>, from: Moment) {
        match route {
            Some(route) => self.want(route),
            None => self.others = self.others.min(from.plus(PAUSE)),
        }
    }

    pub(super) fn deadline(&self) -> Moment {
        if self.under_way {
            return Moment::FAR_FUTURE;
        }
        let next = if self.wanted.is_empty() {
            self.others
        } else {
            self.others.min(self.next)
        };
        self.trouble.until.map_or(next, |until| until.max(next))
    }
}

impl Engine {
    /// Shards have come, with what somebody else may have put away.
    pub(super) fn unpark_all(&mut self) {
        self.unparking.wanted = (0..self.routes.len()).collect();
        self.unparking.others = Moment::ZERO;
    }

    /// A destination may go on, and with it what was put away.
    pub(super) fn unpark_soon(&mut self, route: usize, now: Moment) {
        self.unparking.want(route);
        self.unparking.next = now;
    }

    pub(super) fn begin_unpark(&mut self, now: Moment) {
        let unparking = &self.unparking;
        if unparking.under_way || !unparking.trouble.allows(now) {
            return;
        }
        if now >= unparking.others {
            self.begin_unpark_others(now);
            return;
        }
        if unparking.wanted.is_empty() {
            return;
        }
        let mut wanted = unparking.wanted.iter().copied();
        let found = wanted.find_map(|route| Some((route, self.unparked(route, now)?)));
        let Some((route, asked)) = found else {
            // Room comes with something that ends, and health with time; the end of a hold is told.
            let held = self
                .unparking
                .wanted
                .iter()
                .all(|&route| self.conducts[route].is_held());
            self.unparking.next = if held { Moment::FAR_FUTURE } else { now.plus(PAUSE) };
            return;
        };
        self.unparking.under_way = true;
        // Whoever wants it from now on wants more than this statement sees.
        self.unparking.wanted.remove(&route);
        let shards: Vec<u16> = self.window.staying().collect();
        let (store, name) = (Arc::clone(&self.relay.store), self.window.name(route).to_owned());
        self.tasks.push(Box::pin(async move {
            let result = store.unpark(&shards, &name, asked).await;
            let route = Some(route);
            Event::Unparked { route, asked, result }
        }));
    }

    /// Brings back what was put away for destinations that this relay has no route for: nobody else will, for the shards are ours. It is
    /// read then, and is a dead letter by the same rule as a message to such a destination that was never put away. So it is while
    /// relays with the old and the new configuration work side by side: whoever owns the shard says which destinations there are. And
    /// so it is with a destination that is held: a hold keeps messages back from a route, and there is none.
    fn begin_unpark_others(&mut self, now: Moment) {
        self.unparking.others = now.plus(LOOK_FOR_OTHERS);
        if planted(Plant::OthersForgotten) {
            return;
        }
        self.unparking.under_way = true;
        let shards: Vec<u16> = self.window.staying().collect();
        // Of a destination that takes messages nothing should be deferred, unless more of it is about to come back: what is there
        // nobody would look for.
        let known: Vec<String> = (0..self.routes.len())
            .filter(|&route| {
                self.unparking.wanted.contains(&route) || self.conducts[route].allowance(now).parked
            })
            .map(|route| self.window.name(route).to_owned())
            .collect();
        let store = Arc::clone(&self.relay.store);
        self.tasks.push(Box::pin(async move {
            let result = store.unpark_others(&shards, &known, OTHERS).await;
            Event::Unparked {
                route: None,
                asked: OTHERS,
                result,
            }
        }));
    }

    /// How many messages of a destination may come back now: some if it is well, one if it is to be tried and there is none.
    fn unparked(&self, route: usize, now: Moment) -> Option<usize> {
        if self.stuck.closes(Some(route)) {
            return None;
        }
        let allowance = self.conducts[route].allowance(now);
        if !allowance.parked {
            let room = self.window.room_left(route);
            return (room > 0).then_some(room.min(BATCH));
        }
        let ready = self.window.ready(route);
        // Those at hand may be to blame themselves: then another one is tried.
        let tried = ready <= self.conducts[route].answered_probes() && self.window.room_left(route) > 0;
        (allowance.sends > 0 && (ready == 0 || tried)).then_some(1)
    }

    pub(super) fn unpark_ended(
        &mut self,
        route: Option<usize>,
        asked: usize,
        result: Result<usize>,
        now: Moment,
    ) {
        self.unparking.under_way = false;
        match result {
            Ok(count) => {
                self.unparking.trouble.worked(Statement::Unpark);
                self.unparking.next = now;
                if count == asked {
                    self.unparking.want_again(route, now);
                }
                if let Some(route) = route {
                    self.window.expect(route, count);
                }
                if count > 0 {
                    self.reading.wake();
                }
            }
            Err(error) => {
                let mut trouble = std::mem::take(&mut self.unparking.trouble);
                self.trouble(&mut trouble, Statement::Unpark, &error, now);
                // What has no route comes after the others then: it may be what the database cannot do in time.
                self.unparking.want_again(route, trouble.until.unwrap_or(now));
                self.unparking.trouble = trouble;
            }
        }
    }
}
