//! A store between the relay and the real one: it fails before or after, it is slow, and it compares every write with the tables.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use redeliver::clock;
use redeliver_outbox::{
    Held, NewHold,
    store::{
        Beat, Claimed, Demand, Found, Lease, Membership, Reader, Result, Settled, Settlement, SqliteStore,
        Store, StoreError, StoreErrorKind, WorkerId,
    },
};

use super::{
    checks::{holds, leases, parks, reads, writes},
    history::Event,
    process::Control,
    world::World,
};

/// The real store as one process reaches it.
#[derive(Clone)]
pub(super) struct Troubled {
    world: Arc<World>,
    control: Arc<Control>,
}

/// What one call meets.
struct Fate {
    before: Duration,
    refused: Option<StoreErrorKind>,
    after: Duration,
    answer_lost: bool,
}

/// Waits longer than this are trouble by which a lease may end.
const LONG: Duration = Duration::from_millis(150);

impl Troubled {
    pub(super) const fn new(world: Arc<World>, control: Arc<Control>) -> Self {
        Self { world, control }
    }

    fn inner(&self) -> &SqliteStore {
        &self.world.store
    }

    /// A read whose answer is lost is read again from where it began, which only the store itself can do: it is not asked to.
    fn fate(&self, call: &'static str) -> Fate {
        let (world, process) = (&self.world, self.control.process);
        let faults = world.scenario.faults;
        let cut_off = self.control.is_cut_off(world.now());
        let calm = world.is_calm();
        let mut state = world.state();
        let chance = &mut state.trouble;
        let mut fate = Fate {
            before: chance.millis(0, 2),
            refused: None,
            after: chance.millis(0, 2),
            answer_lost: false,
        };
        if calm {
            return fate;
        }
        if chance.happens(faults.slow) {
            let wait = chance.millis(0, faults.slowest_ms);
            if chance.happens(0.5) {
                fate.before += wait;
            } else {
                fate.after += wait;
            }
        }
        if cut_off || chance.happens(faults.refused) {
            let busy = !cut_off && chance.happens(0.5);
            fate.refused = Some(if busy {
                StoreErrorKind::Busy
            } else {
                StoreErrorKind::Unreachable
            });
        }
        fate.answer_lost = call != "read" && chance.happens(faults.unknown_commits);
        let slow = fate.before + fate.after;
        let now = world.now();
        if slow > LONG || fate.refused.is_some() || fate.answer_lost {
            state.records.life(process).troubles.push(now);
        }
        if slow > LONG {
            let millis = u64::try_from(slow.as_millis()).unwrap_or(u64::MAX);
            state.history.push(
                now,
                Event::Slow {
                    process,
                    call,
                    millis,
                },
            );
        }
        fate
    }

    async fn call<T>(&self, call: &'static str, inner: impl Future<Output = Result<T>>) -> Result<T> {
        let fate = self.fate(call);
        wait(fate.before).await;
        if let Some(kind) = fate.refused {
            self.tell(call, "refused before anything was done");
            return Err(StoreError::new(kind, "the database is in trouble"));
        }
        let result = inner.await;
        if let Err(error) = &result {
            self.world
                .object("store", None, format!("{call} failed by itself: {error}"));
        }
        if fate.answer_lost && result.is_ok() {
            self.tell(call, "done, and the answer is lost");
            wait(fate.after).await;
            return Err(StoreError::new(
                StoreErrorKind::Unreachable,
                "the connection was lost",
            ));
        }
        wait(fate.after).await;
        result
    }

    /// A message whose verdicts a trigger of the operator's refuses: for a while, from the first one on.
    fn refused(&self, settlements: &[Settlement]) -> Option<i64> {
        let (world, process) = (&self.world, self.control.process);
        let now = world.now();
        if world.is_calm() {
            return None;
        }
        let mut state = world.state();
        let records = &mut state.records;
        let refused = settlements.iter().map(Settlement::number).find(|&number| {
            let chosen = world.scenario.refuses(number);
            chosen.is_some_and(|while_ms| now < *records.refused.entry(number).or_insert(now + while_ms))
        })?;
        records.life(process).troubles.push(now);
        Some(refused)
    }

    fn tell(&self, call: &'static str, what: &'static str) {
        self.world.tell(Event::Trouble {
            process: self.control.process,
            call,
            what,
        });
    }
}

async fn wait(duration: Duration) {
    if !duration.is_zero() {
        clock::sleep(duration).await;
    }
}

impl fmt::Debug for Troubled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Troubled").field(&self.control.process).finish()
    }
}

