//! Server-sent events that go on where they were.
//!
//! ```no_run
//! # async fn watch() -> Result<(), Box<dyn std::error::Error>> {
//! use redeliver::{prelude::*, sse::EventSource};
//! # use redeliver::stream::Stream;
//! # use std::{pin::pin, future::poll_fn};
//!
//! let mut events = pin!(EventSource::connect("https://example.com/events").policy(Policy::RECONNECT).stream()?);
//! while let Some(event) = poll_fn(|context| events.as_mut().poll_next(context)).await {
//!     let event = event?;
//!     println!("{} {}: {}", event.id, event.event_type, event.data);
//! }
//! # Ok(()) }
//! ```
//!
//! - **It goes on** with `Last-Event-ID`, which is that of the last event that came whole. An id outlives its connection, as in browsers: an event without one
//!   does not lose the place.
//! - **`retry:`** becomes the first wait of the policy, which grows from there; beyond the policy's longest `Retry-After` it is cut, and zero
//!   says nothing. Explicit lists of waits stay as they are.
//! - **The end** is the status 204. A response that ends, or breaks, is a loss; any other status is judged as that of every HTTP
//!   answer, `Retry-After` included; a response that is no event stream is permanent.
//! - **Bounds**: an event has at most 1 MiB unless said otherwise.

mod connector;
mod error;
mod parser;
#[cfg(test)]
mod parser_tests;
mod response;

pub use connector::{EventSource, EventSourceStream, SseConnector};
pub use error::SseError;
pub use parser::{DEFAULT_MAX_EVENT_SIZE, EventTooLarge, Parser, SseEvent};
pub use response::SseResponse;
