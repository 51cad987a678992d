//! The state machine: start → connecting → up → waiting → start …, and from anywhere to the end.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::Stream;
use pin_project_lite::pin_project;
use redeliver_policy::{Decision, Moment, StopReason};

use super::{
    Cause, Connect, Connection, Connector, Disconnection, Reconnecting, StreamEvent,
    idle::Idle,
    outage::{Outage, Uptime},
    reconnecting::Parts,
};
use crate::{
    Classifier, GaveUp, Observer, RetryEvent, StopEvent,
    clock::{self, Timer},
    entropy,
};

pin_project! {
    #[project = Now]
    pub(super) enum State<F, S> {
        Start,
        Connecting { #[pin] connecting: F, limit: Option<(Timer, Duration)> },
        Up { #[pin] stream: S, since: Moment, items: u64, idle: Option<Idle> },
        Waiting { timer: Timer },
        Ended,
    }
}

/// What outlives a connection.
pub(super) struct Lasting {
    /// Connections begun.
    pub(super) number: u64,
    pub(super) outage: Outage,
    pub(super) down_since: Moment,
}

type Event<C> = StreamEvent<<C as Connector>::Item, <C as Connector>::Error>;
type Told<C> = Option<Result<Event<C>, GaveUp<<C as Connector>::Error>>>;

/// What a state says when it is looked at.
enum Seen<T, E> {
    Told(Option<Result<StreamEvent<T, E>, GaveUp<E>>>),
    Lost(Cause<E>, Option<Uptime>),
    Moved,
}

impl<C, K, O, U> Reconnecting<C, K, O, U>
where
    C: Connector,
    C::Error: fmt::Display,
    K: Classifier<C::Error>,
    O: Observer,
    U: Future<Output = ()>,
{
    /// The next thing that happens; what [`events`](Reconnecting::events) is made of.
    pub fn poll_event(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Told<C>> {
        let mut parts = self.project();
        if !matches!(*parts.state, State::Ended) && parts.until.as_mut().poll(context).is_ready() {
            parts.state.set(State::Ended);
        }
        loop {
            match ready!(parts.look(context)) {
                Seen::Told(told) => return Poll::Ready(told),
                Seen::Lost(cause, uptime) => return Poll::Ready(Some(parts.lost(cause, uptime))),
                Seen::Moved => {}
            }
        }
    }
}

impl<C, K, O, U> Parts<'_, C, K, O, U>
where
    C: Connector,
    C::Error: fmt::Display,
    K: Classifier<C::Error>,
    O: Observer,
{
    fn look(&mut self, context: &mut Context<'_>) -> Poll<Seen<C::Item, C::Error>> {
        Poll::Ready(match self.state.as_mut().project() {
            Now::Start => match self.connect() {
                Ok(()) => Seen::Moved,
                Err(reason) => Seen::Told(Some(Err(self.stop(None, reason)))),
            },
            Now::Connecting { connecting, limit } => match (connecting.poll(context), limit) {
                (Poll::Ready(Ok(stream)), _) => Seen::Told(Some(Ok(self.connected(stream)))),
                (Poll::Ready(Err(error)), _) => Seen::Lost(Cause::Error(error), None),
                (Poll::Pending, Some((timer, limit))) => {
                    ready!(Pin::new(timer).poll(context));
                    Seen::Lost(Cause::ConnectTimeout(*limit), None)
                }
                (Poll::Pending, None) => return Poll::Pending,
            },
            Now::Up {
                stream,
                since,
                items,
                idle,
            } => {
                let cause = match (stream.poll_next(context), idle) {
                    (Poll::Ready(Some(Ok(item))), idle) => {
                        *items += 1;
                        if let Some(idle) = idle {
                            idle.heard();
                        }
                        return Poll::Ready(Seen::Told(Some(Ok(StreamEvent::Item(item)))));
                    }
                    (Poll::Ready(Some(Err(error))), _) => Cause::Error(error),
                    (Poll::Ready(None), _) if self.settings.reconnect_on_end => Cause::Ended,
                    (Poll::Ready(None), _) => {
                        self.state.set(State::Ended);
                        return Poll::Ready(Seen::Told(None));
                    }
                    (Poll::Pending, Some(idle)) => Cause::Idle(ready!(idle.poll(context))),
                    (Poll::Pending, None) => return Poll::Pending,
                };
                let uptime = Uptime {
                    up_for: clock::now().since(*since),
                    items: *items,
                };
                Seen::Lost(cause, Some(uptime))
            }
            Now::Waiting { timer } => {
                ready!(Pin::new(timer).poll(context));
                self.state.set(State::Start);
                Seen::Moved
            }
            Now::Ended => Seen::Told(None),
        })
    }

    fn connect(&mut self) -> Result<(), StopReason> {
        let (policy, now) = (self.policy(), clock::now());
        if self.lasting.number == 0 {
            self.lasting.outage = Outage::new(now);
            self.lasting.down_since = now;
        }
        let timeout = self.lasting.outage.begin(&policy, now)?;
        self.lasting.number += 1;
        let connecting = self.connector.connect(Connect {
            number: self.lasting.number,
            failures: self.lasting.outage.failures,
            timeout,
        });
        let limit = timeout.map(|timeout| (Timer::limit(timeout), timeout));
        self.state.set(State::Connecting { connecting, limit });
        Ok(())
    }

    fn connected(&mut self, stream: C::Stream) -> Event<C> {
        let now = clock::now();
        self.state.set(State::Up {
            stream,
            since: now,
            items: 0,
            idle: self.settings.idle_timeout.map(Idle::new),
        });
        let failures = self.lasting.outage.failures;
        if failures > 0 {
            self.observer.on_recovery(failures.saturating_add(1));
        }
        StreamEvent::Connected(Connection {
            number: self.lasting.number,
            down_for: now.since(self.lasting.down_since),
        })
    }

    fn lost(&mut self, cause: Cause<C::Error>, uptime: Option<Uptime>) -> Result<Event<C>, GaveUp<C::Error>> {
        // What is broken goes before anything is decided: its socket need not stay open for the length of the wait.
        self.state.set(State::Ended);
        let (policy, now) = (self.policy(), clock::now());
        if uptime.is_some() {
            self.lasting.down_since = now;
        }
        let class = cause.class(self.classifier);
        let outage = &mut self.lasting.outage;
        let wait = match outage.lost(&policy, self.settings.reset, uptime, now, class, entropy::draw()) {
            Decision::Retry { after, .. } => after,
            Decision::Stop(reason) => return Err(self.stop(Some(cause), reason)),
        };
        let lost = Disconnection {
            cause,
            class,
            number: self.lasting.number,
            failures: self.lasting.outage.failures,
            up_for: uptime.map(|uptime| uptime.up_for),
            items: uptime.map_or(0, |uptime| uptime.items),
            wait,
        };
        if self.settings.wanted.as_mut().is_some_and(|wanted| !wanted(&lost)) {
            return Err(self.stop(Some(lost.cause), StopReason::Cancelled));
        }
        self.observer.on_retry(&RetryEvent {
            attempt: lost.failures,
            max: policy.max_attempts,
            delay: wait,
            class,
            error_type: &lost.cause.kind(self.classifier),
            error: &lost.cause,
        });
        self.state.set(State::Waiting {
            timer: Timer::wait(wait),
        });
        Ok(StreamEvent::Disconnected(lost))
    }

    fn stop(&mut self, cause: Option<Cause<C::Error>>, reason: StopReason) -> GaveUp<C::Error> {
        self.state.set(State::Ended);
        let attempts = self.lasting.outage.failures;
        let tell = |error_type: &str, error: &dyn fmt::Display| {
            self.observer.on_stop(&StopEvent {
                attempts,
                reason,
                error_type,
                error,
            });
        };
        match &cause {
            Some(cause) => tell(&cause.kind(self.classifier), cause),
            None => tell("", &"no further connection was made"),
        }
        self.gave_up(cause, reason)
    }
}
