//! A transactional outbox and its relay.

#[cfg(feature = "config")]
pub mod config;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod desk;
pub mod destination;
pub mod enqueue;
mod fingerprint;
mod hold;
pub mod import;
pub mod inbox;
mod instant;
pub mod job;
pub mod limits;
pub mod live;
mod members;
mod message;
#[doc(hidden)]
pub mod plants;
mod reason;
pub mod relay;
pub mod secrecy;
pub mod state;
pub mod store;
mod timestamp;
mod topic;
pub mod trace;

pub use enqueue::{EnqueueError, Enqueued, InvalidMessage, NewMessage, Outbox};
pub use fingerprint::{Fingerprint, NoFingerprint};
pub use hold::{Held, Hold, HoldCause, HoldKind, NewHold, NoHold};
pub use inbox::{Inbox, Seen};
pub use instant::NoTimestamp;
pub use message::{Message, MessageId, NoMessageId, Payload};
pub use reason::{DeadReason, NoReason};
pub use timestamp::{Timestamp, millis_up};
pub use topic::{InvalidTopic, TopicPattern};

/// The README's examples are compiled and run as tests: here, where both halves are at hand.
#[cfg(all(doctest, feature = "enqueue-rusqlite"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
