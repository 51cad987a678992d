use std::{sync::Arc, time::Duration};

use redeliver::Moment;

use super::{Engine, Event, lease_end::LeaseEnd};
use crate::{
    live::Live,
    relay::{
        membership::rebalance,
        trouble::{Statement, Trouble},
        witness::Happening,
    },
    store::{Beat, Claimed, Lease, Membership, Result, StoreError, StoreErrorKind},
};

/// Signs of life, and the shards that come and go with them.
#[derive(Debug, Default)]
pub(super) struct Beating {
    under_way: bool,
    claiming: bool,
    releasing: bool,
    next: Moment,
    /// When shards last came or went: a beat that was sent before says nothing of them.
    changed: Moment,
    /// Until when the worker's lease surely holds: counted from before the beat was sent, so that a process that was stopped for
    /// longer knows it before it sends anything.
    lease_end: LeaseEnd,
    trouble: Trouble,
    claim_trouble: Trouble,
    release_trouble: Trouble,
    /// Whether the database is there and does not take shards back.
    refused: bool,
}

/// A worker without its share looks this often for what others give back.
const SOON: Duration = Duration::from_millis(500);
/// After the end of another's lease, so that rounding does not make it look alive.
const AFTER_EXPIRY: Duration = Duration::from_millis(5);

impl Beating {
    pub(super) fn lease_holds(&self, now: Moment) -> bool {
        self.lease_end.is_ahead(now)
    }

    pub(super) const fn lease_end(&self) -> LeaseEnd {
        self.lease_end
    }

    pub(super) const fn is_changing_shards(&self) -> bool {
        self.claiming || self.releasing
    }

    /// Whether shards cannot be given back until somebody has mended the database.
    pub(super) const fn is_refused(&self) -> bool {
        self.refused
    }

    pub(super) fn deadline(&self) -> Moment {
        if self.under_way {
            return Moment::FAR_FUTURE;
        }
        self.trouble.until.map_or(self.next, |until| until.max(self.next))
    }

    /// When shards that could not be given back are tried again.
    pub(super) fn release_deadline(&self) -> Moment {
        match self.release_trouble.until {
            Some(until) if !self.releasing => until,
            _ => Moment::FAR_FUTURE,
        }
    }
}

impl Engine {
    pub(super) fn beat_if_due(&mut self, now: Moment) {
        let beating = &mut self.beating;
        if beating.under_way || now < beating.next || !beating.trouble.allows(now) {
            return;
        }
        beating.under_way = true;
        let live = self.live(now);
        self.relay.figures.live_now(live.clone());
        let beat = Beat {
            worker: self.relay.config.worker.clone(),
            lease: self.relay.config.lease,
            in_flight: u32::try_from(self.window.in_flight()).unwrap_or(u32::MAX),
            destinations: live,
        };
        let store = Arc::clone(&self.relay.store);
        let lease_end = LeaseEnd::of_beat(now, beat.lease);
        self.tasks.push(Box::pin(async move {
            let result = store.beat(&beat).await;
            Event::Beaten {
                issued: now,
                lease_end,
                result,
            }
        }));
    }

    /// How each destination is just now, for people to look at.
    fn live(&self, now: Moment) -> Live {
        let time = self.database_now(now);
        let conducts = self.conducts.iter().enumerate();
        let mut live: Live = conducts
            .map(|(route, conduct)| {
                let mut figures = conduct.live(now, time);
                figures.held = self.window.held_for(route) as u64;
                (self.window.name(route).to_owned(), figures)
            })
            .collect();
        self.stuck.tell(&mut live);
        live
    }

    pub(super) fn beat_ended(
        &mut self,
        issued: Moment,
        lease_end: LeaseEnd,
        result: Result<Membership>,
        now: Moment,
    ) {
        self.beating.under_way = false;
        match result {
            Ok(membership) => {
                self.beating.trouble.worked(Statement::Beat);
                for trouble in [
                    &mut self.beating.claim_trouble,
                    &mut self.beating.release_trouble,
                    &mut self.reading.trouble,
                    &mut self.holding.trouble,
                ] {
                    trouble.answered(now);
                }
                self.settling.database_answered(now);
                self.follow_holds(&membership.holds, issued, now);
                self.count_renewal(now);
                let lease = self.relay.config.lease;
                if self.reconcile(&membership, issued) {
                    self.beating.lease_end = lease_end;
                    self.share(&membership, issued, now);
                } else {
                    self.beating.next = now.plus(lease / 100);
                }
            }
            Err(error) => {
                let mut trouble = std::mem::take(&mut self.beating.trouble);
                self.trouble(&mut trouble, Statement::Beat, &error, now);
                // A lease is short: its renewal is tried several times before it ends.
                let soonest = now.plus(self.relay.config.lease / 8);
                trouble.until = trouble.until.map(|until| until.min(soonest));
                self.beating.trouble = trouble;
            }
        }
    }

    fn count_renewal(&self, now: Moment) {
        let figures = &self.relay.figures;
        match self.window.owned() == 0 || self.beating.lease_holds(now) {
            true => figures.renewed.add(1),
            false => figures.renewed_late.add(1),
        }
    }

