use std::{
    fmt,
    future::Pending,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::Stream;
use pin_project_lite::pin_project;
use redeliver_policy::{Moment, Policy, Reset};

use super::{
    Connector, Disconnection, StreamEvent,
    outage::Outage,
    poll::{Lasting, State},
};
use crate::{Both, ByTrait, Classifier, Ending, GaveUp, Observer, Traced, clock};

pub(super) type Wanted<E> = Box<dyn FnMut(&Disconnection<E>) -> bool + Send>;

/// What a stream is told once, before it is polled.
pub(super) struct Settings<E> {
    pub(super) policy: Policy,
    pub(super) reset: Reset,
    pub(super) reconnect_on_end: bool,
    pub(super) idle_timeout: Option<Duration>,
    pub(super) wanted: Option<Wanted<E>>,
}

pin_project! {
    /// One stream made of as many connections as it takes.
    ///
    /// It gives `Result<T, GaveUp<E>>`: items, then at most one error, then nothing. [`events`](Reconnecting::events) tells of each gap as well.
    /// Made by [`Reconnect::reconnecting`](super::Reconnect::reconnecting) or [`Reconnecting::new`]; nothing is connected until it is polled, and dropping it ends
    /// it.
    #[must_use = "streams do nothing unless polled"]
    #[project = Parts]
    pub struct Reconnecting<C: Connector, K = ByTrait, O = Traced, U = Pending<()>> {
        pub(super) connector: C,
        pub(super) settings: Settings<C::Error>,
        pub(super) classifier: K,
        pub(super) observer: O,
        #[pin]
        pub(super) until: U,
        #[pin]
        pub(super) state: State<C::Connecting, C::Stream>,
        pub(super) lasting: Lasting,
    }
}

impl<C: Connector> Reconnecting<C> {
    /// The stream that this factory's connections make together.
    pub fn new(policy: Policy, connector: C) -> Self {
        Self {
            connector,
            settings: Settings {
                policy,
                reset: Reset::default(),
                reconnect_on_end: false,
                idle_timeout: None,
                wanted: None,
            },
            classifier: ByTrait,
            observer: Traced,
            until: std::future::pending(),
            state: State::Start,
            lasting: Lasting {
                number: 0,
                outage: Outage::new(Moment::ZERO),
                down_since: Moment::ZERO,
            },
        }
    }
}

impl<C: Connector, K, O, U> Reconnecting<C, K, O, U> {
    /// When the count of failures starts again; after a first item unless said otherwise.
    pub fn reset(mut self, reset: Reset) -> Self {
        self.settings.reset = reset;
        self
    }

    /// Whether a source that ends without an error was lost. By default it is done, and the whole stream with it.
    pub fn reconnect_on_end(mut self, reconnect: bool) -> Self {
        self.settings.reconnect_on_end = reconnect;
        self
    }

    /// A connection that gives no item for this long was lost.
    pub fn idle_timeout(mut self, longest: Duration) -> Self {
        self.settings.idle_timeout = Some(longest);
        self
    }

    /// Goes on only while this says so. It is asked at each loss that the policy would mend; on `false` the stream gives up with the
    /// loss's error, cancelled.
    pub fn while_(mut self, wanted: impl FnMut(&Disconnection<C::Error>) -> bool + Send + 'static) -> Self {
        self.settings.wanted = Some(Box::new(wanted));
        self
    }

    /// Ends the stream, without an error, as soon as this future is ready: up, connecting or waiting.
    pub fn until<F: Future<Output = ()>>(self, until: F) -> Reconnecting<C, K, O, F> {
        let Self {
            connector,
            settings,
            classifier,
            observer,
            state,
            lasting,
            ..
        } = self;
        Reconnecting {
            connector,
            settings,
            classifier,
            observer,
            until,
            state,
            lasting,
        }
    }

    /// Classifies errors with this closure instead of their own [`Classify`](crate::Classify).
    pub fn classify<F: Classifier<C::Error>>(self, classifier: F) -> Reconnecting<C, F, O, U> {
        let Self {
            connector,
            settings,
            observer,
            until,
            state,
            lasting,
            ..
        } = self;
        Reconnecting {
            connector,
            settings,
            classifier,
            observer,
            until,
            state,
            lasting,
        }
    }

    /// Also tells this observer: of each loss as a retry, of each reconnection as a recovery, and of the end.
    pub fn observe<N: Observer>(self, observer: N) -> Reconnecting<C, K, Both<O, N>, U> {
        let Self {
            connector,
            settings,
            classifier,
            observer: first,
            until,
            state,
            lasting,
        } = self;
        Reconnecting {
            connector,
            settings,
            classifier,
            observer: Both(first, observer),
            until,
            state,
            lasting,
        }
    }

    /// The same stream, which also tells of each connection and each gap.
    pub fn events(self) -> Events<Self> {
        Events { stream: self }
    }

    /// Failures since a connection last worked; 0 while all is well.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.lasting.outage.failures
    }
}

impl<C: Connector + fmt::Debug, K, O, U> fmt::Debug for Reconnecting<C, K, O, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reconnecting")
            .field("connector", &self.connector)
            .field("policy", &self.settings.policy)
            .field("connections", &self.lasting.number)
            .finish_non_exhaustive()
    }
}

impl<C, K, O, U> Stream for Reconnecting<C, K, O, U>
where
    C: Connector,
    C::Error: fmt::Display,
    K: Classifier<C::Error>,
    O: Observer,
    U: Future<Output = ()>,
{
    type Item = Result<C::Item, GaveUp<C::Error>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            return Poll::Ready(match ready!(self.as_mut().poll_event(context)) {
                Some(Ok(StreamEvent::Item(item))) => Some(Ok(item)),
                Some(Ok(_)) => continue,
                Some(Err(gave_up)) => Some(Err(gave_up)),
                None => None,
            });
        }
    }
}

pin_project! {
    /// A stream that also tells of each connection and each gap; see [`Reconnecting::events`].
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct Events<R> {
        #[pin]
        stream: R,
    }
}

impl<C, K, O, U> Stream for Events<Reconnecting<C, K, O, U>>
where
    C: Connector,
    C::Error: fmt::Display,
    K: Classifier<C::Error>,
    O: Observer,
    U: Future<Output = ()>,
{
    type Item = Result<StreamEvent<C::Item, C::Error>, GaveUp<C::Error>>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.project().stream.poll_event(context)
    }
}

impl<C: Connector, K, O, U> Parts<'_, C, K, O, U> {
    /// The policy, the other side's word included.
    pub(super) fn policy(&self) -> Policy {
        self.connector.policy(self.settings.policy)
    }

    pub(super) fn gave_up(
        &self,
        cause: Option<super::Cause<C::Error>>,
        reason: crate::StopReason,
    ) -> GaveUp<C::Error> {
        GaveUp::new(Ending {
            attempts: self.lasting.outage.failures,
            elapsed: clock::now().since(self.lasting.outage.began),
            reason,
            timed_out: cause.as_ref().is_some_and(super::Cause::is_timeout),
            last_error: cause.and_then(super::Cause::into_error),
        })
    }
}
