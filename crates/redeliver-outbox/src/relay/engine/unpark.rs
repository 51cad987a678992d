use std::{collections::BTreeSet, sync::Arc, time::Duration};

use redeliver::Moment;

use super::{Engine, Event};
use crate::{
    relay::trouble::{Statement, Trouble},
    store::Result,
};

/// What was put away while a destination was down comes back when it is well again.
#[derive(Debug)]
pub(super) struct Unparking {
    /// Destinations of which something may be put away, by whomever.
    wanted: BTreeSet<usize>,
    under_way: bool,
    next: Moment,
    trouble: Trouble,
}

impl Default for Unparking {
    fn default() -> Self {
        Self {
            wanted: BTreeSet::new(),
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

impl Unparking {
    /// Something of this destination may be put away from now on.
    pub(super) fn want(&mut self, route: usize) {
        self.wanted.insert(route);
    }

    pub(super) fn deadline(&self) -> Moment {
        if self.under_way || self.wanted.is_empty() {
            return Moment::FAR_FUTURE;
        }
        self.trouble.until.map_or(self.next, |until| until.max(self.next))
    }
}

impl Engine {
    /// Shards have come, with what somebody else may have put away.
    pub(super) fn unpark_all(&mut self) {
        self.unparking.wanted = (0..self.routes.len()).collect();
    }

    /// A destination may go on, and with it what was put away.
    pub(super) fn unpark_soon(&mut self, route: usize, now: Moment) {
        self.unparking.want(route);
        self.unparking.next = now;
    }

    pub(super) fn begin_unpark(&mut self, now: Moment) {
        let unparking = &self.unparking;
        if unparking.under_way || unparking.wanted.is_empty() || !unparking.trouble.allows(now) {
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
            Event::Unparked { route, asked, result }
        }));
    }

    /// How many messages of a destination may come back now: some if it is well, one if it is to be tried and there is none.
    fn unparked(&self, route: usize, now: Moment) -> Option<usize> {
        let allowance = self.conducts[route].allowance(now);
        if !allowance.parked {
            let room = self.window.room_left(route);
            return (room > 0).then_some(room.min(BATCH));
        }
        (allowance.sends > 0 && !self.window.has_ready(route)).then_some(1)
    }

    pub(super) fn unpark_ended(&mut self, route: usize, asked: usize, result: Result<usize>, now: Moment) {
        self.unparking.under_way = false;
        match result {
            Ok(count) => {
                self.unparking.trouble.worked(Statement::Unpark);
                self.unparking.next = now;
                if count == asked {
                    self.unparking.wanted.insert(route);
                }
                self.window.expect(route, count);
                if count > 0 {
                    self.reading.wake();
                }
            }
            Err(error) => {
                self.unparking.wanted.insert(route);
                let mut trouble = std::mem::take(&mut self.unparking.trouble);
                self.trouble(&mut trouble, Statement::Unpark, &error, now);
                self.unparking.trouble = trouble;
            }
        }
    }
}
