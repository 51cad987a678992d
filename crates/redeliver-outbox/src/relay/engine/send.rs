use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures_core::future::BoxFuture;
use redeliver::{Moment, clock};

use super::{Engine, Event};
use crate::{
    Message, MessageId,
    destination::{Delivery, Outcome, Route, fits},
    plants::{Plant, planted},
    relay::{
        manners::Begun,
        verdict::{self, Ended},
        window::Turn,
        witness::Happening,
    },
    store::{Lease, Settlement, Verdict},
};

/// A destination that does not keep its own time is cut off this much later.
const GRACE: Duration = Duration::from_millis(500);

impl Engine {
    /// Every message whose turn it is goes on its way, as long as our lease surely holds.
    pub(super) fn begin_sends(&mut self, now: Moment) {
        for (route, conduct) in self.conducts.iter().enumerate() {
            self.window.allow(route, conduct.allowance(now));
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
                    self.window.put_back(turn.message.id, turn.lease);
                }
            }
        }
        let in_flight = u64::try_from(self.window.in_flight()).unwrap_or(u64::MAX);
        self.relay.figures.in_flight.store(in_flight, Ordering::Relaxed);
    }

    /// What has to be written before, or instead of, an attempt.
    fn before_send(&self, turn: &Turn, now: Moment) -> Option<Verdict> {
        let (message, route) = (&turn.message, &self.routes[turn.route]);
        if turn.counted {
            // All else was looked at before it was counted; time has gone on since.
            return verdict::too_late(message, route, self.database_now(now));
        }
        if planted(Plant::SettledBeforeSend) {
            return Some(verdict::unsent(message));
        }
        if let Some(refused) = verdict::refuse(message, route, self.database_now(now)) {
            return Some(refused);
        }
        if let Err((reason, error)) = fits(message, route)
            && !planted(Plant::PayloadNotExamined)
        {
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
        self.relay.figures.attempts.fetch_add(1, Ordering::Relaxed);
        self.window.sending(route);
        let treatment = &self.routes[route];
        let (destination, timeout) = (Arc::clone(&treatment.destination), time_for(treatment));
        self.tasks.push(Box::pin(async move {
            let started = clock::now();
            let delivery = Delivery {
                message: &message,
                attempt,
                timeout,
            };
            let delivering = destination.deliver(delivery);
            let outcome = match destination.keeps_time() {
                true => delivering.await,
                false => cut_off(delivering, timeout).await,
            };
            let took = clock::now().since(started);
            Event::Sent {
                message,
                lease,
                route,
                attempt,
                headed_parked_lane,
                begun,
                outcome,
                took,
            }
        }));
    }

    /// A message that was sent to find out whether its destination is well again, and that was not taken, is as it was before: the
    /// answer is about the destination. Says whether it was so.
    pub(super) fn probe_failed(
        &mut self,
        message: &Arc<Message>,
        lease: Lease,
        attempt: u32,
        outcome: &Outcome,
        took: Duration,
    ) -> bool {
        if !matches!(
            outcome,
            Outcome::Retry { .. } | Outcome::Ambiguous { .. } | Outcome::Disable { .. }
        ) {
            return false;
        }
        self.relay.witness.saw(Happening::Ended {
            message,
            attempt,
            outcome,
            took,
        });
        self.window.put_back(message.id, lease);
        true
    }

    pub(super) fn attempt_ended(
        &mut self,
        message: &Arc<Message>,
        lease: Lease,
        route: usize,
        ended: Ended,
        now: Moment,
    ) {
        self.relay.witness.saw(Happening::Ended {
            message,
            attempt: ended.attempt,
            outcome: &ended.outcome,
            took: ended.took,
        });
        if !self.window.is_held(message.id, lease) {
            // The shard was lost meanwhile: whoever owns it decides, and sends again what this relay could not write down.
            return;
        }
        let time = self.database_now(now);
        let verdict = verdict::judge(
            message,
            &self.routes[route],
            ended,
            time,
            (self.relay.config.entropy)(),
        );
        tell_retry(message, &self.routes[route], &verdict);
        self.settling.push(Settlement::of(message, lease, verdict), now);
    }
}

async fn cut_off(delivering: BoxFuture<'_, Outcome>, timeout: Duration) -> Outcome {
    let outcome = tokio::time::timeout(timeout.saturating_add(GRACE), delivering).await;
    outcome.unwrap_or_else(|_| Outcome::Ambiguous {
        reason: format!("no answer within {}", redeliver::duration::display(timeout)),
    })
}

fn tell_retry(message: &Message, route: &Route, verdict: &Verdict) {
    if let Verdict::Retry { attempted, wait } = verdict {
        tracing::event!(
            name: "retry_attempt",
            target: "redeliver",
            tracing::Level::WARN,
            message_id = %message.id,
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
