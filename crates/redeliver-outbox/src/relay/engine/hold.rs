//! Destinations that get nothing until somebody says otherwise.

use std::{collections::BTreeMap, sync::Arc};

use redeliver::Moment;

use super::{Engine, Event};
use crate::{
    Held, Hold, HoldKind, NewHold,
    plants::{Plant, planted},
    relay::{
        manners::Alarm,
        trouble::{Statement, Trouble},
    },
    store::Result,
};

/// Holds that this relay has decided, on their way to the database.
#[derive(Debug, Default)]
pub(super) struct Holding {
    /// By route, until they are written. They hold from the moment of the decision on.
    unwritten: BTreeMap<usize, NewHold>,
    /// When one of ours was known to be written: a beat that was issued before does not tell that somebody has ended it.
    written: BTreeMap<usize, Moment>,
    under_way: bool,
    pub(super) trouble: Trouble,
}

impl Holding {
    /// Whether a beat that was issued then cannot know of our hold.
    fn knows_better(&self, route: usize, issued: Moment) -> bool {
        let written = self.written.get(&route);
        if planted(Plant::OldBeatEndsHold) {
            return false;
        }
        self.unwritten.contains_key(&route) || written.is_some_and(|&written| issued <= written)
    }

    pub(super) fn deadline(&self) -> Moment {
        match self.trouble.until {
            Some(until) if !self.under_way && !self.unwritten.is_empty() => until,
            _ => Moment::FAR_FUTURE,
        }
    }

    pub(super) fn unwritten(&self) -> impl Iterator<Item = &NewHold> {
        self.unwritten.values()
    }
}

impl Engine {
    /// An attempt has shown that the destination is to be held. It is, at once; that it is written follows.
    pub(super) fn raise(&mut self, route: usize, alarm: Alarm, now: Moment) {
        let destination = self.window.name(route).to_owned();
        let hold = Hold {
            destination: destination.clone(),
            kind: alarm.cause.kind(),
            cause: alarm.cause,
            detail: alarm.detail.clone(),
            who: self.relay.config.worker.0.clone(),
            since: self.database_now(now),
        };
        self.take_hold(route, hold, now);
        let new = NewHold {
            destination,
            cause: alarm.cause,
            detail: alarm.detail,
        };
        self.holding.unwritten.insert(route, new);
    }

    fn take_hold(&mut self, route: usize, hold: Hold, now: Moment) {
        let told = (hold.kind, hold.cause, hold.who.clone(), hold.detail.clone());
        if self.conducts[route].hold(hold, now) {
            let (kind, cause, who, why) = told;
            let destination = self.window.name(route);
            let ended_by = match kind {
                HoldKind::Paused => "resume",
                HoldKind::Disabled => "enable",
            };
            tracing::warn!(
                target: "redeliver",
                destination,
                cause = cause.as_str(),
                who,
                "destination {kind}: nothing is sent there and nothing is lost until `redeliver destination {ended_by} {destination}`: {why}"
            );
        }
    }

    pub(super) fn begin_hold(&mut self, now: Moment) {
        let holding = &mut self.holding;
        if holding.under_way || !holding.trouble.allows(now) {
            return;
        }
        let Some((&route, hold)) = holding.unwritten.first_key_value() else {
            return;
        };
        let hold = hold.clone();
        holding.under_way = true;
        let (store, worker) = (Arc::clone(&self.relay.store), self.relay.config.worker.clone());
        self.tasks.push(Box::pin(async move {
            let result = store.hold(&worker, &hold).await;
            Event::Held { route, result }
        }));
    }

    pub(super) fn hold_ended(&mut self, route: usize, result: Result<Held>, now: Moment) {
        self.holding.under_way = false;
        match result {
            Ok(held) => {
                self.holding.trouble.worked(Statement::Hold);
                self.holding.unwritten.remove(&route);
                self.holding.written.insert(route, now);
                self.take_hold(route, held.hold, now);
            }
            Err(error) => {
                let mut trouble = std::mem::take(&mut self.holding.trouble);
                self.trouble(&mut trouble, Statement::Hold, &error, now);
                self.holding.trouble = trouble;
            }
        }
    }

    /// What the answer to a beat says of holds is so, but for what it cannot know yet.
    pub(super) fn follow_holds(&mut self, holds: &[Hold], issued: Moment, now: Moment) {
        for route in 0..self.routes.len() {
            let name = self.window.name(route);
            if let Some(hold) = holds.iter().find(|hold| hold.destination == name) {
                // Written by us, if the answer to that was lost, or by somebody else: either way there is nothing left to write.
                if !self.holding.under_way {
                    self.holding.unwritten.remove(&route);
                }
                self.take_hold(route, hold.clone(), now);
            } else if !self.holding.knows_better(route, issued) {
                self.holding.written.remove(&route);
                self.end_hold(route, now);
            }
        }
    }

    fn end_hold(&mut self, route: usize, now: Moment) {
        if planted(Plant::HoldNeverEnds) {
            return;
        }
        if self.conducts[route].resume(now) {
            self.unpark_soon(route, now);
            let destination = self.window.name(route);
            tracing::info!(target: "redeliver", destination, "destination resumed: {destination}");
        }
    }
}
