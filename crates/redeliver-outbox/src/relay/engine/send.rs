use std::{sync::Arc, time::Duration};

use futures_core::future::BoxFuture;
use redeliver::{Class, Moment, clock};

use super::{Engine, Event};
use crate::{
    Message, MessageId,
    destination::{Delivery, Outcome, Route, fits},
    plants::{Plant, planted},
    relay::{
        fan_out,
        manners::{Allowance, Begun},
        tracer::{Traced, TracedAttempt, TracedEnding},
        verdict::{self, Ended},
        window::Turn,
        witness::Happening,
    },
    store::{Lease, Settlement, Verdict},
    trace::{Span, TraceParent},
};

/// A destination that does not keep its own time is cut off this much later.
const GRACE: Duration = Duration::from_millis(500);

impl Engine {
    /// Every message whose turn it is goes on its way, as long as our lease surely holds.
    pub(super) fn begin_sends(&mut self, now: Moment) {
        for (route, conduct) in self.conducts.iter().enumerate() {
            let allowance = match self.window.name(route) {
                // What becomes of one more could not be written either.
                _ if self.stuck.closes(Some(route)) => Allowance::NOTHING,
                // Nobody is asked for anything.
                "" => Allowance::UNLIMITED,
                _ => conduct.allowance(now),
            };
            self.window.allow(route, allowance);
            if self.window.was_put_away(route) {
                self.unparking.want(route);
            }
        }
        while self.beating.lease_holds(now)
            && self.stop_by.is_none()
            && let Some(turn) = self.window.next()
        {
            if let Some(verdict) = self.before_send(&turn, now) {
                self.settling
                    .push(Settlement::of(&turn.message, turn.lease, verdict), now);
                continue;
            }
            let entropy = (self.relay.config.entropy)();
            let retry = turn.message.attempts > u32::from(turn.counted);
            let conduct = &mut self.conducts[turn.route];
            match conduct.begin(retry, now, entropy) {
                Some(begun) => self.send(turn, begun),
                None => {
                    self.window.allow(turn.route, conduct.allowance(now));
                    if let Some(uncounted) = self.window.put_back(turn.message.id, turn.lease) {
                        self.settling.push(uncounted, now);
                    }
                }
            }
        }
        let in_flight = u64::try_from(self.window.in_flight()).unwrap_or(u64::MAX);
        self.relay.figures.in_flight.set(in_flight);
    }

    /// What has to be written before, or instead of, an attempt.
    fn before_send(&self, turn: &Turn, now: Moment) -> Option<Verdict> {
        let (message, route) = (&turn.message, &self.routes[turn.route]);
        if message.is_event() {
            return Some(fan_out::verdict(message, &self.relay.routes));
        }
        if turn.counted {
            // All else was looked at before it was counted; time has gone on since.
            return verdict::too_late(message, route, self.database_now(now));
        }
        if planted(Plant::SettledBeforeSend) {
            return Some(verdict::unsent(message));
        }
        if let Some(dead) = verdict::unanswered(message, route) {
            return Some(dead);
        }
        if let Some(refused) = verdict::refuse(message, route, self.database_now(now)) {
            return Some(refused);
        }
        if let Err((reason, error)) = fits(message, route)
            && !planted(Plant::PayloadNotExamined)
        {
            let error = route.secrecy.cleared(&error, message);
            return Some(verdict::dead(message, route, None, reason, &error));
        }
        turn.count_first.then(|| Verdict::Counted {
            attempt: message.attempts + 1,
        })
    }

