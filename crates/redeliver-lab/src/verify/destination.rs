//! Destinations of different temper, behind a network of their own: what has left a process arrives whether that process lives or not.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use redeliver::{Class, clock};
use redeliver_outbox::{
    DeadReason, MessageId,
    destination::{Delivery, Destination, Outcome},
};
use tokio::sync::oneshot;

use super::{
    history::{Event, Kind},
    process::Control,
    scenario::Temper,
    world::{State, World},
};

/// A destination as one process sees it.
pub(super) struct Probe {
    world: Arc<World>,
    control: Arc<Control>,
    name: String,
}

impl Probe {
    pub(super) const fn new(world: Arc<World>, control: Arc<Control>, name: String) -> Self {
        Self { world, control, name }
    }

    /// Where the attempt that begins now stands: it is the newest.
    fn place(&self, number: i64, attempt: u32) -> Option<usize> {
        let state = self.world.state();
        let attempts = &state.records.messages.get(&number)?.attempts;
        let process = self.control.process;
        attempts
            .iter()
            .rposition(|begun| begun.process == process && begun.number == attempt)
    }
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// What is on its way to a destination.
struct Request {
    world: Arc<World>,
    control: Arc<Control>,
    destination: String,
    id: MessageId,
    payload: String,
    attempt: u32,
    /// Its place among the message's attempts: the same process may make the same attempt again while this one is still on its way.
    place: Option<usize>,
}

impl Destination for Probe {
    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Outcome> {
        let request = Request {
            world: Arc::clone(&self.world),
            control: Arc::clone(&self.control),
            destination: self.name.clone(),
            id: delivery.message.id,
            payload: String::from_utf8_lossy(delivery.message.payload.as_bytes()).into_owned(),
            attempt: delivery.attempt,
            place: self.place(delivery.message.number(), delivery.attempt),
        };
        let (answer, answered) = oneshot::channel();
        Box::pin(async move {
            tokio::spawn(request.travel(answer));
            match answered.await {
                Ok(outcome) => outcome,
                // Nobody answers: the relay has to lose its patience.
                Err(_) => std::future::pending().await,
            }
        })
    }

    fn kind(&self) -> &'static str {
        "simulated"
    }
}

impl Request {
    async fn travel(self, answer: oneshot::Sender<Outcome>) {
        let (there, back) = self.latencies();
        wait(there).await;
        let Some(outcome) = self.arrive() else { return };
        wait(back).await;
        let _ = answer.send(outcome);
    }

    fn latencies(&self) -> (Duration, Duration) {
        let plan = self.world.scenario.destination(&self.destination);
        let slowest = plan.map_or(0, |plan| plan.temper.latency_ms);
        let longest = if self.world.is_calm() {
            slowest.min(50)
        } else {
            slowest
        };
        let chance = &mut self.world.state().network;
        (chance.millis(0, longest), chance.millis(0, longest))
    }

    /// The destination has it, and answers; none if nobody will ever hear of it.
    fn arrive(&self) -> Option<Outcome> {
        let number = self.id.number();
        let world = &self.world;
        let (now, calm) = (world.now(), world.is_calm());
        let mut state = world.state();
        let temper = world
            .scenario
            .destination(&self.destination)
            .map(|plan| plan.temper);
        let poison = state
            .records
            .messages
            .get(&number)
            .is_some_and(|message| message.poison);
        let (taken, outcome) = if poison {
            (false, None)
        } else {
            answer(&mut state, temper.unwrap_or_default(), now, calm)
        };
        self.record(&mut state, now, taken, outcome.as_ref());
        drop(state);
        if poison {
            self.control.crash("a message killed it");
        }
        outcome
    }

    fn record(&self, state: &mut State, now: u64, taken: bool, outcome: Option<&Outcome>) {
        let (number, process) = (self.id.number(), self.control.process);
        let asked = match outcome {
            Some(Outcome::Retry {
                class: Class::Throttled { after: Some(after) },
                ..
            })
            | Some(Outcome::Ambiguous {
                asked: Some(after), ..
            }) => u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
            _ => 0,
        };
        let event = Event::Arrived {
            number,
            attempt: self.attempt,
            process,
            taken,
            answer: outcome.map(kind),
        };
        state.history.push(now, event);
        let objection =
            super::checks::arrivals::check(&mut state.records, self.id, &self.destination, &self.payload);
        if let Some(message) = state.records.messages.get_mut(&number) {
            let attempt = self.place.and_then(|place| message.attempts.get_mut(place));
            if let Some(attempt) = attempt {
                attempt.arrived = Some(now);
                attempt.taken = taken;
                attempt.asked_wait_ms = asked;
            }
        }
        if let Some(what) = objection
            && state.objection.is_none()
        {
            state.objection = Some(super::world::Objection {
                checker: "arrivals",
                what,
                number: Some(number),
                other: None,
            });
            self.world.over.notify_one();
        }
    }
}

async fn wait(duration: Duration) {
    if !duration.is_zero() {
        clock::sleep(duration).await;
    }
}

fn answer(state: &mut State, temper: Temper, now: u64, calm: bool) -> (bool, Option<Outcome>) {
    if calm {
        return (true, Some(Outcome::Delivered));
    }
    let chance = &mut state.network;
    let reason = |text: &str| text.to_owned();
    if temper.dead.is_some_and(|(from, to)| now >= from && now < to) {
        return (
            false,
            Some(Outcome::Unreachable {
                reason: reason("connection refused"),
            }),
        );
    }
    if temper.gone.is_some_and(|(from, to)| now >= from && now < to) {
        return (
            false,
            Some(Outcome::Disable {
                reason: reason("410 Gone"),
            }),
        );
    }
    if chance.happens(temper.fails) {
        return (
            false,
            Some(Outcome::Retry {
                class: Class::Transient,
                reason: reason("503 Service Unavailable"),
            }),
        );
    }
    if chance.happens(temper.throttles) {
        let after = chance.millis(500, 30_000);
        let class = if chance.happens(0.8) {
            Class::throttled_for(after)
        } else {
            Class::THROTTLED
        };
        return (
            false,
            Some(Outcome::Retry {
                class,
                reason: reason("429 Too Many Requests"),
            }),
        );
    }
    if chance.happens(temper.rejects) {
        return (
            false,
            Some(Outcome::Reject {
                kind: DeadReason::Permanent,
                reason: reason("422 no such account"),
            }),
        );
    }
    if chance.happens(temper.ambiguous) {
        let asked = chance.happens(0.3).then(|| chance.millis(500, 30_000));
        let text = match asked {
            Some(_) => "500 Internal Server Error",
            None => "connection reset after the request",
        };
        return (
            true,
            Some(Outcome::Ambiguous {
                reason: reason(text),
                asked,
            }),
        );
    }
    if chance.happens(temper.silent) {
        return (true, None);
    }
    (true, Some(Outcome::Delivered))
}

/// The word for an outcome.
pub(super) const fn kind(outcome: &Outcome) -> Kind {
    match outcome {
        Outcome::Delivered => Kind::Delivered,
        Outcome::Retry {
            class: Class::Throttled { after: Some(_) },
            ..
        } => Kind::Throttled,
        Outcome::Retry { .. } | Outcome::Unreachable { .. } => Kind::Retry,
        Outcome::Disable { .. } => Kind::Gone,
        Outcome::Reject { .. } => Kind::Reject,
        Outcome::Ambiguous { asked: Some(_), .. } => Kind::Open,
        Outcome::Ambiguous { asked: None, .. } => Kind::Ambiguous,
    }
}