impl Store for Troubled {
    fn beat<'a>(&'a self, beat: &'a Beat) -> BoxFuture<'a, Result<Membership>> {
        Box::pin(async move {
            let process = self.control.process;
            let beating = async move {
                let membership = self.inner().beat(beat).await?;
                leases::check_membership(&self.world, &beat.worker, &membership);
                Ok((membership, holds::looked(&self.world, process)))
            };
            let (membership, look) = self.call("beat", beating).await?;
            holds::heard(&self.world, process, look, &membership);
            Ok(membership)
        })
    }

    fn claim<'a>(
        &'a self,
        worker: &'a WorkerId,
        at_most: usize,
        window: u32,
    ) -> BoxFuture<'a, Result<Vec<Claimed>>> {
        Box::pin(self.call("claim", async move {
            let before = leases::look(&self.world);
            let claimed = self.inner().claim(worker, at_most, window).await?;
            leases::check_claim(&self.world, self.control.process, &before, &claimed, at_most);
            Ok(claimed)
        }))
    }

    fn release<'a>(
        &'a self,
        worker: &'a WorkerId,
        leases: &'a [Lease],
        clean: bool,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.call("release", async move {
            let before = leases::look(&self.world);
            self.inner().release(worker, leases, clean).await?;
            leases::check_release(&self.world, self.control.process, &before, leases, clean);
            Ok(())
        }))
    }

    fn leave<'a>(&'a self, worker: &'a WorkerId) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.call("leave", self.inner().leave(worker)))
    }

    fn unpark<'a>(
        &'a self,
        shards: &'a [u16],
        destination: &'a str,
        at_most: usize,
    ) -> BoxFuture<'a, Result<usize>> {
        Box::pin(self.call("unpark", self.inner().unpark(shards, destination, at_most)))
    }

    fn unpark_others<'a>(
        &'a self,
        shards: &'a [u16],
        known: &'a [String],
        at_most: usize,
    ) -> BoxFuture<'a, Result<usize>> {
        Box::pin(self.call("unpark", self.inner().unpark_others(shards, known, at_most)))
    }

    fn hold<'a>(&'a self, worker: &'a WorkerId, hold: &'a NewHold) -> BoxFuture<'a, Result<Held>> {
        Box::pin(self.call("hold", async move {
            let held = self.inner().hold(worker, hold).await?;
            holds::written(&self.world, self.control.process, &hold.destination);
            Ok(held)
        }))
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(TroubledReader {
            inner: self.inner().reader(),
            seen: reads::Progress::default(),
            owned: BTreeMap::new(),
            store: self.clone(),
        })
    }

    fn settle<'a>(
        &'a self,
        worker: &'a WorkerId,
        settlements: &'a [Settlement],
    ) -> BoxFuture<'a, Result<Settled>> {
        if let Some(number) = self.refused(settlements) {
            return Box::pin(async move {
                self.tell("settle", "refused for one message");
                // Alone, it has left the relay's memory: the relay keeps the verdict only.
                if settlements.len() == 1 {
                    let mut state = self.world.state();
                    state.records.life(self.control.process).busy.remove(&number);
                }
                let what = format!("a trigger refuses message {number}");
                Err(StoreError::new(StoreErrorKind::Refused, what))
            });
        }
        Box::pin(self.call("settle", async move {
            let before = writes::look(&self.world, settlements);
            let settled = self.inner().settle(worker, settlements).await?;
            writes::check(&self.world, self.control.process, settlements, &settled, before);
            Ok(settled)
        }))
    }
}

struct TroubledReader {
    store: Troubled,
    inner: Box<dyn Reader>,
    seen: reads::Progress,
    owned: BTreeMap<u16, Lease>,
}

impl fmt::Debug for TroubledReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TroubledReader").field(&self.inner).finish()
    }
}

impl Reader for TroubledReader {
    fn own(&mut self, lease: Lease) {
        self.seen.own(lease.shard);
        self.owned.insert(lease.shard, lease);
        self.inner.own(lease);
    }

    fn disown(&mut self, shard: u16) {
        self.seen.disown(shard);
        self.owned.remove(&shard);
        self.inner.disown(shard);
    }

    fn read<'a>(&'a mut self, demand: &'a Demand) -> BoxFuture<'a, Result<Found>> {
        let (store, inner, seen) = (&self.store, &mut self.inner, &mut self.seen);
        let (process, owned) = (store.control.process, &self.owned);
        Box::pin(async move {
            let reading = async move {
                reads::check_demand(&store.world, process, demand);
                let found = inner.read(demand).await?;
                seen.check(&store.world, demand, &found);
                Ok((found, parks::look(&store.world, owned.values().copied())))
            };
            let (found, parked) = store.call("read", reading).await?;
            parks::heard(&store.world, process, parked);
            Ok(found)
        })
    }
}
