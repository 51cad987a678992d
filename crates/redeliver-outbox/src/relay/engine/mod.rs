//! The loop: one event at a time is handled, then everything that can begin begins.

mod beat;
mod hold;
mod lease_end;
mod read;
mod send;
mod settle;
mod stuck;
mod unpark;

use std::{pin::pin, sync::Arc, time::Duration};

use futures_core::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, stream::FuturesUnordered};
use lease_end::LeaseEnd;
use redeliver::{Moment, clock};
use tokio::sync::watch;

use super::{
    Relay, fan_out,
    manners::{Begun, Conduct},
    tracer::{Traced, TracedEnding},
    trouble::{Statement, Trouble},
    window::{Limits, Window},
    witness::Happening,
};
use crate::{
    Held, Message, Timestamp,
    destination::{Outcome, Route},
    limits,
    plants::{Plant, planted},
    store::{Claimed, Demand, Found, Lease, Membership, Reader, Result, Settled, Settlement},
};

/// How a relay ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Whether everything that had begun was finished and written down.
    pub clean: bool,
    /// Messages that were on their way when time ran out. They are sent again by whoever comes next.
    pub abandoned: usize,
}

/// Something that a relay waited for.
enum Event {
    Sent {
        message: Arc<Message>,
        lease: Lease,
        route: usize,
        attempt: u32,
        headed_parked_lane: bool,
        begun: Begun,
        outcome: Outcome,
        took: Duration,
        traced: Option<Box<Traced>>,
    },
    /// The lease ended before the send began.
    Unsent {
        message: Arc<Message>,
        lease: Lease,
        route: usize,
        attempt: u32,
        begun: Begun,
    },
    Unparked {
        /// None for all destinations that there is no route for.
        route: Option<usize>,
        asked: usize,
        result: Result<usize>,
    },
    Read {
        reader: Box<dyn Reader>,
        demand: Demand,
        result: Box<Result<Found>>,
        took: Duration,
    },
    Settled {
        batch: Vec<Settlement>,
        result: Result<Settled>,
        took: Duration,
        origin: settle::Origin,
    },
    Beaten {
        issued: Moment,
        lease_end: LeaseEnd,
        result: Result<Membership>,
    },
    Held {
        route: usize,
        result: Result<Held>,
    },
    Claimed(Result<Vec<Claimed>>),
    Released {
        leases: Vec<Lease>,
        result: Result<()>,
    },
}

/// Long enough for a goodbye to a database that answers.
const GOODBYE: Duration = Duration::from_secs(2);

pub(super) struct Engine {
    relay: Relay,
    routes: Vec<Route>,
    window: Window,
    tasks: FuturesUnordered<BoxFuture<'static, Event>>,
    reading: read::Reading,
    settling: settle::Settling,
    stuck: stuck::Stuck,
    beating: beat::Beating,
    /// How each destination is treated just now, in the order of the routes.
    conducts: Vec<Conduct>,
    unparking: unpark::Unparking,
    holding: hold::Holding,
    /// The database's clock at a moment of ours.
    anchor: Option<(Timestamp, Moment)>,
    /// Set once the relay is to stop: until when it waits for what is on its way.
    stop_by: Option<Moment>,
    /// The same of what must not come twice, of which something has to be written down.
    cut_off_at: Option<Moment>,
    cut_off: watch::Sender<bool>,
}

/// What is longer than any destination takes need not be read. Other columns have an eighth of it, which is to be enough for headers.
fn largest_payload(relay: &Relay) -> usize {
    let routes = relay.routes.iter().map(|(_, route)| route.payload_limit);
    routes.max().unwrap_or_default().max(16 * limits::HEADERS_LIMIT)
}

impl Engine {
    pub(super) fn new(relay: Relay) -> Self {
        let config = &relay.config;
        let limits = Limits {
            messages: config.window.max(1),
            bytes: config.window_bytes.max(1),
            lane: config.lane_window.max(1),
            read_batch: config.read_batch.max(1),
            largest: largest_payload(&relay),
        };
        let reader = relay.store.reader();
        let places = fan_out::with_events(&relay.routes);
        Self {
            routes: places.iter().map(|(_, route)| route.clone()).collect(),
            window: Window::new(limits, &places),
            tasks: FuturesUnordered::new(),
            reading: read::Reading::new(reader, config.poll_soonest),
            settling: settle::Settling::default(),
            stuck: stuck::Stuck::default(),
            beating: beat::Beating::default(),
            conducts: places
                .iter()
                .map(|(_, route)| Conduct::new(route.manners, route.concurrency))
                .collect(),
            unparking: unpark::Unparking::default(),
            holding: hold::Holding::default(),
            anchor: None,
            stop_by: None,
            cut_off_at: None,
            cut_off: watch::Sender::new(false),
            relay,
        }
    }

