//! Retry a call, a client or a stream properly: backoff, jitter, deadline, `Retry-After`, classification, budget, breaker.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use redeliver::prelude::*;
//!
//! let greeting = Policy::INTERACTIVE
//!     .run(async |attempt| {
//!         if attempt.number < 2 { return Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused)) }
//!         Ok("hello")
//!     })
//!     .await?;
//! assert_eq!(greeting, "hello");
//! # Ok(()) }
//! ```
//!
//! - What decides is in [`redeliver_policy`], re-exported here: [`Policy`], [`Jitter`], [`Class`], [`Classify`], [`Pipeline`], …
//! - What does is here: [`Run::run`], [`Run::run_blocking`], [`RetryOperation::retry`], [`Run::attempts`].
//! - The feature `http` adds `http::Client`, a client over reqwest whose calls are retried.
//! - The feature `stream` adds streams that reconnect; `websocket` and `sse` add the two that are ready to use.
//! - The feature `tower` adds the same as a layer around a service.
//! - [`testing`] takes the waiting out of your own tests.

pub use redeliver_policy::*;

pub mod address;
mod attempt;
mod blocking;
pub mod cause;
mod classifier;
pub mod clock;
pub mod entropy;
mod first_try;
mod gave_up;
#[cfg(feature = "http")]
pub mod http;
mod lent;
mod nested;
mod observe;
mod plan;
mod progress;
mod race;
mod retrier;
mod run;
#[cfg(feature = "sse")]
pub mod sse;
#[cfg(feature = "stream")]
pub mod stream;
pub mod testing;
#[cfg(any(feature = "http", feature = "websocket"))]
mod tls;
#[cfg(feature = "tower")]
pub mod tower;
mod ways;
#[cfg(feature = "websocket")]
pub mod websocket;

pub use attempt::Attempt;
pub use classifier::{ByTrait, Classified, Classifier};
pub use gave_up::{Ending, GaveUp};
pub use observe::{Both, Observer, RetryEvent, StopEvent, Traced};
pub use plan::Plan;
pub use retrier::{Retrier, Until};
pub use ways::{Attempts, LoopAttempt, RetryOperation, Run};

/// What a file that retries something wants in scope.
pub mod prelude {
    #[cfg(feature = "stream")]
    pub use crate::stream::Reconnect as _;
    pub use crate::{Class, Classify, GaveUp, Jitter, Policy, RetryOperation as _, Run as _};
}