    fn send(&mut self, turn: Turn, begun: Begun) {
        let Turn {
            message,
            lease,
            route,
            counted,
            headed_parked_lane,
            ..
        } = turn;
        let attempt = match counted {
            _ if planted(Plant::AttemptsReset) => 1,
            true => message.attempts,
            false => message.attempts + 1,
        };
        let message = if planted(Plant::IdChanges) {
            under_another_id(&message, attempt)
        } else {
            message
        };
        self.relay.witness.saw(Happening::Sending {
            message: &message,
            attempt,
            lease,
        });
        self.relay.figures.attempts.add(1);
        self.relay.figures.route(Some(route)).begun();
        self.window.sending(route);
        let treatment = &self.routes[route];
        let (destination, timeout) = (Arc::clone(&treatment.destination), time_for(treatment));
        let secrecy = treatment.secrecy.clone();
        let mut stopped = (!treatment.idempotent).then(|| self.cut_off.subscribe());
        let traced = self.trace(&message);
        let lease_end = self.beating.lease_end();
        self.tasks.push(Box::pin(async move {
            let started = clock::now();
            // The process may have been stopped since its turn was decided: then the message is another relay's.
            if !lease_end.is_ahead(started) {
                return Event::Unsent {
                    message,
                    lease,
                    route,
                    attempt,
                    begun,
                };
            }
            let delivery = Delivery {
                message: &message,
                attempt,
                timeout,
            };
            let delivering = match &traced {
                None => destination.deliver(delivery),
                Some(traced) => destination.deliver_in(&traced.span, delivery),
            };
            let delivering = async {
                match destination.keeps_time() {
                    true => Some(delivering.await),
                    false => in_time(delivering, timeout).await,
                }
            };
            let outcome = match &mut stopped {
                None => delivering.await,
                Some(stopped) => tokio::select! {
                    biased;
                    outcome = delivering => outcome,
                    _ = stopped.wait_for(|cut_off| *cut_off) => Some(left_behind()),
                },
            };
            let took = clock::now().since(started);
            // Here, before anybody is told: what a destination says may be what it was sent.
            let outcome = match outcome {
                Some(outcome) => secrecy.cleared_outcome(outcome, &message, &*destination),
                None => cut_off(timeout),
            };
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
            }
        }));
    }

    /// The span of an attempt that begins, if attempts are traced.
    fn trace(&self, message: &Message) -> Option<Box<Traced>> {
        let tracer = self.relay.tracer.as_ref()?;
        let entropy = (self.relay.config.entropy)();
        let context = TraceParent::of_attempt(message, tracer.share(), entropy);
        Some(Box::new(Traced {
            span: Span::new(context),
            started: clock::wall(),
        }))
    }

    pub(super) fn trace_ended(
        &self,
        traced: &Traced,
        message: &Message,
        (route, attempt, took): (usize, u32, Duration),
        ending: TracedEnding<'_>,
    ) {
        if let Some(tracer) = &self.relay.tracer
            && traced.span.context.is_sampled()
        {
            tracer.ended(&TracedAttempt {
                span: &traced.span,
                parent: TraceParent::of_message(message),
                message,
                attempt,
                kind: self.routes[route].destination.kind(),
                started: traced.started,
                took,
                ending,
            });
        }
    }

    /// The lease ended before the send began: the message is as it was before, and the destination was not asked.
    pub(super) fn unsent(
        &mut self,
        message: &Arc<Message>,
        lease: Lease,
        (route, attempt): (usize, u32),
        begun: Begun,
        now: Moment,
    ) {
        self.window.sent(route);
        self.relay.figures.route(Some(route)).unsent();
        self.conducts[route].unsent(begun, now);
        let outcome = Outcome::Unreachable {
            reason: "not sent: the lease had ended".to_owned(),
        };
        self.put_back(message, lease, attempt, &outcome, Duration::ZERO);
    }

    /// What came of it says nothing of the message, which is as it was before.
    pub(super) fn put_back(
        &mut self,
        message: &Arc<Message>,
        lease: Lease,
        attempt: u32,
        outcome: &Outcome,
        took: Duration,
    ) {
        self.relay.witness.saw(Happening::Ended {
            message,
            attempt,
            lease,
            outcome,
            took,
            counts: false,
        });
        let uncounted = match outcome {
            Outcome::Unreachable { .. } | Outcome::Disable { .. } => self.window.put_back(message.id, lease),
            // The message may be to blame: the next probe is another one, if there is one.
            _ => self.window.put_behind(message.id, lease),
        };
        if let Some(uncounted) = uncounted {
            self.settling.push(uncounted, clock::now());
        }
    }

    pub(super) fn attempt_ended(
        &mut self,
        message: &Arc<Message>,
        lease: Lease,
        route: usize,
        ended: Ended,
        traced: Option<&Traced>,
        now: Moment,
    ) {
        let told = (route, ended.attempt, ended.took);
        self.relay.witness.saw(Happening::Ended {
            message,
            attempt: ended.attempt,
            lease,
            outcome: &ended.outcome,
            took: ended.took,
            counts: true,
        });
        if !self.window.is_held(message.id, lease) {
            // The shard was lost meanwhile: whoever owns it decides, and sends again what this relay could not write down.
            if let Some(traced) = traced {
                self.trace_ended(traced, message, told, TracedEnding::Lost(&ended.outcome));
            }
            return;
        }
        let time = self.database_now(now);
        let longest = self.longest_wait(route, &ended.outcome, now);
        let mut verdict = verdict::judge(
            message,
            &self.routes[route],
            ended,
            time,
            (self.relay.config.entropy)(),
        );
        if let (Verdict::Retry { wait, .. }, Some(longest)) = (&mut verdict, longest) {
            *wait = longest.min(*wait);
        }
        tell_retry(message, &self.routes[route], &verdict);
        if let Some(traced) = traced {
            self.trace_ended(traced, message, told, TracedEnding::Judged(&verdict));
        }
        self.settling.push(Settlement::of(message, lease, verdict), now);
    }
}

