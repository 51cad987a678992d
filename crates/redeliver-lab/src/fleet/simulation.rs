use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
};

use fastrand::Rng;
use redeliver_policy::{Class, Conduct, Decision, Failure, Moment, Pipeline, PipelineRun, StopReason};

use super::{
    Contender, MAX_EVENTS, Report, Scenario,
    report::Tally,
    server::{Fate, Server},
};
use crate::{OutOfRange, deviate};

/// A scenario that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// A number is out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// It would take too long.
    #[error(
        "{name}: more than {MAX_EVENTS} events in the first {seconds} s; ask for fewer clients, a shorter run or longer waits"
    )]
    TooManyEvents {
        /// The policy.
        name: String,
        /// How far the run got.
        seconds: u64,
    },
}

/// Something that a client did or met, for whoever wants to look on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// It began a call.
    Call,
    /// It sent a request.
    Request,
    /// The request failed.
    Failure(Failure),
    /// The call ended well.
    Success,
    /// The call was given up.
    GaveUp(StopReason),
}

impl Scenario {
    /// Runs the fleet with this policy.
    ///
    /// # Errors
    /// When a number is out of range, or the run comes to more than [`MAX_EVENTS`] events.
    pub fn run(&self, contender: &Contender) -> Result<Report, FleetError> {
        self.run_observed(contender, |_, _, _| {})
    }

    /// Runs the fleet, and tells `observer` what each client did when, in order.
    ///
    /// # Errors
    /// As for [`run`](Scenario::run).
    pub fn run_observed(
        &self,
        contender: &Contender,
        observer: impl FnMut(Moment, u32, Happening),
    ) -> Result<Report, FleetError> {
        self.validate()?;
        let processes = self.clients.div_ceil(self.process);
        let pipelines: Vec<Pipeline> = (0..processes).map(|_| contender.pipeline()).collect();
        let mut simulation = Simulation::new(self, &pipelines, observer);
        simulation.run(contender)?;
        Ok(simulation.tally.report(self, contender))
    }
}

struct Simulation<'a, F> {
    scenario: &'a Scenario,
    pipelines: &'a [Pipeline],
    think_nanos: f64,
    rng: Rng,
    server: Server,
    clients: Vec<Client<'a>>,
    tally: Tally,
    observer: F,
}

struct Client<'a> {
    next: Step,
    call: Option<Call<'a>>,
}

struct Call<'a> {
    began: u64,
    run: PipelineRun<'a>,
}

/// What a client does when its time comes. It has exactly one next step at any time, so the queue never grows.
#[derive(Clone, Copy)]
enum Step {
    Call,
    Attempt,
    Success,
    Failure(Failure),
}

type Queue = BinaryHeap<Reverse<(u64, u32)>>;

impl<'a, F: FnMut(Moment, u32, Happening)> Simulation<'a, F> {
    fn new(scenario: &'a Scenario, pipelines: &'a [Pipeline], observer: F) -> Self {
        let idle = || Client {
            next: Step::Call,
            call: None,
        };
        Self {
            scenario,
            pipelines,
            think_nanos: scenario.think_time() * 1e9,
            rng: Rng::with_seed(scenario.seed),
            server: Server::new(scenario),
            clients: (0..scenario.clients).map(|_| idle()).collect(),
            tally: Tally::new(scenario),
            observer,
        }
    }

    fn run(&mut self, contender: &Contender) -> Result<(), FleetError> {
        let outage_at = self.scenario.outage_at.as_nanos() as u64;
        let end = self.scenario.run_for.as_nanos() as u64;
        let mut queue: Queue = (0..self.scenario.clients)
            .map(|client| Reverse((self.next_call(0), client)))
            .collect();
        let mut events = self.run_until(outage_at, &mut queue, 0);
        queue = self.gather(queue, outage_at);
        events = events.and_then(|events| self.run_until(end, &mut queue, events));
        events.map(drop).map_err(|now| FleetError::TooManyEvents {
            name: contender.name().to_owned(),
            seconds: now / 1_000_000_000,
        })
    }

    /// Goes on to `end`; gives the events so far, or when there were too many.
    fn run_until(&mut self, end: u64, queue: &mut Queue, mut events: u64) -> Result<u64, u64> {
        while let Some(mut first) = queue.peek_mut() {
            let Reverse((now, client)) = *first;
            if now >= end {
                break;
            }
            events += 1;
            if events > MAX_EVENTS {
                return Err(now);
            }
            match self.step(client, now) {
                Some(next) => first.0.0 = next,
                None => drop(PeekMut::pop(first)),
            }
        }
        Ok(events)
    }

