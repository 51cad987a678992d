use std::{fmt, time::Duration};

use redeliver::{Moment, clock};

use super::{Engine, Event};
use crate::{
    limits,
    plants::is_sound,
    relay::trouble::{Statement, Trouble},
    store::{Demand, Found, Lease, Reader, Result},
};

/// The way through the rows, and when to look again.
pub(super) struct Reading {
    /// Away while a read is under way.
    reader: Option<Box<dyn Reader>>,
    /// What changed while it was away.
    changes: Vec<Change>,
    /// How long an idle relay waits before it looks again; doubles while there is nothing.
    pause: Duration,
    next: Moment,
    /// When the rows behind the cursors are looked at again.
    next_look: Moment,
    pub(super) trouble: Trouble,
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Own(Lease),
    Disown(u16),
}

impl Reading {
    pub(super) fn new(reader: Box<dyn Reader>, pause: Duration) -> Self {
        Self {
            reader: Some(reader),
            changes: Vec::new(),
            pause,
            next: Moment::ZERO,
            next_look: Moment::ZERO,
            trouble: Trouble::default(),
        }
    }

    pub(super) fn wake(&mut self) {
        self.next = Moment::ZERO;
    }

    pub(super) fn own(&mut self, lease: Lease) {
        self.change(Change::Own(lease));
        self.wake();
    }

    pub(super) fn disown(&mut self, shard: u16) {
        self.change(Change::Disown(shard));
    }

    fn change(&mut self, change: Change) {
        self.changes.push(change);
        self.apply_changes();
    }

    fn apply_changes(&mut self) {
        if let Some(reader) = &mut self.reader {
            for change in self.changes.drain(..) {
                match change {
                    Change::Own(lease) => reader.own(lease),
                    Change::Disown(shard) => reader.disown(shard),
                }
            }
        }
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading")
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

impl Engine {
    fn may_read(&self) -> bool {
        self.reading.reader.is_some() && self.stop_by.is_none() && self.window.staying().next().is_some()
    }

    pub(super) fn begin_read(&mut self, now: Moment) {
        let wanted = now >= self.reading.next || self.window.wants_lanes();
        if !self.may_read() || !wanted || !self.beating.lease_holds(now) || !self.reading.trouble.allows(now)
        {
            return;
        }
        let Some(mut demand) = self.window.demand() else {
            return;
        };
        if self.may_look_behind(now) {
            demand.behind = limits::LOOK_BEHIND_ROWS;
        }
        let Some(mut reader) = self.reading.reader.take() else {
            return;
        };
        self.tasks.push(Box::pin(async move {
            let result = Box::new(reader.read(&demand).await);
            Event::Read {
                reader,
                demand,
                result,
                took: clock::now().since(now),
            }
        }));
    }

    /// Whether the rows behind the cursors are to be looked at. What a refused verdict has put out of the window would come back by it too
    /// early, and what a planted bug has lost would be found.
    fn may_look_behind(&self, now: Moment) -> bool {
        now >= self.reading.next_look && !self.stuck.has_unread() && is_sound()
    }

    /// When to look again, if nothing happens before. With the window full something will.
    pub(super) fn read_deadline(&self, now: Moment) -> Moment {
        if !self.may_read() || !self.window.has_room() || !self.beating.lease_holds(now) {
            return Moment::FAR_FUTURE;
        }
        self.reading
            .trouble
            .until
            .map_or(self.reading.next, |until| until.max(self.reading.next))
    }

    pub(super) fn read_ended(
        &mut self,
        reader: Box<dyn Reader>,
        demand: &Demand,
        result: Result<Found>,
        now: Moment,
    ) {
        self.reading.reader = Some(reader);
        match result {
            Ok(found) => {
                self.reading.trouble.worked(Statement::Read);
                if demand.behind > 0 {
                    self.reading.next_look = now.plus(limits::LOOK_BEHIND_EVERY);
                }
                self.anchor = Some((found.now, now));
                self.count_read(&found);
                self.plan_next_read(&found, now);
                for settlement in self.window.admit(found, demand) {
                    self.settling.push(settlement, now);
                }
            }
            Err(error) => {
                let mut trouble = std::mem::take(&mut self.reading.trouble);
                self.trouble(&mut trouble, Statement::Read, &error, now);
                self.reading.trouble = trouble;
                self.window.read_failed(demand);
            }
        }
        self.reading.apply_changes();
    }

    fn count_read(&self, found: &Found) {
        let figures = &self.relay.figures;
        let lanes: usize = found.lanes.iter().map(|lane| lane.messages.len()).sum();
        figures
            .read
            .add((lanes + found.fresh.len() + found.due.len()) as u64);
        if let Some(highest) = found.fresh.iter().map(crate::Message::number).max() {
            figures.highest.raise(highest.cast_unsigned());
        }
    }

    fn plan_next_read(&mut self, found: &Found, now: Moment) {
        let config = &self.relay.config;
        self.reading.pause = if found.is_empty() {
            self.reading.pause.saturating_mul(2).min(config.poll_latest)
        } else {
            config.poll_soonest
        };
        let pause = if found.more {
            Duration::ZERO
        } else {
            self.reading.pause
        };
        let due = found.next_due.unwrap_or(Duration::MAX);
        self.reading.next = now.plus(pause.min(due));
    }
}