impl Engine {
    /// The longest wait after a failure of a destination that is down, or that could not be reached. A retry that comes due while
    /// the circuit is open is deferred, and sent once it is closed: the policy's schedule is for failures of the message.
    fn longest_wait(&self, route: usize, outcome: &Outcome, now: Moment) -> Option<Duration> {
        let conduct = &self.conducts[route];
        let of_the_destination = match outcome {
            Outcome::Unreachable { .. } => true,
            Outcome::Retry {
                class: Class::Throttled { after: Some(_) },
                ..
            }
            | Outcome::Ambiguous { asked: Some(_), .. } => false,
            _ => conduct.is_down(now),
        };
        conduct.probe_interval().filter(|_| of_the_destination)
    }
}

/// Whether an outcome is about the destination alone: it takes nothing any more, or the message was there to find out whether it is well
/// again, and it is not. What may have arrived and must not arrive twice is never of the destination alone.
pub(super) fn is_of_the_destination(outcome: &Outcome, probe: bool, idempotent: bool) -> bool {
    match outcome {
        Outcome::Disable { .. } => !planted(Plant::GoneIsRetried),
        Outcome::Ambiguous { .. }
        | Outcome::Retry {
            class: Class::Unknown,
            ..
        } => probe && idempotent,
        Outcome::Retry { .. } | Outcome::Unreachable { .. } => probe,
        Outcome::Delivered | Outcome::Reject { .. } => false,
    }
}

async fn in_time(delivering: BoxFuture<'_, Outcome>, timeout: Duration) -> Option<Outcome> {
    let limit = timeout.saturating_add(GRACE);
    tokio::time::timeout(limit, delivering).await.ok()
}

fn cut_off(timeout: Duration) -> Outcome {
    Outcome::Ambiguous {
        reason: format!("no answer within {}", redeliver::duration::display(timeout)),
        asked: None,
    }
}

/// Of what must not come twice, that it may have come has to be written down before its relay ends.
fn left_behind() -> Outcome {
    Outcome::Ambiguous {
        reason: "the relay was stopped before the answer came".to_owned(),
        asked: None,
    }
}

fn tell_retry(message: &Message, route: &Route, verdict: &Verdict) {
    if let Verdict::Retry { attempted, wait } = verdict {
        tracing::event!(
            name: "retry_attempt",
            target: "redeliver",
            tracing::Level::WARN,
            message_id = %message.id,
            trace_id = TraceParent::of_message(message).map(TraceParent::trace_id),
            destination = %message.destination,
            attempt = attempted.attempt,
            max = route.policy.max_attempts,
            delay_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            error_type = attempted.class,
            error_message = %attempted.error,
            timestamp = %clock::timestamp(clock::wall()),
            "retry_attempt"
        );
    }
}

/// A bug: whoever keeps ids to know a message again does not know this one.
fn under_another_id(message: &Message, attempt: u32) -> Arc<Message> {
    let mut message = message.clone();
    message.id = MessageId::new(message.number(), message.id.salt() ^ i64::from(attempt));
    Arc::new(message)
}

fn time_for(route: &Route) -> Duration {
    route
        .policy
        .attempt_timeout
        .map_or(route.timeout, |timeout| timeout.min(route.timeout))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_that_may_have_arrived_counts_where_it_must_not_arrive_twice() {
        let failed = |class| Outcome::Retry {
            class,
            reason: String::new(),
        };
        let silent = |asked| Outcome::Ambiguous {
            reason: String::new(),
            asked,
        };
        let asked = Some(Duration::from_secs(1));
        for (outcome, idempotent, alone) in [
            (failed(Class::Transient), false, true),
            (failed(Class::THROTTLED), false, true),
            (failed(Class::Unknown), false, false),
            (failed(Class::Unknown), true, true),
            (silent(None), false, false),
            (silent(asked), false, false),
            (silent(None), true, true),
            (silent(asked), true, true),
            (Outcome::Delivered, true, false),
        ] {
            assert_eq!(
                is_of_the_destination(&outcome, true, idempotent),
                alone,
                "{outcome:?} {idempotent}"
            );
            assert!(!is_of_the_destination(&outcome, false, idempotent), "{outcome:?}");
        }
    }
}
