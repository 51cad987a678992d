//! Streams that reconnect: when the source fails, wait, connect again, go on.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use redeliver::prelude::*;
//! # use std::{io, pin::{Pin, pin}, task::{Context, Poll}, future::poll_fn};
//! # use redeliver::stream::Stream;
//! # struct Prices(u32);
//! # impl Stream for Prices {
//! #     type Item = io::Result<u32>;
//! #     fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
//! #         self.0 += 1;
//! #         Poll::Ready(Some(if self.0 < 3 { Ok(self.0) } else { Err(io::ErrorKind::ConnectionReset.into()) }))
//! #     }
//! # }
//! # let _guard = redeliver::testing::start().enter();
//!
//! // Makes a connection: any async function or closure that returns a stream.
//! async fn prices() -> io::Result<impl Stream<Item = io::Result<u32>>> {
//!     Ok(Prices(0))
//! }
//!
//! let mut prices = pin!(prices.reconnecting(Policy::RECONNECT));
//! for _ in 0..1_000 {
//!     let price = poll_fn(|context| prices.as_mut().poll_next(context)).await;
//!     assert!(price.is_some_and(|price| price.is_ok())); // though each connection breaks after two
//! }
//! # Ok(()) }
//! ```
//!
//! What the fields of a [`Policy`] mean for a stream:
//!
//! - **attempts**: failures in a row, the loss of a connection that worked being the first. When the count starts again is
//!   [`Reset`](crate::Reset)'s to say: after a first item (the default), after having been up for a time, by decay, or never.
//! - **deadline**: of one outage. It counts from where the count of attempts last started again: from the loss of a connection that worked, and at first from the
//!   beginning. A connection that is up is never cut by it. With [`Reset::Never`](crate::Reset::Never) it is the stream's whole
//!   life, looked at whenever a connection is lost.
//! - **attempt timeout**: for connecting. Without one, a factory of your own takes as long as it takes, and the ready-made streams take
//!   [`DEFAULT_CONNECT_TIMEOUT`]. [`idle_timeout`](Reconnecting::idle_timeout) is for a connection that is up and says nothing.
//! - **idempotent** does not matter: a new connection repeats nothing.
//!
//! So are the attempts and the time that a [`GaveUp`](crate::GaveUp) tells: those of the last outage.
//!
//! A reconnection is not the retry of a call: the guard against retries of retries neither limits a stream nor is told of it. A factory that retries
//! inside would multiply attempts; let it fail instead, and the stream will come back.

mod connector;
mod event;
mod idle;
mod outage;
mod poll;
mod reconnecting;
#[cfg(test)]
mod tests;

pub use connector::{Connect, Connector, DEFAULT_CONNECT_TIMEOUT, Unnumbered};
pub use event::{Cause, Connection, Disconnection, StreamEvent};
pub use futures_core::Stream;
pub use reconnecting::{Events, Reconnecting};
use redeliver_policy::Policy;

#[cfg(any(feature = "websocket", feature = "sse"))]
pub(crate) use {connector::limited, idle::Idle};

/// `factory.reconnecting(policy)` on any function or closure without arguments that makes a stream.
///
/// One that wants to know which connection it is takes a [`Connect`]: give it to [`Reconnecting::new`].
pub trait Reconnect: Sized
where
    Unnumbered<Self>: Connector,
{
    /// The stream that these connections make together.
    fn reconnecting(self, policy: Policy) -> Reconnecting<Unnumbered<Self>> {
        Reconnecting::new(policy, Unnumbered(self))
    }
}

impl<F> Reconnect for F where Unnumbered<F>: Connector {}