    /// What we own is what the database says. A shard that is ours there and unknown here was claimed by a statement whose answer was
    /// lost: it is given back as if its owner had crashed, and claimed anew with all that belongs to it.
    ///
    /// Says whether it could be told: not while shards are coming or going.
    fn reconcile(&mut self, membership: &Membership, issued: Moment) -> bool {
        if self.beating.is_changing_shards() || issued <= self.beating.changed {
            return false;
        }
        let ours: Vec<Lease> = self.window.leases().collect();
        for &lease in ours.iter().filter(|lease| !membership.owned.contains(lease)) {
            self.lose(lease);
        }
        let unknown: Vec<Lease> = membership
            .owned
            .iter()
            .copied()
            .filter(|lease| !ours.contains(lease))
            .collect();
        if !unknown.is_empty() {
            self.release(unknown, false);
        }
        true
    }

    fn share(&mut self, membership: &Membership, issued: Moment, now: Moment) {
        let lease = self.relay.config.lease;
        let mut interval = lease / 3;
        if let Some(expiry) = membership.next_expiry {
            interval = interval.min(expiry.saturating_add(AFTER_EXPIRY));
        }
        if self.stop_by.is_none() {
            let staying: Vec<u16> = self.window.staying().collect();
            let step = rebalance(membership, staying.len());
            if step.soon {
                interval = interval.min(SOON);
            }
            for &shard in staying.iter().rev().take(step.give_back) {
                self.leave(shard, now);
            }
            if step.claim > 0 {
                self.claim(step.claim, now);
            }
        }
        self.beating.next = issued.plus(interval.max(lease / 100));
    }

    fn claim(&mut self, at_most: usize, now: Moment) {
        if self.beating.claiming || !self.beating.claim_trouble.allows(now) {
            return;
        }
        self.beating.claiming = true;
        let window = u32::try_from(self.window.most()).unwrap_or(u32::MAX);
        let (store, worker) = (Arc::clone(&self.relay.store), self.relay.config.worker.clone());
        self.tasks.push(Box::pin(async move {
            Event::Claimed(store.claim(&worker, at_most, window).await)
        }));
    }

    pub(super) fn claim_ended(&mut self, result: Result<Vec<Claimed>>, now: Moment) {
        self.beating.claiming = false;
        self.beating.changed = now;
        match result {
            Ok(claimed) => {
                self.beating.claim_trouble.worked(Statement::Claim);
                for claimed in &claimed {
                    self.window.own(claimed);
                    self.reading.own(claimed.lease);
                    self.relay.witness.saw(Happening::Owned(claimed.lease));
                    if self.stop_by.is_some() {
                        self.leave(claimed.lease.shard, now);
                    }
                }
                if !claimed.is_empty() {
                    self.unpark_all();
                }
                self.count_shards();
            }
            Err(error) => {
                let mut trouble = std::mem::take(&mut self.beating.claim_trouble);
                self.trouble(&mut trouble, Statement::Claim, &error, now);
                self.beating.claim_trouble = trouble;
                // The claim may have happened: the next beat tells.
                self.beating.next = now;
            }
        }
    }

    /// Shards on their way out, of which nothing is held any more, go back.
    pub(super) fn release_quiet(&mut self, now: Moment) {
        if self.beating.releasing || !self.beating.release_trouble.allows(now) {
            return;
        }
        // One statement at a time: what is left for the other word follows when this one has ended.
        for clean in [true, false] {
            let quiet = self.window.quiet(clean);
            if !quiet.is_empty() {
                self.release(quiet, clean);
                return;
            }
        }
    }

    fn release(&mut self, leases: Vec<Lease>, clean: bool) {
        self.beating.releasing = true;
        let (store, worker) = (Arc::clone(&self.relay.store), self.relay.config.worker.clone());
        self.tasks.push(Box::pin(async move {
            let result = store.release(&worker, &leases, clean).await;
            Event::Released { leases, result }
        }));
    }

    pub(super) fn release_ended(&mut self, leases: &[Lease], result: Result<()>, now: Moment) {
        self.beating.releasing = false;
        self.beating.changed = now;
        let kind = result.as_ref().err().map(StoreError::kind);
        self.beating.refused = matches!(
            kind,
            Some(StoreErrorKind::NotMigrated | StoreErrorKind::ReadOnly | StoreErrorKind::Denied)
        );
        match result {
            Ok(()) => {
                self.beating.release_trouble.worked(Statement::Release);
                for &lease in leases {
                    if self.window.leases().any(|held| held == lease) {
                        self.window.lose(lease.shard);
                        self.forget_stuck(lease.shard);
                        self.reading.disown(lease.shard);
                    }
                    self.relay.witness.saw(Happening::Released(lease));
                }
                self.count_shards();
            }
            Err(error) => {
                let mut trouble = std::mem::take(&mut self.beating.release_trouble);
                self.trouble(&mut trouble, Statement::Release, &error, now);
                self.beating.release_trouble = trouble;
            }
        }
    }
}
