use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
    time::Duration,
};

use fastrand::Rng;
use redeliver_policy::{Class, Decision, Moment, Policy, Session};

use crate::deviate::Normal;

/// Milliseconds that a message takes: the mean and the standard deviation of AWS's model.
const DELAY_MEAN_MS: f64 = 10.0;
const DELAY_DEVIATION_MS: f64 = 2.0;

/// One number of clients contending for the row, run after run.
///
/// Only the moment when a write reaches the row is an event. The version that its client read is known by when it was read: the write
/// is refused exactly if another succeeded since. So each client has one event at a time and each write costs one, where
/// a message-by-message simulation needs four.
pub(super) struct Race<'a> {
    policy: &'a Policy,
    rng: Rng,
    normal: Normal,
    clients: Vec<Client<'a>>,
    writes: BinaryHeap<Reverse<Write>>,
}

struct Client<'a> {
    session: Session<'a>,
    read_at: u64,
}

/// A write that reaches the row at `at`; the earliest comes first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Write {
    at: u64,
    client: u32,
}

/// What one run came to.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) calls: u64,
    pub(super) nanos: u64,
}

impl<'a> Race<'a> {
    pub(super) fn new(policy: &'a Policy, clients: u32, rng: Rng) -> Self {
        let client = || Client {
            session: Session::new(policy, Moment::ZERO),
            read_at: 0,
        };
        Self {
            policy,
            rng,
            normal: Normal::default(),
            clients: (0..clients).map(|_| client()).collect(),
            writes: BinaryHeap::with_capacity(clients as usize),
        }
    }

    pub(super) fn run(&mut self) -> Outcome {
        self.start();
        let mut outcome = Outcome { calls: 0, nanos: 0 };
        let mut last_success = 0;
        while let Some(mut write) = self.writes.peek_mut() {
            outcome.calls += 1;
            let Reverse(Write { at, client }) = *write;
            let state = &mut self.clients[client as usize];
            let answered = at.saturating_add(delay(&mut self.normal, &mut self.rng));
            if last_success <= state.read_at {
                last_success = at;
                outcome.nanos = outcome.nanos.max(answered);
                PeekMut::pop(write);
                continue;
            }
            let entropy = self.rng.u64(..);
            let wait = wait_after(&mut state.session, answered, entropy);
            state.read_at = Moment::from_nanos(answered).plus(wait).as_nanos();
            state.read_at = state
                .read_at
                .saturating_add(delay(&mut self.normal, &mut self.rng));
            write.0.at = write_after(state.read_at, &mut self.normal, &mut self.rng);
        }
        outcome
    }

    fn start(&mut self) {
        for (index, client) in self.clients.iter_mut().enumerate() {
            client.session = Session::new(self.policy, Moment::ZERO);
            client.read_at = delay(&mut self.normal, &mut self.rng);
            self.writes.push(Reverse(Write {
                at: write_after(client.read_at, &mut self.normal, &mut self.rng),
                client: index as u32,
            }));
        }
    }
}

/// When the write reaches the row whose version was read at `read_at`: the answer comes back, the write goes out.
#[inline]
fn write_after(read_at: u64, normal: &mut Normal, rng: &mut Rng) -> u64 {
    read_at
        .saturating_add(delay(normal, rng))
        .saturating_add(delay(normal, rng))
}

/// The nanoseconds that one message takes.
#[inline]
fn delay(normal: &mut Normal, rng: &mut Rng) -> u64 {
    let millis = DELAY_MEAN_MS + DELAY_DEVIATION_MS * normal.draw(rng);
    (millis.abs() * 1e6) as u64
}

#[inline]
fn wait_after(session: &mut Session<'_>, answered: u64, entropy: u64) -> Duration {
    match session.on_failure(Moment::from_nanos(answered), Class::Transient, entropy) {
        Decision::Retry { after, .. } => after,
        // These policies have neither an end nor a deadline.
        Decision::Stop(_) => Duration::ZERO,
    }
}
