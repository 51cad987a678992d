//! A process that can be killed, stopped from running, and asked to end.

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use redeliver::clock::{self, Timer};
use redeliver_outbox::{
    destination::{Expects, Route, Routes},
    relay::{Finished, Hint, Relay, RelayConfig},
};
use tokio::sync::Notify;

use super::{
    chance::Chance,
    destination::Probe,
    history::{Event, ProcessId},
    troubled::Troubled,
    witness::Eyes,
    world::World,
};

/// What is to happen to a process.
#[derive(Debug, Default)]
struct Orders {
    crash: Option<&'static str>,
    /// Crash after so many more polls.
    polls_left: Option<u64>,
    pause: Option<Duration>,
    /// Cannot reach the database until then.
    outage_until: u64,
    waker: Option<Waker>,
}

/// The handle by which a process is harmed.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) process: ProcessId,
    orders: Mutex<Orders>,
    stop: Notify,
    hint: OnceLock<Hint>,
}

impl Control {
    fn with<T>(&self, change: impl FnOnce(&mut Orders) -> T) -> T {
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        let value = change(&mut orders);
        let waker = orders.waker.clone();
        drop(orders);
        if let Some(waker) = waker {
            waker.wake();
        }
        value
    }

    pub(super) fn crash(&self, why: &'static str) {
        self.with(|orders| orders.crash = Some(why));
    }

    /// Dies in the middle of whatever it does after so many steps.
    pub(super) fn crash_after(&self, polls: u64) {
        self.with(|orders| orders.polls_left = Some(polls));
    }

    pub(super) fn pause(&self, duration: Duration) {
        self.with(|orders| orders.pause = Some(duration));
    }

    pub(super) fn cut_off_until(&self, until: u64) {
        self.with(|orders| orders.outage_until = until);
    }

    pub(super) fn is_cut_off(&self, now: u64) -> bool {
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        now < orders.outage_until
    }

    pub(super) fn stop(&self) {
        self.stop.notify_one();
    }

    /// There is something to read.
    pub(super) fn wake(&self) {
        if let Some(hint) = self.hint.get() {
            hint.wake();
        }
    }
}

/// The relay's future, as long as the process lives.
struct Mortal<'a> {
    world: &'a World,
    control: Arc<Control>,
    pause: Option<Timer>,
    life: Pin<Box<dyn Future<Output = Finished> + Send>>,
}

impl Mortal<'_> {
    fn order<T>(&self, read: impl FnOnce(&mut Orders) -> T) -> T {
        read(&mut self.control.orders.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn crashed(&self) -> Option<&'static str> {
        self.order(|orders| orders.crash)
    }
}

impl Future for Mortal<'_> {
    type Output = Result<Finished, &'static str>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let process = self.control.process;
        self.order(|orders| orders.waker = Some(context.waker().clone()));
        if let Some(why) = self.crashed() {
            return Poll::Ready(Err(why));
        }
        if let Some(pause) = self.order(|orders| orders.pause.take()) {
            let millis = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            let now = self.world.now();
            self.world.tell(Event::Paused { process, millis });
            self.world
                .state()
                .records
                .life(process)
                .pauses
                .push((now, now + millis));
            self.pause = Some(Timer::limit(pause));
        }
        if let Some(timer) = &mut self.pause {
            if Pin::new(timer).poll(context).is_pending() {
                return Poll::Pending;
            }
            self.pause = None;
            self.world.tell(Event::Resumed(process));
        }
        let calm = self.world.is_calm();
        let last = self.order(|orders| match &mut orders.polls_left {
            Some(0) => !calm,
            Some(left) => {
                *left -= 1;
                false
            }
            None => false,
        });
        if last {
            return Poll::Ready(Err("in the middle of its work"));
        }
        let polled = self.life.as_mut().poll(context);
        // What it has just begun may be what kills it.
        match (polled, self.crashed()) {
            (_, Some(why)) => Poll::Ready(Err(why)),
            (polled, None) => polled.map(Ok),
        }
    }
}

