use std::time::Duration;

use futures_core::Stream;
use redeliver_policy::Policy;

/// The time for a connection of a ready-made stream (WebSocket, server-sent events) where the policy has no attempt timeout: a server that
/// takes a connection and never answers must not hold a stream for ever.
pub const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// The policy, with a time for each connection.
#[cfg(any(feature = "websocket", feature = "sse"))]
pub(crate) const fn limited(policy: Policy) -> Policy {
    match policy.attempt_timeout {
        Some(_) => policy,
        None => policy.attempt_timeout(DEFAULT_CONNECT_TIMEOUT),
    }
}

/// What a factory may know about the connection it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Connect {
    /// 1 for the first of the stream's life, failed ones counted.
    pub number: u64,
    /// Failures since a connection last worked; 0 for the first.
    pub failures: u32,
    /// The time that connecting may take, if it is limited.
    pub timeout: Option<Duration>,
}

impl Connect {
    /// Whether something was connected, or tried, before.
    #[must_use]
    pub const fn is_reconnect(&self) -> bool {
        self.number > 1
    }
}

/// Makes a stream, again and again: any `FnMut(Connect) -> impl Future<Output = Result<impl Stream<Item = Result<T, E>>, E>>`,
/// or a type of your own that remembers where it was.
pub trait Connector {
    /// What the stream gives.
    type Item;
    /// How connecting fails, and how the stream breaks.
    type Error;
    /// One connection.
    type Stream: Stream<Item = Result<Self::Item, Self::Error>>;
    /// One connection being made.
    type Connecting: Future<Output = Result<Self::Stream, Self::Error>>;

    /// Begins a connection.
    fn connect(&mut self, connect: Connect) -> Self::Connecting;

    /// The policy for the next decision, where the other side has a say in it, as with the `retry:` of server-sent events.
    fn policy(&self, policy: Policy) -> Policy {
        policy
    }
}

impl<F, C, S, T, E> Connector for F
where
    F: FnMut(Connect) -> C,
    C: Future<Output = Result<S, E>>,
    S: Stream<Item = Result<T, E>>,
{
    type Item = T;
    type Error = E;
    type Stream = S;
    type Connecting = C;

    fn connect(&mut self, connect: Connect) -> C {
        self(connect)
    }
}

/// A factory that does not ask which connection it is.
#[derive(Clone, Copy, Debug)]
pub struct Unnumbered<F>(pub(super) F);

impl<F, C, S, T, E> Connector for Unnumbered<F>
where
    F: FnMut() -> C,
    C: Future<Output = Result<S, E>>,
    S: Stream<Item = Result<T, E>>,
{
    type Item = T;
    type Error = E;
    type Stream = S;
    type Connecting = C;

    fn connect(&mut self, _connect: Connect) -> C {
        (self.0)()
    }
}