    pub(super) async fn run(mut self, stop: impl Future<Output = ()>) -> Finished {
        let mut stop = pin!(stop);
        let hint = self.relay.hint.clone();
        loop {
            let now = clock::now();
            self.begin_what_can_begin(now);
            if self.has_ended(now) {
                break;
            }
            let wait = self.next_deadline(now).since(now);
            let stopping = self.stop_by.is_some();
            tokio::select! {
                biased;
                event = self.tasks.next(), if !self.tasks.is_empty() => {
                    if let Some(event) = event {
                        self.handle_with_others(event);
                    }
                }
                () = &mut stop, if !stopping => self.begin_to_stop(),
                () = hint.woken(), if !stopping => self.reading.wake(),
                () = clock::sleep(wait) => {}
            }
        }
        self.say_goodbye().await
    }

    /// What has happened meanwhile is handled before anything new begins.
    fn handle_with_others(&mut self, event: Event) {
        self.handle(event);
        while let Some(Some(event)) = self.tasks.next().now_or_never() {
            self.handle(event);
        }
    }

    fn handle(&mut self, event: Event) {
        let now = clock::now();
        match event {
            Event::Sent {
                message,
                lease,
                route,
                attempt,
                headed_parked_lane,
                begun,
                outcome,
                took,
                traced,
            } => {
                self.window.sent(route);
                let idempotent = self.routes[route].idempotent;
                let counted = self.relay.figures.route(Some(route));
                counted.ended(&outcome, idempotent, took);
                let tried = super::verdict::tried(&message, &self.routes[route], attempt);
                let probe = begun.probe;
                let conduct = &mut self.conducts[route];
                if let Some(alarm) = conduct.ended(begun, &outcome, took, tried, now) {
                    self.raise(route, alarm, now);
                }
                // What fails while its circuit is open is deferred, not exhausted: its last attempt is a probe.
                let probe = probe || (tried.last && self.conducts[route].is_down(now));
                if send::is_of_the_destination(&outcome, probe, idempotent) {
                    self.put_back(&message, lease, attempt, &outcome, took);
                    if let Some(traced) = traced {
                        let ending = TracedEnding::PutBack(&outcome);
                        self.trace_ended(&traced, &message, (route, attempt, took), ending);
                    }
                    return;
                }
                let ended = super::verdict::Ended {
                    attempt,
                    took,
                    outcome,
                    headed_parked_lane,
                };
                self.attempt_ended(&message, lease, route, ended, traced.as_deref(), now);
            }
            Event::Unsent {
                message,
                lease,
                route,
                attempt,
                begun,
            } => self.unsent(&message, lease, (route, attempt), begun, now),
            Event::Read {
                reader,
                demand,
                result,
                took,
            } => {
                self.relay.figures.reading.took(took);
                self.read_ended(reader, &demand, *result, now);
            }
            Event::Unparked { route, asked, result } => self.unpark_ended(route, asked, result, now),
            Event::Settled {
                batch,
                result,
                took,
                origin,
            } => {
                self.relay.figures.settling.took(took);
                self.settle_ended(batch, result, origin, now);
            }
            Event::Beaten {
                issued,
                lease_end,
                result,
            } => self.beat_ended(issued, lease_end, result, now),
            Event::Held { route, result } => self.hold_ended(route, result, now),
            Event::Claimed(result) => self.claim_ended(result, now),
            Event::Released { leases, result } => self.release_ended(&leases, result, now),
        }
    }

    fn begin_what_can_begin(&mut self, now: Moment) {
        self.beat_if_due(now);
        self.begin_sends(now);
        self.begin_settle(now);
        self.begin_stuck(now);
        self.begin_read(now);
        self.begin_unpark(now);
        self.begin_hold(now);
        self.release_quiet(now);
        if self.cut_off_at.is_some_and(|at| now >= at) {
            self.cut_off_at = None;
            self.cut_off.send_replace(true);
        }
    }