/// The relay of one process, ready to run.
fn relay(world: &Arc<World>) -> (Relay, Arc<Control>) {
    let process = world.next_process();
    let control = Arc::new(Control {
        process,
        orders: Mutex::default(),
        stop: Notify::new(),
        hint: OnceLock::new(),
    });
    let limits = world.scenario.relay;
    let entropy = Mutex::new(Chance::new(
        world.scenario.seed ^ u64::from(process.0) << 32,
        "entropy",
    ));
    let mut config = RelayConfig::named(process.to_string());
    config.lease = limits.lease;
    config.window = limits.window;
    config.lane_window = limits.lane_window;
    config.read_batch = limits.read_batch;
    config.settle_batch = limits.settle_batch;
    config.settle_linger = limits.settle_linger;
    config.poll_soonest = limits.poll_soonest;
    config.poll_latest = limits.poll_latest;
    config.shutdown = limits.shutdown;
    config.entropy = Arc::new(move || entropy.lock().unwrap_or_else(PoisonError::into_inner).bits());
    let mut routes = Routes::new();
    let plans = world.scenario.destinations.iter();
    for plan in plans.filter(|plan| !plan.has_left(world.now())) {
        let probe = Probe::new(Arc::clone(world), Arc::clone(&control), plan.name.clone());
        let route = Route {
            policy: plan.policy,
            lane: plan.lane,
            timeout: plan.timeout,
            concurrency: plan.concurrency,
            payload_limit: plan.payload_limit,
            expects: if plan.json {
                Expects::Json
            } else {
                Expects::Anything
            },
            idempotent: plan.idempotent,
            ..Route::to(probe)
        };
        routes = routes.with(plan.name.clone(), route);
    }
    if !world.scenario.interested.is_empty()
        && let Ok(pattern) = "things.*".parse()
    {
        routes = routes.with_topic(pattern, world.scenario.interested.iter().cloned());
    }
    let store = Troubled::new(Arc::clone(world), Arc::clone(&control));
    let relay = Relay::new(Arc::new(store), routes, config)
        .witnessed_by(Arc::new(Eyes::new(Arc::clone(world), process)));
    let _ = control.hint.set(relay.hint());
    (relay, control)
}

/// The controls of the processes that run now.
pub(super) type Slots = Arc<Mutex<Vec<Option<Arc<Control>>>>>;

/// Runs processes one after the other in one slot: what ends is started again after a while, until all is over.
pub(super) async fn supervise(world: Arc<World>, slots: Slots, slot: usize, closing: Arc<AtomicBool>) {
    let mut chance = Chance::new(world.scenario.seed ^ ((slot as u64) << 48), "supervisor");
    clock::sleep(chance.millis(0, 4_000)).await;
    while !closing.load(Ordering::Relaxed) {
        let (relay, control) = relay(&world);
        let process = control.process;
        if world.scenario.faults.crashes && !world.is_calm() && chance.happens(0.5) {
            control.crash_after(chance.between(1, 400));
        }
        world.tell(Event::Started(process));
        let now = world.now();
        world.state().records.life(process).started = now;
        set(&slots, slot, Some(Arc::clone(&control)));
        let stop = Arc::clone(&control);
        let life = Box::pin(relay.run(async move { stop.stop.notified().await }));
        let mortal = Mortal {
            world: &world,
            control: Arc::clone(&control),
            pause: None,
            life,
        };
        let ended = mortal.await;
        set(&slots, slot, None);
        let now = world.now();
        match ended {
            Ok(finished) => {
                world.tell(Event::Stopped {
                    process,
                    clean: finished.clean,
                    abandoned: finished.abandoned,
                });
                if !finished.clean {
                    world.state().records.life(process).stopped_unclean = Some(now);
                }
            }
            Err(why) => {
                world.tell(Event::Crashed { process, why });
                world.state().records.life(process).crashed = Some(now);
            }
        }
        if closing.load(Ordering::Relaxed) {
            return;
        }
        let longest = if world.is_calm() { 1_000 } else { 12_000 };
        clock::sleep(chance.millis(0, longest)).await;
    }
}

fn set(slots: &Slots, slot: usize, control: Option<Arc<Control>>) {
    let mut slots = slots.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(place) = slots.get_mut(slot) {
        *place = control;
    }
}

/// Those that run now.
pub(super) fn running(slots: &Slots) -> Vec<Arc<Control>> {
    let slots = slots.lock().unwrap_or_else(PoisonError::into_inner);
    slots.iter().flatten().cloned().collect()
}