    /// The outage begins: of the clients that are thinking, the herd calls at once.
    fn gather(&mut self, queue: Queue, now: u64) -> Queue {
        let mut entries = queue.into_vec();
        for Reverse((at, client)) in &mut entries {
            let thinking = matches!(self.clients[*client as usize].next, Step::Call);
            if thinking && self.rng.f64() < self.scenario.herd {
                *at = now;
            }
        }
        entries.into()
    }

    /// Does what the client has to do now, and gives the time of what it does next, if it ever does.
    fn step(&mut self, client: u32, now: u64) -> Option<u64> {
        match self.clients[client as usize].next {
            Step::Call => {
                self.tally.call(now);
                (self.observer)(Moment::from_nanos(now), client, Happening::Call);
                let process = (client / self.scenario.process) as usize;
                let run = PipelineRun::new(&self.pipelines[process], Moment::from_nanos(now));
                self.clients[client as usize].call = Some(Call { began: now, run });
                self.attempt(client, now)
            }
            Step::Attempt => self.attempt(client, now),
            Step::Success => Some(self.succeed(client, now)),
            Step::Failure(failure) => Some(self.fail(client, now, failure)),
        }
    }

    fn attempt(&mut self, client: u32, now: u64) -> Option<u64> {
        let entropy = self.rng.u64(..);
        let call = self.clients[client as usize].call.as_mut()?;
        let timeout = match call.run.begin(Moment::from_nanos(now), entropy) {
            Ok(timeout) => timeout,
            Err(reason) => return Some(self.give_up(client, now, reason)),
        };
        let began = call.began;
        self.tally.request(now, began);
        (self.observer)(Moment::from_nanos(now), client, Happening::Request);
        let cut = timeout.map(|timeout| Moment::from_nanos(now).plus(timeout).as_nanos());
        let patience = cut.unwrap_or(u64::MAX);
        let (at, step) = match self.server.send(now) {
            Fate::Refused => return Some(self.fail(client, now, Class::Transient.into())),
            Fate::Shed => {
                self.tally.shed(now);
                let after = self.scenario.retry_after;
                return Some(self.fail(client, now, Class::Throttled { after }.into()));
            }
            Fate::Answered(at) if at <= patience => (at, Step::Success),
            Fate::Answered(_) => {
                self.tally.wasted(began);
                (patience, Step::Failure(Failure::TIMED_OUT))
            }
            Fate::Reset(at) if at <= patience => (at, Step::Failure(Class::Unknown.into())),
            Fate::Reset(_) | Fate::Silence => (patience, Step::Failure(Failure::TIMED_OUT)),
        };
        self.clients[client as usize].next = step;
        Some(at)
    }

    fn succeed(&mut self, client: u32, now: u64) -> u64 {
        (self.observer)(Moment::from_nanos(now), client, Happening::Success);
        if let Some(mut call) = self.clients[client as usize].call.take() {
            call.run.on_success(Moment::from_nanos(now));
            self.tally.succeeded(now, call.began);
        }
        self.think(client, now)
    }

    fn fail(&mut self, client: u32, now: u64, failure: Failure) -> u64 {
        (self.observer)(Moment::from_nanos(now), client, Happening::Failure(failure));
        let entropy = self.rng.u64(..);
        let state = &mut self.clients[client as usize];
        let moment = Moment::from_nanos(now);
        let decision = state
            .call
            .as_mut()
            .map(|call| call.run.on_failure(moment, failure, entropy));
        match decision {
            Some(Decision::Retry { after, .. }) => {
                state.next = Step::Attempt;
                moment.plus(after).as_nanos()
            }
            Some(Decision::Stop(reason)) => self.give_up(client, now, reason),
            None => self.think(client, now),
        }
    }

    fn give_up(&mut self, client: u32, now: u64, reason: StopReason) -> u64 {
        (self.observer)(Moment::from_nanos(now), client, Happening::GaveUp(reason));
        if let Some(call) = self.clients[client as usize].call.take() {
            self.tally.lost(now, call.began, reason);
        }
        self.think(client, now)
    }

    fn think(&mut self, client: u32, now: u64) -> u64 {
        self.clients[client as usize].next = Step::Call;
        self.next_call(now)
    }

    fn next_call(&mut self, now: u64) -> u64 {
        now.saturating_add(deviate::exponential(&mut self.rng, self.think_nanos) as u64)
    }
}