    fn next_deadline(&self, now: Moment) -> Moment {
        let quiet = [true, false]
            .iter()
            .any(|&clean| !self.window.quiet(clean).is_empty());
        let deadlines = [
            self.beating.deadline(),
            self.settling.deadline(self.relay.config.settle_linger),
            self.stuck_deadline(),
            self.read_deadline(now),
            if quiet {
                self.beating.release_deadline()
            } else {
                Moment::FAR_FUTURE
            },
            self.stop_by.unwrap_or(Moment::FAR_FUTURE),
            self.cut_off_at.unwrap_or(Moment::FAR_FUTURE),
            self.unparking.deadline(),
            self.holding.deadline(),
        ];
        let chances = self.conducts.iter().enumerate();
        let chances = chances
            .filter(|&(route, _)| self.window.has_ready(route))
            .filter_map(|(_, conduct)| conduct.next_chance(now));
        deadlines
            .into_iter()
            .chain(chances)
            .min()
            .unwrap_or(Moment::FAR_FUTURE)
    }

    fn begin_to_stop(&mut self) {
        let (now, patience) = (clock::now(), self.relay.config.shutdown);
        self.stop_by = Some(now.plus(patience));
        self.cut_off_at = Some(now.plus(patience - (patience / 4).min(GOODBYE)));
        let staying: Vec<u16> = self.window.staying().collect();
        for shard in staying {
            self.leave(shard, now);
        }
    }

    /// The shard is to be given back, once what has begun is written.
    fn leave(&mut self, shard: u16, now: Moment) {
        for uncounted in self.window.leave(shard) {
            self.settling.push(uncounted, now);
        }
    }

    fn has_ended(&self, now: Moment) -> bool {
        let Some(stop_by) = self.stop_by else { return false };
        let at_rest = self.window.owned() == 0 && !self.beating.is_changing_shards();
        // Nothing is lost by leaving now: the lease ends by itself.
        let in_vain = self.beating.is_refused() && self.window.held() == 0;
        at_rest || in_vain || now >= stop_by
    }

    /// Gives back what is left, and removes the worker's sign of life. A database that does not answer is left to find out by itself.
    async fn say_goodbye(mut self) -> Finished {
        self.cut_off.send_replace(true);
        while let Some(Some(event)) = self.tasks.next().now_or_never() {
            self.handle(event);
        }
        let mut abandoned = self.window.held();
        let unsettled = self.settling.unwritten();
        let (store, worker) = (&self.relay.store, &self.relay.config.worker);
        let leases: Vec<Lease> = self.window.leases().collect();
        drop(self.tasks);
        self.relay.figures.at_rest();
        let unwritten: Vec<_> = self.holding.unwritten().collect();
        let goodbye = async {
            let written = settle::write_what_can_be(&**store, worker, unsettled).await?;
            abandoned = abandoned.saturating_sub(written);
            for hold in unwritten {
                // One that is refused is no reason to keep the shards.
                match store.hold(worker, hold).await {
                    Err(error) if !error.kind().is_about_content() => return Err(error),
                    _ => {}
                }
            }
            if !leases.is_empty() {
                let clean = planted(Plant::AbandonedAsClean);
                store.release(worker, &leases, clean).await?;
            }
            store.leave(worker).await
        };
        let said = tokio::time::timeout(GOODBYE, goodbye).await;
        if let Ok(Err(error)) = said {
            tracing::warn!(target: "redeliver", "could not sign off from the database: {error}");
        }
        Finished {
            clean: leases.is_empty(),
            abandoned,
        }
    }

    /// The shard is somebody else's.
    fn lose(&mut self, lease: Lease) {
        if !self.window.leases().any(|held| held == lease) || planted(Plant::LostShardKept) {
            return;
        }
        self.window.lose(lease.shard);
        self.settling.forget(lease.shard);
        self.forget_stuck(lease.shard);
        self.reading.disown(lease.shard);
        self.count_shards();
        self.relay.figures.lost.add(1);
        self.relay.witness.saw(Happening::Lost(lease));
    }

    fn count_shards(&self) {
        let owned = u64::try_from(self.window.owned()).unwrap_or(u64::MAX);
        self.relay.figures.shards.set(owned);
    }

    /// The database's clock now, as near as we know: we learn it with every read, and count on from there.
    fn database_now(&self, now: Moment) -> Timestamp {
        self.anchor
            .map_or_else(Timestamp::wall, |(time, moment)| time.plus(now.since(moment)))
    }

    fn trouble(&self, trouble: &mut Trouble, what: Statement, error: &crate::store::StoreError, now: Moment) {
        self.relay.figures.failed(what);
        self.relay.witness.saw(Happening::Trouble(what.words()));
        trouble.failed(
            what,
            error,
            &self.relay.config.database,
            now,
            (self.relay.config.entropy)(),
        );
    }
}
